"""What steers the steps around a search is plain frozen data, and each step does as it is told."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from ceql import CeqlWarning, Constraints, Dataset, Settings
from ceql.choice.residuals import ResidualPolicy, look_like_noise, neighbours
from ceql.closed_form import ClosedFormPolicy, fraction, images, noisy_forms, product, sparse_sum
from ceql.formula import constant_formula, make_symbols
from ceql.network.libraries import search_network
from ceql.network.sampling import Prior, Stream, draw, mutate
from ceql.search.finishing import planned, reserve, sketches_within
from ceql.search.guesses import starting_formulas
from ceql.search.judgement import judged, seconds_for_judging
from ceql.search.losses import Loss, read_loss
from ceql.search.narrowing import narrowed
from ceql.search.periodogram import peaks
from ceql.search.policy import (
    FinishingPolicy,
    GuessPolicy,
    JudgementPolicy,
    LossPolicy,
    NarrowingPolicy,
    PeriodogramPolicy,
    SearchPolicy,
)
from ceql.transforms import TransformPolicy, independent_parts, plain, promising, reduced, relevant, usable_targets
from ceql.transforms.policy import FewerColumnsPolicy, IndependencePolicy, ScreeningPolicy

CLOSED_FORMS, FINISHING = ClosedFormPolicy(), FinishingPolicy()
POLICIES = (
    CLOSED_FORMS,
    TransformPolicy(),
    ResidualPolicy(),
    Prior(),
    NarrowingPolicy(),
    GuessPolicy(),
    PeriodogramPolicy(),
    LossPolicy(),
    JudgementPolicy(),
    FINISHING,
)
SYMBOLS = make_symbols(("x1", "x2"))
X = np.random.default_rng(0).uniform(0.6, 2.6, (500, 2))
A, B = X.T


def is_plain(value) -> bool:
    """A number, a word, a tuple of such, or a frozen dataclass of them."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if is_dataclass(value):
        return hash(value) is not None and all(is_plain(getattr(value, field.name)) for field in fields(value))
    return isinstance(value, int | float | str)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_policy_can_be_written_down_and_compared(policy):
    assert is_plain(policy)
    assert policy == type(policy)()


def test_closed_forms_keep_to_their_policy():
    ratio = (A - 2.0 * B) / (A + B + 0.3)
    assert fraction(X, ratio, SYMBOLS) is not None
    assert fraction(X, ratio, SYMBOLS, replace(CLOSED_FORMS.fractions, below=0, above=1)) is None
    assert list(images(X, SYMBOLS, X, SYMBOLS, ("sin",), replace(CLOSED_FORMS.fractions, most_replaced=1))) == []
    assert product(X, 2.0 * A * B**3, SYMBOLS, ()) is not None
    few = replace(CLOSED_FORMS.products.terms, most_terms=1)
    assert product(X, 2.0 * A * B**3, SYMBOLS, (), replace(CLOSED_FORMS.products, terms=few)) is None
    assert sparse_sum(X, A * B + B**3, SYMBOLS, ()) is not None
    low = replace(CLOSED_FORMS.sums.powers, highest=1)
    assert sparse_sum(X, A * B + B**3, SYMBOLS, (), replace(CLOSED_FORMS.sums, powers=low)) is None
    noisy = A * B + 0.01 * np.random.default_rng(1).normal(size=len(A))
    fewer = noisy_forms(X, noisy, SYMBOLS, (), policy=replace(CLOSED_FORMS.noisy_forms, kept=1))
    assert 0 < len(fewer) < len(noisy_forms(X, noisy, SYMBOLS, ()))


def test_transforms_keep_to_their_policy():
    target = plain(Dataset.of(X, A * np.sin(2.0 * B)), SYMBOLS)
    assert independent_parts(target)
    assert independent_parts(target, TransformPolicy(independence=IndependencePolicy(rows=1000))) == []
    strict = FewerColumnsPolicy(clearly_better=0.0, as_good=0.0)
    assert reduced(target) is not None
    assert reduced(target, TransformPolicy(fewer_columns=strict)) is None
    names = [found.name for found in usable_targets(A, ("log",), TransformPolicy(widest_exponent=0.1))]
    assert names == ["y"]
    wide = np.random.default_rng(1).normal(size=(100, 20))
    y = wide[:, 3] * wide[:, 7] + wide[:, 9]
    assert set(relevant(wide, y, 5)) > set(relevant(wide, y, 5, TransformPolicy(screening=ScreeningPolicy(gain=0.0))))
    few_rows = TransformPolicy(screening=ScreeningPolicy(fewest_rows=8, most_products=1))
    assert promising(wide, y, 4) != promising(wide, y, 4, few_rows)


def test_the_steps_before_a_search_keep_to_their_policy():
    wide = Dataset.of(np.random.default_rng(0).normal(size=(50, 12)), np.arange(50.0))
    assert narrowed(wide, Settings()) is wide
    assert len(narrowed(wide, Settings(search=SearchPolicy(narrowing=NarrowingPolicy(widest=10, kept=4)))).names) == 4
    with pytest.warns(CeqlWarning, match="more than 1 constants"):
        assert starting_formulas(["p*x1 + q"], Dataset.of(X, A), policy=GuessPolicy(most_constants=1)) == []
    x = np.linspace(-2.0, 2.0, 400)[:, None]
    waves = np.sin(9.0 * x[:, 0]) + np.sin(23.0 * x[:, 0])
    assert len(peaks(x, waves)[0]) > len(peaks(x, waves, PeriodogramPolicy(most=1))[0]) == 1


def test_losses_and_judgement_keep_to_their_policy():
    residual, zeros = np.array([3.0]), np.zeros(1)
    loss = read_loss("huber", residual, LossPolicy(huber=5.0))
    assert loss is not None
    assert loss.cost(residual, zeros, 1.0) == 9.0 > Loss("huber").cost(residual, zeros, 1.0)
    data = Dataset.of(X, np.where(np.arange(len(A)) % 9 == 0, 50.0, A))
    assert seconds_for_judging(data, 60.0) == 0.0 < seconds_for_judging(data, 60.0, JudgementPolicy(rows=100))
    lenient, strict = (
        judged([constant_formula(data)], data, Loss("huber"), Constraints(), policy=JudgementPolicy(dearest=dearest))
        for dearest in (4.0, 40.0)
    )
    assert lenient[0].surprise is not None
    assert strict[0].surprise is not None
    assert lenient[0].surprise < strict[0].surprise


def test_the_finish_keeps_to_its_policy():
    dear = replace(FINISHING, sketch=10.0)
    assert sketches_within(60.0, 100, dear) == 5 < sketches_within(60.0, 100)
    assert planned(5, replace(FINISHING, least=FINISHING.everything)) == FINISHING.everything
    assert reserve(10.0, 100, replace(FINISHING, reserved=0.0, least_reserved=0.0)) == 0.0


def test_draws_and_residuals_keep_to_their_policy():
    network = search_network(2)
    parents = draw(network, 50, Stream(0), Prior(density=(0.0, 0.1), full_fan_in=0.0))
    assert parents.sum() < draw(network, 50, Stream(0)).sum()
    dropping = Prior(mutations=(0.0, 1.0, 0.0, 0.0))
    assert mutate(network, parents, Stream(0), dropping).sum() < parents.sum()
    nearest, noise = neighbours(X), np.random.default_rng(2).normal(size=len(A))
    assert look_like_noise(noise, A * B, nearest)
    assert not look_like_noise(noise, A * B, nearest, ResidualPolicy(telling=1.0))
