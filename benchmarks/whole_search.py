"""Starts per second of a whole search, and where its time goes.

    python benchmarks/whole_search.py --threads 1
    python benchmarks/whole_search.py --threads 16 --seconds 20 --json whole.jsonl
    python benchmarks/whole_search.py --device gpu

The target contains a Bessel function, which the library does not have, over 128 rows and 2 columns, so that only the
clock ends the search. Starts are divided by the total seconds: rounds, the steps without a search, and the choice.
Every stage is timed by the wall clock and by the processor, excluding other stages inside it. With several threads the
next round overlaps with the work after the last one: the shares then add up to more than 100 %, and processor time
counts for both.

On a busy machine, --processor-clock makes one thread run as if it were alone: the search then reads the processor time
as its clock.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import reduce, wraps
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import j1

if "--processor-clock" in sys.argv:  # before the search takes hold of its clock
    time.monotonic = time.process_time

from ceql import Dataset, Settings, discover

# What is timed: a name for the table, and the functions, named where they are looked up when called.
STAGES = {
    "proposals": ("ceql.search.target_search:Proposals.starts",),
    "fits": ("ceql.engine.dispatch:fit_chunks",),
    "archive": ("ceql.search.target_search:merge",),
    "hits": ("ceql.search.target_search:_exact_formulas",),
    "reduction": ("ceql.search.target_search:reduced",),
    "other targets": ("ceql.search.driver:with_others", "ceql.search.scheduler:with_others"),
    "closed forms": ("ceql.search.driver:closed_form", "ceql.search.target_search:closed_form"),
    "noisy candidates": ("ceql.search.driver:_asked_those_tried", "ceql.search.driver:proposers"),
    "sums": (
        "ceql.search.driver:next_sums",
        "ceql.search.sums_beside:next_sums",
        "ceql.search.sums_beside:exact_sum",
    ),
    "front": ("ceql.search.driver:ended",),
    "offers and choice": ("ceql.pipeline:_offers", "ceql.pipeline:_concluded"),
}


@dataclass
class Meter:
    """Seconds of one stage."""

    calls: int = 0
    wall: float = 0.0
    processor: float = 0.0


@dataclass
class Meters:
    """All stages; the time of stages inside a stage is subtracted from it."""

    stages: dict[str, Meter] = field(default_factory=lambda: {name: Meter() for name in STAGES})
    here: threading.local = field(default_factory=threading.local)  # stages under way: what others took within

    @property
    def inside(self) -> list[list[float]]:
        return self.here.__dict__.setdefault("inside", [])

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            self.inside.append([0.0, 0.0])
            begin = np.array([time.perf_counter(), time.process_time()])
            try:
                return function(*args, **options)
            finally:
                taken = np.array([time.perf_counter(), time.process_time()]) - begin
                own = taken - self.inside.pop()
                meter = self.stages[name]
                meter.calls += 1
                meter.wall += own[0]
                meter.processor += own[1]
                if self.inside:
                    self.inside[-1] = (np.array(self.inside[-1]) + taken).tolist()

        return call

    def attach(self) -> None:
        for name, places in STAGES.items():
            for place in places:
                module, _, path = place.partition(":")
                *within, function = path.split(".")
                owner = reduce(getattr, within, importlib.import_module(module))
                setattr(owner, function, self.timed(name, getattr(owner, function)))


def table(rows: int = 128, seed: int = 0) -> Dataset:
    x = np.random.default_rng(seed).uniform(0.5, 3.0, (rows, 2))
    return Dataset.of(x, j1(4.0 * x[:, 0] * x[:, 1]) + j1(3.0 / x[:, 1]) * x[:, 0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="all cores without it")
    parser.add_argument("--jobs", type=int, help="processes")
    parser.add_argument("--device", default="cpu", choices=("cpu", "gpu", "auto"))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--processor-clock", action="store_true", help="for one thread on a busy machine")
    parser.add_argument("--json", type=Path, help="append the figures here")
    options = parser.parse_args()
    how = {"threads": options.threads, "n_jobs": options.jobs, "device": options.device}
    discover(table(seed=1), Settings(time_limit=0.1, **how))  # imports and compiles
    meters = Meters()
    meters.attach()
    begin, used = time.perf_counter(), time.process_time()
    found = discover(table(), Settings(time_limit=options.seconds, **how))
    wall, used = time.perf_counter() - begin, time.process_time() - used
    lines = [f"{'stage':<18}{'calls':>7}{'wall s':>9}{'CPU s':>9}{'share':>8}"]
    rest = Meter(1, wall - sum(m.wall for m in meters.stages.values()), 0.0)
    rest.processor = used - sum(m.processor for m in meters.stages.values())
    for name, meter in {**meters.stages, "all else": rest}.items():
        share = 100 * meter.wall / wall
        lines.append(f"{name:<18}{meter.calls:>7}{meter.wall:>9.2f}{meter.processor:>9.2f}{share:>7.1f}%")
    lines.append(f"{found.outcome.name}: {found.starts:,} starts in {wall:.1f} s ({used:.1f} s of the processor)")
    lines.append(f"{found.starts / (used if options.processor_clock else wall):,.0f} starts a second")
    sys.stdout.write("\n".join(lines) + "\n")
    if options.json:
        stages = {name: asdict(meter) for name, meter in meters.stages.items()}
        figures = {**how, "starts": found.starts, "wall": wall, "processor": used, "stages": stages}
        with options.json.open("a") as out:
            out.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
