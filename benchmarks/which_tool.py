"""The table of docs/which-tool.md from the records of its suite: how often the formula was found, and in what time.

    taskset -c 1 ceql bench benchmarks/which_tool.toml --json which.jsonl
    python benchmarks/which_tool.py which.jsonl

A formula counts if it is exact or a solution, as docs/benchmarks.md defines them, and in noisy data if its structure is
right (src/ceql/bench/noise.py). Otherwise the cell has the median R2 at fresh points, or the median error in units of
the noise.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from ceql.bench.definitions import Problem, Suite
from ceql.bench.noise import NoiseScore, noise_score
from ceql.bench.points import sample
from ceql.bench.problems import load_suite
from ceql.bench.records import Record, read_records
from ceql.expression import parse_formula

SUITE = Path(__file__).with_suffix(".toml")
_WORST = -1.0  # R2 that is worse says nothing
_CLOSE = 0.999  # R2 above which the distance to one is told


def in_noise(record: Record, problem: Problem) -> NoiseScore:
    samples = sample(problem, record.seed)
    return noise_score(parse_formula(str(record.expression), samples.names), [], problem, samples)


def is_found(record: Record, problem: Problem) -> bool:
    return in_noise(record, problem).right if problem.noise else bool(record.exact or record.symbolic_solution)


def how_near(records: Sequence[Record], problem: Problem) -> str:
    """How well formulas fit that are not the right one."""
    if problem.noise:
        error = statistics.median(in_noise(record, problem).median_error for record in records)
        return f"error {error:.1f} × noise"
    fits = [float(record.r2) for record in records if record.r2 is not None]
    typical = statistics.median(fits) if fits else -math.inf
    if typical > _CLOSE:
        return f"1 − R² = {1 - typical:.0e}"
    return f"R² {typical:.3f}" if typical > _WORST else "no fit"


def cell(records: Sequence[Record], problem: Problem) -> str:
    """Such as: 2 of 2, 0.03 s."""
    there = [record for record in records if record.error is None]
    if not there:
        return "–"
    found = sum(is_found(record, problem) for record in there)
    seconds = statistics.median(float(record.seconds or 0.0) for record in there)
    text = f"{found} of {len(records)}, {shown(seconds)} s"
    if found == len(records):
        return f"**{text}**"
    return f"{text} ({how_near(there, problem)})"


def shown(seconds: float) -> str:
    if seconds < 0.01:
        return "under 0.01"
    return f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


def table(suite: Suite, records: Sequence[Record]) -> str:
    lines = [f"| problem | {' | '.join(suite.methods)} |", "|---" * (len(suite.methods) + 1) + "|"]
    for problem in suite.problems:
        cells = [
            cell([one for one in records if (one.problem, one.method) == (problem.name, method)], problem)
            for method in suite.methods
        ]
        lines.append(f"| {problem.name}: `{problem.expression}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    print(table(load_suite(SUITE), read_records(parser.parse_args().records)))


if __name__ == "__main__":
    main()
