"""Common poles of several points: `ceql` compared with sdypy-EMA on synthetic measurements with known truth.

    python benchmarks/modal_peers.py [--seeds 5] [--snr 40,20] [--points 9] [--json FILE]

Six modes, two of them 1 % apart, at nine points, with white complex noise at a given number of dB below the root mean
square of all curves. `ceql` gets no hints. sdypy-EMA (pip install sdypy-EMA; left out if missing) needs approximate
frequencies, which a user would click in its diagram. It gets the true ones, so it finds no false modes. Each row has
the numbers of found and false modes, the largest errors in frequency and damping, and the smallest MAC with the truth,
over all modes and over the four isolated ones.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ceql.frf.kinds import Kind
from ceql.frf.modal.analysis import ModalSettings, analyse_modes
from ceql.frf.modal.sets import PointSet, Survey
from ceql.frf.modal.shapes import mac

GRID = np.arange(20.0, 1000.25, 0.5)
NATURAL = np.array([85.0, 210.0, 340.0, 343.4, 560.0, 830.0])
DAMPING = np.array([0.010, 0.006, 0.004, 0.005, 0.003, 0.008])
ALONE = (0, 1, 4, 5)
NEAR = 0.005  # a mode farther than this share from every true one is false


@dataclass(frozen=True, eq=False)
class Made:
    """Synthetic curves (p, n) and their shapes (m, p)."""

    curves: np.ndarray
    shapes: np.ndarray


@dataclass(frozen=True)
class Row:
    method: str
    snr_db: float
    seed: int
    found: int
    false: int
    frequency_percent: float
    damping_percent: float
    smallest_mac: float
    alone_frequency_percent: float
    alone_damping_percent: float
    alone_mac: float
    seconds: float


def main() -> None:
    given = parsed()
    rows = []
    print("| method | SNR dB | seed | found | false | frequency % | damping % | MAC", end=" ")
    print("| alone: frequency % | damping % | MAC | s |")
    print("|" + "---|" * 12)
    for snr in (float(text) for text in given.snr.split(",")):
        for seed in range(given.seeds):
            made = measurement(snr, seed, given.points)
            for name, method in (("ceql", by_ceql), ("sdypy-EMA", by_sdypy)):
                begin = time.perf_counter()
                found = method(made)
                if found is None:
                    continue
                row = judged(name, snr, seed, made, *found, time.perf_counter() - begin)
                rows.append(row)
                print(
                    f"| {row.method} | {row.snr_db:g} | {row.seed} | {row.found} | {row.false} | "
                    f"{row.frequency_percent:.4f} | {row.damping_percent:.2f} | {row.smallest_mac:.4f} | "
                    f"{row.alone_frequency_percent:.4f} | {row.alone_damping_percent:.2f} | {row.alone_mac:.4f} | "
                    f"{row.seconds:.1f} |",
                    flush=True,
                )
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--snr", default="40,20")
    parser.add_argument("--points", type=int, default=9)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def measurement(snr_db: float, seed: int, points: int) -> Made:
    """Random accelerances at points of a line, driven at a point where no mode has a node."""
    rng = np.random.default_rng([seed, 19])
    shapes = rng.standard_normal((len(NATURAL), points))
    driven = rng.uniform(0.5, 1.0, len(NATURAL)) * rng.choice([-1.0, 1.0], len(NATURAL))
    residues = shapes * driven[:, None]
    s = 1j * GRID[:, None]
    below = s**2 + 2.0 * DAMPING * NATURAL * s + NATURAL**2
    clean = ((s**2 / below) @ residues).T
    deviation = np.sqrt(np.mean(np.abs(clean) ** 2) / 2.0) * 10.0 ** (-snr_db / 20.0)
    noise = rng.standard_normal(clean.shape) + 1j * rng.standard_normal(clean.shape)
    return Made(clean + deviation * noise, shapes)


Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def by_ceql(made: Made) -> Found:
    points = tuple(str(k + 1) for k in range(len(made.curves)))
    survey = Survey((PointSet((0.0,), 1, GRID, made.curves),), points, ("d",), Kind.ACCELERANCE, "")
    tracks = analyse_modes(survey, ModalSettings()).tracks
    estimates = [next(iter(track.estimates.values())) for track in tracks]
    return (
        np.array([own.frequency.value for own in estimates]),
        np.array([own.damping.value for own in estimates]),
        np.array([own.residues for own in estimates]),
    )


def by_sdypy(made: Made) -> Found | None:
    try:
        from sdypy import EMA  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        model = EMA.Model(made.curves, GRID, lower=GRID[0], upper=GRID[-1], pol_order_high=60)
        model.get_poles(show_progress=False)
        model.select_closest_poles(list(NATURAL))
        model.get_constants(method="lsfd", FRF_ind="all", least_squares_type="new")
    return np.asarray(model.nat_freq), np.asarray(model.nat_xi), np.asarray(model.A).T


def judged(
    method: str,
    snr: float,
    seed: int,
    made: Made,
    frequency: np.ndarray,
    damping: np.ndarray,
    shapes: np.ndarray,
    seconds: float,
) -> Row:
    """The errors of the modes nearest to each true mode; the modes of the close pair are assigned by shape."""
    apart = np.abs(frequency[:, None] - NATURAL) / NATURAL
    false = int((apart.min(axis=1) > NEAR).sum())
    alike = mac(made.shapes, shapes[:, : made.shapes.shape[1]])
    errors = []
    for k in range(len(NATURAL)):
        cost = apart[:, k] + 0.01 * (1.0 - alike[k])
        j = int(np.argmin(cost))
        errors.append((100.0 * apart[j, k], 100.0 * abs(damping[j] / DAMPING[k] - 1.0), alike[k, j]))
    worst, alone = np.array(errors), np.array([errors[k] for k in ALONE])
    (f_all, z_all, mac_all), (f_alone, z_alone, mac_alone) = (
        (float(part[:, 0].max()), float(part[:, 1].max()), float(part[:, 2].min())) for part in (worst, alone)
    )
    return Row(method, snr, seed, len(frequency), false, f_all, z_all, mac_all, f_alone, z_alone, mac_alone, seconds)


if __name__ == "__main__":
    main()
