"""The grammar of the grouped problems: one law for all groups, with some shared and some per-group constants.

    problem  = whole, over x or over x and z
    whole    = A*core | A*core + B | core                 a core without a factor of its own gets A
    two      = whole with A*z**m in place of A, or whole + C*z
    core     = one line of CORES
    constant = shared or per group, decided by a coin toss; at least one is per group

There are 3 to 30 groups of 6 to 24 rows, each with its own rows. Per-group constants are spread by a factor of up to
two in either direction. Noise is 1 % of the standard deviation of y. A draft is drawn again unless these rows determine
every shared constant to 10 % and every per-group constant to 10 % in the typical group, and unless per-group constants
differ by far more than their errors: other problems cannot be solved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ceql.expression.text.compiled import compiled

Rng = np.random.Generator
Ends = tuple[float, float]
NOISE = 0.01  # share of the standard deviation of y
LEAST_GROUPS, MOST_GROUPS, LEAST_ROWS, MOST_ROWS = 3, 30, 6, 24
SPREAD = 2.0  # largest factor between a per-group constant and its typical value
MOST_ERROR = 0.1  # relative
LEAST_DIFFERENCE = 5.0  # standard errors, of the spread of the constants of groups
RANGE_OF_X, RANGE_OF_Z = (0.5, 8.0), (1.0, 5.0)


@dataclass(frozen=True)
class Core:
    """A formula of x and constants with the intervals they are drawn from; `has_factor` means that it needs no
    factor A."""

    text: str
    constants: Mapping[str, Ends]
    has_factor: bool = False


CORES = (
    Core("exp(-k*x)", {"k": (0.1, 0.8)}),
    Core("(1 - exp(-k*x))", {"k": (0.15, 0.8)}),
    Core("x/(K + x)", {"K": (1.0, 6.0)}),
    Core("x**n", {"n": (0.35, 2.6)}),
    Core("log(x + c)", {"c": (0.4, 3.0)}),
    Core("sqrt(x + c)", {"c": (0.6, 5.0)}),
    Core("1/(x + c)", {"c": (0.5, 3.0)}),
    Core("x**n/(K**n + x**n)", {"n": (1.6, 3.6), "K": (2.0, 5.0)}),
    Core("1/(1 + exp((m - x)/s))", {"m": (2.5, 5.5), "s": (0.5, 1.4)}),
    Core("exp(-((x - m)/w)**2)", {"m": (2.5, 5.5), "w": (1.2, 3.0)}),
    Core("sin(w*x)", {"w": (0.6, 1.7)}),
    Core("f*x/(x - f)", {"f": (0.05, 0.18)}, has_factor=True),
    Core("f*x/(x + f)", {"f": (1.0, 9.0)}, has_factor=True),
    Core("x*exp(-k*x)", {"k": (0.2, 0.7)}),
    Core("tanh(k*x)", {"k": (0.15, 0.6)}),
    Core("x/(1 + (x/c)**2)", {"c": (1.5, 5.0)}),
)
OUTER = {"A": (1.5, 6.0), "B": (0.5, 3.0), "m": (0.5, 1.8), "C": (0.3, 1.5)}


@dataclass(frozen=True, eq=False)
class GroupedProblem:
    """A law with the values of its constants, and the measured rows."""

    name: str
    text: str
    columns: tuple[str, ...]
    constants: tuple[str, ...]
    own: tuple[bool, ...]  # whether each group has its own value
    values: np.ndarray  # (groups, constants)
    x: np.ndarray
    codes: np.ndarray
    y: np.ndarray

    @property
    def labels(self) -> list[str]:
        return [f"g{code:02d}" for code in self.codes]

    def clean(self, x: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The measured values without noise."""
        return _program(self).value(x, self.values[codes].T)

    def __str__(self) -> str:
        split = ", ".join(
            f"{n} {'of each' if own else 'shared'}" for n, own in zip(self.constants, self.own, strict=True)
        )
        return f"{self.text}: {split}; {len(self.values)} groups, {len(self.y)} rows"


