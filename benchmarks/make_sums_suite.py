"""Writes the suite `sums`: 200 sums of two to five terms, drawn from the grammar in `sums_grammar.py`.

    python benchmarks/make_sums_suite.py [FILE]

The number of terms (two to five), of constants inside them and of columns (one to four each) are equally frequent;
every combination of the first two occurs 12 or 13 times. A quarter of the problems has a pole, or the singularity of a
logarithm, inside the data. A draft is drawn again unless

- every term matters: without it, and with the weights of the others and a constant refitted, at least 2 % of the spread
  of y are left;
- every number is determined: 1 % noise on 200 rows leaves each with a standard error of at most 10 %;
- the problem is well posed (`ceql.bench.posed`), and no other one has the same terms with other numbers.

The generator is seeded, so it always writes the same file.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np
from sums_grammar import POLES, RANGES, TERMS, Ends, Rng, Term

from ceql.bench.definitions import Problem, Range, Spread
from ceql.bench.points import formula
from ceql.bench.posed import complaints

SEED = 16
PROBLEMS, ROWS, LIMIT = 200, 200, 100.0
MOST_IN_A_TERM = 3  # constants
LEAST_SHARE, MOST_ERROR, NOISE = 0.02, 0.1, 0.01
DRAWS, TRIES = 1000, 100_000
STEP = 1e-6  # relative step of numerical derivatives
TARGET = Path(__file__).parents[1] / "src" / "ceql" / "bench" / "suites" / "sums.toml"


@dataclass(frozen=True)
class Shape:
    """The required properties of a problem."""

    terms: int
    constants: int
    columns: int
    pole: bool

    @property
    def family(self) -> str:
        counts = (_several(self.terms, "term"), _several(self.constants, "constant"), _several(self.columns, "column"))
        return "; ".join((*counts, "pole" if self.pole else "no pole"))


@dataclass(frozen=True)
class Placed:
    """A term with its columns and the numbers inside it."""

    term: Term
    columns: tuple[int, ...]
    numbers: tuple[float, ...]

    def text(self, template: str) -> str:
        names = {name: f"x{k + 1}" for name, k in zip(self.term.columns, self.columns, strict=True)}
        numbers = {name: f"{value:.3g}" for name, value in zip(self.term.constants, self.numbers, strict=True)}
        return template.format(**names, **numbers).replace("- -", "+ ")

    def values(self, X: np.ndarray, numbers: Sequence[float]) -> np.ndarray:
        """The compiled term, with its constants as further columns."""
        names = (*self.term.columns, *self.term.constants)
        fixed = [np.full(len(X), value) for value in numbers]
        table = np.column_stack([X[:, list(self.columns)], *fixed])
        return formula(self.term.text.format(**{name: name for name in names}), names)(table)

    def slopes(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """The change of the term with a relative change of each number."""
        for k, value in enumerate(self.numbers):
            ends = [(*self.numbers[:k], value * (1 + step), *self.numbers[k + 1 :]) for step in (STEP, -STEP)]
            yield (self.values(X, ends[0]) - self.values(X, ends[1])) / (2 * STEP)


def shapes(rng: Rng) -> Iterator[Shape]:
    columns, poles = (rng.permutation(np.arange(PROBLEMS) % 4) for _ in range(2))
    for i in range(PROBLEMS):
        yield Shape(2 + i % 4, 1 + i // 4 % 4, 1 + int(columns[i]), bool(poles[i] == 0))


def digits(value: float, count: int) -> float | None:
    """The number rounded to this many digits; None if it is a round one."""
    text = f"{value:.{count - 1}e}"
    return None if text.split("e")[0][-1] in "05" else float(text)


def shares(rng: Rng, shape: Shape) -> list[int]:
    """The number of constants of each term; the first term is the pole, if there is one."""
    while True:
        counts = np.bincount(rng.integers(shape.terms, size=shape.constants), minlength=shape.terms)
        if counts.max() <= MOST_IN_A_TERM and not (shape.pole and not 1 <= counts[0] <= 2):
            return [int(count) for count in counts]


def placed(rng: Rng, vocabulary: Sequence[Term], count: int, ranges: Sequence[Ends]) -> Placed | None:
    """A random term with this many constants, in columns that suit it; None if it does not fit."""
    kinds = [term for term in vocabulary if len(term.constants) == count and len(term.columns) <= len(ranges)]
    term = kinds[rng.integers(len(kinds))]
    columns = tuple(int(k) for k in rng.permutation(len(ranges))[: len(term.columns)])
    if not term.suits(*(ranges[k] for k in columns)):
        return None
    numbers = [digits(draw(rng, ranges[columns[-1]]), 3) for draw in term.constants.values()]
    return Placed(term, columns, tuple(n for n in numbers if n is not None)) if None not in numbers else None


def drawn(rng: Rng, shape: Shape) -> tuple[list[Ends], list[Placed]] | None:
    """Ranges and terms that together use every column; None if this draw does not."""
    ranges = [RANGES[rng.integers(len(RANGES))] for _ in range(shape.columns)]
    terms = []
    for k, count in enumerate(shares(rng, shape)):
        found = placed(rng, POLES if shape.pole and k == 0 else TERMS, count, ranges)
        if found is None:
            return None
        terms.append(found)
    bodies = {term.text(term.term.text) for term in terms}
    used = {column for term in terms for column in term.columns}
    return (ranges, terms) if len(bodies) == len(terms) and len(used) == shape.columns else None


def amplitudes(rng: Rng, basis: np.ndarray) -> list[float]:
    """Weights that give all terms spreads of the same order; for a pole, the spread of its middle half counts."""
    quartiles = np.percentile(basis, [25, 75], axis=0)
    size = 10.0 ** rng.uniform(-0.5, 0.7)
    found = []
    for spread in quartiles[1] - quartiles[0]:
        weight = None
        while weight is None:
            value = size * 10.0 ** rng.uniform(-0.3, 0.5) / max(spread, 1e-3)
            weight = digits(float(value), int(rng.integers(3, 5)))
        found.append(float(rng.choice([-1.0, 1.0])) * weight)
    return found


def is_determined(terms: Sequence[Placed], weights: Sequence[float], X: np.ndarray, basis: np.ndarray) -> bool:
    """Whether every term matters and every number has a distinguishable influence."""
    y = basis @ np.array(weights)
    slopes = [w * s for term, w in zip(terms, weights, strict=True) for s in term.slopes(X)]
    jacobian = np.column_stack([basis * np.array(weights), *slopes])
    if not np.isfinite(jacobian).all() or y.std() == 0:
        return False
    for k in range(len(terms)):
        others = np.column_stack([np.delete(basis, k, axis=1), np.ones(len(y))])
        left = y - others @ np.linalg.lstsq(others, y, rcond=None)[0]
        if left.std() < LEAST_SHARE * y.std():
            return False
    if np.linalg.cond(jacobian / np.linalg.norm(jacobian, axis=0)) > 1e8:
        return False
    variances = np.diag(np.linalg.inv(jacobian.T @ jacobian)) * len(y) / ROWS
    return bool(NOISE * y.std() * np.sqrt(variances.max()) <= MOST_ERROR)


def problem(rng: Rng, shape: Shape, name: str) -> tuple[Problem, tuple[str, ...]] | None:
    """A problem with its skeleton; None if the draft is not well posed."""
    draft = drawn(rng, shape)
    if draft is None:
        return None
    ranges, terms = draft
    X = np.column_stack([rng.uniform(*ends, DRAWS) for ends in ranges])
    basis = np.column_stack([term.values(X, term.numbers) for term in terms])
    if not np.isfinite(basis).all():
        return None
    weights = amplitudes(rng, basis)
    kept = np.abs(basis @ np.array(weights)) <= LIMIT
    if kept.mean() < 0.5 or not is_determined(terms, weights, X[kept], basis[kept]):
        return None
    posed = Problem(
        name,
        shape.family,
        _sum(weights, [term.text(term.term.text) for term in terms]),
        tuple(f"x{k + 1}" for k in range(shape.columns)),
        tuple((ends,) for ends in ranges),
        tuple(_beyond(*ends) for ends in ranges),
        limit=LIMIT,
        singular=tuple(term.text(term.term.singular) for term in terms if term.term.singular),
        constants=shape.terms + shape.constants,
    )
    return None if next(complaints(posed, rate=0.2, share=0.05, influence=0.03), None) else (posed, skeleton(terms))


def skeleton(terms: Sequence[Placed]) -> tuple[str, ...]:
    """The terms without numbers, with columns in the order that sorts first."""
    return min(
        tuple(sorted(f"{term.term.text} {[order[k] for k in term.columns]}" for term in terms))
        for order in permutations(range(max(k for term in terms for k in term.columns) + 1))
    )


def problems() -> Iterator[Problem]:
    rng = np.random.default_rng(SEED)
    seen: set[tuple[str, ...]] = set()
    for i, shape in enumerate(list(shapes(rng)), start=1):
        posed, terms = settled(rng, shape, f"sum-{i}", seen)
        seen.add(terms)
        yield posed


def settled(rng: Rng, shape: Shape, name: str, seen: Collection[tuple[str, ...]]) -> tuple[Problem, tuple[str, ...]]:
    for _ in range(TRIES):
        found = problem(rng, shape, name)
        if found is not None and found[1] not in seen:
            return found
    raise SystemExit(f"{name}: no well-posed draft of {shape.family} found")


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _beyond(low: float, high: float) -> tuple[Ends, ...]:
    above = (high, high + (high - low) / 2)
    return (above,) if low >= 0 else ((low - (high - low) / 2, low), above)


def _sum(weights: Sequence[float], bodies: Sequence[str]) -> str:
    """The terms with their weights; 1/(...) is written as weight/(...)."""
    parts = [
        f"{abs(w):.4g}" + (body[1:] if body.startswith("1/") else f"*{body}")
        for w, body in zip(weights, bodies, strict=True)
    ]
    signs = ["-" if w < 0 else "+" for w in weights]
    text = " ".join(f"{sign} {part}" for sign, part in zip(signs, parts, strict=True))
    return text[2:] if text.startswith("+") else f"-{text[2:]}"


HEAD = """\
# Written by benchmarks/make_sums_suite.py: change that, not this.
title = "Sums of terms"
methods = ["ceql", "operon", "gplearn"]
seeds = "0-2"
time_limit = 30

