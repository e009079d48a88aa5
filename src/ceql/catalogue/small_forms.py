"""Small unnamed formulas: a function of a sum of one or two simple terms, all of which are tried.

Most laws of one or two columns have the form y = g(a + b t1 + c t2), where g is the identity, exp, a reciprocal, a
root, a square or a logarithm, and a term is a power, exponential, logarithm or pole of a column, possibly times another
column. Another form is (b + c x) exp(k x), the only sum of two terms that share an inner constant. After applying the
inverse of g to y, the form is linear in a, b and c. Constants inside terms take values on a grid, so that all of these
formulas are solved at once from sums over the rows. Levenberg-Marquardt on y itself then refines the best of each size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ceql.catalogue.fitting import LawFit, judged, problem_of, telling_columns
from ceql.catalogue.law import UNNAMED, Column, Constant, Law, Start
from ceql.catalogue.policy import POLICY, CataloguePolicy
from ceql.choice.criterion import of_rows
from ceql.data.dataset import Dataset, typical_size
from ceql.engine.one_thread import one_thread
from ceql.expression.constants.refit import minimise
from ceql.expression.text.compiled import compiled

Array = np.ndarray
_WITHOUT_SCALE = ("exp({})", "log({})")
_FEW_COLUMNS = 2  # with more columns, products have no inner constant
_MANY_TERMS = 400  # with more terms, no sum of two terms contains an inner constant
_ROUNDING = 1e-13  # share of a sum of squares below which sums over the rows are only rounding
_LARGEST = 1e12  # largest value of a term relative to its typical value; larger ones would dominate every sum


@dataclass(frozen=True)
class Link:
    """A link y = g(eta): in `text` {} stands for the sum; `into` is the inverse of g, `slope` the absolute value of
    g' at y."""

    text: str
    into: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    allows: Callable[[Array], bool]
    nodes: int


def _positive(y: Array) -> bool:
    return bool((y > 0).all())


LINKS = (
    Link("{}", lambda y: y, np.ones_like, lambda y: True, 0),
    Link("exp({})", np.log, np.abs, _positive, 2),
    Link("1/({})", lambda y: 1.0 / y, np.square, lambda y: bool((y != 0).all()), 2),
    Link("sqrt({})", np.square, lambda y: 0.5 / y, _positive, 2),
    Link("({})**2", np.sqrt, lambda y: 2.0 * np.sqrt(y), _positive, 2),
    Link("log({})", np.exp, lambda y: np.exp(-y), lambda y: bool((np.abs(y) < 30.0).all()), 2),
)


@dataclass(frozen=True)
class Grid:
    """Values for the constants inside terms."""

    rates: tuple[float, ...]  # change of the exponent over the range of the column
    exponents: tuple[float, ...]
    beyond: tuple[float, ...]  # distance of a pole beyond the rows, in ranges of the column


def _of_both_signs(smallest: float, largest: float, count: int) -> tuple[float, ...]:
    return tuple(float(sign * size) for size in np.geomspace(smallest, largest, count) for sign in (-1.0, 1.0))


COARSE = Grid(
    rates=(-12.0, -5.0, -2.5, -1.2, -0.6, -0.25, 0.25, 0.6, 1.2, 2.5, 5.0, 12.0),
    exponents=(-3.4, -2.4, -1.5, -0.7, -0.35, 0.35, 0.7, 1.4, 1.7, 2.4, 3.4, 4.6),
    beyond=(0.003, 0.02, 0.08, 0.25, 0.7, 2.0, 6.0),
)
# For one column, which has few terms. Between values of the coarse grid, terms miss their own curve by more than the
# noise of good data, and other forms would be fitted in their place.
FINE = Grid(
    rates=_of_both_signs(0.25, 12.0, 18),
    exponents=_of_both_signs(0.3, 4.6, 30),
    beyond=tuple(map(float, np.geomspace(0.003, 6.0, 36))),
)


@dataclass(frozen=True, eq=False)
class Term:
    """A term with its values on some rows; `inner` is the value of the constant inside it, written as {c}.

    A term with `shares` uses the inner constant of a term of that kind, and occurs only beside it.
    """

    kind: str
    values: Array
    nodes: int
    inner: float | None = None
    shares: str | None = None

    @property
    def constants(self) -> int:
        return 1 + (self.inner is not None and self.shares is None)