def _program(problem: GroupedProblem):
    return compiled(problem.text, problem.columns, problem.constants)


def _text(rng: Rng, core: Core) -> tuple[str, tuple[str, ...], dict[str, Ends]]:
    """The whole law, its columns and the intervals of its constants."""
    text, ends, columns = core.text, dict(core.constants), ("x",)
    two = rng.random()
    factor = "" if core.has_factor else "A*"
    if factor:
        ends["A"] = OUTER["A"]
    if two < 0.15 and factor:
        inner = "m" if "m" not in ends else "p"
        factor, ends[inner], columns = f"A*z**{inner}*", OUTER["m"], ("x", "z")
    text = f"{factor}{text}"
    if two >= 0.15 and rng.random() < 0.35:
        text, ends["B"] = f"{text} + B", OUTER["B"]
    elif 0.15 <= two < 0.3:
        text, ends["C"], columns = f"{text} + C*z", OUTER["C"], ("x", "z")
    return text, columns, ends


def _draft(rng: Rng, name: str) -> GroupedProblem:
    core = CORES[rng.integers(len(CORES))]
    text, columns, ends = _text(rng, core)
    groups = round(float(np.exp(rng.uniform(np.log(LEAST_GROUPS), np.log(MOST_GROUPS)))))
    own = rng.random(len(ends)) < 0.5
    own[rng.integers(len(own))] = True
    values = np.empty((groups, len(ends)))
    for k, (low, high) in enumerate(ends.values()):
        base = rng.uniform(low, high)
        values[:, k] = (
            np.clip(base * np.exp(rng.uniform(-1, 1, groups) * np.log(SPREAD)), low / 2, high * 2) if own[k] else base
        )
    codes = np.repeat(np.arange(groups), rng.integers(LEAST_ROWS, MOST_ROWS + 1, groups))
    x = rng.uniform(*RANGE_OF_X, len(codes))[:, None]
    if len(columns) == 2:
        x = np.column_stack([x, rng.uniform(*RANGE_OF_Z, len(codes))])
    return GroupedProblem(
        name, text, columns, tuple(ends), tuple(map(bool, own)), values, x, codes, np.zeros(len(codes))
    )


def _is_posed(problem: GroupedProblem, noise: float) -> bool:
    """Whether these rows suffice to find the law and its constants."""
    _, slopes = _program(problem)(problem.x, problem.values[problem.codes].T)
    groups, own = len(problem.values), np.array(problem.own)
    blocks = [slopes[:, ~own]]
    for k in np.flatnonzero(own):
        blocks.append((problem.codes[:, None] == np.arange(groups)) * slopes[:, [k]])
    jacobian = np.column_stack(blocks)
    if not np.isfinite(jacobian).all() or np.linalg.matrix_rank(jacobian) < jacobian.shape[1]:
        return False
    errors = noise * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    shared = errors[: int((~own).sum())] / np.abs(problem.values[0, ~own])
    of_groups = errors[int((~own).sum()) :].reshape(-1, groups)
    typical = np.median(of_groups / np.abs(problem.values[:, own].T), axis=1)
    differ = np.std(problem.values[:, own], axis=0) / np.median(of_groups, axis=1)
    return bool((shared < MOST_ERROR).all() and (typical < MOST_ERROR).all() and (differ > LEAST_DIFFERENCE).all())


def problems(seed: int, count: int = 20) -> list[GroupedProblem]:
    """The problems of a seed, always the same ones; no two have the same formula and split."""
    rng = np.random.default_rng(seed)
    found: dict[tuple, GroupedProblem] = {}
    while len(found) < count:
        draft = _draft(rng, f"{seed}-{len(found) + 1:02d}")
        clean = draft.clean(draft.x, draft.codes)
        noise = NOISE * float(np.std(clean))
        key = draft.text, draft.own
        if key in found or not np.isfinite(clean).all() or not _is_posed(draft, noise):
            continue
        y = clean + noise * rng.normal(size=len(clean))
        found[key] = GroupedProblem(**{**draft.__dict__, "y": y})
    return list(found.values())
