"""How many starts the hardest problems of a suite take: the share of exact formulas against the number of starts.

    python benchmarks/starts_curve.py --journal starts.jsonl [--limit 16] [--seeds 0-2] [--minutes 20] [--device cpu]
        [--figure FILE]

Searches end after a number of starts, not by the clock, so that the figures do not depend on the speed or load of the
machine. First every problem of the suite is searched once, with seed 0 and 2^12 starts; the hardest are those not
solved by then, or the ten that took the most starts. They are searched with all seeds up to 2^LIMIT starts. Each run is
a line in the journal, and a second call continues from there. After MINUTES no further run is started, and what is
missing is reported.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ceql.bench.judge import Judge
from ceql.bench.points import sample
from ceql.bench.problems import load_suite
from ceql.bench.selections import parse_seeds
from ceql.data.dataset import Dataset
from ceql.discovery import Settings
from ceql.output.plots.canvas import new_figure
from ceql.output.plots.style import BLUE, GREY
from ceql.pipeline import discover

FIRST = 12  # the power of two of the first look at every problem
AT_LEAST = 10


@dataclass(frozen=True)
class Run:
    problem: str
    seed: int
    limit: int  # starts that were allowed
    starts: int  # until the search ended
    exact: bool
    outcome: str
    cpu_seconds: float
    formula: str

    def found_within(self, starts: int) -> bool:
        return self.exact and self.starts <= starts


def searched(problem, seed: int, limit: int, threads: int | None, device: str) -> Run:
    samples = sample(problem, seed)
    begin = time.process_time()
    settings = Settings(time_limit=np.inf, max_starts=limit, seed=seed, threads=threads, device=device)
    table = pd.DataFrame(samples.X_train, columns=list(samples.names))
    found = discover(Dataset.of(table, samples.y_train), settings)
    seconds = time.process_time() - begin
    exact = Judge(problem, samples).exact(found.best.expression)
    return Run(problem.name, seed, limit, found.starts, exact, found.outcome.name, round(seconds, 2), str(found.best))


class Journal:
    """Completed runs, one line each.

    A run with a higher limit counts for lower limits, and one that found the formula for all higher ones.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.runs = [Run(**json.loads(line)) for line in lines]

    def get(self, problem: str, seed: int, limit: int) -> Run | None:
        known = [r for r in self.runs if (r.problem, r.seed) == (problem, seed)]
        return next((r for r in known if r.exact or r.limit >= limit), None)

    def add(self, run: Run) -> None:
        self.runs.append(run)
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(run)) + "\n")


def hardest(runs: list[Run]) -> list[str]:
    """All problems that were not solved, or those with the most starts if these are few."""
    ordered = sorted(runs, key=lambda run: (run.exact, -run.starts))
    return [run.problem for run in ordered[: max(AT_LEAST, sum(not run.exact for run in runs))]]


def rates(runs: list[Run], powers: range) -> dict[int, float]:
    return {power: sum(run.found_within(2**power) for run in runs) / len(runs) for power in powers}


def table(names: list[str], runs: list[Run], limit: int) -> str:
    seeds = sorted({run.seed for run in runs})
    lines = ["| problem | " + " | ".join(f"seed {seed}" for seed in seeds) + " | CPU seconds per 1,000 starts |"]
    lines.append("|---|" + "---:|" * (len(seeds) + 1))
    for name in names:
        own = {run.seed: run for run in runs if run.problem == name}
        cells = [_cell(own.get(seed)) for seed in seeds]
        starts = sum(run.starts for run in own.values())
        cost = f"{1e3 * sum(run.cpu_seconds for run in own.values()) / starts:.2f}" if starts else "-"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {cost} |")
    shares = rates(runs, range(10, limit + 1)).items()
    lines += ["", "| starts | " + " | ".join(f"{2**power:,}" for power, _ in shares) + " |"]
    lines += ["|---|" + "---:|" * len(shares), "| exact | " + " | ".join(f"{rate:.0%}" for _, rate in shares) + " |"]
    return "\n".join(lines)


def _cell(run: Run | None) -> str:
    if run is None:
        return "not run"
    if run.exact:
        return f"{run.starts:,}"
    return f"{run.starts:,} (other)" if run.outcome == "EXACT" else f"> {run.starts:,}"


def drawn(runs: list[Run], limit: int):
    """The figure: a curve that steps at the number of starts of every exact formula."""
    figure = new_figure(5.0, 3.4)
    axes = figure.subplots()
    hits = sorted(max(run.starts, 1) for run in runs if run.exact)
    x = [2**9, *(max(hit, 2**9) for hit in hits), 2**limit]
    y = [0.0, *((k + 1) / len(runs) for k in range(len(hits))), len(hits) / len(runs)]
    axes.step(x, y, where="post", color=BLUE, lw=2)
    axes.axhline(1.0, color=GREY, lw=0.8)
    axes.set(xscale="log", xlabel="starts", ylabel=f"share of {len(runs)} runs with the exact formula", ylim=(0, 1.04))
    axes.set_xscale("log", base=2)
    axes.grid(alpha=0.25)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suite", default="poles")
    parser.add_argument("--journal", type=Path, required=True, metavar="FILE")
    parser.add_argument("--limit", type=int, default=16, help="the most starts, as a power of two")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--minutes", type=float, default=20.0, help="after which no run is begun")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu", help="cpu or gpu; whose rounds are larger, so that runs differ")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="also draw the curve there")
    options = parser.parse_args()
    begin, journal, skipped = time.monotonic(), Journal(options.journal), 0
    problems = {problem.name: problem for problem in load_suite(options.suite).problems}

    def made(name: str, seed: int, limit: int) -> Run | None:
        nonlocal skipped
        run = journal.get(name, seed, limit)
        if run is None and time.monotonic() - begin > 60 * options.minutes:
            skipped += 1
        elif run is None:
            run = searched(problems[name], seed, limit, options.threads, options.device)
            journal.add(run)
            words = f"{name:<16} seed {seed} {run.starts:>8,} of {limit:,} starts  {run.outcome:<14}{run.formula[:70]}"
            print(words, flush=True)
        return run

    looks = [run for name in problems if (run := made(name, 0, 2**FIRST)) is not None]
    names = hardest(looks)
    seeds = parse_seeds(options.seeds)
    runs = [run for seed in seeds for name in names if (run := made(name, seed, 2**options.limit)) is not None]
    print(f"\n{sum(r.exact for r in looks)} of {len(looks)} problems within {2**FIRST:,} starts of seed 0, ", end="")
    print(f"{sum(r.exact and r.starts == 0 for r in looks)} of them in closed form\n")
    print(table(names, runs, options.limit))
    if skipped:
        print(f"\n{skipped} runs were not made: the time was up. Call again to go on.")
    if options.figure:
        drawn(runs, options.limit).savefig(options.figure, dpi=160)


if __name__ == "__main__":
    main()
