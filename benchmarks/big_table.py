"""A long table: one million rows, two relevant columns among ten, a pole inside, one percent of noise.

    python benchmarks/big_table.py [--rows 1000000] [--nuisance 8] [--noise 0.01] [--seeds 0-2] [--time-limit 30]

The formula is E-8 of the paper's suite, a fraction whose pole crosses the range. The noise is Gaussian, equal for all
rows, and its standard deviation is a share of the robust size of y (that of its middle part, which the pole does not
inflate). Each seed runs in its own process, whose peak memory, including the table itself, is read at the end. `bars`
counts the constants whose true value lies within two standard errors; `error` is the root mean square of found minus
true value in units of the noise. `--profile` shows where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from dataclasses import replace

from ceql.bench.definitions import Problem, Samples
from ceql.bench.environment import Meter, in_own_process
from ceql.bench.noise import noise_score
from ceql.bench.points import sample, target
from ceql.bench.problems import load_problem
from ceql.bench.selections import parse_seeds
from ceql.data.dataset import Dataset, robust_size
from ceql.discovery import Discovery, Settings
from ceql.pipeline import discover


def drawn(rows: int, nuisance: int, noise: float, seed: int) -> tuple[Problem, Samples]:
    """The table, with noise in units of the size of the middle part of the target."""
    plain = replace(load_problem("E-8"), nuisance=nuisance)
    few = sample(replace(plain, n_train=2000, n_interp=8, n_extrap=8), seed)
    deviation = noise * robust_size(few.y_train)
    problem = replace(plain, n_train=rows, noise=deviation, noise_unit="absolute")
    return problem, sample(problem, seed)


def found_in(samples: Samples, seed: int, time_limit: float, profile: bool) -> Discovery:
    data = Dataset.of(samples.X_train, samples.y_train)
    settings = Settings(time_limit=time_limit, seed=seed)
    if not profile:
        return discover(data, settings)
    profiler = cProfile.Profile(time.process_time)  # others may use the machine too
    found = profiler.runcall(discover, data, settings)
    pstats.Stats(profiler, stream=sys.stderr).sort_stats("cumulative").print_stats(45)
    return found


def one(work: tuple[argparse.Namespace, int]) -> dict:
    options, seed = work
    problem, samples = drawn(options.rows, options.nuisance, options.noise, seed)
    meter = Meter()
    meter.start()
    begin, cpu = time.perf_counter(), time.process_time()
    found = found_in(samples, seed, options.time_limit, options.profile)
    seconds, cpu, memory = time.perf_counter() - begin, time.process_time() - cpu, meter.read()
    step = max(1, options.rows // 20_000)  # enough to tell a right structure from a wrong one
    few = replace(samples, X_train=samples.X_train[::step], y_train=samples.y_train[::step])
    score = noise_score(found.best.expression, found.best.constants, problem, few)
    return {
        "seed": seed,
        "right": score.right,
        "covered": f"{score.covered}/{score.constants}",
        "seconds": round(seconds, 1),
        "cpu": round(cpu, 1),
        **memory,
        "starts": found.starts,
        "outcome": found.outcome.name,
        "error": truth_error(problem, few, found),
        "formula": str(found.best),
    }


def truth_error(problem: Problem, samples: Samples, found: Discovery) -> float:
    """The root mean square of found minus true value, in units of the noise."""
    true = target(problem)(samples.X_train[:, : len(problem.variables)])
    return float(((found.best(samples.X_train) - true) ** 2).mean() ** 0.5 / problem.noise)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--nuisance", type=int, default=8)
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--profile", action="store_true", help="where the time goes, on standard error")
    options = parser.parse_args()
    titles = ("seed", "right", "bars", "seconds", "CPU s", "peak MB", "grown MB", "starts", "error")
    print("{:>4}{:>7}{:>6}{:>9}{:>8}{:>9}{:>10}{:>8}{:>9}  outcome and formula".format(*titles))
    for seed in parse_seeds(options.seeds):
        row = in_own_process(one, (options, seed), died)
        print(LINE.format(**row), flush=True)


LINE = (
    "{seed:>4}{right!s:>7}{covered:>6}{seconds:>9}{cpu:>8}{peak_mb:>9.0f}{grown_mb:>10.0f}{starts:>8,}{error:>9.4f}  "
    "{outcome}: {formula}"
)


def died(work: tuple[argparse.Namespace, int], why: str) -> dict:
    raise SystemExit(f"The process of seed {work[1]} died: {why}")


if __name__ == "__main__":
    main()