def _plain(name: str, x: Array) -> Iterator[Term]:
    powers = ((name, x, 1), (f"{name}**2", x**2, 3), (f"1/{name}", 1.0 / x, 3), (f"1/{name}**2", x**-2.0, 5))
    yield from (Term(*power) for power in powers)
    yield Term(f"{name}**3", x**3, 3)
    if (x > 0).all():
        yield Term(f"log({name})", np.log(x), 2)
        yield Term(f"sqrt({name})", np.sqrt(x), 2)


def _with_constant(name: str, x: Array, grid: Grid) -> Iterator[Term]:
    low, high = float(x.min()), float(x.max())
    span = (high - low) or 1.0
    for rate in grid.rates:
        kind, decay = f"exp({{c}}*{name})", np.exp(rate / span * (x - 0.5 * (low + high)))
        yield Term(kind, decay, 4, rate / span)
        yield Term(f"{name}*{kind}", x * decay, 2, rate / span, shares=kind)  # the exponential exists already
    poles = [low - span * share for share in grid.beyond] + [high + span * share for share in grid.beyond]
    for pole in poles:
        yield Term(f"1/({name} + {{c}})", 1.0 / (x - pole), 5, -pole)
        if pole < low:
            yield Term(f"log({name} + {{c}})", np.log(x - pole), 4, -pole)
    if low > 0:
        for exponent in grid.exponents:
            yield Term(f"{name}**{{c}}", (x / typical_size(x)) ** exponent, 4, exponent)
    size = typical_size(x)
    for share in (0.02, 0.1, 0.4, 1.0, 3.0, 10.0):
        yield Term(f"1/({name}**2 + {{c}})", 1.0 / (x**2 + share * size**2), 7, share * size**2)
    for pole in (pole for pole in poles if pole < low or pole > high):
        if (x**2 != pole**2).all() and low * high > 0 and not low**2 < pole**2 < high**2:
            yield Term(f"1/({name}**2 + {{c}})", 1.0 / (x**2 - pole**2), 7, -(pole**2))


def _terms(x: Array) -> list[Term]:
    """Terms of every column, and products of a simple term with a term of another column."""
    names = [f"x{k + 1}" for k in range(x.shape[1])]
    plain = [list(_plain(name, column)) for name, column in zip(names, x.T, strict=True)]
    grid = FINE if len(names) == 1 else COARSE
    inner = [list(_with_constant(name, column, grid)) for name, column in zip(names, x.T, strict=True)]
    terms = [term for group in (*plain, *inner) for term in group]
    for i, j in permutations(range(len(names)), 2):
        factors = [term for term in plain[i] if term.kind in (names[i], f"1/{names[i]}")]
        alone = [term for term in inner[j] if term.shares is None]
        others = [*(plain[j] if i < j else ()), *(alone if len(names) <= _FEW_COLUMNS else ())]
        for factor in factors:
            for other in others:
                values = factor.values * other.values
                terms.append(Term(f"{factor.kind}*({other.kind})", values, factor.nodes + other.nodes + 1, other.inner))
    return [term for term in terms if _is_usable(term.values)]


def _is_usable(values: Array) -> bool:
    if not np.isfinite(values).all() or np.ptp(values) == 0.0:
        return False
    return bool(np.max(np.abs(values)) <= _LARGEST * np.median(np.abs(values)))


@dataclass(frozen=True, eq=False)
class _Sum:
    """A link, the terms of the sum inside it, whether it has an offset, and its score (smaller is better)."""

    link: Link
    terms: tuple[Term, ...]
    has_offset: bool
    score: float

    @property
    def constants(self) -> int:
        return self.has_offset + sum(term.constants for term in self.terms)

    @property
    def kind(self) -> tuple:
        return self.link.text, self.has_offset, *(term.kind for term in self.terms)


