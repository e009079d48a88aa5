"""Where relations come from: sums of terms by linear algebra, and formulas of single columns by the search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ceql.data.dataset import Dataset
from ceql.discovery import Discovery, Progress, Settings
from ceql.engine.one_thread import one_thread
from ceql.errors import CeqlWarning
from ceql.pipeline import discover
from ceql.relations.drafts import Draft
from ceql.relations.families import thinned_families
from ceql.relations.policy import RelationsPolicy, RelationsSettings
from ceql.relations.rows import Rows
from ceql.relations.supports import moments_of, search
from ceql.relations.surface import Equation
from ceql.relations.terms import Term, dictionary_of, make_terms, values_and_slopes
from ceql.relations.vectors import VectorSearch, best_drafts

Report = Callable[[str, float], None]


@one_thread
@np.errstate(all="ignore")
def sums_of_terms(rows: Rows, policy: RelationsPolicy, given: Sequence[Term] = ()) -> list[Draft]:
    """The likeliest sums of terms, the best first, without terms that contain one of `given` as a factor."""
    terms = make_terms(rows.x, rows.symbols, policy.vocabulary, policy.prices)
    free = [term for term in terms if not any(term.holds(other) for other in given)]
    dictionary = dictionary_of(free, rows)
    own, judging = policy.supports, policy.judging
    if len(dictionary.terms) < 2:
        return []
    mixed = None
    if any(len(np.unique(column)) <= policy.vocabulary.few_values for column in rows.x.T):
        mixed = values_and_slopes(dictionary.terms, rows.shuffled(range(len(rows.names)), seed=0))
    moments = moments_of(dictionary, rows.codes, policy.prices, own, mixed)
    beams = search(moments, [term.columns for term in dictionary.terms], own)
    families = thinned_families(dictionary.terms, moments, own)
    supports = dict.fromkeys([*(support for beam in beams for support in beam), *families])
    vectors = VectorSearch(dictionary, rows, own, policy.prices, judging.exact, judging.independent, mixed)
    return best_drafts(vectors, list(supports), own.drafts, own.apart)


def solved_columns(
    rows: Rows, columns: Sequence[int], settings: RelationsSettings, seconds: float, report: Report
) -> Iterator[Equation]:
    """Formulas that the search finds for each of these columns as a function of all others."""
    policy = settings.policy.solving
    for place, column in enumerate(columns):
        name = rows.names[column]
        done = place / len(columns)

        def tell(progress: Progress, name: str = name, done: float = done) -> None:
            share = min(1.0, progress.seconds / max(progress.time_limit, 1e-3))
            report(f"formulas for {name}", done + share / len(columns))

        others = [k for k in range(len(rows.names)) if k != column]
        names = tuple(rows.names[k] for k in others)
        data = Dataset(rows.x[:, others], rows.x[:, column], np.ones(len(rows.x)), names)
        own = Settings(time_limit=seconds / len(columns), seed=settings.seed, threads=settings.threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CeqlWarning)  # about formulas not asked for
            found = discover(data, own, tell)
        yield from (Equation(rows.symbols[column], f.expression) for f in _likeliest(found, policy.formulas))


def _likeliest(found: Discovery, most: int) -> list:
    ranked = sorted(zip(found.weights, found.formulas, strict=True), key=lambda pair: -pair[0])
    return [formula for _, formula in ranked if formula.expression.free_symbols][:most]
