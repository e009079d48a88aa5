"""Noise on E-5 to E-10: how often the structure is right, how large the errors are, and how honest error bars are.

Every run is `CEQLRegressor` with its defaults, one thread and a time limit. `src/ceql/bench/noise.py` defines the right
structure and the true values of constants. Errors are root mean squares of found minus true value in units of the
noise, on the training points and on new ones in the same range, where points near a pole can outweigh all others;
therefore the median is given as well.

    python benchmarks/noise_study.py [--seeds 0-9] [--jobs 2] [--time-limit 12] [--json FILE] [--suite noise]
        [--noise 0.1]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from ceql import CEQLRegressor
from ceql.bench.definitions import Problem
from ceql.bench.noise import noise_score
from ceql.bench.problems import load_suite, sample
from ceql.bench.selections import parse_seeds, split_names


def run(problem: Problem, seed: int, time_limit: float) -> dict:
    data = sample(problem, seed)
    model = CEQLRegressor(random_state=seed, time_limit=time_limit, threads=1, verbose=False)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - begin
    best = model.discovery_.best
    return {
        "problem": problem.stem,
        "noise": problem.noise,
        "seed": seed,
        **asdict(noise_score(best.expression, best.constants, problem, data)),
        "seconds": seconds,
        "starts": model.discovery_.starts,
        "outcome": model.discovery_.outcome.name,
        "expression": str(best),
    }


HEADER = (
    f"{'':8}{'noise':>7}{'right':>9}{'train':>8}{'fresh':>8}{'median':>8}{'covered':>14}{'s, median':>11}{'worst':>7}"
)


def line(name: str, noise: float, rows: list[dict]) -> str:
    """One line of the table; errors are medians over the runs."""
    right = sum(row["right"] for row in rows)
    constants, covered = (sum(row[key] for row in rows) for key in ("constants", "covered"))
    share = f"{covered}/{constants} {covered / constants:4.0%}" if constants else "-"
    errors = [float(np.median([row[key] for row in rows])) for key in ("train_error", "interp_error", "median_error")]
    seconds = [row["seconds"] for row in rows]
    return (
        f"{name:8}{noise:7.1%}{right:5}/{len(rows):<3}" + "".join(f"{error:8.2f}" for error in errors) + f"{share:>14}"
        f"{np.median(seconds):11.1f}{max(seconds):7.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suite", default="noise")
    parser.add_argument("--problems", default="", help="such as E-5,E-7; all of the suite by default")
    parser.add_argument("--noise", type=float, help="one of the suite's levels, such as 0.1; all by default")
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=12.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = split_names(options.problems)
    noisy = [p for p in load_suite(options.suite).problems if p.noise and (not wanted or p.stem in wanted)]
    problems = [p for p in noisy if options.noise in (None, p.noise)]
    if not problems:
        parser.error(f"no problem has this noise; the levels are {sorted({p.noise for p in noisy})}")
    work = [(problem, seed, options.time_limit) for seed in parse_seeds(options.seeds) for problem in problems]
    begin = time.perf_counter()
    pool = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    runs: Any = pool(delayed(run)(*item) for item in work)
    records: list[dict[str, Any]] = list(tqdm(runs, total=len(work), unit="run"))
    if options.json:
        options.json.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    print(HEADER)
    levels = sorted({problem.noise for problem in problems})
    for noise in levels:
        for name in dict.fromkeys(problem.stem for problem in problems):
            rows = [r for r in records if r["problem"] == name and r["noise"] == noise]
            if rows:
                print(line(name, noise, rows))
    for noise in levels:
        print(line("all", noise, [r for r in records if r["noise"] == noise]))
    print(f"{len(records)} runs, {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