@np.errstate(all="ignore")
def _scored(link: Link, terms: Sequence[Term], y: Array, weight: Array) -> Iterator[_Sum]:
    """The best sum of every kind: of one term, with or without an offset, or of two terms, one of which is plain.

    Two terms have an offset; without one, both are plain or they share their inner constant.
    """
    target = link.into(y)
    root = np.sqrt(weight) * link.slope(y)
    values = np.vstack([np.ones(len(y)), *(term.values for term in terms)]) * root
    values = values / np.linalg.norm(values, axis=1, keepdims=True)
    target = target * root
    gram, along, size = values @ values.T, values @ target, float(target @ target)
    places = {kind: k for k, kind in enumerate(dict.fromkeys(term.kind for term in terms), start=1)}
    kinds = np.array([0, *(places[term.kind] for term in terms)])
    constants = np.array([1, *(term.constants for term in terms)])
    nodes = np.array([2, *(2 + term.nodes for term in terms)])
    for members, has_offset in _sums_of(terms, link.text not in _WITHOUT_SCALE):
        misfit = _misfits(gram, along, size, members) / len(y)
        count = constants[members].sum(axis=1)
        score = of_rows(misfit, count, len(y), 2.0 * (link.nodes + nodes[members].sum(axis=1)))
        usable = np.flatnonzero(np.isfinite(score) & (2 * count < len(y)))
        usable = usable[np.argsort(score[usable], kind="stable")]
        _, first = np.unique(kinds[members[usable]], axis=0, return_index=True)
        for row in usable[first]:
            yield _Sum(link, tuple(terms[k - 1] for k in members[row] if k), has_offset, float(score[row]))


def _sums_of(terms: Sequence[Term], may_lack_offset: bool) -> Iterator[tuple[Array, bool]]:
    """Arrays with the places of the terms of each sum (0 is the offset), and whether it has an offset.

    Without an offset, the links exp and log would give y no free scale, as if its unit were known.
    """
    singles = np.array([k + 1 for k, term in enumerate(terms) if term.shares is None], int)
    plain = np.array([k + 1 for k, term in enumerate(terms) if term.inner is None], int)
    first, second = (grid.ravel() for grid in np.meshgrid(plain, singles, indexing="ij"))
    both_plain = np.isin(second, plain)
    keep = (first < second) | (~both_plain & (len(singles) <= _MANY_TERMS))
    first, second, both_plain = first[keep], second[keep], both_plain[keep]
    if may_lack_offset:
        yield singles[:, None], False
        yield np.stack([first, second], axis=1)[both_plain], False
        yield _that_share(terms), False
    yield np.stack([np.zeros_like(singles), singles], axis=1), True
    yield np.stack([np.zeros_like(first), first, second], axis=1), True


def _that_share(terms: Sequence[Term]) -> Array:
    """The places of each pair of terms with the same inner constant."""
    places = {(term.kind, term.inner): k for k, term in enumerate(terms, start=1)}
    shared = ((places.get((str(term.shares), term.inner)), k) for k, term in enumerate(terms, start=1) if term.shares)
    return np.array([pair for pair in shared if pair[0] is not None], int).reshape(-1, 2)


def _misfits(gram: Array, along: Array, size: float, members: Array) -> Array:
    """The squares that sums of these terms leave of the target, by the normal equations of normalised terms."""
    small = gram[members[:, :, None], members[:, None, :]] + 1e-12 * np.eye(members.shape[1])
    solved = np.linalg.solve(small, along[members][:, :, None])[:, :, 0]
    left = size - np.einsum("sk,sk->s", solved, along[members])
    return np.maximum(left, _ROUNDING * size)


def _best(sums: Sequence[_Sum], most: int) -> list[_Sum]:
    """The best sum of every kind, and of these the best for each number of constants."""
    kinds: dict[tuple, _Sum] = {}
    for one in sorted(sums, key=lambda one: one.score):
        kinds.setdefault(one.kind, one)
    counts: dict[int, int] = {}
    kept = []
    for one in kinds.values():
        counts[one.constants] = counts.get(one.constants, 0) + 1
        if counts[one.constants] <= most:
            kept.append(one)
    return kept


