"""How long a training step takes: microseconds per step of Adam and of Levenberg-Marquardt (LM), for one start.

    python benchmarks/step_speed.py [--quick] [--json FILE] [--no-torch]

LM is timed plain and with the weights of the readout eliminated (variable projection, VP). The networks are small
random sub-networks (as in the search) and the paper's dense network, at 128 samples, in both precisions, on one and two
threads, and on a GPU if there is one, with many starts at once. For comparison, the dense network is written in plain
eager PyTorch complex128, one start at a time. Every figure is the best of several repeats; the first call of each is
listed separately as warm-up. Figures for one thread are processor seconds; those for two threads and for a GPU are
wall-clock seconds, including the transfer of starts to the GPU and back.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ceql import _core
from ceql.engine import fit, gpu
from ceql.engine.one_thread import one_thread
from ceql.network import Network
from ceql.network.recording import DomainPenalty, network_tape
from ceql.network.sampling import Stream, draw
from ceql.training import recipes
from ceql.training.run import loss_weights

SAMPLES = 128
FEW = 8  # samples at which PyTorch is timed once more
LIBRARY = {"square": 2, "mul": 2, "div": 2, "log": 1, "sqrt": 1, "exp": 1, "sin": 1, "cos": 1}
DOUBLES_PER_LANE = {"baseline": 2, "avx2": 4, "avx512": 8}
FMA_UNITS = 2  # per core, on the servers and desktops of the last ten years
INSTALL_TORCH = "PyTorch is not installed, so its column is left out: pip install torch==2.13.0"


@dataclass(frozen=True)
class Effort:
    starts: int
    steps: int
    iterations: int
    repeats: int
    torch_steps: int
    gpu_starts: int


FULL = Effort(starts=256, steps=200, iterations=20, repeats=7, torch_steps=300, gpu_starts=16_384)
QUICK = Effort(starts=64, steps=50, iterations=10, repeats=7, torch_steps=40, gpu_starts=4_096)


@dataclass(frozen=True)
class Row:
    what: str
    network: str
    precision: str
    threads: int  # 0: on a GPU
    microseconds: float  # per step or iteration, and start
    warm_up_ms: float  # the whole first call
    multiply_adds: float | None = None  # per step and start
    cycles_per_multiply_add: float | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Starts of one kind of network, and data on which all of them are defined."""

    name: str
    network: Network
    masks: np.ndarray
    params: np.ndarray
    x: np.ndarray
    y: np.ndarray

    def samples(self, single: bool) -> fit.Samples:
        return fit.Samples.of(self.x, self.y, loss_weights(recipes.paper(), self.y), single_precision=single)

    def multiply_adds(self) -> float:
        """Multiply-adds per live edge and sample: one forward and two backward; imaginary parts are edges too."""
        return 3.0 * float(self.masks.sum(axis=1).mean()) * SAMPLES


def target(x: np.ndarray) -> np.ndarray:
    return (0.53 - 2.94 * x[:, 0]) / (2.32 * x[:, -1] + 1.8)


def small_networks(starts: int) -> Problem:
    rng = np.random.default_rng(0)
    network = Network(2, (LIBRARY,) * 3, skip="all", bias=True)
    masks = network.smoothing_mask(draw(network, starts, Stream(0))).astype(np.uint8)
    x = rng.uniform(-2, 2, (SAMPLES, 2))
    return Problem("sub-networks, at most 26 edges", network, masks, rng.normal(0, 0.7, masks.shape), x, target(x))


def dense_network(starts: int) -> Problem:
    rng = np.random.default_rng(0)
    network = recipes.paper().network(1)
    masks = np.ones((starts, network.n_params), np.uint8)
    x = rng.uniform(-2, 2, (SAMPLES, 1))
    return Problem("paper's dense network, 77 edges", network, masks, rng.uniform(-0.5, 0.5, masks.shape), x, target(x))


def timed(call: Callable[[], float], repeats: int, threads: int = 1) -> tuple[float, float]:
    """Seconds of the first call, and seconds per unit of work of the best later call.

    For one thread these are processor seconds, which do not include the load of other processes.
    """
    now = time.process_time if threads == 1 else time.perf_counter
    begin = now()
    call()
    warm_up = now() - begin
    best = np.inf
    for _ in range(repeats):
        begin = now()
        work = call()
        best = min(best, (now() - begin) / work)
    return warm_up, best


