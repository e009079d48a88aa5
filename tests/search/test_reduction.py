from __future__ import annotations

import itertools

import numpy as np
import pytest

from ceql.choice.criterion import EDGE, of_fits
from ceql.engine import fit
from ceql.engine.pruning import removals
from ceql.engine.stages import Chunk, Schedule, Work, fit_chunks, on_processor
from ceql.network import Network, clean_up
from ceql.network.recording import network_tape
from ceql.search.reduction import (
    ByCriterion,
    Contenders,
    Reduced,
    ReductionPolicy,
    WhileExact,
    challenged,
    eliminate,
    fitted,
)

NETWORK = Network(1, (("square", "div"), ("div",)), skip="all", bias=True)
X = np.random.default_rng(0).uniform(-2, 2, (120, 1))
SAMPLES = fit.Samples.of(X, 0.9 + 1.3 / (X[:, 0] - 0.37) + 0.05 * np.random.default_rng(1).standard_normal(120))


def random_fits(count: int, seed: int = 0) -> Chunk:
    rng = np.random.default_rng(seed)
    edges = clean_up(NETWORK, rng.random((count, NETWORK.n_edges)) < 0.8)
    edges = edges[edges.any(axis=1)]
    params = rng.normal(0, 0.7, (len(edges), NETWORK.n_params))
    work = Work(NETWORK, SAMPLES, Schedule(survivors=1.0, finalists=1.0), edges, params)
    return fit_chunks([work], on_processor())[0]


def reduce_all(edges: np.ndarray, params: np.ndarray) -> list[list[Reduced]]:
    starts = fitted(NETWORK, SAMPLES, edges, params, fit.Levenberg(60), 1)
    return eliminate(NETWORK, SAMPLES, starts, ByCriterion(len(SAMPLES.y), hopeless=40.0))


def after(contenders: Contenders, chunk: Chunk) -> Contenders:
    return challenged(contenders, chunk, NETWORK, SAMPLES, ReductionPolicy(), 1)


def test_a_path_only_ever_loses_edges():
    chunk = random_fits(6)
    for start, path in zip(chunk.edges, reduce_all(chunk.edges, chunk.params), strict=True):
        assert np.array_equal(path[0].edges, start)
        sizes = [int(state.edges.sum()) for state in path]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == len(sizes)
        for large, small in itertools.pairwise(path):
            assert np.all(small.edges <= large.edges)


def test_starts_do_not_depend_on_each_other():
    chunk = random_fits(4)
    together = reduce_all(chunk.edges, chunk.params)
    for k, path in enumerate(together):
        alone = reduce_all(chunk.edges[k : k + 1], chunk.params[k : k + 1])[0]
        assert [s.misfit for s in alone] == [s.misfit for s in path]


def test_noise_leaves_the_edges_that_the_truth_needs():
    """0.9 + 1.3/(x - 0.37): a constant above, two edges below, two into the output."""
    contenders = after(Contenders(), random_fits(40))
    best = contenders.known[0]
    assert best.edges.sum() == 5
    assert best.misfit == pytest.approx(0.05**2, rel=0.3)


def test_quiet_counts_the_challenges_that_brought_nothing_better():
    contenders = after(Contenders(), random_fits(40))
    assert contenders.quiet == 0
    before = contenders.known[0]
    contenders = after(contenders, random_fits(1, seed=5))
    contenders = after(contenders, random_fits(1, seed=5))  # known by now, so there is nothing to do
    assert contenders.quiet == 2
    assert contenders.known[0] is before


def test_fits_outside_their_domain_do_not_compete():
    chunk = random_fits(5)
    outside = Chunk(chunk.edges, chunk.params, chunk.misfit, np.zeros(len(chunk.edges), bool))
    assert after(Contenders(), outside).known == ()


def test_an_edge_costs_more_than_its_constant():
    assert EDGE > 0.0
    assert of_fits(0.5, 4, 128) < of_fits(0.49, 5, 128)
    assert of_fits(0.5, 4, 128) > of_fits(0.25, 5, 128)


def redundant_quotient() -> tuple[Network, fit.Samples, Reduced]:
    """y = 2 x / (x + 3), held by a network that also adds and takes away the same things."""
    network = Network(1, (("div", "square"),), bias=True)
    x = np.linspace(-2, 2, 60)[:, None]
    # numerator: x, 1 | denominator: x, 1 | square: x, 1 | readout: x, 1, div, square
    params = np.array([2.0, 0.0, 1.0, 3.0, 1.0, 0.5, 0.3, -0.2, 1.0, 0.1, 0.0, 0.0])
    samples = fit.Samples.of(x, 2 * x[:, 0] / (x[:, 0] + 3))
    edges = np.ones(network.n_edges, bool)
    return network, samples, Reduced(edges, params, 1.0)


def test_elimination_finds_the_exact_smaller_network():
    network, samples, start = redundant_quotient()
    path = eliminate(network, samples, [start], WhileExact(1e-20))[0]
    assert path[0] is start
    exact = [step for step in path if step.misfit < 1e-20]
    assert exact
    # numerator, denominator (twice) and readout are what the formula has; one of them sets the scale
    assert exact[-1].edges.sum() == 4
    values = fit.values(
        network_tape(network), samples, exact[-1].params, network.parameter_mask(exact[-1].edges, imaginary=False)
    )
    assert np.allclose(values[0], samples.y, atol=1e-9)


def test_an_elimination_path_gets_smaller_step_by_step():
    network, samples, start = redundant_quotient()
    path = eliminate(network, samples, [start], WhileExact(1e-20))[0]
    sizes = [int(step.edges.sum()) for step in path]
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(removals(network, path[-1].edges)) == 0  # whatever goes now takes everything with it
    for step in path[1:]:
        assert np.array_equal(clean_up(network, step.edges), step.edges)
        assert np.all(step.params[network.is_imaginary] == 0)
        assert np.all(step.params[: network.n_edges][~step.edges] == 0)


def test_elimination_does_not_depend_on_threads():
    network, samples, start = redundant_quotient()
    one, two = (eliminate(network, samples, [start], WhileExact(1e-20), threads)[0] for threads in (1, 2))
    assert [step.misfit for step in one] == [step.misfit for step in two]
