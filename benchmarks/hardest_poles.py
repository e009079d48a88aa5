"""Seconds to the exact formula for the hardest problems of a suite, on the processor or on a GPU.

    ceql bench poles --methods ceql --seeds 0-2 --time-limit 30 --json poles.jsonl
    python benchmarks/hardest_poles.py poles.jsonl [--hardest 15] [--device gpu] [--seeds 0-2] [--time-limit 30]

The records determine which problems are hardest: first those that were not solved, then those with the largest median
of seconds. Without --device, only their records are printed. A GPU compiles its kernels before the clock starts. In the
median and mean, a run without an exact formula counts with all its seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import pandas as pd
from tqdm import tqdm

from ceql import Dataset, Settings, discover
from ceql.bench.judge import Judge
from ceql.bench.points import sample
from ceql.bench.problems import load_suite
from ceql.bench.selections import parse_seeds


@dataclass(frozen=True)
class Run:
    problem: str
    seed: int
    seconds: float
    exact: bool


def recorded(path: Path) -> list[Run]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [Run(r["problem"], r["seed"], r["seconds"], bool(r["exact"])) for r in records if r["method"] == "ceql"]


def hardest(runs: list[Run], count: int) -> list[str]:
    def difficulty(name: str) -> tuple[int, float]:
        own = [run for run in runs if run.problem == name]
        return sum(not run.exact for run in own), median(run.seconds for run in own)

    return sorted({run.problem for run in runs}, key=difficulty, reverse=True)[:count]


def searched(problem, seed: int, settings: Settings) -> Run:
    samples = sample(problem, seed)
    table = pd.DataFrame(samples.X_train, columns=list(samples.names))
    begin = time.perf_counter()
    found = discover(Dataset.of(table, samples.y_train), settings)
    seconds = time.perf_counter() - begin
    return Run(problem.name, seed, seconds, Judge(problem, samples).exact(found.best.expression))


def table(runs: list[Run], names: list[str]) -> str:
    seeds = sorted({run.seed for run in runs})
    lines = [f"{'problem':<18}" + "".join(f"{f'seed {seed}':>10}" for seed in seeds)]
    for name in names:
        own = {run.seed: run for run in runs if run.problem == name}
        cells = [
            f"{run.seconds:.1f}{' ' if run.exact else '!'}" for run in (own[seed] for seed in seeds if seed in own)
        ]
        lines.append(f"{name:<18}" + "".join(f"{cell:>10}" for cell in cells))
    seconds, missed = [run.seconds for run in runs], sum(not run.exact for run in runs)
    lines.append(
        f"median {median(seconds):.2f} s, mean {fmean(seconds):.2f} s, without the formula (!) {missed} of {len(runs)}"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("records", type=Path, help="of `ceql bench`, with --json")
    parser.add_argument("--suite", default="poles")
    parser.add_argument("--hardest", type=int, default=15)
    parser.add_argument("--device", choices=("cpu", "gpu"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--time-limit", type=float, default=30.0)
    options = parser.parse_args()
    known = recorded(options.records)
    names = hardest(known, options.hardest)
    if options.device is None:
        print(table([run for run in known if run.problem in names], names))
        return
    problems = {problem.name: problem for problem in load_suite(options.suite).problems}
    how = {"threads": options.threads, "device": options.device}
    searched(problems[names[0]], 0, Settings(time_limit=2.0, **how))  # imports and compiles
    tasks = [(name, seed) for name in names for seed in parse_seeds(options.seeds)]
    runs = [
        searched(problems[name], seed, Settings(time_limit=options.time_limit, seed=seed, **how))
        for name, seed in tqdm(tasks)
    ]
    print(table(runs, names))


if __name__ == "__main__":
    main()
