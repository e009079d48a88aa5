"""How many starts a GPU fits: whole starts per second by batch size, and hard problems from data to formula.

    python benchmarks/gpu_search.py [--quick] [--json FILE] [--no-problems] [--no-starts] [--finish] [--largest 18]

A whole start is 100 steps of Adam and the full Levenberg-Marquardt schedule of the search: a first look at all starts,
then four more stages for the best eighth. Two threads of the processor run the same schedule on 512 of the starts. The
floor is the time that the counted multiply-adds would take at the peak rate of the chip's arithmetic units, and of its
matrix units for J'J. With `--finish`, the same starts of hard problems are finished in two ways: by J'J and by
separable least squares.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ceql.bench.points import sample
from ceql.bench.problems import load_problem
from ceql.data.dataset import Dataset, Scaling
from ceql.discovery import Settings
from ceql.engine import fit, gpu
from ceql.engine.stages import Device, Schedule, Stages, Work, edge_price, fit_chunks, on_processor
from ceql.network import Network
from ceql.network.libraries import search_network
from ceql.network.recording import network_tape
from ceql.pipeline import discover
from ceql.search.archive import empty_archive
from ceql.search.policy import SearchPolicy
from ceql.search.proposals import Proposals

SAMPLES = 128
SCHEDULE = replace(Schedule(), adam_steps=100)
CHUNK = 256
DISTINCT = 2**12  # starts drawn on the host; a larger batch repeats their structure from other parameters
ON_CPU = 512
THREADS = 2
PROBLEMS = ("E-10", "ofratio-3", "logpole-2", "logpole-4")
HARD = tuple(  # those of the suite `poles` that 4,096 starts of seed 0 did not solve, see docs/scale.md
    f"{kind}-{number}"
    for kind, numbers in (("ofratio", "134"), ("logpole", "234567"), ("exp", "3456"), ("sine", "78"))
    for number in numbers
)
PIECE, FINISHED = 2**14, 3 * 2**14  # starts at once, and of a problem
EXACT = 1e-20  # relative misfit
# Multiply-adds a second of an H200, by its datasheet: half of 34 and 67 TFLOP/s, and of 67 on the matrix units.
RATE = {False: 17e12, True: 33.5e12}
MATRIX_RATE = 33.5e12


@dataclass(frozen=True)
class Row:
    precision: str
    starts: int
    seconds: float
    per_second: float
    adam_iterations: float
    levenberg_iterations: float
    floor_per_second: float


@dataclass(frozen=True, eq=False)
class Starts:
    """Structures and parameters on the host, which are repeated on the device."""

    network: Network
    edges: np.ndarray
    params: np.ndarray
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def drawn(cls) -> Starts:
        rng = np.random.default_rng(0)
        network = search_network(1, None)
        proposals = Proposals(network, SearchPolicy(), empty_archive(network), 0, DISTINCT)
        edges, params, _ = proposals.starts(0, DISTINCT)
        x = rng.uniform(-2, 2, (SAMPLES, 1))
        y = (0.53 - 2.94 * x[:, 0]) / (2.32 * x[:, 0] ** 2 - 1.8)
        return cls(network, edges, params, x, y / np.sqrt(np.mean(y**2)))

    def samples(self, single: bool) -> fit.Samples:
        return fit.Samples.of(self.x, self.y, 1 / (1 + self.y**2), single_precision=single)


def whole_starts(starts: Starts, single: bool, count: int) -> Row:
    """Times the schedule on the device, from parameters on the device to finished fits on the host."""
    cp = gpu.cupy()
    network, samples, tape = starts.network, starts.samples(single), network_tape(starts.network)
    stages = Stages(SCHEDULE, network.is_imaginary.astype(float))
    which = np.arange(count) % DISTINCT
    sizes, on_the_axis = starts.edges.sum(axis=1)[which], network.parameter_mask(starts.edges, imaginary=False)
    masks = cp.asarray(network.smoothing_mask(starts.edges).astype(np.uint8))[cp.asarray(which)]
    params = cp.random.RandomState(1).normal(0.0, 0.7, masks.shape)
    params[: min(count, DISTINCT)] = cp.asarray(starts.params[: min(count, DISTINCT)])
    cp.cuda.Device().synchronize()
    begin = time.perf_counter()
    batch = gpu.Batch(tape, samples, params, masks)
    looked = batch.run(stages.first_look)
    rows = best_of_chunks(sizes, looked.objective.get())
    batch = batch.select(rows)
    descended = batch.run(stages.descent)
    batch = batch.select(np.arange(len(rows)), on_the_axis[which[rows]])
    finished = batch.run(stages.finish)
    _ = finished.params.get(), finished.misfit.get()
    seconds = time.perf_counter() - begin
    # The last stage of a launch is counted; the descent has three stages, and they take about as long as each other.
    iterations = sum(
        float(fits.iterations.sum()) * times
        for fits, times in ((looked, 1), (descended, len(stages.descent)), (finished, 1))
    )
    floor = floor_seconds(starts, single, iterations / count)
    precision = "float32" if single else "float64"
    return Row(precision, count, seconds, count / seconds, SCHEDULE.adam_steps, iterations / count, 1 / floor)


def best_of_chunks(sizes: np.ndarray, objective: np.ndarray) -> np.ndarray:
    """The halving step of the search, for many chunks at once."""
    worth = np.where(np.isfinite(objective), objective * np.exp(sizes * edge_price(SAMPLES)), np.inf)
    order = np.argsort(worth.reshape(-1, CHUNK), axis=1, kind="stable")[:, : int(SCHEDULE.survivors * CHUNK)]
    return (order + np.arange(0, len(worth), CHUNK)[:, None]).ravel()


def floor_seconds(starts: Starts, single: bool, levenberg_iterations: float) -> float:
    """The least seconds per start.

    A gradient takes three multiply-adds per active edge and sample. An iteration of Levenberg-Marquardt takes four, and
    J'J half the square of the number of parameters per sample. Operators, which cost about as much again, and
    everything that is not arithmetic are left out, so no implementation can be faster.
    """
    edges = starts.network.smoothing_mask(starts.edges).sum(axis=1).astype(float)
    walks = (3 * SCHEDULE.adam_steps + 4 * levenberg_iterations) * edges.mean() * SAMPLES
    squares = levenberg_iterations * ((edges + 1) * (edges + 2) / 2).mean() * SAMPLES
    return walks / RATE[single] + squares / MATRIX_RATE


def on_cores(starts: Starts, single: bool) -> float:
    """Whole starts per second on two threads."""
    samples = starts.samples(single)

    parts = [slice(k, k + CHUNK) for k in range(0, ON_CPU, CHUNK)]
    works = [Work(starts.network, samples, SCHEDULE, starts.edges[part], starts.params[part]) for part in parts]
    begin = time.perf_counter()
    fit_chunks(works, on_processor(THREADS))
    return ON_CPU / (time.perf_counter() - begin)


def from_the_host(starts: Starts) -> float:
    """Whole starts per second through the interface of the search, with arrays copied from and to the host."""
    samples = starts.samples(False)
    parts = [slice(k, k + CHUNK) for k in range(0, DISTINCT, CHUNK)]
    works = [Work(starts.network, samples, SCHEDULE, starts.edges[part], starts.params[part]) for part in parts]
    fit_chunks(works, gpu.Batch)
    begin = time.perf_counter()
    fit_chunks(works, gpu.Batch)
    return DISTINCT / (time.perf_counter() - begin)


@dataclass
class Finish:
    """The result of finishing a problem's starts in one of the two ways."""

    problem: str
    way: str
    exact: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = self.exact / self.seconds
        return (
            f"{self.problem:<10} by {self.way:<10} {self.exact:>4} exact in {self.seconds:.2f} s, {rate:.2f} a second"
        )


