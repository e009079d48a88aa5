"""A shortened recipe runs, repeats itself, prunes to its minimum and stops when told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from ceql.engine import fit
from ceql.network import clean_up
from ceql.network.recording import network_tape
from ceql.network.wiring import OUTPUT
from ceql.training import Loss, Phase, Recipe, Trained, read_off, recipes, train, training_error, trainings
from ceql.training.phase import ImpactPruning, Plateau
from ceql.training.quotients import normalised
from ceql.training.reading import simplified

EXPLORE = Phase("explore", 150, 1e-2, 1e-10, 1e-10, 1e-10, final_threshold=1e-3)
PRUNE = Phase("prune", 500, 1e-2, 1e-3, 1e-7, 1e-2, pruning=ImpactPruning(20, 0.1, 15))
REFINE = Phase("refine", 200, 1e-2, 1e-1, 1e-7, 1e-2, plateau=Plateau(20, 0.1, 1e-5, 1e-7))


def short(*phases: Phase, **changes) -> Recipe:
    return replace(recipes.paper(), phases=phases or (EXPLORE, PRUNE, REFINE), **changes)


X = np.random.default_rng(0).uniform(-2, 2, (64, 1))
Y = 1.5 * X[:, 0] ** 2 - 0.7


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train(X, Y, short(), seed=3)


def test_it_prunes_down_to_the_minimum_number_of_edges(trained):
    assert trained.edges.sum() == 15
    assert np.array_equal(clean_up(trained.network, trained.edges), trained.edges)


def test_what_is_gone_has_no_weight(trained):
    assert np.all(trained.params[~trained.network.parameter_mask(trained.edges)] == 0)


def test_the_misfit_is_that_of_the_result(trained):
    mask = trained.network.parameter_mask(trained.edges)
    samples = fit.Samples.of(X, np.zeros(len(X)))
    values = fit.values(network_tape(trained.network), samples, trained.params, mask)[0]
    # pruning came after the last step of its phase, fine-tuning after that, so this is the end of the run
    assert np.isclose(np.mean((values - Y) ** 2 / np.maximum(np.abs(Y), 1.0) ** 2), trained.misfit, rtol=1e-10)
    assert trained.misfit < 0.5
    assert not trained.stopped


def test_the_same_seed_gives_the_same_network(trained):
    again, other = (train(X, Y, short(), seed=seed) for seed in (3, 4))
    assert np.array_equal(again.params, trained.params)
    assert np.array_equal(again.edges, trained.edges)
    assert not np.array_equal(other.params, trained.params)


def test_dropping_the_imaginary_parts_leaves_no_residue(trained):
    real = trained.on_real_axis()
    assert trained.imaginary_residue > 0
    assert real.imaginary_residue == 0
    kept = ~trained.network.is_imaginary
    assert np.array_equal(real.params[kept], trained.params[kept])


def test_training_lowers_the_misfit():
    few, many = (train(X, Y, short(replace(REFINE, epochs=epochs)), seed=0).misfit for epochs in (1, 400))
    assert many < 0.5 * few


def test_weights_start_within_the_initial_range():
    start = train(X, Y, short(replace(REFINE, epochs=0)), seed=0)
    assert np.all(np.abs(start.params) <= 0.5)
    assert np.abs(start.params[start.network.is_imaginary]).max() > 0.3
    assert np.abs(start.params[~start.network.is_imaginary]).max() > 0.3


def test_real_weights_only():
    result = train(X, Y, short(complex_weights=False), seed=0)
    assert np.all(result.params[result.network.is_imaginary] == 0)


def test_a_complex_value_handed_on_changes_the_training():
    phases = (replace(REFINE, epochs=50),)
    network = {"layers": ({"log": 1}, {"div": 1})}
    one, other = (train(X + 3, Y, short(*phases, passes_complex=p, **network), seed=0).params for p in (False, True))
    assert not np.allclose(one, other)


def test_a_complex_readout_changes_the_training_of_the_papers_network():
    phases = (replace(EXPLORE, final_threshold=0.0),)
    one, other = (train(X, Y, short(*phases, passes_complex=p), seed=0) for p in (False, True))
    readout = other.network.sums[-1]
    hands_on = other.network.imaginary[readout.first : readout.last] >= 0
    assert hands_on.sum() == 4  # two logs and two roots
    assert np.abs(one.misfit - other.misfit) > 1e-6 * one.misfit
    assert simplified(other, 0.0).imaginary_residue == 0


def test_imaginary_parts_start_in_a_range_of_their_own():
    start = train(X, Y, short(replace(REFINE, epochs=0), initial_imaginary=0.05), seed=0)
    assert np.abs(start.params[start.network.is_imaginary]).max() <= 0.05
    assert np.abs(start.params[~start.network.is_imaginary]).max() > 0.3


def test_a_negligible_root_does_not_cost_the_formula():
    network = recipes.paper().network(1)
    edges, params = np.zeros(network.n_edges, bool), np.zeros(network.n_params)
    constant, root = (next(u for u, o in enumerate(network.units) if o.name == n) for n in ("const", "sqrt"))
    identity = next(u for u, o in enumerate(network.units) if o.name == "id")
    weights = {(identity, network.node(constant)): 2.01, (OUTPUT, network.node(identity)): 1.0, (OUTPUT, 0): 1.87}
    weights |= {(root, 0): -1.0, (OUTPUT, network.node(root)): 2e-10}
    for edge in range(network.n_edges):
        key = network.sums[network.edge_sum[edge]].unit, int(network.edge_source[edge])
        if key in weights:
            edges[edge], params[edge] = True, weights[key]
        elif key[0] == constant:
            edges[edge], params[edge] = True, 1.0
    trained = Trained(network, edges, params, 0.0)
    symbol = sympy.Symbol("x1")
    assert read_off(trained, 0.0, X, [symbol]).has(sympy.sqrt(-symbol))
    left = read_off(trained, recipes.paper().negligible, X, [symbol])
    assert sympy.expand(left - 1.87 * symbol - 2.01) == 0


SYMBOL = sympy.Symbol("x1")


@pytest.mark.parametrize(
    ("formula", "error"),
    [(SYMBOL - 1, 1.0), (sympy.sqrt(SYMBOL - 9), np.inf), (SYMBOL + sympy.sqrt(-2), np.inf), (sympy.zoo, np.inf)],
)
def test_a_formula_without_real_values_has_an_infinite_error(formula, error):
    assert training_error(formula, [SYMBOL], X, X[:, 0], np.ones(len(X))) == error


def test_quotients_are_normalised_without_a_change_of_value():
    network = recipes.paper().network(1)
    edges = np.ones(network.n_edges, bool)
    params = np.random.default_rng(0).normal(0, 3.0, network.n_params)
    samples, tape = fit.Samples.of(X, Y), network_tape(network)
    scaled = normalised(network, edges, params)
    assert np.allclose(fit.values(tape, samples, scaled), fit.values(tape, samples, params), rtol=1e-12)
    for unit, operator in enumerate(network.units):
        own = [e for e in range(network.n_edges) if network.sums[network.edge_sum[e]].unit == unit]
        if operator.name == "div":
            assert np.isclose(np.abs(network.complex_weights(scaled)[own]).max(), 1.0)
        else:
            assert np.array_equal(scaled[own], params[own])


def test_normalising_on_the_way_goes_through_all_epochs():
    calls = []
    phase = replace(REFINE, epochs=250, normalise_every=100)
    result = train(X, Y, short(phase), seed=0, progress=lambda *call: calls.append(call))
    assert [epochs for epochs, _, _ in calls] == [250]
    once = train(X, Y, short(replace(phase, normalise_every=0)), seed=0)
    assert result.misfit != once.misfit
    assert result.misfit < train(X, Y, short(replace(phase, epochs=0)), seed=0).misfit


def test_several_starts_are_the_seed_and_others():
    recipe = short(replace(REFINE, epochs=20), starts=3)
    calls = []
    starts = list(trainings(X, Y, recipe, 4, progress=lambda *call: calls.append(call[0])))
    assert calls == [20, 40, 60]
    assert np.array_equal(starts[0].params, train(X, Y, recipe, 4).params)
    assert not np.array_equal(starts[1].params, starts[2].params)


def test_a_flag_leaves_out_the_starts_to_come():
    stop = fit.StopFlag()
    stop.set()
    assert [trained.stopped for trained in trainings(X, Y, recipes.paper(), 0, stop=stop)] == [True]


def test_the_imaginary_penalty_shrinks_imaginary_parts():
    sizes = []
    for size in (0.0, 10.0):
        result = train(X, Y, short(replace(REFINE, imaginary=size, epochs=300)), seed=1)
        sizes.append(np.abs(result.params[result.network.is_imaginary]).max())
    assert sizes[1] < 0.1 * sizes[0]


def test_sample_weights_count():
    half = np.where(X[:, 0] > 0, 1.0, 0.0)
    y = np.where(X[:, 0] > 0, Y, 100.0)  # nonsense where nobody looks
    recipe = short(replace(REFINE, epochs=500), loss=Loss.MSE)
    assert train(X, y, recipe, seed=0, sample_weight=half).misfit < 1.0 < train(X, y, recipe, seed=0).misfit


def test_progress_is_reported_after_every_piece():
    calls = []
    train(X, Y, short(EXPLORE, PRUNE), seed=0, progress=lambda *call: calls.append(call))
    epochs, edges, misfits = zip(*calls, strict=True)
    assert epochs == (150, *range(170, 651, 20))
    assert list(edges) == sorted(edges, reverse=True)
    assert all(np.isfinite(misfits))


def test_a_flag_that_is_set_ends_training_at_once():
    stop = fit.StopFlag()
    stop.set()
    result = train(X, Y, recipes.paper(), seed=0, stop=stop)
    assert result.stopped
    assert result.edges.all()


def test_a_flag_set_on_the_way_ends_training_early():
    stop, calls = fit.StopFlag(), []

    def progress(*call: float) -> None:
        calls.append(call)
        if len(calls) == 3:
            stop.set()

    result = train(X, Y, short(replace(PRUNE, epochs=10**9)), seed=0, stop=stop, progress=progress)
    assert result.stopped
    assert len(calls) == 3
    assert np.isfinite(result.misfit)


@pytest.mark.parametrize("last", [PRUNE, replace(EXPLORE, final_threshold=0.3)], ids=["impact", "threshold"])
def test_the_misfit_is_that_of_the_result_when_a_cut_comes_last(last):
    result = train(X, Y, short(replace(last, epochs=40)), seed=0)
    mask = result.network.parameter_mask(result.edges)
    values = fit.values(network_tape(result.network), fit.Samples.of(X, 0 * Y), result.params, mask)[0]
    assert np.isclose(np.mean((values - Y) ** 2 / np.maximum(np.abs(Y), 1.0) ** 2), result.misfit, rtol=1e-10)
