"""The starts of a round: the same however they are cut up, with mutants that take after their parents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.engine.stages import Chunk
from ceql.network.libraries import search_network
from ceql.network.sampling import Stream, draw
from ceql.search.archive import empty_archive
from ceql.search.policy import SearchPolicy
from ceql.search.proposals import Proposals, choose_parents

NETWORK = search_network(2)
RHYTHMS = [np.array([7.0, 21.0]), np.zeros(0)]


def archive(founders: int = 0):
    rng = np.random.default_rng(0)
    edges = draw(NETWORK, 60, Stream(3))
    params = np.where(NETWORK.parameter_mask(edges, imaginary=False), rng.normal(5.0, 0.1, (60, NETWORK.n_params)), 0.0)
    known = Chunk(edges, params, np.sort(rng.random(60)), np.ones(60, bool))
    return replace(
        empty_archive(NETWORK), chunk=known, rounds=4, founders=tuple(zip(edges, params, strict=True))[:founders]
    )


@pytest.mark.parametrize("founders", [0, 3])
def test_slices_of_a_round_are_parts_of_the_whole(founders):
    proposals = Proposals(NETWORK, SearchPolicy(), archive(founders), 1, 500, RHYTHMS)
    whole = proposals.starts(0, 500)
    for first, last in ((0, 100), (200, 300), (240, 500)):
        for part, all_of_it in zip(proposals.starts(first, last, threads=2), whole, strict=True):
            np.testing.assert_array_equal(part, all_of_it[first:last])


def test_another_seed_or_round_makes_other_starts():
    first, seed, later = (
        Proposals(NETWORK, SearchPolicy(), replace(archive(), rounds=rounds), seed, 50).starts(0, 50)[0]
        for seed, rounds in ((1, 4), (2, 4), (1, 5))
    )
    assert not np.array_equal(first, seed)
    assert not np.array_equal(first, later)


def test_values_stand_where_edges_are_and_some_are_inherited():
    proposals = Proposals(NETWORK, SearchPolicy(), archive(), 1, 400, RHYTHMS)
    edges, params, masks = proposals.starts(0, 400)
    np.testing.assert_array_equal(masks, NETWORK.smoothing_mask(edges))
    assert (params[:, : NETWORK.n_edges][edges] != 0.0).all()
    assert not params[~masks].any()
    takes_after = (np.abs(params - 5.0) < 0.5).sum(axis=1) > 1  # parents have weights of about five
    assert takes_after[: proposals.n_drawn].mean() < 0.02
    assert 0.3 < takes_after[proposals.n_drawn :].mean() < 0.7


def test_start_values_have_the_spread_that_the_policy_asks_for():
    policy = SearchPolicy(oscillating=0.0, in_rhythm=0.0, start_scale=2.0)
    params = Proposals(NETWORK, policy, empty_archive(NETWORK), 1, 2000).starts(0, 2000)[1]
    values = params[params != 0.0]
    assert np.std(values) == pytest.approx(2.0, rel=0.03)
    assert np.mean(np.abs(values) < 2.0) == pytest.approx(0.683, abs=0.02)
    follows = replace(policy, in_rhythm=1.0)
    params = Proposals(NETWORK, follows, empty_archive(NETWORK), 1, 500, RHYTHMS).starts(0, 500)[1]
    of_first = params[:, : NETWORK.n_edges][:, NETWORK.is_frequency[: NETWORK.n_edges] & (NETWORK.edge_source == 0)]
    seen = np.abs(of_first[of_first != 0.0])
    assert (np.minimum(np.abs(seen - 7.0), np.abs(seen - 21.0)) < 0.1 * seen).all()


def test_parents_of_every_size_are_as_likely_and_better_ones_likelier():
    known = archive()
    sizes = known.chunk.edges.sum(axis=1)
    parents = choose_parents(known, 20_000, np.random.default_rng(0))
    counts = np.array([np.sum(sizes[parents] == size) for size in np.unique(sizes)])
    assert counts.min() > 0.7 * counts.mean()
    largest = max(np.unique(sizes), key=lambda size: np.sum(sizes == size))
    rows = np.flatnonzero(sizes == largest)
    assert np.sum(parents == rows[0]) > np.sum(parents == rows[-1])
