"""Does `time_limit` hold, and how much memory is used? Tables of many shapes, one process for each fit.

    python benchmarks/limits.py [--limits 2,5,20] [--quick] [--only wide] [--jobs 1] [--seed 0] [--profile]

A table has 100 to 1,000,000 rows and 1 to 1,000 columns. There are several kinds of targets: `law`, a product and a
quotient; `noisy`, the same with 5 % of noise; `hard`, without noise and out of reach, so that only the clock ends the
search; `tails`, noise without a variance; `curve`, columns that are neighbouring points of smooth curves, as in
spectra, all of which matter a little. Some use `loss="huber"`. `over` is the number of seconds beyond the limit; one
second or a tenth of the limit is allowed, whichever is larger, and anything above is marked. `MB` is the peak memory of
the process, `grown` what `fit` added to it. With more `--jobs` than cores, it shows how limits hold on a busy machine.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ceql import CEQLRegressor, CeqlWarning
from ceql.bench.environment import Meter, in_own_process


@dataclass(frozen=True)
class Case:
    """A table, and the time limit of its fit."""

    rows: int
    columns: int
    kind: str
    loss: str = "squared"
    limit: float = 5.0

    def __str__(self) -> str:
        return f"{self.rows:>9,} x {self.columns:<5,} {self.kind:<6} {self.loss:<7} {self.limit:>4g} s"


_SHAPES = [
    (100, 1, "hard"),
    (100, 1, "noisy"),
    (100, 3, "hard"),
    (100, 10, "noisy"),
    (100, 30, "tails"),
    (100, 100, "noisy"),
    (100, 1000, "curve"),
    (200, 60, "curve"),
    (240, 100, "curve"),
    (300, 100, "noisy"),
    (300, 100, "hard"),
    (500, 1000, "noisy"),
    (500, 1000, "hard"),
    (1000, 1, "hard"),
    (1000, 2, "law"),
    (1000, 5, "noisy"),
    (1000, 8, "hard"),
    (1000, 20, "tails"),
    (1000, 64, "noisy"),
    (1000, 300, "curve"),
    (10_000, 1, "noisy"),
    (10_000, 3, "hard"),
    (10_000, 12, "noisy"),
    (10_000, 60, "hard"),
    (10_000, 1000, "noisy"),
    (100_000, 2, "hard"),
    (100_000, 2, "noisy"),
    (100_000, 10, "noisy"),
    (100_000, 30, "hard"),
    (100_000, 100, "tails"),
    (1_000_000, 1, "noisy"),
    (1_000_000, 2, "hard"),
    (1_000_000, 10, "noisy"),
    (1_000_000, 20, "tails"),
    (1_000_000, 60, "noisy"),
    (1000, 3, "tails", "huber"),
    (300, 100, "noisy", "huber"),
    (10_000, 10, "noisy", "huber"),
    (100_000, 5, "tails", "huber"),
    (1_000_000, 2, "noisy", "huber"),
    (1_000_000, 10, "tails", "huber"),
]
_QUICK = (0, 4, 8, 9, 11, 16, 23, 27, 31, 32, 36, 39)  # the shapes that are most likely to take too long


def table(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if case.kind == "curve":
        return _curves(rng, case.rows, case.columns)
    x = rng.uniform(0.5, 3.0, (case.rows, case.columns))
    a, b, c = (x[:, k % case.columns] for k in (0, 1, 2))
    law = a * b / (c + 0.7)
    noise = np.std(law) * rng.standard_normal(case.rows)
    if case.kind == "hard":
        return x, np.sin(3.0 * a * b) / (1.0 + np.sqrt(np.abs(np.cos(2.0 * c) - 0.3 * a))) + np.tanh(b - c**1.7) * a
    if case.kind == "noisy":
        return x, law + 0.05 * noise
    return x, law if case.kind == "law" else law + 0.05 * np.clip(rng.standard_cauchy(case.rows), -1e9, 1e9)


def _curves(rng: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    place = np.linspace(0.0, 1.0, columns)
    share = rng.uniform(0.0, 1.0, (rows, 4))
    shapes = np.exp(-(((place - np.array([0.2, 0.45, 0.5, 0.8])[:, None]) / 0.2) ** 2))
    x = 2.0 + share @ shapes + 1e-3 * rng.standard_normal((rows, columns))
    return x, 20.0 * share[:, 1] ** 1.5 + share[:, 0] + 0.3 * rng.standard_normal(rows)


@dataclass(frozen=True)
class Measured:
    """The figures of one fit."""

    case: Case
    seconds: float = np.nan
    cpu: float = np.nan
    peak_mb: float = np.nan
    grown_mb: float = np.nan
    found: str = ""

    @property
    def over(self) -> float:
        return self.seconds - self.case.limit

    @property
    def is_late(self) -> bool:
        return not self.over <= max(1.0, 0.1 * self.case.limit)

    def __str__(self) -> str:
        mark = "  LATE" if self.is_late else ""
        numbers = f"{self.over:>+7.1f} {self.cpu:>7.1f} {self.peak_mb:>7.0f} {self.grown_mb:>7.0f}"
        return f"{self.case!s}{numbers}  {self.found[:90]}{mark}"


def measured(work: tuple[Case, int, bool]) -> Measured:
    case, seed, profile = work
    x, y = table(case, seed)
    model = CEQLRegressor(time_limit=case.limit, random_state=seed, threads=1, loss=case.loss)
    meter = Meter()
    meter.start()
    begin, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CeqlWarning)
        _fit(model, x, y, profile)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return Measured(
        case, seconds, cpu, **meter.read(), found=f"{model.discovery_.outcome.name} {model.discovery_.best}"
    )


def _fit(model: Any, x: np.ndarray, y: np.ndarray, profile: bool) -> None:
    if not profile:
        model.fit(x, y)
        return
    profiler = cProfile.Profile()
    profiler.runcall(model.fit, x, y)
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats("ceql", 70)


def died(work: tuple[Case, int, bool], why: str) -> Measured:
    return Measured(work[0], found=why)


def cases(limits: list[float], quick: bool, only: str) -> Iterator[Case]:
    shapes = [_SHAPES[k] for k in _QUICK] if quick else _SHAPES
    made = (Case(*shape, limit=limit) for limit in limits for shape in shapes)
    yield from (case for case in made if only in " ".join(str(case).split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", default="", help="seconds, with commas; 2,5,20, or 5 with --quick")
    parser.add_argument("--quick", action="store_true", help=f"{len(_QUICK)} of the {len(_SHAPES)} shapes")
    parser.add_argument("--only", default="", help="cases whose line, with single spaces, contains this text")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="store_true", help="where the time goes, on standard error")
    options = parser.parse_args()
    limits = [float(limit) for limit in (options.limits or ("5" if options.quick else "2,5,20")).split(",")]
    print(
        f"{'rows x columns, kind, loss, limit':<41}{'over':>7} {'CPU s':>7} {'MB':>7} {'grown':>7}  found", flush=True
    )
    chosen = [(case, options.seed, options.profile) for case in cases(limits, options.quick, options.only)]
    records = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for record in pool.map(partial(in_own_process, measured, died=died), chosen):
            records.append(record)
            print(record, flush=True)
    late = sum(record.is_late for record in records)
    most, memory = max(r.over for r in records), max(r.peak_mb for r in records)
    print(f"{len(records)} fits, {late} late, largest overrun {most:+.1f} s, largest memory {memory:,.0f} MB")


if __name__ == "__main__":
    main()
