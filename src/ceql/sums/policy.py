"""The numbers that steer the search for sums."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.sums.interactions import InteractionPolicy


@dataclass(frozen=True)
class SumSearchPolicy:
    """How much is looked at, and what a part of a sum costs in nats."""

    used: bool = True  # Whether sums are looked for at all.
    rows: int = 300  # A sum is looked for on at most this many rows.
    fewest_rows: int = 12  # With fewer rows it is not looked for.
    degree: int = 3  # The highest total power of a monomial.
    most_columns: int = 6  # Tables with more columns are left to the other stages.
    most_terms: int = 4000  # Terms that may be added, per kind of block: monomials times factors, the plainest.
    in_pairs: tuple[int, int, int] = (400, 900, 500)  # Of these tried in pairs: without numbers, with one, others.
    refined: int = 10  # The best additions of each kind whose numbers are fitted.
    alike: int = 2  # Of these at most this many with the same structure.
    kept: int = 30  # Sums of each size in each ranking.
    looked_at: int = 6  # The first of each ranking are expanded.
    largest: int = 11  # Constants of a sum that is expanded.
    fitting_steps: int = 30  # Steps of a fit.
    separable: bool = True  # Weights are solved for, else searched like the numbers inside. What is projected out has
    # weights that are solved for, so nothing is then.
    weights_of_misfit: tuple[float, ...] = (25.0, 1e6)  # In the rankings, nats for ln of the misfit.
    a_constant: float = 3.0  # The price of a number, in the rankings.
    vanishes: float = 1e-24  # Share of the square of y that an exact sum leaves at most.
    vanishes_a_constant: float = 6e-3  # And this to the power of its constants: many reach far without being right.
    leap_beside: float = 1e-8  # Beside functions that are projected out, the share that stands out,
    leap_a_constant: float = 1e-3  # and for each further constant.
    as_good: float = 10.0  # A function with fewer numbers in another's place leaves at most this many times as much.
    leap: float = 1e-5  # And this share of what any smaller sum leaves.
    cancelling: float = 1e4  # A term is at most this many times as large as the sum.
    rows_a_constant: int = 3  # A sum that is expanded has at most one constant for this many rows.
    first: int = 3  # Sums that are expanded before anything is projected out, divided by the number of columns.
    degrees: tuple[int, ...] = (24, 18, 13, 9, 6, 4, 2, 1, 0)  # Up to which a column's functions are projected out,
    degrees_beside: tuple[int, ...] = (12, 3, 0)  # and beside functions of other columns.
    expansions_a_rung: int = 6  # Sums that are expanded at each of these degrees,
    expansions_at_first: int = 3  # or fewer as long as another column may be easier.
    hope: float = 1.0  # Decades by which terms stand out for each constant to be followed without proof,
    hopes: int = 6  # as often as this,
    hope_at_once: float = 2.5  # and decades to be followed before anything else is looked at.
    nothing_left: float = 1e-18  # Share of the square of y that is too little to look at.
    starts_a_rung: int = 400  # A rung for this many starts of networks,
    dearer_in_vain: float = 0.17  # and this share more for every one since the last that showed a term.
    starts_an_expansion: int = 4000  # When all were climbed, an expansion for this many starts,
    starts_an_expansion_in_noise: int = 1000  # or this many,
    most_expansions: int = 60  # until there were this many.
    most_in_noise: int = 48  # In noise fewer: what rows can tell apart is soon tried.
    last_in_noise: int = 12  # Where a search ends before noise is met, it is met at last by this many expansions.
    proposed_a_size: int = 4  # Sums of each size that are proposed for noisy data,
    proposed: int = 12  # and in all.
    complex_poles: bool = True  # Whether poles inside the data begin off the axis; otherwise on it.
    most_combined: int = 4  # Functions of combinations of two columns, in tables of at most this many columns.
    projected: float = 0.55  # Functions that are projected out, at most, as a share of the rows.
    interactions: InteractionPolicy = field(default_factory=InteractionPolicy)  # Which columns act together.
    dearer_apart: float = 5.0  # Among these functions, how much dearer products of columns are that do not.
    peeling_weights: tuple[float, ...] = (1.0, 2.5, 6.0)  # Among what is left, nats for ln of the misfit.
    roots: int = 2  # Of each of these rankings, how many go on to the next step.
    rounding: float = 1e-31  # Share of the square of y at which a fit ends.
    new: float = 1e-9  # Of the square of a column, what the others must leave of it.
    monomial: float = 1.5  # The price of a factor of a monomial,
    reciprocal: float = 2.0  # of one below the line,
    combined: float = 5.0  # of a combination of two columns,
    term: float = 2.0  # and of a term.
