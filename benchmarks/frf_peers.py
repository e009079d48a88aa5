"""How univariate tools do on the beam: AAA and vector fitting, condition by condition, on the same split.

    python benchmarks/frf_peers.py FOLDER [--split first:56] [--band 50:2000] [--orders 6,10,20] [--json FILE]

Each method gets the mean complex curve of the training repetitions of one condition and is judged by the magnitude on
the mean of the held-out ones. A pole counts as spurious if it is unstable (grows in time), lies outside the band, or is
narrower than the step of the grid. These methods have no formula over the damage, so they cannot predict a level that
was not measured.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ceql.frf.analysis import r_squared
from ceql.frf.measurements import Measurements, parse_band
from ceql.frf.readers import Source, read
from ceql.frf.splits import parse_split

Fitted = tuple[np.ndarray, np.ndarray]  # the curve on the grid, and the poles in the plane of s = 2 pi j f


@dataclass(frozen=True)
class Row:
    """One method on one condition; `poles` counts pairs, `spurious` those that are not modes of the beam."""

    method: str
    condition: str
    poles: int
    spurious: int
    r2_train: float
    r2_test: float
    seconds: float


def main() -> None:
    arguments = parsed()
    data = read([arguments.folder], Source(band=parse_band(arguments.band))).measurements
    train, test = data.split(parse_split(arguments.split))
    # phases drift from repetition to repetition; the mean of magnitudes with the mean phase keeps the height of peaks
    means = with_mean_phase(train)
    wanted = test.magnitudes().mean()
    methods: dict[str, Callable[[np.ndarray, np.ndarray], Fitted]] = {}
    for order in (int(text) for text in arguments.orders.split(",")):
        methods[f"AAA, {order} terms"] = lambda f, h, order=order: aaa(f, h, order)
        methods[f"vector fitting, {order} poles"] = lambda f, h, order=order: vector_fit(f, h, order)
    rows = []
    print("| method | condition | pole pairs | spurious | R2 train | R2 test | s |\n|---|---|---|---|---|---|---|")
    for name, method in methods.items():
        own = [judged(name, method, means, wanted, k) for k in range(len(means.curves))]
        rows += own
        for row in own:
            print(f"| {row.method} | {row.condition} | {row.poles} | {row.spurious} | {row.r2_train:.4f} | "
                  f"{row.r2_test:.4f} | {row.seconds:.1f} |", flush=True)  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="first:56")
    parser.add_argument("--band", default="50:2000")
    parser.add_argument("--orders", default="6,12,24")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def with_mean_phase(train: Measurements) -> Measurements:
    from dataclasses import replace

    mean = train.mean()
    return replace(mean, curves=train.magnitudes().mean().curves * np.exp(1j * np.angle(mean.curves)))


def judged(name: str, method: Callable, means: Measurements, wanted: Measurements, k: int) -> Row:
    begin = time.perf_counter()
    curve, poles = method(means.frequency, means.curves[k])
    seconds = time.perf_counter() - begin
    above = poles[poles.imag >= 0]  # one of each pair
    condition = means.describe(means.conditions[k])
    r2_train, r2_test = (r_squared(target, np.abs(curve)) for target in (np.abs(means.curves[k]), wanted.curves[k]))
    return Row(name, condition, len(above), int(spurious(above, means.frequency).sum()), r2_train, r2_test, seconds)


def spurious(poles: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Which poles are unstable, out of the band, or narrower than the grid can resolve."""
    natural = np.abs(poles) / (2.0 * np.pi)
    growth = np.real(poles)
    width = np.abs(growth) / np.pi
    step = float(np.median(np.diff(frequency)))
    return (growth >= 0) | (natural < frequency[0]) | (natural > frequency[-1]) | (width < step)


def aaa(frequency: np.ndarray, curve: np.ndarray, order: int) -> Fitted:
    """AAA on both halves of the imaginary axis, so that poles come in pairs; on every fourth point, as it is dense
    algebra."""
    from scipy.interpolate import AAA

    s = 2j * np.pi * frequency[::4] / frequency[-1]
    both = np.concatenate([s, s.conj()])
    values = np.concatenate([curve[::4], curve[::4].conj()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is cut short on purpose
        rational = AAA(both, values, max_terms=2 * order + 1, rtol=1e-13)
    fitted = rational(2j * np.pi * frequency / frequency[-1])
    return np.asarray(fitted), np.asarray(rational.poles()) * frequency[-1]


def vector_fit(frequency: np.ndarray, curve: np.ndarray, order: int) -> Fitted:
    import skrf
    from skrf.vectorFitting import VectorFitting

    scale = np.abs(curve).max()
    network = skrf.Network(f=frequency, f_unit="Hz", s=(curve / scale)[:, None, None])
    fitting = VectorFitting(network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about passivity, which an accelerance does not have
        fitting.vector_fit(n_poles_real=0, n_poles_cmplx=order, fit_constant=True, fit_proportional=False)
    return np.asarray(fitting.get_model_response(0, 0, frequency)) * scale, np.asarray(fitting.poles)


if __name__ == "__main__":
    main()
