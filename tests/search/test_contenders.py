from __future__ import annotations

import itertools

import numpy as np
import pytest

from ceql.engine import fit
from ceql.engine.stages import Chunk, Schedule, fit_chunk
from ceql.network import Network, clean_up
from ceql.search.contenders import Contenders, criterion_of, price, reduce_all

NETWORK = Network(1, (("square", "div"), ("div",)), skip="all", bias=True)
X = np.random.default_rng(0).uniform(-2, 2, (120, 1))
SAMPLES = fit.Samples.of(X, 0.9 + 1.3 / (X[:, 0] - 0.37) + 0.05 * np.random.default_rng(1).standard_normal(120))


def random_fits(count: int, seed: int = 0) -> Chunk:
    rng = np.random.default_rng(seed)
    edges = clean_up(NETWORK, rng.random((count, NETWORK.n_edges)) < 0.8)
    edges = edges[edges.any(axis=1)]
    params = rng.normal(0, 0.7, (len(edges), NETWORK.n_params))
    return fit_chunk(NETWORK, SAMPLES, edges, params, Schedule(survivors=1.0))


def test_a_path_only_ever_loses_edges():
    chunk = random_fits(6)
    for start, path in zip(chunk.edges, reduce_all(NETWORK, SAMPLES, chunk.edges, chunk.params, 1), strict=True):
        assert np.array_equal(path[0].edges, start)
        sizes = [int(state.edges.sum()) for state in path]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == len(sizes)
        for large, small in itertools.pairwise(path):
            assert np.all(small.edges <= large.edges)


def test_starts_do_not_depend_on_each_other():
    chunk = random_fits(4)
    together = reduce_all(NETWORK, SAMPLES, chunk.edges, chunk.params, 1)
    for k, path in enumerate(together):
        alone = reduce_all(NETWORK, SAMPLES, chunk.edges[k : k + 1], chunk.params[k : k + 1], 1)[0]
        assert [s.misfit for s in alone] == [s.misfit for s in path]


def test_noise_leaves_the_edges_that_the_truth_needs():
    """0.9 + 1.3/(x - 0.37): a constant above, two edges below, two into the output."""
    contenders = Contenders(NETWORK, SAMPLES, 1)
    contenders.challenge(random_fits(40))
    best = contenders.ranked()[0]
    assert best.edges.sum() == 5
    assert best.misfit == pytest.approx(0.05**2, rel=0.3)


def test_quiet_counts_the_challenges_that_brought_nothing_better():
    contenders = Contenders(NETWORK, SAMPLES, 1)
    contenders.challenge(random_fits(40))
    assert contenders.quiet == 0
    before = contenders.ranked()[0]
    contenders.challenge(random_fits(1, seed=5))
    contenders.challenge(random_fits(1, seed=5))  # known by now, so there is nothing to do
    assert contenders.quiet == 2
    assert contenders.ranked()[0] is before


def test_fits_outside_their_domain_do_not_compete():
    contenders = Contenders(NETWORK, SAMPLES, 1)
    chunk = random_fits(5)
    contenders.challenge(Chunk(chunk.edges, chunk.params, chunk.misfit, np.zeros(len(chunk.edges), bool)))
    assert contenders.ranked() == []


def test_an_edge_costs_more_than_its_constant():
    assert price(128) > np.log(128)
    assert criterion_of(np.array(0.5), np.ones(4, bool), 128) < criterion_of(np.array(0.49), np.ones(5, bool), 128)
    assert criterion_of(np.array(0.5), np.ones(4, bool), 128) > criterion_of(np.array(0.25), np.ones(5, bool), 128)