def adam_row(problem: Problem, single: bool, threads: int, effort: Effort, clock: float | None) -> Row:
    phase = recipes.paper().phases[1]
    penalties = fit.Penalties(
        np.where(problem.network.is_imaginary, phase.imaginary, 0.0), phase.sparsity, phase.argument
    )
    tape, samples, options = network_tape(problem.network), problem.samples(single), fit.Adam(effort.steps, 1e-3)

    def call() -> float:
        result = fit.adam(tape, samples, problem.params, problem.masks, options, penalties, threads=threads)
        return float(result.iterations.sum())  # a start that left the finite numbers has done fewer

    return row("Adam step", problem, single, threads, timed(call, effort.repeats, threads), clock)


def levenberg_row(problem: Problem, single: bool, threads: int, effort: Effort, separable: bool) -> Row:
    tape = network_tape(problem.network, DomainPenalty.SHORTFALL)
    penalties = fit.Penalties(np.where(problem.network.is_imaginary, 1e-4, 0.0), aux=1e-2)
    samples, options = problem.samples(single), fit.Levenberg(effort.iterations, separable=separable)

    levenberg = fit.levenberg if threads else gpu.levenberg

    def call() -> float:
        result = levenberg(tape, samples, problem.params, problem.masks, options, penalties, threads=threads)
        return float(result.iterations.sum())

    what = "VP iteration" if separable else "LM iteration"
    return row(what, problem, single, threads, timed(call, effort.repeats, threads), None)


def row(what, problem, single, threads, seconds, clock) -> Row:
    warm_up, each = seconds
    counts: dict[str, float] = {}
    if what == "Adam step":
        counts["multiply_adds"] = problem.multiply_adds()
        if clock and threads == 1:
            counts["cycles_per_multiply_add"] = each * clock / problem.multiply_adds()
    precision = "float32" if single else "float64"
    return Row(what, problem.name, precision, threads, 1e6 * each, 1e3 * warm_up, **counts)


