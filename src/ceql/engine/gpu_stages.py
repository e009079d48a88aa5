"""The schedule of a chunk on the GPU: the same stages, all chunks of a round at once, no word to the host in between.

The halving after the first look is the one thing the host decides; parameters stay on the device until the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ceql.engine import fit, gpu
from ceql.engine.deadline import NEVER, Deadline
from ceql.engine.stages import Chunk, finished, survivors

if TYPE_CHECKING:
    from ceql.engine.dispatch import Work


def fit_group(chunks: Sequence[Work], number: int, seconds: float) -> list[Chunk]:
    """As `fit_chunks`, on this GPU of whatever machine it is called on, within so many seconds."""
    with gpu.on_device(number):
        return fit_chunks(chunks, Deadline.after(seconds))


def starts_in_flight() -> int:
    """How many starts the first GPU of whatever machine it is called on works on at a time."""
    with gpu.on_device(0):
        return gpu.starts_in_flight()


def fit_chunks(chunks: Sequence[Work], deadline: Deadline = NEVER) -> list[Chunk]:
    """Fits chunks of one round: they share their network, samples and schedule. As `fit_chunk`, within rounding."""
    network, samples, schedule = chunks[0].network, chunks[0].samples, chunks[0].schedule
    edges = np.concatenate([chunk.edges for chunk in chunks])
    ends = np.cumsum([len(chunk.edges) for chunk in chunks])
    on_imaginary = network.is_imaginary.astype(float)

    def least_squares(iterations: int, imaginary: float) -> gpu.Stage:
        options = fit.Levenberg(iterations, target=schedule.target)
        return gpu.Stage(options, fit.Penalties(ridge=imaginary * on_imaginary, aux=schedule.argument))

    def run(batch: gpu.Batch, *stages: gpu.Stage) -> gpu.DeviceFits:
        return batch.run(stages, time_limit=deadline.of_a_fit)

    masks = network.smoothing_mask(edges) if schedule.complex_weights else network.parameter_mask(edges, False)
    params = np.concatenate([chunk.params for chunk in chunks])
    batch = gpu.Batch(network.tape(), samples, params, masks)
    penalties = fit.Penalties(ridge=schedule.adam_imaginary * on_imaginary, aux=schedule.adam_argument)
    adam = gpu.Stage(fit.Adam(schedule.adam_steps, schedule.adam_rate), penalties)
    fits = run(batch, adam, least_squares(schedule.first_look, schedule.imaginary[0]))
    objective = fits.objective.get()
    best = [
        first + survivors(edges[first:last], objective[first:last], len(samples.y), schedule)
        for first, last in zip([0, *ends[:-1]], ends, strict=True)
    ]
    rows = np.concatenate(best)
    edges = edges[rows]
    batch = batch.select(rows)
    if schedule.complex_weights:
        run(batch, *(least_squares(schedule.descent, imaginary) for imaginary in schedule.imaginary))
    masks = network.parameter_mask(edges, imaginary=False)
    fits = run(batch.select(np.arange(len(edges)), masks), least_squares(schedule.finish, 0.0))
    chunk = finished(edges, masks, fits.params.get(), fits.objective.get(), fits.misfit.get())
    cuts = np.cumsum([len(part) for part in best])[:-1]
    columns = (np.split(getattr(chunk, name), cuts) for name in Chunk.__annotations__)
    return [Chunk(*parts) for parts in zip(*columns, strict=True)]