def finish_rows(device: Device, finished: int = FINISHED, names: Sequence[str] = HARD) -> list[Finish]:
    """The number of exact fits among random starts of hard problems, finished in both ways."""
    rows = []
    for name in names:
        points = sample(load_problem(name), 0)
        x, y = np.asarray(points.X_train, float), np.asarray(points.y_train, float).ravel()
        x, y = Scaling.of(x, y).apply(x, y)
        network, samples = search_network(x.shape[1], None), fit.Samples.of(x, y, 1 / (1 + y**2))
        proposals = Proposals(network, SearchPolicy(), empty_archive(network), 7, finished + PIECE)
        both = Finish(name, "J'J"), Finish(name, "separable")
        for first in range(0, finished + PIECE, PIECE):
            edges, params, masks = proposals.starts(first, first + PIECE, fit.default_threads())
            for row in both:
                schedule = replace(Schedule(), separable=row.way == "separable")
                begin = time.perf_counter()
                (chunk,) = fit_chunks([Work(network, samples, schedule, edges, params, CHUNK, masks)], device)
                if first:  # the first piece warms up
                    row.seconds += time.perf_counter() - begin
                    row.exact += int(np.sum((chunk.misfit < EXACT) & chunk.in_domain))
        print(*both, sep="\n", flush=True)
        rows += both
    for way in ("J'J", "separable"):
        of_way = [row for row in rows if row.way == way]
        print(Finish("all", way, sum(row.exact for row in of_way), sum(row.seconds for row in of_way)))
    return rows


