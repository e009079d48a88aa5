"""One formula over frequency and length for three measured stripline resonators, and their Q beside scikit-rf's.

    python benchmarks/stripline.py FOLDER [--seed 0] [--time-limit 40] [--json FILE]

FOLDER holds resonator_36mm.s2p, resonator_72mm.s2p and resonator_144mm.s2p, which come with the examples of scikit-rf.

1. Each line separately: `fit_resonances` finds its resonances, from which the numbers n follow by their spacing.
2. The law: `CEQLRegressor` finds the frequency as a formula of n and the length.
3. One formula: the magnitude of the sum over n of (-1)^n H / (1 + j (w - h(n, L)) / s), with that h. The ends of a line
   move alternately in phase and in antiphase, hence the sign; the height H may depend on powers of frequency and
   length, Q on a power of the frequency. Six numbers describe all resonances of all lines.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from ceql.frf.analysis import r_squared
from ceql.frf.curve import ReadOptions, Recording
from ceql.frf.modes import Flag, modes_of
from ceql.frf.readers import read_file

LENGTHS_MM = (36, 72, 144)
GIGA = 1e9
NEAR = 0.01  # two estimates of one resonance differ by less, relative to its frequency
IGNORED = {Flag.OUT_OF_BAND, Flag.NARROW, Flag.BROAD, Flag.CANCELS}
EDGE = 3.0  # half-widths to the end of the band; a resonance nearer to it has no two flanks


@dataclass(frozen=True)
class Resonance:
    """A resonance of one line as estimated by one method."""

    length_mm: int
    number: int
    frequency_ghz: float
    q: float


def main() -> None:
    arguments = parsed()
    files = {mm: arguments.folder / f"resonator_{mm}mm.s2p" for mm in LENGTHS_MM}
    lines = {mm: read_file(path, ReadOptions())[0] for mm, path in files.items()}
    ours = numbered([one for mm, line in lines.items() for one in of_line(mm, line, arguments)])
    theirs = {(one.length_mm, one.number): by_scikit_rf(files[one.length_mm], one) for one in ours}
    print("| line | n | fit, GHz | Q | scikit-rf, GHz | Q |\n|---|---|---|---|---|---|")
    for one in ours:
        other = theirs[one.length_mm, one.number]
        beside = f"{other.frequency_ghz:.4f} | {other.q:.0f}" if other else "no fit | -"
        print(f"| {one.length_mm} mm | {one.number} | {one.frequency_ghz:.4f} | {one.q:.0f} | {beside} |", flush=True)
    law, formula = law_of(ours, arguments)
    print(f"\nfrequency in GHz over n and the length L in mm: {formula}")
    worst = max(abs(law(one.number, one.length_mm) / one.frequency_ghz - 1) for one in ours)
    print(f"largest deviation of a resonance from it: {worst:.2%}")
    joint = joint_fit(lines, law)
    print(f"\n|S21| = |sum over n of (-1)^n H / (1 + j (w - h)/s)|, h = {formula}, {joint['words']}")
    print("R2 per line: " + ", ".join(f"{mm} mm {r2:.3f}" for mm, r2 in joint["r2"].items()))
    if arguments.json:
        rows = {"fit": [asdict(r) for r in ours], "scikit_rf": [asdict(r) for r in theirs.values() if r]}
        text = json.dumps({**rows, "law": formula, **joint}, indent=2)
        arguments.json.write_text(text + "\n", encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-terms", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=40.0, help="seconds for each fit")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def of_line(mm: int, line: Recording, arguments: argparse.Namespace) -> list[Resonance]:
    """The resonances of one line without a flag; there is one condition, so every centre is a constant."""
    from ceql.templates.resonance import fit_resonances

    w = line.frequency / GIGA
    curve, level = np.abs(line.values())[None], np.array([[float(mm)]])
    fit = fit_resonances(
        w, curve, level, names=("L",), form="modal", max_terms=arguments.max_terms, seed=arguments.seed,
        time_limit=arguments.time_limit, threads=arguments.threads, weighting="db",
    )  # fmt: skip
    modes = modes_of(fit, level, line.frequency, GIGA)
    sound = [mode for mode in modes if not IGNORED & set(mode.flags) and _has_flanks(mode.frequency_hz, mode.q, line)]
    return [Resonance(mm, 0, mode.frequency_hz / GIGA, mode.q) for mode in sound]


def _has_flanks(frequency: float, q: float, line: Recording) -> bool:
    reach = EDGE * frequency / (2.0 * q)
    return bool(line.frequency[0] < frequency - reach and frequency + reach < line.frequency[-1])


def numbered(found: list[Resonance]) -> list[Resonance]:
    """The resonances with n, from the product of spacing and length, which is the same for all lines."""
    products = np.array([one.frequency_ghz * one.length_mm for one in found])
    per_number = _spacing(products)
    kept: dict[tuple[int, int], Resonance] = {}
    for one, product in zip(found, products, strict=True):
        number = round(product / per_number)
        if number and abs(product / per_number - number) < 0.15:
            kept[one.length_mm, number] = Resonance(one.length_mm, number, one.frequency_ghz, one.q)
    return list(kept.values())


def _spacing(products: np.ndarray) -> float:
    """The step of which most products are nearly multiples, searched around the differences of neighbours."""
    sorted_products = np.sort(products)
    steps = np.diff(sorted_products)
    candidates = np.linspace(0.8, 1.2, 801) * float(np.median(steps[steps > 0.3 * np.max(steps)]))
    misses = [np.median(np.abs(products / step - np.round(products / step))) for step in candidates]
    return float(candidates[int(np.argmin(misses))])


def by_scikit_rf(path: Path, near: Resonance) -> Resonance | None:
    """Scikit-rf's estimate of the loaded Q around a resonance; None if its fit fails."""
    import skrf
    from skrf.qfactor import Qfactor

    network = skrf.Network(str(path)).s21
    reach = EDGE * near.frequency_ghz / near.q
    inside = np.abs(network.f / GIGA - near.frequency_ghz) < reach
    if inside.sum() < 8:  # a coarse grid: take the nearest points that there are
        inside = np.isin(np.arange(len(network.f)), np.argsort(np.abs(network.f / GIGA - near.frequency_ghz))[:8])
    part = skrf.Network(f=network.f[inside], f_unit="Hz", s=network.s[inside])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimate = Qfactor(part, "transmission", Q_L0=near.q, f_L0=near.frequency_ghz * GIGA)
            result = estimate.fit()
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            return None
    frequency, q = float(result["f_L"]) / GIGA, float(result["Q_L"])
    good = q > 0 and abs(frequency / near.frequency_ghz - 1) < NEAR
    return Resonance(near.length_mm, near.number, frequency, q) if good else None


