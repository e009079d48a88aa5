"""Finds suites and problems by name.

The suites that come with the package are TOML files in `suites/`; a user's own file is given by its path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from ceql.bench.definitions import Problem, Samples, Suite, families
from ceql.bench.errors import SuiteError
from ceql.bench.points import sample
from ceql.bench.selections import unknown
from ceql.bench.suitefile import read_suite

__all__ = [
    "Problem",
    "Samples",
    "Suite",
    "every",
    "load_problem",
    "load_suite",
    "sample",
    "select",
    "suite_names",
    "with_noise",
    "with_subsampling",
]

_FOLDER = Path(__file__).parent / "suites"
_DEEPEST = 20  # longest chain of files that include each other


def suite_names() -> tuple[str, ...]:
    """The names of the suites that come with the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_suite(name_or_path: str | Path) -> Suite:
    """Loads a suite by name, or from a file (any path that ends in .toml or contains a folder)."""
    return _loaded(name_or_path, ())


def _loaded(name_or_path: str | Path, within: tuple[Path, ...]) -> Suite:
    """Loads a suite that is included by the files in `within`, each of which includes the next."""
    text = str(name_or_path)
    if text in suite_names():
        return _builtin(text)
    path = Path(name_or_path)
    if path.is_file():
        return read_suite(path, partial(_loaded, within=_way_to(path, within)))
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise SuiteError(f"There is no suite file {text}. Suites by name: {', '.join(suite_names())}.")
    raise SuiteError(unknown("suite", text, suite_names()) + " A file of your own needs its path, such as ./mine.toml.")


def _way_to(path: Path, within: tuple[Path, ...]) -> tuple[Path, ...]:
    """The chain of files up to this one; an error if it is a circle or too long."""
    way = (*within, path.resolve())
    if way[-1] in within:
        round_ = " includes ".join(p.name for p in way[within.index(way[-1]) :])
        raise SuiteError(f"{path} includes itself ({round_}): leave out one of these [[include]] tables.")
    if len(way) > _DEEPEST:
        raise SuiteError(f"{path} is included by a chain of more than {_DEEPEST} files: make the chain shorter.")
    return way


def load_problem(name: str) -> Problem:
    """Loads one problem of the suites that come with the package, such as `E-7`."""
    problems = {p.name: p for suite in suite_names() for p in reversed(_builtin(suite).problems)}
    if name not in problems:
        raise SuiteError(unknown("problem", name, problems))
    return problems[name]


def select(suite: Suite, names: tuple[str, ...]) -> tuple[Problem, ...]:
    """The problems of a suite with these names; a family's name selects all its problems."""
    chosen: dict[str, Problem] = {}
    for name in names:
        found = [p for p in suite.problems if p.name == name] or [
            p for p in suite.problems if name in families(p.family)
        ]
        if not found:
            groups = (family for p in suite.problems for family in families(p.family))
            known = dict.fromkeys((*groups, *(p.name for p in suite.problems)))
            raise SuiteError(unknown(f"problem or family of suite {suite.name!r},", name, known))
        chosen.update((p.name, p) for p in found)
    return tuple(chosen.values())


def every(suite: Suite, step: int) -> Suite:
    """The suite with every `step`-th problem, beginning with the first; within each family if `parts` is set."""
    lists = {p.family: [q for q in suite.problems if q.family == p.family] for p in suite.problems}
    kept = [p for own in (lists.values() if suite.parts else [suite.problems]) for p in own[::step]]
    return replace(suite, problems=tuple(kept))


def with_noise(suite: Suite, levels: Sequence[float]) -> Suite:
    """The suite with every problem at these noise levels, on the same points: `I.12.1` and `I.12.1[noise=0.01]`."""
    noisy = [problem.name for problem in suite.problems if problem.noise]
    if noisy:
        raise SuiteError(f"The suite {suite.name!r} sets its noise itself, as in {noisy[0]!r}: leave out the option.")
    problems = [
        replace(p, name=f"{p.name}[noise={level:g}]", noise=level, stem=p.sampling_key) if level else p
        for level in levels
        for p in suite.problems
    ]
    return replace(suite, problems=tuple(problems))


def with_subsampling(suite: Suite, shares: Sequence[float]) -> Suite:
    """The suite with every system once for each share of samples left out: `sir` and `sir[subsample=0.5]`."""
    if not suite.is_of_motion:
        raise SuiteError(f"The problems of {suite.name!r} have no trajectories: leave out --subsample.")
    if any(share >= 1.0 for share in shares):
        raise SuiteError("The share of samples to leave out must be less than 1, such as 0.5.")
    problems = [_thinned(p, share) if share else p for share in shares for p in suite.problems]
    return replace(suite, problems=tuple(problems))


def _thinned(problem: Problem, share: float) -> Problem:
    motion = problem.motion and replace(problem.motion, subsample=share)
    return replace(problem, name=f"{problem.name}[subsample={share:g}]", stem=problem.sampling_key, motion=motion)


@cache
def _builtin(name: str) -> Suite:
    return read_suite(_FOLDER / f"{name}.toml", load_suite)
