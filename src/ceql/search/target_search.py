"""The hunt for one aim: rounds of the search, hits carried to exact formulas, the rest to an approximate front."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ceql.choice.criterion import criterion, interpolates, of_fits
from ceql.choice.exactness import EXACT, is_exact
from ceql.choice.residuals import look_like_noise, neighbours
from ceql.closed_form import fraction, images, product, proposals, sparse_sum
from ceql.constraints import NONE, Constraints
from ceql.data.dataset import Dataset, Scaling
from ceql.engine import fit
from ceql.engine.deadline import Deadline
from ceql.engine.dispatch import Workers
from ceql.expression.text.write import short_text
from ceql.formula import Formula, make_symbols, mean_square, polish, sketch, values_of
from ceql.network import Structure
from ceql.search import proposals as searching
from ceql.search.finishing import EVERYTHING, Finishing
from ceql.search.proposals import SearchSettings
from ceql.search.reduction import Contenders, Reduced, WhileExact, challenged, eliminate, fitted
from ceql.transforms import Aim

_HITS_TRIED = 6  # exact fits that are eliminated
_MISSES_TRIED = 2  # fits a round that may hide an exact one are eliminated
_FRACTIONS_NEED = {"mul", "div"}
_IN_FRACTIONS = ("cos", "sin", "exp")
_IN_CLOSED_FORM = ("sqrt", "log", "sin", "cos", "exp")
_SHORT_FRACTION = 14  # terms, above and below the line together
_MARGIN = 10.0  # times its misfit that a fit which is not exact may have on its way to a smaller one
_SMALLER = WhileExact()  # the removal that costs least, down to a single edge
_POLISHED = 2  # of these, the smallest become formulas
_ROWS = 8  # of a front beside those that may be chosen; to draw one takes some hundredths of a second
_CONTENDERS = 8  # reduced fits that are drawn as formulas
_FOREMOST = 3  # of these, the best come before all others
_FAR_WORSE = 30.0  # by the criterion; the full effort does not make up for more
_FEW_INPUTS = 12  # up to so many, linear formulas are drawn as well
_FIRST_REDUCTION = 2  # rounds after which fits to noisy data are reduced; what is exact has mostly been found by then
_QUIET, _QUIET_IN_DOUBT = 8, 16  # rounds without a better contender that end a search: the residuals are noise or not

Finished = TypeVar("Finished")


@dataclass(frozen=True, eq=False)
class HuntState:
    """What has to be kept between two rounds for the hunt to go on later as if nothing had happened."""

    archive: searching.Archive
    tried: frozenset[bytes]
    tried_closed_form: bool
    contenders: Contenders
    spare: Formula | None
    edges_too_many: float


class Hunt:
    """One aim's search. `next_round` may be called as often as there is time."""

    def __init__(
        self,
        data: Dataset,
        aim: Aim,
        network: Structure,
        settings: SearchSettings,
        seed: int,
        workers: Workers,
        deadline: Deadline,
        max_complexity: int | None = None,
        constraints: Constraints = NONE,
        whole: Aim | None = None,
    ) -> None:
        """`aim` has the rows that the search looks at, `whole` all there are."""
        self.network, self.threads = network, workers.threads_here
        self._search = settings, seed, workers, deadline
        self.constraints, self._needed = constraints, settings.prior.needed
        self.scaling = Scaling.of(aim.x, aim.y)
        self.whole = whole or aim
        self.symbols = make_symbols(data.names)
        self.archive = searching.empty_archive(network)
        self._begin(data, aim)
        self.spare: Formula | None = None  # exact, but perhaps not the shortest way to say it
        self._glance = b"", ""
        self._limit = np.inf if max_complexity is None else max_complexity
        self._edges_too_many = np.inf  # from so many on, exact fits are formulas beyond the limit

    def _begin(self, data: Dataset, aim: Aim) -> None:
        """Everything that depends on the weights of the rows."""
        self.data, self.aim = data, aim
        x, y = self.scaling.apply(aim.x, aim.y)
        self.samples = fit.Samples.of(x, y, aim.weight / (1.0 + y**2))
        self.plain = fit.Samples.of(x, y, aim.weight)
        self.tolerance = EXACT.hit * mean_square(y, aim.weight)
        self._rounds = searching.search(self.network, self.samples, *self._search, self.archive)
        self._tried: set[bytes] = set()
        self.tried_closed_form = False
        self.contenders = Contenders()

    @property
    def state(self) -> HuntState:
        tried, contenders = frozenset(self._tried), self.contenders
        return HuntState(self.archive, tried, self.tried_closed_form, contenders, self.spare, self._edges_too_many)

    def restore(self, state: HuntState) -> None:
        chunk = state.archive.chunk
        if (chunk.edges.shape[1], chunk.params.shape[1]) != (self.network.n_edges, self.network.n_params):
            raise ValueError("it is of another network")
        self.archive = state.archive
        self._begin(self.data, self.aim)
        self._tried, self.tried_closed_form = set(state.tried), state.tried_closed_form
        self.contenders = state.contenders
        self.spare, self._edges_too_many = state.spare, state.edges_too_many

    def reweigh(self, data: Dataset, weight: np.ndarray) -> None:
        """Goes on with other weights of the rows: `data` has those of all, `weight` those of the rows searched."""
        self.archive = searching.judged_anew(self.archive, self.network, self._samples_with(weight))
        self._begin(data, replace(self.aim, weight=weight))

    def _samples_with(self, weight: np.ndarray) -> fit.Samples:
        return fit.Samples.of(self.samples.x, self.samples.y, weight / (1.0 + self.samples.y**2))

    def found(self, guesses: Sequence[Any]) -> None:
        """Formulas in the user's columns as parents of the search, as far as they fit into the library."""
        if not self.aim.is_direct:
            return
        founders = tuple(s for g in guesses for s in self.network.embedded(g, self.aim.symbols, self.scaling))
        if founders:
            edges, params = zip(*founders, strict=True)
            known = searching.with_fits(self.archive, edges, params)
            archive = searching.judged_anew(known, self.network, self.samples)
            self.archive = replace(archive, founders=founders)
            self._begin(self.data, self.aim)

    def admit(self, state: Reduced) -> None:
        """Puts a fit that was made elsewhere into the archive."""
        self.archive = searching.with_fits(self.archive, [state.edges], [state.params])

    def expression(self, state: Reduced) -> Any:
        """The raw formula of a fit, in the user's units."""
        return self._formula(state, lambda raw, *_: raw)

    def next_round(self, anyhow: bool = False) -> list[Formula]:
        """Fits another round of starts; gives the exact formulas it led to. What needs no search comes first.

        A round that the deadline has cut short counts as if it had not begun, except `anyhow`, where nothing else is
        there.
        """
        if self.archive.rounds == 0 and (closed := self.closed_form()):
            return closed
        *_, deadline = self._search
        archive = next(self._rounds)
        if deadline.over and not anyhow:
            return []
        self.archive = archive
        exact = self._exact_formulas()
        if not exact and self.aim.is_direct and self.archive.rounds >= _FIRST_REDUCTION and self.sees_noise():
            self._challenge()
        return exact

    def _challenge(self) -> None:
        """Reduces the most promising fits of the archive that were not tried yet."""
        policy = self._search[0].reduction
        given = self.archive.chunk, self.network, self.plain, policy, self.threads, self._needed
        self.contenders = challenged(self.contenders, *given)

    def _fraction(self) -> list[Formula]:
        """A fraction of polynomials in the columns, or with the sine, cosine or exponential of one in its place."""
        operators = self.network.operator_names
        if not _FRACTIONS_NEED.issubset(operators):
            return []
        symbols = [s / float(k) for s, k in zip(self.aim.symbols, self.scaling.x, strict=True)]
        counted = self.aim.weight > 0.0
        x, y = self.plain.x[counted], self.plain.y[counted]
        names = [name for name in _IN_FRACTIONS if name in operators]
        for columns, written in ((x, symbols), *images(x, symbols, self.aim.x[counted], self.aim.symbols, names)):
            found = fraction(columns, y, written)
            formula = None if found is None else self._exact(self.scaling.y * found.expression)
            if found is not None and formula is not None:
                break
        else:
            return []
        if found.is_linear or found.terms <= _SHORT_FRACTION:
            return [formula]
        # Several separate poles make one long fraction. The search may find them apart, which is shorter.
        self.spare = formula
        return []

    def closed_form(self) -> list[Formula]:
        """What needs no search; it is looked for only once."""
        if self.tried_closed_form:
            return []
        self.tried_closed_form = True
        return self._fraction() or self._product_or_sum()

    def _product_or_sum(self) -> list[Formula]:
        operators = self.network.operator_names
        if not _FRACTIONS_NEED.issubset(operators):
            return []
        counted = self.aim.weight > 0.0
        x, y = self.aim.x[counted], self.aim.y[counted]
        functions = tuple(name for name in _IN_CLOSED_FORM if name in operators)
        for method in (product, sparse_sum):
            found = method(x, y, self.aim.symbols, functions)
            if found is not None and (formula := self._exact(found)) is not None:
                return [formula]
        return []

    def proposals(self) -> list[Any]:
        """Expressions for noisy y that need no search, in the user's columns; none of them is fitted to y yet."""
        if not _FRACTIONS_NEED.issubset(self.network.operator_names):
            return []
        functions = tuple(name for name in _IN_CLOSED_FORM if name in self.network.operator_names)
        aim = self.whole  # noise is averaged out over rows
        return [aim.back(found) for found in proposals(aim.x, aim.y, aim.symbols, functions, aim.slope)]

    def _exact(self, found: Any) -> Formula | None:
        """The formula for y that this expression for the aim leads to, if it is exact and not too large."""
        raw = self.aim.back(found)
        few = self.data.thinned(EXACT.rows)
        values = values_of(raw, self.symbols, few.x)
        if values is not None and float(values @ few.y) < 0.0:
            raw = -raw  # a square does not tell the sign
        formula = polish(raw, self.data, self.symbols, self.constraints)
        if formula is None or formula.loss > self._exact_loss or formula.complexity > self._limit:
            return None
        return formula if self._is_beyond_doubt(formula) else None

    def _is_beyond_doubt(self, formula: Formula) -> bool:
        """Whether it fits to the last digits. One that does not may be a very good approximation: it is kept for the
        case that nothing better comes."""
        if is_exact(formula, self.data):
            return True
        if interpolates(formula, len(self.data.y)):  # which proves nothing
            return False
        if self.spare is None or formula.loss < self.spare.loss:
            self.spare = formula
        return False

    @property
    def _exact_loss(self) -> float:
        return EXACT.hit * mean_square(self.data.y, self.data.weight)

    @property
    def best_loss(self) -> float:
        """The misfit of the best fit so far, in the units of the target."""
        return float(self.archive.chunk.misfit[0]) * self.scaling.y**2

    @property
    def exceeds_limit(self) -> bool:
        """Whether a formula was exact, but larger than allowed."""
        return bool(self._edges_too_many < np.inf)

    def sees_noise(self) -> bool:
        """Whether larger fits have stopped being better: without noise they would go on improving."""
        chunk = self.archive.chunk
        if not len(chunk.misfit):
            return False
        sizes = chunk.edges.sum(axis=1)
        best = np.array([chunk.misfit[sizes == size].min() for size in np.unique(sizes)])
        reached = np.flatnonzero(best <= 2.0 * best.min())
        return len(best) - 1 - reached[0] >= 6

    def has_settled(self) -> bool:
        """Whether more rounds would hardly change the formula: larger fits only follow the noise, and the best small
        one has not changed for a while. If its residuals are not like noise, that while is longer."""
        if not self.sees_noise() or self.contenders.quiet < _QUIET:
            return False
        return self.contenders.quiet >= _QUIET_IN_DOUBT or self._leaves_only_noise(self.contenders.known[0])

    def _leaves_only_noise(self, state: Reduced) -> bool:
        mask = self.network.parameter_mask(state.edges[None], imaginary=False)
        values = fit.values(self.network.tape(), self.plain, state.params, mask)[0]
        return look_like_noise(self.plain.y - values, values, self._neighbours)

    @cached_property
    def _neighbours(self) -> np.ndarray:
        return neighbours(self.plain.x)

    def front(self, plan: Finishing = EVERYTHING, rival: float = np.inf) -> Iterator[list[Formula]]:
        """Approximate formulas of all sizes; those that may be chosen get the full effort.

        `rival` is the criterion of a formula from elsewhere, which rules out those that are far worse. Yields what
        there is again and again as it grows, for those who cannot wait; the last is the front.
        """
        drawn: list[tuple[Formula, Reduced]] = []
        for state in self._states():
            if (formula := self._formula(state, sketch)) is not None:
                drawn.append((formula, state))
                yield [formula for formula, _ in drawn]
            if len(drawn) >= plan.drawn:
                break
        drawn = _without_twins(sorted(drawn, key=lambda pair: self._rank(pair[0])))
        formulas = [formula for formula, _ in drawn]
        yield formulas
        for sketched, state in drawn[: plan.finished]:
            if self._rank(sketched)[1] > rival + _FAR_WORSE:
                break
            if (formula := self._formula(state, polish)) is not None:
                formulas = [*formulas, formula]
                yield formulas

    def _rank(self, formula: Formula) -> tuple[bool, float]:
        return formula.complexity > self._limit, criterion(formula, len(self.data.y))

    def at_once(self, most: int) -> Iterator[list[Formula]]:
        """The most promising fits as they stand, nothing reduced or finished, for those who cannot wait. Yields what
        there is as it grows."""
        rows = len(self.plain.y)
        states = [*self.contenders.known[:_CONTENDERS], *self._best_per_size()]
        states.sort(key=lambda state: float(of_fits(state.misfit, state.size, rows)))
        drawn: list[Formula] = []
        for state in _distinct(states):
            if (formula := self._formula(state, sketch)) is not None:
                drawn = [*drawn, formula]
                yield drawn
            if len(drawn) >= most:
                break

    def outline(self) -> list[Formula]:
        """A few approximate formulas, quickly, to stand beside an exact one."""
        return [formula for state in self._best_per_size()[:5] if (formula := self._formula(state, sketch))]

    def _reduced(self, index: int) -> Reduced:
        chunk = self.archive.chunk
        return Reduced(chunk.edges[index], chunk.params[index], float(chunk.misfit[index]))

    def _untried(self, rows: np.ndarray, most: int) -> list[int]:
        chunk = self.archive.chunk
        rows = rows[np.argsort(chunk.edges[rows].sum(axis=1), kind="stable")]
        fresh = [int(k) for k in rows if chunk.edges[k].tobytes() not in self._tried][:most]
        self._tried.update(chunk.edges[k].tobytes() for k in fresh)
        return fresh

    def _near_misses(self) -> np.ndarray:
        """Fits so good that the formula may be inside them, slowed down by edges it does not need."""
        chunk = self.archive.chunk
        return np.flatnonzero((chunk.misfit < EXACT.near) & (chunk.misfit >= EXACT.hit) & chunk.in_domain)

    def _exact_formulas(self) -> list[Formula]:
        """Exact fits that survive elimination, as formulas; a fit is tried only once."""
        chosen = self._untried(self.archive.hits, _HITS_TRIED) or self._untried(self._near_misses(), _MISSES_TRIED)
        survivors: dict[bytes, Reduced] = {}
        rule = WhileExact(self.tolerance, margin=_MARGIN)
        starts = [self._reduced(index) for index in chosen]
        for path in eliminate(self.network, self.plain, starts, rule, self.threads, self._needed):
            exact = [step for step in path if step.misfit <= self.tolerance]
            if exact:
                survivors[exact[-1].edges.tobytes()] = exact[-1]
        smallest_first = sorted(survivors.values(), key=lambda step: int(step.edges.sum()))
        formulas = []
        for step in smallest_first[:_POLISHED]:
            size = int(step.edges.sum())
            formula = self._formula(step, polish) if size < self._edges_too_many else None
            if formula is None or formula.loss > self._exact_loss:
                continue
            if formula.complexity <= self._limit:
                formulas += [formula] if self._is_beyond_doubt(formula) else []
            else:
                self._edges_too_many = size
        return formulas

    def _states(self) -> list[Reduced]:
        """What a front is drawn from, the most promising first: reduced fits, what elimination makes of the best of
        them on the way to a single edge, and the best fit of each size."""
        self._challenge()
        contenders = _distinct(list(self.contenders.known))[:_CONTENDERS]
        steps: dict[int, Reduced] = {}
        for path in eliminate(self.network, self.plain, contenders[:2], _SMALLER, self.threads, self._needed):
            for step in path[1:]:
                size = int(step.edges.sum())
                if size not in steps or step.misfit < steps[size].misfit:
                    steps[size] = step
        small = [*_falling(steps)[:_ROWS], *self._best_per_size()[: _ROWS // 2], *self._linear_fits()]
        # Perhaps only some of them are drawn: the best come first, and small ones before many alike.
        return _distinct([*contenders[:_FOREMOST], *small, *contenders[_FOREMOST:]])

    def _linear_fits(self) -> list[Reduced]:
        """Weighted sums of the inputs: the smallest formulas there are, and no draw consists of nothing else."""
        edges = self.network.linear_edges
        if edges is None or self.network.n_inputs > _FEW_INPUTS:
            return []
        params = np.zeros((1, self.network.n_params))
        starts = fitted(self.network, self.plain, edges[None], params, fit.Levenberg(30), self.threads)
        (path,) = eliminate(self.network, self.plain, starts, _SMALLER, self.threads, self._needed)
        return path

    def _best_per_size(self) -> list[Reduced]:
        chunk = self.archive.chunk
        sizes = chunk.edges.sum(axis=1)
        best: dict[int, Reduced] = {}
        for size in np.unique(sizes):
            rows = np.flatnonzero((sizes == size) & chunk.in_domain)
            if len(rows):
                best[int(size)] = self._reduced(rows[np.argmin(chunk.misfit[rows])])
        return _falling(best)

    def glance(self) -> str:
        """The best fit so far as a short text: raw and unsimplified, but in the user's units."""
        state = self._reduced(0)
        key = state.params.tobytes()
        if key != self._glance[0]:
            self._glance = key, self._formula(state, lambda raw, *_: short_text(raw))
        return self._glance[1]

    def _formula(self, state: Reduced, finish: Callable[..., Finished]) -> Finished:
        params = self.network.upright(state.edges, state.params, self.samples.x)
        raw = self.network.in_units(state.edges, params, self.aim.symbols, self.scaling)
        return finish(self.aim.back(raw), self.data, self.symbols, self.constraints)


def _falling(best: dict[int, Reduced]) -> list[Reduced]:
    """From small to large, only those that fit better than everything smaller."""
    kept: list[Reduced] = []
    for size in sorted(best):
        if not kept or best[size].misfit < 0.999 * kept[-1].misfit:
            kept.append(best[size])
    return kept


def _distinct(states: list[Reduced]) -> list[Reduced]:
    """The smallest of each function: equal misfits to six digits mean the same function in different networks."""
    kept: dict[str, Reduced] = {}
    for state in states:
        twin = kept.setdefault(f"{state.misfit:.5e}", state)
        if state.edges.sum() < twin.edges.sum():
            kept[f"{state.misfit:.5e}"] = state
    return list(kept.values())


def _without_twins(drawn: list[tuple[Formula, Reduced]]) -> list[tuple[Formula, Reduced]]:
    """One of each function: equal losses to six digits mean the same function from different fits."""
    kept: dict[str, tuple[Formula, Reduced]] = {}
    for formula, state in drawn:
        kept.setdefault(f"{formula.loss:.5e}", (formula, state))
    return list(kept.values())