def measured_rows(effort: Effort, clock: float | None) -> list[Row]:
    rows = []
    for problem in (small_networks(effort.starts), dense_network(max(8, effort.starts // 4))):
        for single in (False, True):
            for threads in (1, 2):
                rows.append(adam_row(problem, single, threads, effort, clock))
        for separable in (False, True):
            for single in (False, True):
                for threads in (1, 2):
                    rows.append(levenberg_row(problem, single, threads, effort, separable))
    return rows


def gpu_rows(effort: Effort) -> list[Row]:
    """Figures for many starts at once on the GPU."""
    if not gpu.is_available():
        return []
    problem = small_networks(effort.gpu_starts)
    kinds = [(separable, single) for separable in (False, True) for single in (False, True)]
    return [levenberg_row(problem, single, 0, effort, separable) for separable, single in kinds]


# ---- the same step in eager PyTorch --------------------------------------------------------------------------------


class TorchNetwork:
    """The paper's dense network for one start: a complex weight on every edge, a matrix product per layer."""

    def __init__(self, torch, problem: Problem, samples: int = SAMPLES) -> None:
        self.torch = torch
        self.x = torch.tensor(problem.x[:samples], dtype=torch.complex128)
        self.y = torch.tensor(problem.y[:samples])
        self.sample_weight = torch.tensor(loss_weights(recipes.paper(), problem.y)[:samples])
        weights = problem.network.complex_weights(problem.params[0])
        self.weights = torch.tensor(weights, requires_grad=True)
        self.phase = recipes.paper().phases[1]

    def _sums(self, nodes, first: int, count: int):
        """Sums number first, first + 1, ... of the network over the same nodes; weights are stored sum by sum."""
        width = nodes.shape[1]
        weights = self.weights[first : first + count * width].reshape(count, width)
        return (nodes @ weights.T).unbind(1), first + count * width

    def forward(self):
        """Layers of const x2, square x2, mul x2 and of id, log x2, sqrt x2, div x2; real values leave every unit."""
        torch, x = self.torch, self.x
        (s0, s1, a0, b0, a1, b1), at = self._sums(x, 0, 6)
        one = torch.ones(len(x), dtype=torch.float64)
        units = [one, one, s0.real**2, s1.real**2, a0.real * b0.real, a1.real * b1.real]
        nodes = torch.cat([x, torch.stack(units, 1).to(torch.complex128)], 1)
        (i, l0, l1, r0, r1, n0, d0, n1, d1), at = self._sums(nodes, at, 9)
        units = [
            i.real, torch.log(l0).real, torch.log(l1).real, torch.sqrt(r0).real, torch.sqrt(r1).real,
            (n0.real / d0).real, (n1.real / d1).real,
        ]  # fmt: skip
        nodes = torch.cat([x, torch.stack(units, 1).to(torch.complex128)], 1)
        (out,), _ = self._sums(nodes, at, 1)
        return out.real, (l0, l1, r0, r1)

    def loss(self):
        values, arguments = self.forward()
        misfit = (self.sample_weight * (values - self.y) ** 2).mean()
        angle = sum((self.torch.angle(z) ** 2).mean() for z in arguments)
        imaginary, size = (self.weights.imag**2).sum(), self.weights.abs().sum()
        phase = self.phase
        return misfit + phase.imaginary * imaginary + phase.sparsity * size + phase.argument * angle


def torch_rows(effort: Effort) -> list[Row]:
    """Figures at all samples and at a few: what does not shrink with them is the overhead of PyTorch's calls."""
    try:
        import torch  # pyright: ignore[reportMissingImports] # too large to ask for
    except ImportError:
        return []
    torch.set_num_threads(1)
    problem = dense_network(1)
    ours = fit.values(network_tape(problem.network), problem.samples(False), problem.params)[0]
    theirs = TorchNetwork(torch, problem).forward()[0].detach().numpy()
    if not np.allclose(ours, theirs, rtol=1e-10, atol=1e-12):
        raise SystemExit(f"PyTorch's forward pass differs from ours by {np.abs(ours - theirs).max():.3g}")
    return [torch_row(torch, problem, samples, effort) for samples in (SAMPLES, FEW)]


def torch_row(torch, problem: Problem, samples: int, effort: Effort) -> Row:
    model = TorchNetwork(torch, problem, samples)
    optimiser = torch.optim.Adam([model.weights], lr=1e-3)

    def call() -> float:
        for _ in range(effort.torch_steps):
            optimiser.zero_grad()
            model.loss().backward()
            optimiser.step()
        return effort.torch_steps

    warm_up, each = timed(call, effort.repeats)
    where = "" if samples == SAMPLES else f", {samples} samples"
    return Row("Adam step", f"PyTorch {torch.__version__} c128{where}", "float64", 1, 1e6 * each, 1e3 * warm_up)


# ---- the ceilings of this machine -----------------------------------------------------------------------------------

# Of an edge and sample: forward reads a value, backward reads a value and an adjoint and writes the adjoint again. The
# sums stay in registers. That is four numbers for three multiply-adds.
NUMBERS_PER_MULTIPLY_ADD = 4 / 3
SIDE, NEAR, FAR = 384, 2**13, 2**23  # side of a matrix; numbers that fit into the second cache, and into none


@dataclass(frozen=True)
class Ceilings:
    """Multiply-adds per second on one thread that kernels of this size reach on this machine."""

    precision: str
    arithmetic: float  # rate of a matrix product
    near: float  # limit by the bandwidth of the second cache
    far: float  # limit by the bandwidth of the main memory


@one_thread
def ceilings(single: bool, repeats: int) -> Ceilings:
    kind = np.float32 if single else np.float64
    a, b = np.random.default_rng(0).normal(size=(2, SIDE, SIDE)).astype(kind)
    out = np.empty_like(a)

    def product() -> float:
        np.matmul(a, b, out=out)
        return float(SIDE) ** 3

    def fed(numbers: int) -> Callable[[], float]:
        x, y, z = np.ones((3, numbers), kind)
        passes = max(1, 2**22 // numbers)

        def call() -> float:
            for _ in range(passes):
                np.add(x, y, out=z)
            return 3.0 * numbers * passes / NUMBERS_PER_MULTIPLY_ADD

        return call

    rates = [1.0 / timed(call, 3 * repeats)[1] for call in (product, fed(NEAR), fed(FAR))]
    return Ceilings("float32" if single else "float64", *rates)


def roofline(rows: list[Row], roofs: list[Ceilings]) -> str:
    lines = [f"{'':<44}{'precision':<10}{'reached':>9}{'arithmetic':>12}{'cache':>8}{'memory':>8}{'share':>8}"]
    for r in rows:
        if r.what != "Adam step" or r.threads != 1 or not r.multiply_adds:
            continue
        (roof,) = [roof for roof in roofs if roof.precision == r.precision]
        reached = 1e6 * r.multiply_adds / r.microseconds
        sizes = [reached, roof.arithmetic, roof.near, roof.far]
        share = reached / min(roof.arithmetic, roof.near)
        numbers = "{:>9.2f}{:>12.2f}{:>8.2f}{:>8.2f}".format(*(size / 1e9 for size in sizes))
        lines.append(f"{r.network:<44}{r.precision:<10}{numbers}{share:>8.0%}")
    return "\n".join(lines)


# ---- the machine and the report ------------------------------------------------------------------------------------


def clock_hertz() -> float | None:
    """The clock rate of the first core as reported by the kernel; None if it is not reported."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return None
    match = re.search(r"cpu MHz\s*:\s*([\d.]+)", text)
    return float(match[1]) * 1e6 if match else None


def peak_line(clock: float | None) -> str:
    name = _core.instruction_set()
    if clock is None:
        return "clock: not reported by this system, so no cycles are given"
    lanes = DOUBLES_PER_LANE.get(name)
    if lanes is None or name == "baseline":
        return f"clock: {clock / 1e9:.2f} GHz from /proc/cpuinfo (nominal, not measured)"
    per_cycle = lanes * FMA_UNITS
    return (
        f"clock: {clock / 1e9:.2f} GHz from /proc/cpuinfo (nominal, not measured; the true one varies)\n"
        f"peak by counting, not by measurement: {lanes} doubles x {FMA_UNITS} FMA units = {per_cycle} multiply-adds a "
        f"cycle, {1 / per_cycle:.4f} cycles each in float64, half of that in float32"
    )


def table(rows: list[Row]) -> str:
    titles = ("precision", "threads", "us each", "warm-up ms", "MAC/step", "cyc/MAC")
    head = f"{'what':<13}{'network':<44}" + "{:<10}{:>7}{:>9}{:>12}{:>10}{:>9}".format(*titles)
    lines = [head, "-" * len(head)]
    for r in rows:
        count = f"{r.multiply_adds:,.0f}" if r.multiply_adds else "-"
        cycles = f"{r.cycles_per_multiply_add:.3f}" if r.cycles_per_multiply_add else "-"
        what = f"{r.what:<13}{r.network:<44}{r.precision:<10}{r.threads or 'GPU':>7}"
        lines.append(f"{what}{r.microseconds:>9.2f}{r.warm_up_ms:>12.1f}{count:>10}{cycles:>9}")
    return "\n".join(lines)


def ratios(rows: list[Row], torch: list[Row]) -> list[str]:
    def find(what: str, network: str, precision: str, threads: int) -> float:
        (found,) = [
            r.microseconds
            for r in rows
            if (r.what, r.precision, r.threads) == (what, precision, threads) and r.network.startswith(network)
        ]
        return found

    lines = []
    for network in ("sub-networks", "paper"):
        one, two = (find("Adam step", network, "float64", threads) for threads in (1, 2))
        single = find("Adam step", network, "float32", 1)
        lines.append(
            f"{network}: float32 {one / single:.2f}x float64; two threads {one / two:.2f}x one on an idle machine"
        )
    if torch:
        dense, (full, few) = find("Adam step", "paper", "float64", 1), [r.microseconds for r in torch]
        lines.append(
            f"dense step, PyTorch / ours: {full / dense:.0f}x, one thread each, one start at a time.\n"
            f"At {FEW} samples PyTorch still takes {few / full:.0%} of that: calls rather than arithmetic, a cost that "
            "stacking\nmany starts in one tensor would spread."
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="seconds instead of a minute; noisier")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    clock = clock_hertz()
    print(f"instruction set: {_core.instruction_set()} of {', '.join(_core.instruction_sets())}")
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} cores; load {load:.1f} before the start, and what others run makes the figures worse")
    print(peak_line(clock))
    print(f"{SAMPLES} samples; best of {effort.repeats} after one warm-up call; time per step and start\n")
    rows = measured_rows(effort, clock) + gpu_rows(effort)
    torch = [] if options.no_torch else torch_rows(effort)
    print(table([*rows, *torch]))
    print("\nMAC: multiply-adds counted from live edges, 1 forward and 2 backward per edge and sample. Operators, the")
    print("loss and Adam's update are extra work that is in the time but not in the count.")
    print()
    print("\n".join(ratios(rows, torch)))
    roofs = [ceilings(single, effort.repeats) for single in (False, True)]
    print("\nRoofline, an Adam step on one thread, 1e9 multiply-adds a second: what is reached, and what a product of")
    print(
        f"matrices of {SIDE} rows, the second cache and the main memory would allow. The values of a start fit into the"
    )
    print("cache; the share is that of the lower of its two ceilings, without the operators and everything else.")
    print(roofline(rows, roofs))
    if not torch and not options.no_torch:
        print(INSTALL_TORCH)
    if options.json:
        figures = {
            "instruction_set": _core.instruction_set(),
            "clock_hertz": clock,
            "samples": SAMPLES,
            "effort": asdict(effort),
            "rows": [asdict(r) for r in rows],
            "ceilings": [asdict(roof) for roof in roofs],
            "torch": [asdict(r) for r in torch],
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
