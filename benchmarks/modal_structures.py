"""Modes of synthetic structures of many kinds, compared with a fit that starts at the truth: missed, false or off.

    python benchmarks/modal_structures.py [--seeds 100-105] [--snr 40,20] [--kinds pair,edges]

`ceql` gets no hints. The fit from the truth shows what the noise allows: a structure is `hard` if that fit, too, is off
by more than 0.05 % in frequency or 5 % in damping, or has a MAC below 0.98. Modes with a flag count as missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ceql.frf.kinds import Kind
from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.modal.identify import finished
from ceql.frf.modal.noise import weighted_response
from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.response import frequency_and_damping, pole_of
from ceql.frf.modal.sets import PointSet, Survey
from ceql.frf.modal.shapes import mac

GRID = np.arange(20.0, 1000.25, 0.5)
LIGHT = (0.010, 0.006, 0.004, 0.005, 0.003, 0.008)
Modes = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Structure:
    """How modes are drawn, the number of points, and how much frequencies differ between points."""

    modes: Callable[[np.random.Generator], Modes]
    points: int = 9
    scatter: float = 0.0
    step: int = 1


def fixed(frequencies: tuple[float, ...], damping: tuple[float, ...] = LIGHT) -> Callable[[np.random.Generator], Modes]:
    return lambda rng: (np.array(frequencies), np.array(damping))


def drawn(fewest: int, most: int, apart: float) -> Callable[[np.random.Generator], Modes]:
    def draw(rng: np.random.Generator) -> Modes:
        count = int(rng.integers(fewest, most + 1))
        while True:
            natural = np.sort(rng.uniform(40.0, 970.0, count))
            if np.all(np.diff(natural) > apart * natural[1:]):
                return natural, np.exp(rng.uniform(np.log(0.002), np.log(0.02), count))

    return draw


STRUCTURES = {
    "pair 0.3 %": Structure(fixed((85, 210, 340, 341.0, 560, 830))),
    "pair 2 %": Structure(fixed((85, 210, 340, 346.8, 560, 830))),
    "three within 2 %": Structure(fixed((85, 210, 340, 343.4, 347, 830))),
    "heavy": Structure(fixed((85, 210, 340, 450, 560, 830), (0.05, 0.04, 0.03, 0.05, 0.03, 0.04))),
    "heavy pair": Structure(fixed((85, 210, 340, 343.4, 560, 830), (0.03, 0.02, 0.02, 0.025, 0.015, 0.03))),
    "edges": Structure(fixed((22, 210, 340, 343.4, 560, 995))),
    "one point": Structure(fixed((85, 210, 340, 440, 560, 830)), points=1),
    "two points": Structure(fixed((85, 210, 340, 343.4, 560, 830)), points=2),
    "coarse grid": Structure(fixed((85, 210, 340, 343.4, 560, 830), (0.01, 0.008, 0.006, 0.007, 0.005, 0.008)), step=3),
    "5 to 12 modes": Structure(drawn(5, 12, 0.01)),
    "5 to 12 modes, three points": Structure(drawn(5, 12, 0.02), points=3),
    "5 to 12 modes, forty points": Structure(drawn(5, 12, 0.01), points=40),
    "5 to 8 modes, one point": Structure(drawn(5, 8, 0.05), points=1),
    "moved sensor, 0.1 %": Structure(fixed((85, 210, 340, 440, 560, 830)), scatter=0.001),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", default="100-105")
    parser.add_argument("--snr", default="40,20")
    parser.add_argument("--kinds", default="", help="parts of the names to run")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    wanted = [part for part in given.kinds.split(",") if part]
    print("| structure | SNR dB | runs | off | of these hard | missed | false | frequency % | damping % | MAC |")
    print("|" + "---|" * 10)
    for name, structure in STRUCTURES.items():
        if wanted and not any(part in name for part in wanted):
            continue
        for snr in map(float, given.snr.split(",")):
            runs = [compared(structure, snr, seed) for seed in range(int(first), int(last or first) + 1)]
            ours, truth = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
            off, hard = is_off(ours), is_off(truth)
            print(
                f"| {name} | {snr:g} | {len(runs)} | {off.sum()} | {(off & hard).sum()} | {ours[:, 0].sum():.0f} | "
                f"{ours[:, 1].sum():.0f} | {np.nanmax(ours[:, 2]):.3f} | {np.nanmax(ours[:, 3]):.1f} | "
                f"{np.nanmin(ours[:, 4]):.4f} |",
                flush=True,
            )


def is_off(runs: np.ndarray) -> np.ndarray:
    return (runs[:, :2] > 0).any(axis=1) | (runs[:, 2] > 0.05) | (runs[:, 3] > 5.0) | (runs[:, 4] < 0.98)


def compared(structure: Structure, snr: float, seed: int) -> tuple[list[float], list[float]]:
    """Missed and false modes, largest errors and smallest MAC, for `ceql` and for the fit from the truth."""
    rng = np.random.default_rng([seed, 1119])
    natural, damping = structure.modes(rng)
    grid, points = GRID[:: structure.step], structure.points
    shapes = rng.standard_normal((len(natural), points))
    if points == 1:
        shapes = np.sign(shapes) * rng.uniform(0.5, 1.5, shapes.shape)
    residues = shapes * (rng.uniform(0.5, 1.0, len(natural)) * rng.choice([-1.0, 1.0], len(natural)))[:, None]
    own = natural * (1.0 + structure.scatter * rng.standard_normal((points, len(natural))))
    s = 1j * grid[:, None]
    clean = np.array(
        [(s**2 / (s**2 + 2.0 * damping * own[p] * s + own[p] ** 2)) @ residues[:, p] for p in range(points)]
    )
    deviation = np.sqrt(np.mean(np.abs(clean) ** 2) / 2.0) * 10.0 ** (-snr / 20.0)
    curves = clean + deviation * (rng.standard_normal(clean.shape) + 1j * rng.standard_normal(clean.shape))
    names = tuple(map(str, range(points)))
    survey = Survey((PointSet((0.0,), 1, grid, curves),), names, ("d",), Kind.ACCELERANCE, "")
    found = [next(iter(track.estimates.values())) for track in analyse_modes(survey, ModalSettings()).sound]
    reached = (np.array([e.frequency.value for e in found]), np.array([e.damping.value for e in found]))
    policy = ModalPolicy()
    best = finished(weighted_response(grid, curves, Kind.ACCELERANCE, policy), pole_of(natural, damping), None, policy)
    truth = (own.mean(axis=0), damping, shapes)
    return (
        judged(*truth, *reached, np.array([e.residues for e in found])),
        judged(*truth, *frequency_and_damping(best.poles), best.shapes),
    )


def judged(
    natural: np.ndarray, damping: np.ndarray, shapes: np.ndarray, f: np.ndarray, z: np.ndarray, found: np.ndarray
) -> list[float]:
    apart = np.abs(f - natural[:, None]) / natural[:, None]
    alike = mac(shapes, found) if shapes.shape[1] > 1 else np.ones_like(apart)
    pairs = [(i, j) for i, j in zip(*linear_sum_assignment(apart + 0.01 * (1.0 - alike)), strict=True)
             if apart[i, j] < 0.01]  # fmt: skip
    if not pairs:
        return [len(natural), len(f), np.nan, np.nan, np.nan]
    errors = np.array([(100.0 * apart[i, j], 100.0 * abs(z[j] / damping[i] - 1.0), alike[i, j]) for i, j in pairs])
    missed, false = len(natural) - len(pairs), len(f) - len(pairs)
    return [missed, false, errors[:, 0].max(), errors[:, 1].max(), errors[:, 2].min()]


if __name__ == "__main__":
    main()