def problem_rows(seeds: int, time_limit: float) -> list[dict]:
    rows = []
    for name in PROBLEMS:
        for device in ("gpu", "cpu"):
            for seed in range(seeds):
                problem = load_problem(name)
                samples = sample(problem, seed)
                settings = Settings(time_limit=time_limit, seed=seed, threads=THREADS, device=device)
                found = discover(Dataset.of(samples.X_train, samples.y_train), settings)
                row = {"problem": name, "device": device, "seed": seed, "seconds": round(found.seconds, 2)}
                rows.append(row | {"starts": found.starts, "outcome": found.outcome.name, "formula": str(found.best)})
                text = "{problem:<10} {device} seed {seed} {seconds:>7} s {starts:>8} starts {outcome}: {formula}"
                print(text.format(**rows[-1])[:110], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one size and one seed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--no-problems", action="store_true", help="only the starts a second")
    parser.add_argument("--no-starts", action="store_true", help="only the problems")
    parser.add_argument("--finish", action="store_true", help="hard problems, finished either way")
    parser.add_argument("--largest", type=int, default=18, help="the largest batch, as a power of two")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    gpu.require()
    rows, processor = [], {}
    if not options.no_starts:
        starts = Starts.drawn()
        for single in (False, True):
            whole_starts(starts, single, 2**10)  # compiles
            processor["float32" if single else "float64"] = on_cores(starts, single)
            for power in [14] if options.quick else range(10, options.largest + 1, 2):
                rows.append(whole_starts(starts, single, 2**power))
        print(
            f"{'precision':<10}{'starts':>9}{'seconds':>10}{'starts/s':>11}{'LM each':>9}{'2 threads':>11}{'floor':>12}"
        )
        for r in rows:
            print(
                f"{r.precision:<10}{r.starts:>9,}{r.seconds:>10.3f}{r.per_second:>11,.0f}{r.levenberg_iterations:>9.1f}"
                f"{processor[r.precision]:>11,.0f}{r.floor_per_second:>12,.0f}"
            )
        print(f"arrays from and to the host, {DISTINCT:,} starts in float64: {from_the_host(starts):,.0f} starts/s")
    problems = [] if options.no_problems else problem_rows(1 if options.quick else options.seeds, options.time_limit)
    finishes = finish_rows(gpu.Batch) if options.finish else []
    if options.json:
        figures = {"rows": [vars(r) for r in rows], "processor": processor, "problems": problems}
        figures["finish"] = [vars(row) for row in finishes]
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
