"""Are 95 % intervals honest? Coverage of new noisy measurements inside and outside the data, on synthetic problems.

Each problem is a law with noise, drawn for a seed; the default regressor is fitted with one thread and a time limit.
Inside points are new points of the same box. Outside points lie in a box that is wider by half its range on every side,
but not in the original one, and only where the law is defined. Besides the coverage, the table has the median width of
an interval in standard deviations of the noise (3.92 for the true law) and, for comparison, the outside coverage of
intervals for the noise alone.

    python benchmarks/interval_study.py [--seeds 0-4] [--jobs 1] [--time-limit 3] [--rows 15,40,150] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from ceql import CEQLRegressor
from ceql.bench.selections import parse_seeds

LEVEL = 0.95
FRESH = 2000  # points at which a fit is tried
WIDER = 0.5  # share of the range


@dataclass(frozen=True)
class Made:
    """A law with its box; the noise is given as a share of the spread of its values."""

    law: Callable[[np.ndarray], np.ndarray]
    low: Sequence[float]
    high: Sequence[float]
    noise: float


PROBLEMS = {
    "line": Made(lambda x: 1.3 + 0.7 * x[:, 0], [0.0], [4.0], 0.1),
    "parabola": Made(lambda x: 2.0 - 1.1 * x[:, 0] + 0.4 * x[:, 0] ** 2, [-1.0], [4.0], 0.05),
    "saturation": Made(lambda x: 4.2 * x[:, 0] / (x[:, 0] + 1.7), [0.2], [8.0], 0.05),
    "decay": Made(lambda x: 3.1 * np.exp(-0.6 * x[:, 0]) + 0.4, [0.0], [5.0], 0.05),
    "growth": Made(lambda x: 9.0 / (1.0 + 12.0 * np.exp(-1.1 * x[:, 0])), [0.0], [6.0], 0.03),
    "power": Made(lambda x: 1.8 * np.abs(x[:, 0]) ** 1.4, [0.5], [5.0], 0.05),
    "wave": Made(lambda x: 1.5 * np.sin(2.1 * x[:, 0]) + 0.3, [0.0], [6.0], 0.1),
    "ratio": Made(lambda x: 2.5 * x[:, 0] / (x[:, 1] + 1.3), [0.5, 0.5], [3.0, 3.0], 0.05),
    "three columns": Made(lambda x: x[:, 0] * x[:, 1] - 0.8 * x[:, 2] + 2.2, [0.0] * 3, [2.0] * 3, 0.1),
    "a root": Made(lambda x: np.sqrt(x[:, 0] ** 2 + 0.9 * x[:, 1]), [0.5, 0.5], [3.0, 3.0], 0.03),
}


def run(name: str, rows: int, seed: int, time_limit: float) -> dict[str, Any]:
    made, rng = PROBLEMS[name], np.random.default_rng([seed, rows, list(PROBLEMS).index(name)])
    low, high = np.array(made.low), np.array(made.high)
    x = rng.uniform(low, high, (rows, len(low)))
    sigma = made.noise * float(np.std(made.law(rng.uniform(low, high, (FRESH, len(low))))))
    model = CEQLRegressor(random_state=seed, time_limit=time_limit, threads=1, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, made.law(x) + sigma * rng.standard_normal(rows))
    inside = rng.uniform(low, high, (FRESH, len(low)))
    reach = WIDER * (high - low)
    outside = rng.uniform(low - reach, high + reach, (4 * FRESH, len(low)))
    outside = outside[((outside < low) | (outside > high)).any(axis=1) & np.isfinite(made.law(outside))]
    found = model.discovery_
    record = {"problem": name, "rows": rows, "seed": seed, "expression": str(found.best), "sigma": sigma}
    for place, points in (("inside", inside), ("outside", outside)):
        measured = made.law(points) + sigma * rng.standard_normal(len(points))
        lower, upper = model.predict_interval(points, LEVEL)
        value = model.predict(points)
        known = np.isfinite(value)  # an undefined formula makes no claim
        record[place] = float(np.mean(((measured >= lower) & (measured <= upper))[known]))
        record[f"{place} width"] = float(np.median((upper - lower)[known]) / sigma)
        record[f"{place} plain"] = float(np.mean((np.abs(measured - value) <= 1.96 * sigma)[known]))
    return record


def line(name: str, rows: Sequence[dict[str, Any]]) -> str:
    def mean(key: str) -> float:
        return float(np.nanmean([row[key] for row in rows]))

    worst = min(row["inside"] for row in rows)
    return (
        f"{name:16}{len(rows):>5}{mean('inside'):>9.1%}{worst:>8.0%}{mean('inside width'):>8.2f}"
        f"{mean('outside'):>10.1%}{mean('outside width'):>8.2f}{mean('outside plain'):>12.1%}"
    )


HEADER = f"{'':16}{'runs':>5}{'inside':>9}{'worst':>8}{'width':>8}{'outside':>10}{'width':>8}{'noise alone':>12}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=3.0)
    parser.add_argument("--rows", default="15,40,150")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sizes = [int(text) for text in options.rows.split(",")]
    runs = [(name, rows, seed) for name in PROBLEMS for rows in sizes for seed in parse_seeds(options.seeds)]
    jobs = (delayed(run)(*one, options.time_limit) for one in runs)
    done = Parallel(n_jobs=options.jobs, return_as="generator")(jobs)
    records: list[dict[str, Any]] = [record for record in tqdm(done, total=len(runs)) if record is not None]
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    print(HEADER)
    for name in PROBLEMS:
        print(line(name, [record for record in records if record["problem"] == name]))
    for size in sizes:
        print(line(f"{size} rows", [record for record in records if record["rows"] == size]))
    print(line("all", records))


if __name__ == "__main__":
    main()