def law_of(found: list[Resonance], arguments: argparse.Namespace):
    """The frequency as a function of n and L, found by search."""
    from ceql import CEQLRegressor

    x = np.array([[one.number, one.length_mm] for one in found], dtype=float)
    y = np.array([one.frequency_ghz for one in found])
    model = CEQLRegressor(
        operators=["mul", "div"], random_state=arguments.seed, time_limit=arguments.time_limit, max_complexity=9,
        model_selection="cv", verbose=False,
    )  # fmt: skip
    import pandas as pd

    model.fit(pd.DataFrame(x, columns=["n", "L"]), y)

    def law(number: float, length: float) -> float:
        return float(model.predict(pd.DataFrame([[float(number), float(length)]], columns=["n", "L"]))[0])

    return law, str(model.sympy())


def joint_fit(lines: dict[int, Recording], law) -> dict:
    """Fits height a w^p (L/72)^q and Q = b w^r for every resonance of every line, at the law's centres."""
    data = {mm: (line.frequency / GIGA, np.abs(line.values())) for mm, line in lines.items()}
    centres = {mm: [law(n, mm) for n in range(1, 40) if law(n, mm) < 1.1 * w[-1]] for mm, (w, _) in data.items()}

    def curve(mm: int, parameters: np.ndarray) -> np.ndarray:
        a, p, q, b, r, stretch = parameters
        w = data[mm][0]
        total = np.zeros_like(w, dtype=complex)
        for k, h in enumerate(stretch * np.array(centres[mm])):
            half = h ** (1.0 - r) / (2.0 * np.exp(b))
            total += (-1) ** k * np.exp(a) * h**p * (mm / 72.0) ** q / (1.0 + 1j * (w - h) / half)
        return np.abs(total)

    def misfit(parameters: np.ndarray) -> np.ndarray:
        # each line has the same weight, whatever its number of points and the height of its peaks
        return np.concatenate([(curve(mm, parameters) - y) / (y.std() * len(y) ** 0.5) for mm, (_, y) in data.items()])

    best = least_squares(misfit, [np.log(5e-3), 1.0, -1.0, np.log(75.0), 0.1, 1.0], x_scale=[1, 1, 1, 1, 1, 1e-3])
    a, p, q, b, r, stretch = best.x
    height = f"H = {np.exp(a):.3g} h^{p:.2f} (L/72)^{q:.2f}"
    words = f"{height}, s = h/(2 Q), Q = {np.exp(b):.0f} h^{r:.2f}, h times {stretch:.4f}"
    scores = {mm: r_squared(y, curve(mm, best.x)) for mm, (_, y) in data.items()}
    return {"words": words, "parameters": best.x.tolist(), "r2": scores}


if __name__ == "__main__":
    main()
