"""Resonances of the measured beam: R2 on held-out repetitions, errors of the peaks, left-out levels, several seeds.

    python benchmarks/beam.py DATA [--seeds 10] [--parts fit,levels,masses,seeds] [--threads 1]

DATA is the folder of the beam's measurements (docs/templates.md says where to get them). Every part prints a table.
"""

from __future__ import annotations

import argparse
import re
import time
import zipfile
from pathlib import Path

import numpy as np

from ceql.templates.resonance import fit_resonances

LEVELS = {0.0: ("Beam_healthy", "P-{}.txt"), 2.96: ("Beam_damage_2.96", "P-{}-1.txt")}
LEVELS |= {5.92: ("Beam_damage_5.92", "P-{}-2.txt"), 8.87: ("Beam_damage_8.87", "P-{}-3.txt")}
REPETITIONS = np.arange(1, 71)
SPLITS = {"A": REPETITIONS <= 56, "B": REPETITIONS % 5 != 0}
WINDOWS = ((100, 200), (330, 450), (690, 810), (1080, 1280))
BAND = (50.0, 2000.0)
DAMAGE = np.array(list(LEVELS))[:, None]


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies and linear magnitudes, (levels, repetitions, points)."""
    tables = [
        [np.loadtxt(folder / name / pattern.format(k), skiprows=1) for k in REPETITIONS]
        for name, pattern in LEVELS.values()
    ]
    tables = np.array(tables)
    inside = (tables[0, 0, :, 0] >= BAND[0]) & (tables[0, 0, :, 0] <= BAND[1])
    return tables[0, 0, inside, 0], 10.0 ** (tables[..., inside, 1] / 20.0)


def read_positions(path: Path) -> np.ndarray:
    """The six mass positions of each repetition, (repetitions, 6); the sheet is plain XML inside the file."""
    sheet = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    cells = dict(re.findall(r'<c r="([A-G]\d+)"[^>]*?>(?:<f>.*?</f>)?<v>([^<]*)</v>', sheet))
    return np.array([[float(cells[f"{column}{2 + k}"]) for column in "BCDEFG"] for k in REPETITIONS])


def r_squared(measured: np.ndarray, predicted: np.ndarray) -> float:
    return float(1 - ((measured - predicted) ** 2).sum() / ((measured - measured.mean()) ** 2).sum())


def peaks(frequency: np.ndarray, curves: np.ndarray) -> np.ndarray:
    """The frequencies of the largest values within each window, (curves, windows)."""
    inside = [(frequency >= low) & (frequency <= high) for low, high in WINDOWS]
    return np.array([frequency[mask][curves[:, mask].argmax(axis=1)] for mask in inside]).T


def fitted(frequency: np.ndarray, curves: np.ndarray, conditions: np.ndarray, threads: int | None, **options):
    return fit_resonances(frequency, curves, conditions, threads=threads, time_limit=600.0, **options)


def show_fits(frequency: np.ndarray, magnitude: np.ndarray, threads: int | None, seeds: range, real_too: bool) -> None:
    print("form  terms split seed weights  n parameters R2train R2test peaks: mean max  seconds")
    truth = peaks(frequency, magnitude.mean(axis=1))
    for form, most in (("paper", 6), ("paper", 9), ("modal", 6)):
        for split, train in SPLITS.items():
            mean, held_out = magnitude[:, train].mean(axis=1), magnitude[:, ~train].mean(axis=1)
            for seed in seeds:
                for complex_weights in (True, False) if real_too else (True,):
                    fit = fitted(
                        frequency, mean, DAMAGE, threads, form=form, max_terms=most, seed=seed,
                        complex_weights=complex_weights, max_parameters=32 if (form, most) == ("paper", 6) else None,
                    )  # fmt: skip
                    curves = fit.predict(frequency, DAMAGE)
                    error = np.abs(peaks(frequency, curves) - truth)
                    print(
                        f"{form} {most:5d} {split:>5} {seed:4d} {'complex' if complex_weights else 'real':>7} "
                        f"{len(fit.terms):2d} {fit.n_parameters:10d} {fit.r2:7.4f} {r_squared(held_out, curves):6.4f} "
                        f"{error.mean():11.2f} {error.max():5.2f} {fit.seconds:6.1f}",
                        flush=True,
                    )
                    if seed == 0 and complex_weights:
                        for term in fit.terms:
                            print(f"      {term.centre!s:60} amplitude {term.amplitude:.4g} width {term.width:.4g}")


def show_levels(frequency: np.ndarray, magnitude: np.ndarray, threads: int | None) -> None:
    print("left out: error of each peak in Hz (split A, training repetitions of the other levels)")
    truth = peaks(frequency, magnitude.mean(axis=1))
    for form in ("paper", "modal"):
        for level in range(len(DAMAGE)):
            kept = [k for k in range(len(DAMAGE)) if k != level]
            mean = magnitude[kept][:, SPLITS["A"]].mean(axis=1)
            fit = fitted(frequency, mean, DAMAGE[kept], threads, form=form)
            error = peaks(frequency, fit.predict(frequency, DAMAGE[[level]]))[0] - truth[level]
            centres = "; ".join(
                str(term.centre.xreplace({n: round(n, 3) for n in term.centre.atoms() if n.is_Float}))
                for term in fit.terms
                if term.is_clear
            )
            print(
                f"{form} {DAMAGE[level, 0]:5.2f} " + " ".join(f"{e:7.2f}" for e in error) + f"   {centres}", flush=True
            )


def show_masses(frequency: np.ndarray, magnitude: np.ndarray, positions: np.ndarray, threads: int | None) -> None:
    print("mass positions as inputs: share of the scatter of peak frequencies explained on held-out repetitions")
    names = ("d", "L1", "L2", "L3", "L4", "L5", "L6")
    conditions = np.array([[[d, *row] for row in positions] for d in DAMAGE[:, 0]])
    for split, train in SPLITS.items():
        begin = time.perf_counter()
        curves = magnitude[:, train].reshape(-1, len(frequency))
        fit = fitted(frequency, curves, conditions[:, train].reshape(-1, 7), threads, names=names, max_terms=6)
        shares = []
        for level in range(len(DAMAGE)):
            measured = peaks(frequency, magnitude[level, ~train])
            predicted = peaks(frequency, fit.predict(frequency, conditions[level, ~train]))
            centre = peaks(frequency, magnitude[level, train]).mean(axis=0)
            shares.append(1 - ((measured - predicted) ** 2).mean(axis=0) / ((measured - centre) ** 2).mean(axis=0))
        print(
            split,
            "per window, mean over levels:",
            np.mean(shares, axis=0).round(2),
            f"{time.perf_counter() - begin:.0f} s",
        )
        print("   per level:", np.round(shares, 2).tolist(), "R2 of the curves", round(fit.r2, 3), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--parts", default="fit,levels,masses")
    parser.add_argument("--real", action="store_true", help="also with real-valued weights")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if not (given.data / "Beam_healthy").is_dir():
        print(f"Skipped: {given.data} does not hold the beam's measurements (no folder Beam_healthy).")
        return
    frequency, magnitude = read(given.data)
    parts = given.parts.split(",")
    if "fit" in parts:
        show_fits(frequency, magnitude, given.threads, range(given.seeds), given.real)
    if "levels" in parts:
        show_levels(frequency, magnitude, given.threads)
    if "masses" in parts:
        show_masses(frequency, magnitude, read_positions(given.data / "mass-position.xlsx"), given.threads)


if __name__ == "__main__":
    main()