def _text(one: _Sum) -> tuple[str, list[str]]:
    """The sum in terms of x1, x2, ... and the names of its constants, those in front of the terms first."""
    names, inner, parts = [], [], []
    shared = one.terms[-1].shares
    if shared is not None:
        factor = one.terms[-1].kind.removesuffix(f"*{shared}")
        return f"(a1 + a2*{factor})*{shared.replace('{c}', 'c1')}", ["a1", "a2", "c1"]
    if one.has_offset:
        names.append("a0")
        parts.append("a0")
    for k, term in enumerate(one.terms):
        names.append(f"a{k + 1}")
        body = term.kind
        if term.inner is not None:
            inner.append(f"c{k + 1}")
            body = body.replace("{c}", f"c{k + 1}")
        parts.append(f"a{k + 1}*({body})")
    return " + ".join(parts), [*names, *inner]


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A sum as a law, with its constants fitted to y and its score (smaller is better)."""

    law: Law
    values: Array
    score: float


@np.errstate(all="ignore")
def _refined(one: _Sum, data: Dataset, few: Dataset, places: Sequence[int], policy: CataloguePolicy) -> _Fitted | None:
    """The sum fitted to y by Levenberg-Marquardt, from the best weights for the link's inverse of y; None if it
    fails."""
    inside, names = _text(one)
    columns = tuple(Column(f"x{k + 1}", "column", 0.0, 1.0) for k in range(len(places)))
    inner = [term.inner for term in one.terms if term.inner is not None and term.shares is None]
    start = _weights(inside, names, few.x[:, list(places)], inner, one.link, few)
    if start is None:
        return None
    if one.has_offset and one.link.text != "{}" and _is_parabola(one.terms):
        inside, names, start = _about_its_vertex(one.terms[0].kind, start)
    constants = tuple(Constant(name, "constant", 1.0, Start("numbers", numbers=(1.0,))) for name in names)
    law = Law(one.link.text.format(inside), UNNAMED, one.link.text.format(inside), columns, constants, known=0)
    values, misfit = minimise(problem_of(law, places, few), start, policy.last_steps)
    if few is not data:
        values, misfit = minimise(problem_of(law, places, data), values, policy.long_table_steps)
    rows = len(data.y)
    score = of_rows(misfit / rows, 2.0 * len(names), rows, 2.0 * law.structure)
    return _Fitted(law, values, float(score)) if np.isfinite(values).all() and np.isfinite(score) else None


def _most_promising(fits: Iterable[_Fitted], most: int) -> Iterator[_Fitted]:
    """The best fits for each number of constants: making formulas of the others takes long, and none would be shown."""
    counts: dict[int, int] = {}
    for fit in sorted(fits, key=lambda fit: fit.score):
        count = counts[len(fit.values)] = counts.get(len(fit.values), 0) + 1
        if count <= most:
            yield fit


def _is_parabola(terms: Sequence[Term]) -> bool:
    return len(terms) == 2 and terms[1].kind == f"{terms[0].kind}**2"


def _about_its_vertex(column: str, start: Array) -> tuple[str, list[str], Array]:
    """Rewrites a0 + a1 x + a2 x**2 as a0 + a2 (x + c)**2, whose exponential is still defined far from zero.

    Its exponential is a Gaussian, its reciprocal a Lorentzian.
    """
    a0, a1, a2 = start
    return f"a0 + a2*({column} + c)**2", ["a0", "a2", "c"], np.array([a0 - 0.25 * a1**2 / a2, a2, 0.5 * a1 / a2])


def _weights(
    inside: str, names: Sequence[str], x: Array, inner: Sequence[float], link: Link, data: Dataset
) -> Array | None:
    """All constants, with the best weights for these inner constants; None if a term is not finite."""
    program = compiled(inside, [f"x{k + 1}" for k in range(x.shape[1])], names)
    outer = len(names) - len(inner)
    units = (program.value(x, np.concatenate([unit, inner])) for unit in np.eye(outer))
    root = np.sqrt(data.weight) * link.slope(data.y)
    basis = np.column_stack([np.broadcast_to(unit, (len(x),)) for unit in units]) * root[:, None]
    scale = np.linalg.norm(basis, axis=0)
    if not np.isfinite(scale).all() or not scale.all():
        return None
    return np.concatenate([np.linalg.lstsq(basis / scale, link.into(data.y) * root, rcond=None)[0] / scale, inner])


@one_thread
@np.errstate(all="ignore")
def small_forms(data: Dataset, policy: CataloguePolicy = POLICY) -> tuple[LawFit, ...]:
    """The best small formulas for each number of constants, fitted to y; in a wide table, of the most telling
    columns."""
    if policy.forms_per_size == 0:
        return ()
    few = data.thinned(policy.screened_rows)
    places = telling_columns(few, data, policy.form_columns)
    terms = _terms(few.x[:, list(places)])
    middle = data.thinned(policy.fitted_rows)  # a link must be defined for y in all rows that it will be fitted to
    sums = [one for link in LINKS if link.allows(middle.y) for one in _scored(link, terms, few.y, few.weight)]
    refined = (_refined(one, data, middle, places, policy) for one in _best(sums, policy.forms_per_size))
    best = _most_promising((fit for fit in refined if fit is not None), policy.forms_made)
    fits = (judged(fit.law, places, fit.values, data) for fit in best)
    return tuple(fit for fit in fits if fit is not None and fit.is_determined)
