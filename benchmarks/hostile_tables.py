"""Hostile tables through `fit`: each must give a formula or one of our own errors, within time and memory.

    python benchmarks/hostile_tables.py [--count 500] [--first 0] [--jobs 2] [--time-limit 2] [--json tables.jsonl]
    python benchmarks/hostile_tables.py --table 17    # one of them in this process, with its traceback

A table is generated from its number alone: 1 to 1,000 columns and 2 to 100,000 rows of all scales, constant,
duplicated, collinear, integer, one-hot or mostly zero columns, odd names, counts, heavy tails and outliers in y,
weights, losses, guesses and constraints. One in twelve contains something that must be refused, such as NaN. Each runs
in a fresh process with a memory limit, where warnings other than our own are errors. A table counts as an offender if
it ends in anything but a formula or one of our own errors: a foreign exception or warning, a crash, a fit that hangs or
takes far more processor time than allowed, a formula without values, or a result for a table that must be refused.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ceql import CeqlError, CEQLRegressor, CeqlWarning, Constraints
from ceql.bench.environment import Meter
from ceql.search.losses import NAMES as LOSSES

ROWS = [2, 3, 5, 8, 20, 60, 60, 200, 200, 1000, 1000, 5000, 30_000, 100_000]
WIDTHS = [1, 1, 2, 2, 3, 3, 5, 5, 8, 12, 20, 50, 100, 300, 1000]
MOST_CELLS = 2_000_000
SPOILT = 0.08  # share of the tables that must be refused
EXTREMES = [1e-300, 1e-150, 1e-100, 1e-30, 1e30, 1e100, 1e130, 1e150, 1e300]
WORDS = [
    "x",
    " ",
    "lambda",
    "I",
    "pi",
    "sin",
    "E",
    "`",
    "a b",
    "é",
    "变量",
    "𝛼",
    "class",
    "x\ny",
    "'",
    "\\",
    "{x}",
    "-1",
    "$",
]
OWN_LOSSES = ["residual**2", "abs(residual)", "residual**2/(1 + residual**2)", "log(1 + residual**2)", "residual**4"]
ODD_LOSSES = [
    "exp(residual)",
    "residual",
    "1/residual**2",
    "sqrt(residual)",
    "0",
    "y*residual**2",
    "huber2",
    "residual**",
]
GUESSES = ["a*{0} + b", "a*sin(b*{0}) + c", "a/({0} - b)", "exp({0})", "log({0})", "{0}**a", "a"]
ODD_GUESSES = ["1/0", "a*x1 +", "q(z)", "", "x1", "1e400*x1", "((((x1", "log(-abs(x1) - 1)"]
LATE = 2.0  # time limits from which a fit is an offender, in time of the processor: the machine may be busy
HANGS = 60.0  # time limits after which its process is ended, on the clock
START = 120.0  # seconds for a process to import everything and make its table
GIB = 2**30


# ---- tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """The arguments of `fit`, and how they were generated."""

    X: Any
    y: Any
    weight: Any
    options: dict[str, Any]
    must_be_refused: bool
    traits: dict[str, Any] = field(default_factory=dict)


Draw = np.random.Generator


def _chosen(rng: Draw, among: Any) -> Any:
    return among[int(rng.integers(len(among)))]


def _one_hot(rng: Draw, rows: int, _: list[np.ndarray]) -> np.ndarray:
    return (rng.integers(0, 4, rows) == 0).astype(float)


def _duplicate(rng: Draw, rows: int, before: list[np.ndarray]) -> np.ndarray:
    return before[int(rng.integers(len(before)))].copy() if before else rng.normal(size=rows)


def _collinear(rng: Draw, rows: int, before: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return 2.0 * before[0] - 3.0 * before[-1] if before else rng.normal(size=rows)


COLUMNS: dict[str, Callable[[Draw, int, list[np.ndarray]], np.ndarray]] = {
    "normal": lambda rng, rows, _: rng.normal(size=rows),
    "positive": lambda rng, rows, _: rng.uniform(0.5, 3.0, rows),
    "integer": lambda rng, rows, _: rng.integers(-5, 6, rows).astype(float),
    "constant": lambda rng, rows, _: np.full(rows, _chosen(rng, [0.0, 1.0, -2.5, 1e16])),
    "one-hot": _one_hot,
    "duplicate": _duplicate,
    "collinear": _collinear,
    "mostly zero": lambda rng, rows, _: np.where(rng.random(rows) < 0.05, rng.normal(size=rows), 0.0),
    "heavy tails": lambda rng, rows, _: np.clip(rng.standard_cauchy(rows), -1e12, 1e12),
    "decades": lambda rng, rows, _: 10.0 ** rng.uniform(-12, 12, rows),
    "shifted": lambda rng, rows, _: 1e9 + rng.normal(size=rows),
    "time": lambda rng, rows, _: np.arange(rows) * 1.0,
    "two values": lambda rng, rows, _: np.where(np.arange(rows) % 2 == 0, 1.0, -1.0),
}
PLAIN = ("normal", "positive")


def _columns(rng: Draw, rows: int, width: int) -> tuple[np.ndarray, str]:
    kinds = [*PLAIN, *(_chosen(rng, list(COLUMNS)) for _ in range(3))]
    columns: list[np.ndarray] = []
    for _ in range(width):
        columns.append(COLUMNS[_chosen(rng, kinds)](rng, rows, columns))
    x = np.column_stack(columns)
    scale = _chosen(rng, ["one"] * 6 + ["each", "each", "extreme"])
    with np.errstate(all="ignore"):
        if scale == "each":
            x = x * 10.0 ** rng.integers(-9, 10, width)
        elif scale == "extreme":
            x = x * np.where(rng.random(width) < 0.5, _chosen(rng, EXTREMES), 1.0)
    return np.clip(np.nan_to_num(x), -1e308, 1e308), "+".join(sorted(set(kinds[2:]))) + f", scale {scale}"


def _law(rng: Draw, x: np.ndarray) -> np.ndarray:
    a, b = x[:, 0], x[:, int(rng.integers(x.shape[1]))]
    return _chosen(rng, [lambda: a * b, lambda: a / (b + 0.3), lambda: np.sin(a) + b, lambda: np.sqrt(np.abs(a)) - b])()


TARGETS: dict[str, Callable[[Draw, np.ndarray], np.ndarray]] = {
    "law": _law,
    "noisy law": lambda rng, x: _law(rng, x) * (1.0 + 0.1 * rng.normal(size=len(x))),
    "noise": lambda rng, x: rng.normal(size=len(x)),
    "mostly zero": lambda rng, x: np.where(rng.random(len(x)) < 0.05, rng.normal(size=len(x)), 0.0),
    "counts": lambda rng, x: rng.poisson(np.exp(np.clip(np.nan_to_num(x[:, 0]), -3, 3))).astype(float),
    "binary": lambda rng, x: (rng.random(len(x)) < 0.3).astype(float),
    "heavy tails": lambda rng, x: rng.standard_cauchy(len(x)),
    "outliers": lambda rng, x: np.where(rng.random(len(x)) < 0.1, 1e6, _law(rng, x)),
    "constant": lambda rng, x: np.full(len(x), _chosen(rng, [0.0, 1.0, -3e7])),
    "column": lambda rng, x: x[:, -1].copy(),
    "shifted": lambda rng, x: 1e9 + rng.normal(size=len(x)),
    "decades": lambda rng, x: 10.0 ** rng.uniform(-30, 30, len(x)),
}


def _target(rng: Draw, x: np.ndarray) -> tuple[np.ndarray, str]:
    kind = _chosen(rng, [*TARGETS, "law", "law", "noisy law", "noisy law", "outliers"])
    scale = _chosen(rng, [1.0] * 8 + [1e-12, 1e12, _chosen(rng, EXTREMES)])
    with np.errstate(all="ignore"):
        y = np.nan_to_num(TARGETS[kind](rng, x)) * scale
    return np.clip(y, -1e308, 1e308), f"{kind}, scale {scale:g}"


WEIGHTS: dict[str, Callable[[Draw, int], Any]] = {
    "none": lambda rng, rows: None,
    "ones": lambda rng, rows: np.ones(rows),
    "zeros": lambda rng, rows: rng.integers(0, 2, rows).astype(float),
    "few": lambda rng, rows: (np.arange(rows) < 2).astype(float),
    "spread": lambda rng, rows: 10.0 ** rng.uniform(-12, 12, rows),
    "far spread": lambda rng, rows: 10.0 ** rng.uniform(-150, 150, rows),
    "huge": lambda rng, rows: np.full(rows, 1e300),
}


def _names(rng: Draw, width: int) -> list[str]:
    names = [f"x{k + 1}" for k in range(width)]
    for k in rng.choice(width, min(width, len(WORDS)), replace=False)[: int(rng.integers(0, 4))]:
        names[k] = _chosen(rng, WORDS)
    return [name if names.count(name) == 1 and name.strip() else f"x {k}" for k, name in enumerate(names)]


def _misaligned(x: np.ndarray) -> np.ndarray:
    moved = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda x: x,
    "fortran": np.asfortranarray,
    "misaligned": _misaligned,
    "swapped": lambda x: x.astype(">f8"),
    "objects": lambda x: x.astype(object) if x.size < 10**5 else x,
    "lists": lambda x: x.tolist() if x.size < 10**5 else x,
}


# ---- settings -------------------------------------------------------------------------------------------------------


def _constraints(rng: Draw, names: list[str]) -> dict[str, Any]:
    return _chosen(
        rng,
        [
            {"required": (names[-1],)},
            {"forbidden_nesting": {"exp": ("exp", "sin"), "sin": ("sin",)}},
            {"constants_within": (-2.0, 2.0)},
            {"constants_within": (1e-9, 1e-8)},
            {"without": ("sin", "cos", "exp", "log")},
            {"costs": {"sin": 5, "div": 2}},
            {"known": {"g": 9.81}},
        ],
    )


def _options(rng: Draw, names: list[str]) -> dict[str, Any]:
    """Randomly chosen options, mostly defaults, since several odd ones would hide each other."""
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["loss"] = _chosen(rng, [*LOSSES, *LOSSES, *OWN_LOSSES])
    if rng.random() < 0.3:
        plain = [name for name in names if name.isidentifier() and name.isascii()] or ["x1"]
        texts = [_chosen(rng, GUESSES) for _ in range(int(rng.integers(1, 4)))]
        options["guesses"] = [text.format(_chosen(rng, plain)) for text in texts]
    if rng.random() < 0.3:
        options["constraints"] = _constraints(rng, names)
    if rng.random() < 0.3:
        options["operators"] = _chosen(rng, [["mul", "div"], ["exp", "log"], ["sin", "cos", "tanh"], ["pow"], ["abs"]])
    if rng.random() < 0.2:
        options["max_complexity"] = _chosen(rng, [1, 3, 8, 20])
    if rng.random() < 0.2:
        options["model_selection"] = _chosen(rng, ["accuracy", "score"])
    if rng.random() < 0.06:  # mostly refused
        options |= _chosen(rng, [{"loss": _chosen(rng, ODD_LOSSES)}, {"guesses": [_chosen(rng, ODD_GUESSES)]}])
    return options


def _spoilt(rng: Draw, x: np.ndarray, y: np.ndarray, weight: Any) -> tuple[np.ndarray, np.ndarray, Any, str]:
    """The table with something in it that must be refused."""
    bad = _chosen(rng, [np.nan, np.inf, -np.inf])
    where = _chosen(rng, ["X", "X", "y", "y", "sample_weight", "negative weight", "a single weight"])
    row = int(rng.integers(len(y)))
    x, y = x.copy(), y.copy()
    weight = np.ones(len(y)) if weight is None else weight.copy()
    if where == "X":
        x[row, int(rng.integers(x.shape[1]))] = bad
    elif where == "y":
        y[row] = bad
    elif where == "a single weight":
        weight = (np.arange(len(y)) == row).astype(float)
    else:
        weight[row] = bad if where == "sample_weight" else -1.0
    return x, y, weight, where if "weight" in where else f"{bad} in {where}"


def table_of(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    rows, width = _chosen(rng, ROWS), _chosen(rng, WIDTHS)
    rows = max(2, min(rows, MOST_CELLS // width))
    x, columns = _columns(rng, rows, width)
    y, target = _target(rng, x)
    weighing = _chosen(rng, ["none"] * 8 + list(WEIGHTS))
    weight = WEIGHTS[weighing](rng, rows)
    names = _names(rng, width) if rng.random() < 0.6 else [f"x{k + 1}" for k in range(width)]
    container = "frame" if any(name != f"x{k + 1}" for k, name in enumerate(names)) else _chosen(rng, list(CONTAINERS))
    options = _options(rng, names)
    spoilt = ""
    if rng.random() < SPOILT:
        x, y, weight, spoilt = _spoilt(rng, x, y, weight)
    X = pd.DataFrame(x, columns=names) if container == "frame" else CONTAINERS[container](x)
    traits = {"rows": rows, "width": width, "X": columns, "y": target, "weights": weighing, "as": container}
    traits |= {"spoilt": spoilt} if spoilt else {}
    return Table(X, y, weight, options, bool(spoilt), traits | options)


# ---- one fit --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """The outcome of one table."""

    seed: int
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    traits: dict[str, Any] = field(default_factory=dict)


FITTED, REFUSED = "fitted", "refused"


@contextlib.contextmanager
def _foreign_warnings_as_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CeqlWarning)
        yield


def _tried(table: Table, seed: int, time_limit: float) -> str:
    """What is wrong with the model fitted to this table; empty if nothing is."""
    options = dict(table.options)
    if "constraints" in options:
        options["constraints"] = Constraints(**options["constraints"])
    model = CEQLRegressor(time_limit=time_limit, random_state=seed, threads=1, **options)
    model.fit(table.X, table.y, sample_weight=table.weight)
    if table.must_be_refused:
        return "a table was taken that must be refused"
    counted = np.ones(len(table.y), bool) if table.weight is None else np.asarray(table.weight, float) > 0
    if not np.isfinite(model.predict(table.X)[counted]).all():
        return "the formula has no value in some rows"
    return "" if len(model.equations_) and model.latex() else "there is no formula"


def fit_one(seed: int, time_limit: float) -> Record:
    table = table_of(seed)
    meter, begin, cpu = Meter(), time.perf_counter(), time.process_time()
    meter.start()
    try:
        with _foreign_warnings_as_errors():
            wrong = _tried(table, seed, time_limit)
        outcome, detail = (wrong or FITTED), ""
    except CeqlError as error:
        outcome, detail = REFUSED, str(error)
    except Exception as error:  # whatever it is, it is what we are looking for
        kind = "foreign warning" if isinstance(error, Warning) else "foreign exception"
        outcome, detail = kind, f"{type(error).__name__}: {error} ({_place(error)})"
        if sys.stderr.isatty():
            traceback.print_exc()
    seconds, used = time.perf_counter() - begin, time.process_time() - cpu
    if used > LATE * time_limit and outcome in (FITTED, REFUSED):
        detail, outcome = f"{outcome} after {used:.1f} s of the processor {detail}".strip(), "late"
    return Record(seed, outcome, detail[:300], round(seconds, 2), round(used, 2), meter.read()["peak_mb"], table.traits)


def _place(error: Exception) -> str:
    """The innermost line of our own code in the traceback."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/ceql/" in frame.filename]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "outside of ceql"


