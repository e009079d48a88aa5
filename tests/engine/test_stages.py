"""The schedule of a fit: who goes on, and in which precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql import _core
from ceql.engine import fit
from ceql.engine.stages import Chunk, Schedule, Work, fit_chunks, on_processor
from ceql.network.libraries import search_network
from ceql.network.sampling import Stream, draw

NETWORK = search_network(1, ("mul", "div"))
X = np.linspace(0.6, 2.0, 40)[:, None]
SAMPLES = fit.Samples.of(X, 1.0 / (X[:, 0] - 0.5) / 10.0)


def fitted(schedule: Schedule, count: int = 100, chunk_size: int | None = None) -> Chunk:
    params = 0.7 * np.random.default_rng(1).standard_normal((count, NETWORK.n_params))
    work = Work(NETWORK, SAMPLES, schedule, draw(NETWORK, count, Stream(1)), params, chunk_size)
    return fit_chunks([work], on_processor())[0]


def test_finalists_are_a_share_of_the_survivors_of_every_chunk():
    schedule = Schedule(survivors=0.5, finalists=0.4)
    assert len(fitted(schedule).misfit) == 20
    assert len(fitted(schedule, chunk_size=50).misfit) == 2 * 10
    assert len(fitted(replace(schedule, complex_weights=False)).misfit) == 50  # there is no way back to the real axis


def test_those_who_are_finished_are_not_changed_by_those_who_are_not():
    few, all_of_them = (fitted(Schedule(survivors=0.5, finalists=share)) for share in (0.4, 1.0))
    known = {row.tobytes(): misfit for row, misfit in zip(all_of_them.params, all_of_them.misfit, strict=True)}
    assert [known[row.tobytes()] for row in few.params] == few.misfit.tolist()


@pytest.mark.parametrize("in_single", [False, True])
def test_digits_that_adam_lacks_are_found_by_least_squares(in_single):
    assert fitted(Schedule(adam_in_single=in_single)).misfit.min() < 1e-24


def test_samples_in_single_precision_are_made_once():
    assert SAMPLES.in_single is SAMPLES.in_single
    assert SAMPLES.in_single.single_precision
    assert SAMPLES.in_single.in_single is SAMPLES.in_single


def test_masks_that_are_known_change_nothing():
    edges, params = draw(NETWORK, 40, Stream(1)), 0.7 * np.random.default_rng(1).standard_normal((40, NETWORK.n_params))
    work = Work(NETWORK, SAMPLES, Schedule(), edges, params, chunk_size=20)
    known = replace(work, masks=NETWORK.smoothing_mask(edges))
    without, at_once, in_pieces = (fit_chunks(works, on_processor()) for works in ([work], [known], known.chunks()))
    assert at_once[0].params.tobytes() == without[0].params.tobytes()
    assert Chunk.concatenate(in_pieces).params.tobytes() == without[0].params.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_packed_rows_hold_what_is_live_in_order(threads):
    rng = np.random.default_rng(threads)
    masks, params = (rng.random((200, 37)) < 0.2).astype(np.uint8), rng.normal(size=(200, 37))
    values, first = _core.packed(masks, params, threads)
    np.testing.assert_array_equal(values, params[masks > 0])
    np.testing.assert_array_equal(np.diff(first), masks.sum(axis=1))
    assert first[0] == 0


def test_packed_refuses_rows_that_do_not_belong_together():
    with pytest.raises(ValueError, match="differ in shape"):
        _core.packed(np.ones((2, 3), np.uint8), np.ones((3, 3)), 1)