# Every method may use what the grammar uses, as far as it has it.
[settings.operon]
operators = [
  "add", "sub", "mul", "div", "pow", "log", "exp", "sqrt", "cbrt", "square", "sin", "cos", "tanh", "atan", "abs",
]
max_length = 60

[settings.gplearn]
operators = ["add", "sub", "mul", "div", "log", "sqrt", "sin", "cos", "exp", "abs"]

[settings.pysr]
unary = ["log", "exp", "sqrt", "cbrt", "square", "sin", "cos", "tanh", "atan", "abs"]
binary = ["+", "-", "*", "/", "^"]
max_size = 60

[defaults]
n_train = 200
n_interp = 2000
n_extrap = 2000
"""


def toml(p: Problem) -> str:
    def ranges(values: Sequence[Range]) -> str:
        intervals = [value for value in values if not isinstance(value, Spread)]  # these problems have no others
        each = [str([[round(float(end), 9) for end in ends] for ends in value]) for value in intervals]
        return "{ " + ", ".join(f"{n} = {e}" for n, e in zip(p.variables, each, strict=True)) + " }"

    def listed(texts: Sequence[str]) -> str:
        return "[" + ", ".join(f'"{t}"' for t in texts) + "]"

    lines = ["[[problem]]", f'name = "{p.name}"', f'family = "{p.family}"', f'expression = "{p.expression}"']
    lines += [f"variables = {listed(p.variables)}", f"train = {ranges(p.train)}", f"extrap = {ranges(p.extrap)}"]
    lines += [f"constants = {p.constants}"]
    lines += [f"singular = {listed(p.singular)}"] if p.singular else []
    return "\n".join(lines)


def main(path: Path) -> None:
    path.write_text("\n\n".join([HEAD.rstrip(), *map(toml, problems())]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