# ---- many of them ---------------------------------------------------------------------------------------------------


def _limit_memory(gib: float) -> None:
    """Limits the memory of the process, if the system supports it."""
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(gib * GIB), int(gib * GIB)))


def in_fresh_process(seed: int, time_limit: float, memory: float) -> Record:
    command = [sys.executable, __file__, "--table", str(seed), "--time-limit", str(time_limit), "--memory", str(memory)]
    limit = START + HANGS * time_limit
    try:
        done = subprocess.run([*command, "--as-json"], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return Record(seed, "hung", f"ended after {limit:g} s", limit, traits=table_of(seed).traits)
    if done.returncode:
        return Record(seed, "crashed", f"exit {done.returncode}: {done.stderr[-300:]}", traits=table_of(seed).traits)
    return Record(**json.loads(done.stdout.splitlines()[-1]))


def summary(records: list[Record]) -> str:
    outcomes = Counter(record.outcome for record in records)
    lines = [f"{len(records)} tables: " + ", ".join(f"{count} {name}" for name, count in outcomes.most_common())]
    measures = [("longest", "s", "seconds"), ("most work", "s of the processor", "cpu_seconds")]
    for what, unit, of in (*measures, ("largest", "MB", "peak_mb")):
        worst = sorted(records, key=lambda record: getattr(record, of), reverse=True)[:5]
        lines.append(f"{what}: " + ", ".join(f"{getattr(r, of):g} {unit} (table {r.seed})" for r in worst))
    refused = Counter(record.detail[:60] for record in records if record.outcome == REFUSED)
    lines += ["refused with:", *(f"  {count:4} {sentence}" for sentence, count in refused.most_common())]
    offenders = [record for record in records if record.outcome not in (FITTED, REFUSED)]
    lines.append(f"{len(offenders)} offenders:")
    for r in sorted(offenders, key=lambda record: (record.outcome, record.detail)):
        lines.append(f"  table {r.seed}: {r.outcome}, {r.seconds:g} s, {r.peak_mb:g} MB: {r.detail}\n      {r.traits}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="how many tables")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--time-limit", type=float, default=2.0, help="seconds for a fit")
    parser.add_argument("--memory", type=float, default=6.0, help="GiB of addresses that a process may use")
    parser.add_argument("--json", type=Path, help="file to which a line is added for each table")
    parser.add_argument("--table", type=int, help="fit this one here and now")
    parser.add_argument("--as-json", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table is not None:
        _limit_memory(arguments.memory)
        record = fit_one(arguments.table, arguments.time_limit)
        print(json.dumps(asdict(record), default=str) if arguments.as_json else summary([record]))
        return
    seeds = range(arguments.first, arguments.first + arguments.count)
    records: list[Record] = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        ended = pool.map(lambda seed: in_fresh_process(seed, arguments.time_limit, arguments.memory), seeds)
        for record in ended:
            records.append(record)
            print(f"{record.seed:4} {record.outcome:18} {record.seconds:7.2f} s {record.peak_mb:8.1f} MB", flush=True)
            if arguments.json:
                with arguments.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record), default=str) + "\n")
    print(summary(records))
    sys.exit(any(record.outcome not in (FITTED, REFUSED) for record in records))


if __name__ == "__main__":
    main()
