"""The numbers that steer the search for sums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SumSearchPolicy:
    """How much is looked at, and what a part of a sum costs in nats."""

    rows: int = 300  # A sum is looked for on at most this many rows.
    fewest_rows: int = 12  # With fewer rows it is not looked for.
    degree: int = 3  # The highest total power of a monomial.
    most_columns: int = 6  # Tables with more columns are left to the other stages.
    most_free: int = 500  # Terms without numbers of which all pairs are tried, the cheapest.
    most_terms: int = 6000  # Terms with numbers that may be added, per kind of block: monomials times factors.
    most_mixed: int = 1600  # Of these, how many are tried in pairs with terms without numbers,
    most_in_mixed: int = 250  # of which there are this many.
    most_doubles: int = 900  # Terms with one number of which all pairs are tried.
    refined: int = 16  # The best additions of each kind whose numbers are fitted.
    alike: int = 2  # Of these at most this many with the same structure.
    kept: int = 30  # Sums of each size in each ranking.
    looked_at: int = 6  # The first of each ranking are expanded.
    largest: int = 11  # Constants of a sum that is expanded.
    fitting_steps: int = 30  # Steps of a fit.
    weights_of_misfit: tuple[float, ...] = (25.0, 1e6)  # In the rankings, nats for ln of the misfit.
    a_constant: float = 3.0  # The price of a number, in the rankings.
    vanishes: float = 1e-24  # Share of the square of y that an exact sum leaves at most.
    leap: float = 1e-5  # And this share of what any smaller sum leaves.
    cancelling: float = 1e4  # A term is at most this many times as large as the sum.
    rows_a_constant: int = 3  # A sum that is expanded has at most one constant for this many rows.
    first: int = 4  # Sums that are expanded in any case,
    starts_an_expansion: int = 1000  # and one more for this many starts of networks,
    dearer: int = 3  # for twice as many in tables of two columns, and for this many times as many in larger ones,
    most_expansions: int = 160  # until this many were.
    most_in_noise: int = 24  # In noise fewer: what rows can tell apart is soon tried.
    proposed_a_size: int = 4  # Sums of each size that are proposed for noisy data,
    proposed: int = 12  # and in all.
    plain: int = 14  # Functions of combinations of two columns come in after this many,
    most_combined: int = 4  # in tables of at most this many columns: there are many combinations.
    rounding: float = 1e-31  # Share of the square of y at which a fit ends.
    new: float = 1e-9  # Of the square of a column, what the others must leave of it.
    monomial: float = 1.5  # The price of a factor of a monomial,
    reciprocal: float = 2.0  # of one below the line,
    combined: float = 5.0  # of a combination of two columns,
    term: float = 2.0  # and of a term.
