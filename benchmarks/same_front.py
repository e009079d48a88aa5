"""Does the same seed give the same front under any load? Fits the same tables idle, on busy cores, with other threads.

    python benchmarks/same_front.py                  # 14 problems, 8,192 starts each
    python benchmarks/same_front.py --starts 1024 --json fronts.jsonl

Every fit runs in its own process with its own hash seed, so that nothing is left over from earlier ones. For every
problem and every way of running it, it prints whether the front equals that of the first run to the last digit, and how
long it took. The exit status is 1 if a front differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SPIN = "while True: pass"


@dataclass(frozen=True)
class Table:
    """A law with the box its inputs are drawn from; `noise` is a share of the standard deviation of y."""

    name: str
    law: Callable[..., np.ndarray]
    low: tuple[float, ...]
    high: tuple[float, ...]
    noise: float = 0.0
    rows: int = 200

    def sampled(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(len(self.name))
        x = rng.uniform(self.low, self.high, (self.rows, len(self.low)))
        y = self.law(*x.T)
        return x, y + self.noise * np.std(y) * rng.standard_normal(self.rows)


@dataclass(frozen=True)
class Way:
    """A way to run a fit, which must not change the result."""

    name: str
    busy: bool = False
    threads: int | None = None
    n_jobs: int | None = None


def box(width: int, low: float, high: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return (low,) * width, (high,) * width


TABLES = (
    Table("pole", lambda a: 1.3 / (a - 0.52) + 0.7 * a, *box(1, 0.6, 3.0)),
    Table("nested sine", lambda a, b: np.sin(3.3 * a + np.exp(-b)) / (a + b + 5.3), *box(2, -2.0, 2.0)),
    Table("chirp", lambda a, b: np.sin(5 * a * b) / b, *box(2, 1.0, 3.0)),
    Table("two logs", lambda a, b, c: np.log(a + 2.2 * b) * np.log(1 + c) / (a + c), *box(3, 0.5, 3.0)),
    Table("root of a sum", lambda a, b, c: np.sqrt(a**2 + 1.7 * b * c) / (1 + np.exp(-a)), *box(3, 0.5, 2.5)),
    Table("relativity", lambda m, v, c: m / np.sqrt(1 - (v / c) ** 2), (1.0, 1.0, 3.0), (5.0, 2.0, 10.0)),
    Table("waves in waves", lambda a, b: np.sin(a + 2 * np.sin(b * a)), *box(2, -2.0, 2.0), rows=120),
    Table("noisy pole", lambda a: 1.3 / (a - 0.52), *box(1, 0.6, 3.0), 0.02, 60),
    Table("noisy power", lambda a, b: 1.7 * a * np.sqrt(b), *box(2, 0.5, 3.0), 0.05),
    Table("noisy Gauss", lambda a, b: np.exp(-0.5 * (a / b) ** 2) / b, *box(2, 0.7, 3.0), 0.02),
    Table("noisy sine", lambda a, b: np.sin(2.3 * a) + 0.4 * b**2, *box(2, -2.0, 2.0), 0.05, 300),
    Table("noisy ratio", lambda a, b, c: a * b / (1 + 0.8 * c), *box(3, 0.5, 3.0), 0.1),
    Table("noisy and few", lambda a, b: 5.0 / (1 / a**2 + 1 / b**2), *box(2, 1.0, 3.0), 0.01, 24),
    Table("noisy and hard", lambda a, b, c: np.sin(3 * a * b) / (c + 2.2), *box(3, -2.0, 2.0), 0.1, 150),
)
WAYS = (Way("idle"), Way("again"), Way("busy", busy=True), Way("one thread", threads=1), Way("two processes", n_jobs=2))


def front_of(name: str, way: Way, starts: int) -> list[str]:
    """Every formula of the front with all digits, fitted in this process."""
    from sympy import srepr

    from ceql import Dataset, Settings, discover

    (table,) = (table for table in TABLES if table.name == name)
    settings = Settings(max_starts=starts, time_limit=3600.0, threads=way.threads, n_jobs=way.n_jobs)
    found = discover(Dataset.of(*table.sampled()), settings)
    rows = [f"{srepr(formula.expression)} {formula.loss!r} {formula.constants!r}" for formula in found.front]
    return [found.outcome.name, str(found.starts), str(found.best), *rows]


@contextmanager
def load(busy: bool) -> Iterator[None]:
    """If `busy`, runs as many computing processes as there are cores while the context lasts."""
    count = (os.cpu_count() or 1) if busy else 0
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def in_a_process(name: str, way: Way, starts: int, hash_seed: int) -> tuple[list[str], float]:
    command = [sys.executable, __file__, "--one", name, way.name, "--starts", str(starts)]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    begin = time.perf_counter()
    with load(way.busy):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout), time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=8192)
    parser.add_argument("--problems", nargs="*", default=[table.name for table in TABLES])
    parser.add_argument("--ways", nargs="*", default=[way.name for way in WAYS])
    parser.add_argument("--json", type=Path, help="write every front here, one per line")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    ways = {way.name: way for way in WAYS}
    if options.one:
        sys.stdout.write(json.dumps(front_of(options.one[0], ways[options.one[1]], options.starts)))
        return 0
    different = 0
    for name in options.problems:
        fronts, words = [], []
        for k, way in enumerate(options.ways):
            front, seconds = in_a_process(name, ways[way], options.starts, k)
            fronts.append(front)
            words.append(f"{way} {'same' if front == fronts[0] else 'DIFFERENT'} ({seconds:.1f} s)")
            if options.json:
                with options.json.open("a") as out:
                    out.write(json.dumps({"problem": name, "way": way, "seconds": seconds, "front": front}) + "\n")
        different += any(front != fronts[0] for front in fronts)
        sys.stdout.write(f"{name:16} {fronts[0][0]:14} {', '.join(words)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(options.problems) - different} of {len(options.problems)} fronts are the same.\n")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
