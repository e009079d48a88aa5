"""How one chunk of starts is fitted: a few Adam steps in the complex domain, then least squares onto the real axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ceql.engine import fit
from ceql.engine.deadline import NEVER, Deadline
from ceql.network import Structure


@dataclass(frozen=True)
class Schedule:
    """The stages of a fit as data. Misfits are relative: the target has unit scale."""

    adam_steps: int = 30
    adam_rate: float = 5e-2
    adam_imaginary: float = 1e-6
    adam_argument: float = 1e-3
    first_look: int = 15  # Levenberg-Marquardt iterations before the halving
    survivors: float = 0.12
    imaginary: tuple[float, ...] = (
        1e-6,
        1e-4,
        1e-2,
    )  # the penalty grows and the poles slide onto the real axis
    descent: int = 40  # iterations at each of these
    finish: int = 120  # iterations on the real axis
    argument: float = 1e-2  # weight of arguments below zero in least squares
    target: float = 1e-28
    complex_weights: bool = True


@dataclass(frozen=True, eq=False)
class Chunk:
    """Fitted starts on the real axis: live edges, real parameters, misfit, and whether every domain is respected."""

    edges: np.ndarray
    params: np.ndarray
    misfit: np.ndarray
    in_domain: np.ndarray

    @staticmethod
    def concatenate(chunks: list[Chunk]) -> Chunk:
        return Chunk(*(np.concatenate([getattr(c, name) for c in chunks]) for name in Chunk.__annotations__))


def edge_price(n_samples: int) -> float:
    """What an edge must lower the logarithm of the misfit by, as in the Bayesian information criterion."""
    return float(np.log(n_samples)) / n_samples


def fit_chunk(
    network: Structure,
    samples: fit.Samples,
    edges: np.ndarray,
    params: np.ndarray,
    schedule: Schedule,
    threads: int = 1,
    deadline: Deadline = NEVER,
) -> Chunk:
    """Runs the whole schedule. The result of a start depends on nothing but its own row and its chunk.

    After the `deadline` the fits still running are given up.
    """
    tape = network.tape()

    def run() -> dict:
        return {"threads": threads, "time_limit": deadline.of_a_fit}

    masks = network.smoothing_mask(edges) if schedule.complex_weights else network.parameter_mask(edges, False)
    on_imaginary = network.is_imaginary.astype(float)

    def least_squares(params, masks, iterations, imaginary):
        options = fit.Levenberg(iterations, target=schedule.target)
        penalties = fit.Penalties(ridge=imaginary * on_imaginary, aux=schedule.argument)
        return fit.levenberg(tape, samples, params, masks, options, penalties, **run())

    adam = fit.Adam(schedule.adam_steps, schedule.adam_rate)
    penalties = fit.Penalties(ridge=schedule.adam_imaginary * on_imaginary, aux=schedule.adam_argument)
    params = fit.adam(tape, samples, params, masks, adam, penalties, **run()).params
    fits = least_squares(params, masks, schedule.first_look, schedule.imaginary[0])
    best = survivors(edges, fits.objective, len(samples.y), schedule)
    edges, masks, params = edges[best], masks[best], fits.params[best]
    if schedule.complex_weights:
        for imaginary in schedule.imaginary:
            params = least_squares(params, masks, schedule.descent, imaginary).params
    masks = network.parameter_mask(edges, imaginary=False)
    fits = least_squares(params, masks, schedule.finish, 0.0)
    return finished(edges, masks, fits.params, fits.objective, fits.misfit)


def survivors(edges: np.ndarray, objective: np.ndarray, n_samples: int, schedule: Schedule) -> np.ndarray:
    """The starts of a chunk that go on after the first look, the best first."""
    # With noise the largest fit best, whatever their structure: an edge must earn its price here too.
    handicap = np.exp(edges.sum(axis=1) * edge_price(n_samples))
    best = np.argsort(np.where(np.isfinite(objective), objective * handicap, np.inf), kind="stable")
    return best[: max(1, int(schedule.survivors * len(best)))]


def finished(
    edges: np.ndarray, masks: np.ndarray, params: np.ndarray, objective: np.ndarray, misfit: np.ndarray
) -> Chunk:
    """The chunk that the last stage left: fits on the real axis whose penalties are zero respect every domain."""
    within = np.where(np.isfinite(misfit), misfit, np.inf)
    return Chunk(edges, np.where(masks, params, 0.0), within, objective <= misfit)
