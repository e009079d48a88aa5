"""The front of a target: which of its fits become formulas, and with how much effort."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ceql.choice.criterion import criterion, of_fits
from ceql.engine import fit
from ceql.expression import BRIEF
from ceql.formula import Formula
from ceql.search.policy import Finishing
from ceql.search.reduction import Reduced, WhileExact, eliminate, fitted
from ceql.search.target_search import TargetProblem, TargetState, reduced


def front(
    problem: TargetProblem, state: TargetState, threads: int, plan: Finishing, rival: float = np.inf
) -> Iterator[list[Formula]]:
    """Approximate formulas of all sizes; those that may be chosen get the full effort.

    `rival` is the criterion of a formula from elsewhere, which rules out those that are far worse. Yields the formulas
    found so far, again and again; the last list is the front.
    """
    drawn: list[tuple[Formula, Reduced]] = []
    for fit_ in _fits(problem, state, threads, plan.reduced):
        if (formula := _sketched(problem, fit_)) is not None:
            drawn.append((formula, fit_))
            yield [formula for formula, _ in drawn]
        if len(drawn) >= plan.drawn:
            break
    drawn = _without_twins(sorted(drawn, key=lambda pair: _rank(problem, pair[0])))
    formulas = [formula for formula, _ in drawn]
    yield formulas
    for sketched, fit_ in drawn[: plan.finished]:
        if _rank(problem, sketched)[1] > rival + problem.policy.drawing.far_worse:
            break
        formula = problem.finished(fit_)
        if formula is not None:
            formulas = [*formulas, formula]
            yield formulas


def at_once(problem: TargetProblem, state: TargetState, most: int) -> Iterator[list[Formula]]:
    """The most promising fits without reduction or finishing, for interruptions. Yields the formulas found so far."""
    fits = [*state.contenders.known[: problem.policy.drawing.contenders], *_best_per_size(problem, state)]
    drawn: list[Formula] = []
    for fit_ in _distinct(_by_promise(problem, fits)):
        if (formula := _sketched(problem, fit_)) is not None:
            drawn = [*drawn, formula]
            yield drawn
        if len(drawn) >= most:
            break


def lines(problem: TargetProblem, most: int) -> list[Formula]:
    """The most promising weighted sums of the inputs, which may be chosen even where no other formula may."""
    drawn = (_sketched(problem, fit_) for fit_ in _by_promise(problem, _linear_fits(problem, 1))[:most])
    return [formula for formula in drawn if formula is not None]


def _by_promise(problem: TargetProblem, fits: list[Reduced]) -> list[Reduced]:
    return sorted(fits, key=lambda fit_: float(of_fits(fit_.misfit, fit_.size, len(problem.plain.y))))


def outline(problem: TargetProblem, state: TargetState) -> list[Formula]:
    """A few approximate formulas, quickly, to stand beside an exact one."""
    fits = _best_per_size(problem, state)[: problem.policy.drawing.outline]
    return [formula for fit_ in fits if (formula := _sketched(problem, fit_)) is not None]


def _sketched(problem: TargetProblem, fit_: Reduced) -> Formula | None:
    return problem.finished(fit_, BRIEF)


def _rank(problem: TargetProblem, formula: Formula) -> tuple[bool, float]:
    return formula.complexity > problem.most_nodes, criterion(formula, len(problem.data.y), problem.policy.prices)


def _fits(problem: TargetProblem, state: TargetState, threads: int, most_reduced: int) -> list[Reduced]:
    """The fits that a front is drawn from, the most promising first: reduced fits, smaller fits obtained from the best
    of them down to a single edge, and the best fit of each size."""
    policy, needed = problem.policy.drawing, problem.policy.prior.needed
    contenders = _distinct(list(reduced(problem, state, threads, most_reduced).known))[: policy.contenders]
    steps: dict[int, Reduced] = {}
    rule, first = _smaller(problem), contenders[: policy.eliminated]
    paths = eliminate(problem.structure, problem.plain, first, rule, threads, needed)
    for step in (step for path in paths for step in path[1:]):
        if step.size not in steps or step.misfit < steps[step.size].misfit:
            steps[step.size] = step
    small = [
        *_falling(problem, steps)[: policy.rows],
        *_best_per_size(problem, state)[: policy.rows // 2],
        *_linear_fits(problem, threads),
    ]
    # Perhaps only some of them are drawn: the best come first, and small ones before many alike.
    return _distinct([*contenders[: policy.foremost], *small, *contenders[policy.foremost :]])


def _linear_fits(problem: TargetProblem, threads: int) -> list[Reduced]:
    """Weighted sums of the inputs: the smallest formulas, which random sub-networks never consist of alone."""
    edges, structure = problem.structure.linear_edges, problem.structure
    if edges is None or structure.n_inputs > problem.policy.drawing.linear_inputs:
        return []
    params = np.zeros((1, structure.n_params))
    options = fit.Levenberg(problem.policy.drawing.linear_fit, separable=problem.policy.hits.separable)
    starts = fitted(structure, problem.plain, edges[None], params, options, threads)
    (path,) = eliminate(structure, problem.plain, starts, _smaller(problem), threads, problem.policy.prior.needed)
    return path


def _smaller(problem: TargetProblem) -> WhileExact:
    """The removal that costs least, down to a single edge."""
    return WhileExact(separable=problem.policy.hits.separable)


def _best_per_size(problem: TargetProblem, state: TargetState) -> list[Reduced]:
    chunk = state.archive.chunk
    sizes = chunk.edges.sum(axis=1)
    best: dict[int, Reduced] = {}
    for size in np.unique(sizes):
        rows = np.flatnonzero((sizes == size) & chunk.in_domain)
        if len(rows):
            best[int(size)] = state.fit(int(rows[np.argmin(chunk.misfit[rows])]))
    return _falling(problem, best)


def _falling(problem: TargetProblem, best: dict[int, Reduced]) -> list[Reduced]:
    """From small to large, only those that fit better than everything smaller."""
    kept: list[Reduced] = []
    for size in sorted(best):
        if not kept or best[size].misfit < problem.policy.drawing.better * kept[-1].misfit:
            kept.append(best[size])
    return kept


def _distinct(fits: list[Reduced]) -> list[Reduced]:
    """The smallest fit of each function: misfits that agree to six digits mean the same function."""
    kept: dict[str, Reduced] = {}
    for fit_ in fits:
        twin = kept.setdefault(f"{fit_.misfit:.5e}", fit_)
        if fit_.size < twin.size:
            kept[f"{fit_.misfit:.5e}"] = fit_
    return list(kept.values())


def _without_twins(drawn: list[tuple[Formula, Reduced]]) -> list[tuple[Formula, Reduced]]:
    """One formula for each function: losses that agree to six digits mean the same function."""
    kept: dict[str, tuple[Formula, Reduced]] = {}
    for formula, fit_ in drawn:
        kept.setdefault(f"{formula.loss:.5e}", (formula, fit_))
    return list(kept.values())
