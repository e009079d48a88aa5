"""Errors in proportion to the values: noticed where they are, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.choice.criterion import criterion
from ceql.choice.proportional import as_it_is, judge_of_errors, loss_in_proportion
from ceql.data.dataset import Dataset
from ceql.discovery import Settings
from ceql.engine.deadline import Deadline
from ceql.expression import parse_formula
from ceql.formula import Formula, LawConstant, NamedLaw, constant_formula, make_symbols, refitted
from ceql.pipeline import discover
from ceql.search.policy import SearchPolicy

X = np.linspace(0.2, 6.0, 30)
LAW = 3.0 * np.exp(-X)  # which spans more than two decades


def table(y: np.ndarray) -> Dataset:
    return Dataset.of(X[:, None], y)


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(len(X))


def fitted(text: str, data: Dataset) -> Formula:
    formula = refitted(parse_formula(text, data.names), data, make_symbols(data.names))
    assert formula is not None
    return formula


def formulas(data: Dataset) -> list[Formula]:
    return [fitted(text, data) for text in ("3.1*exp(-1.1*x1)", "0.1 + 3.1*exp(-1.1*x1)", "2.5/(x1 + 0.4)**2")]


@pytest.mark.parametrize("seed", range(5))
def test_errors_in_proportion_are_noticed_and_others_are_not(seed):
    in_proportion, alike = table(LAW * (1.0 + 0.05 * noise(seed))), table(LAW + 0.001 * np.abs(noise(seed)) + 0.05)
    assert judge_of_errors(formulas(in_proportion), in_proportion) is not as_it_is
    assert judge_of_errors(formulas(alike), alike) is as_it_is


@pytest.mark.parametrize("seed", range(5))
def test_the_law_is_best_under_the_errors_that_there_are(seed):
    data = table(LAW * (1.0 + 0.05 * noise(seed)))
    known = formulas(data)
    judge = judge_of_errors(known, data)
    scores = [criterion(judge(formula), len(data.y)) for formula in known]
    assert np.argmin(scores) == 0


def test_only_the_criterion_changes():
    data = table(LAW * (1.0 + 0.05 * noise(0)))
    known = formulas(data)
    judged = judge_of_errors(known, data)(known[0])
    assert judged.judged_loss is not None
    assert replace(judged, judged_loss=None).__dict__ == replace(known[0]).__dict__
    assert judged.with_expression(known[1].expression).judged_loss is None  # which was of another formula


def test_the_loss_is_that_of_a_likelihood():
    """Of a formula without constants it can be written down."""
    data = table(LAW * (1.0 + 0.05 * noise(1)))
    formula = Formula(parse_formula("3*exp(-x1)", data.names), make_symbols(data.names), 1.0)
    relative = np.mean((data.y / LAW - 1.0) ** 2)
    assert loss_in_proportion(formula, data, 12) == pytest.approx(relative * np.exp(2.0 * np.mean(np.log(LAW))))


def test_the_unit_of_y_does_not_matter():
    y = LAW * (1.0 + 0.05 * noise(2))
    small, large = (loss_in_proportion(fitted("3.1*exp(-1.1*x1)", d), d, 12) for d in (table(y), table(1000.0 * y)))
    assert large == pytest.approx(1e6 * small, rel=1e-3)


def test_a_constant_of_a_law_that_occurs_twice_stays_one_constant():
    """As two, 2.04*x/(x - 1.96) would meet these rows better than the lens does."""
    x = np.linspace(3.0, 12.0, 12)
    data = Dataset.of(x[:, None], 2.04 * x / (x - 1.96) * (1.0 + 1e-4 * np.resize([1.0, -1.0], 12)))
    expression = parse_formula("1.99*x1/(x1 - 1.99)", data.names)
    free = Formula(expression, make_symbols(data.names), 1.0, ((1.99, 0.1), (-1.99, 0.1)))
    lens = replace(free, law=NamedLaw("thin lens", "optics", "f*x1/(x1 - f)", (LawConstant("f", "", 1.99, 0.1),), 3))
    assert loss_in_proportion(free, data, 20) < 0.1 * loss_in_proportion(lens, data, 20)


def test_a_formula_of_the_wrong_sign_is_not_likely():
    data = table(LAW)
    assert loss_in_proportion(fitted("1.5 - 0.4*x1", data), data, 12) == np.inf
    assert np.isfinite(loss_in_proportion(constant_formula(data), data, 12))


@pytest.mark.parametrize(
    "data",
    [
        table(np.where(X < 3.0, LAW, -LAW)),  # both signs
        table(5.0 + 0.1 * LAW),  # the same size everywhere
        replace(table(LAW), noise=0.01),  # errors that are known
        Dataset.of(X[:, None], LAW, sample_weight=1.0 / LAW),  # weights that are given
    ],
)
def test_where_it_cannot_be_told_nothing_is_asked(data):
    assert judge_of_errors([constant_formula(data)], data) is as_it_is


def test_when_the_time_is_up_nothing_is_asked():
    data = table(LAW * (1.0 + 0.05 * noise(0)))
    assert judge_of_errors(formulas(data), data, until=Deadline.after(0.0)) is as_it_is


def test_a_search_is_judged_by_the_errors_that_there_are():
    """And nothing of that is left in what it gives."""
    data = table(LAW * (1.0 + 0.05 * noise(3)))
    brief = Settings(max_starts=64, time_limit=60.0, search=SearchPolicy(round_size=64, chunk_size=64))
    found = discover(data, brief)
    assert np.allclose(found.best(data.x), LAW, rtol=0.2, atol=0.0)  # the smallest rows too
    assert all(formula.judged_loss is None for formula in found.formulas)
