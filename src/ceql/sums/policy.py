"""The numbers that steer the search for sums."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.sums.interactions import InteractionPolicy


@dataclass(frozen=True)
class SumSearchPolicy:
    """How much is searched, and what a part of a sum costs in nats."""

    used: bool = True  # whether sums are searched at all
    rows: int = 300  # rows that are used
    fewest_rows: int = 12  # with fewer rows, sums are not searched
    degree: int = 3  # highest total power of a monomial
    most_columns: int = 6  # tables with more columns are left to the other stages
    most_terms: int = 4000  # terms that may be added per kind of block (monomials times factors), the simplest first
    # Of these, tried in pairs: terms without numbers, with one number, and others.
    in_pairs: tuple[int, int, int] = (400, 900, 500)
    refined: int = 10  # best additions of each kind whose numbers are then fitted
    alike: int = 2  # of these, most with the same structure
    kept: int = 30  # sums of each size in each ranking
    looked_at: int = 6  # sums at the top of each ranking that may be expanded
    largest: int = 11  # most constants of a sum that is expanded
    fitting_steps: int = 30  # steps of a fit
    # Solve for the weights instead of searching for them like the numbers inside. If off, nothing is projected out,
    # since projected functions always have solved weights.
    separable: bool = True
    weights_of_misfit: tuple[float, ...] = (25.0, 1e6)  # nats per unit of ln(misfit), one ranking for each
    a_constant: float = 3.0  # price of a number in the rankings
    # An exact sum leaves at most this share of the square of y, and at most `vanishes_a_constant` to the power of its
    # number of constants, since a sum with many constants gets close without being right.
    vanishes: float = 1e-24
    vanishes_a_constant: float = 6e-3
    # Where functions are projected out, a sum stands out if it leaves this share of what smaller sums leave, and
    # `leap_a_constant` for each further constant.
    leap_beside: float = 1e-8
    leap_a_constant: float = 1e-3
    as_good: float = 10.0  # a simpler function may replace another one if the misfit grows by no more than this factor
    leap: float = 1e-5  # an exact sum leaves at most this share of what any smaller sum leaves
    cancelling: float = 1e4  # no term may be larger than this many times the sum
    rows_a_constant: int = 3  # rows per constant that a sum must have to be expanded
    first: int = 3  # sums that are expanded before anything is projected out, divided by the number of columns
    # Degrees up to which polynomials of the only remaining column are projected out, step by step.
    degrees: tuple[int, ...] = (24, 18, 13, 9, 6, 4, 2, 1, 0)
    degrees_beside: tuple[int, ...] = (12, 3, 0)  # the same while functions of other columns are projected out as well
    expansions_a_rung: int = 6  # sums that are expanded at each of these degrees
    expansions_at_first: int = 3  # the same on the first pass, when another column may be easier
    # Terms that stand out by this many decades per constant are followed without proof.
    hope: float = 1.0
    hopes: int = 6  # how often this is done
    hope_at_once: float = 2.5  # decades from which this is done before anything else
    nothing_left: float = 1e-18  # a share of the square of y that is too small to be examined
    starts_a_rung: int = 400  # network starts between two such steps
    dearer_in_vain: float = 0.17  # share by which these grow for each step since the last that found a term
    starts_an_expansion: int = 4000  # afterwards: network starts between two expansions
    starts_an_expansion_in_noise: int = 1000  # the same in noise
    most_expansions: int = 60  # most expansions
    most_in_noise: int = 48  # most expansions in noise, where the rows cannot distinguish more
    last_in_noise: int = 12  # expansions for noisy data at the end of a search that settled before their turn
    proposed_a_size: int = 4  # sums of each size that are proposed for noisy data
    proposed: int = 12  # sums that are proposed in all
    complex_poles: bool = True  # start poles inside the data away from the real axis instead of on it
    most_combined: int = 4  # with more columns, there are no functions of combinations of two columns
    projected: float = 0.55  # most functions that are projected out, as a share of the rows
    interactions: InteractionPolicy = field(default_factory=InteractionPolicy)  # which columns act together
    # Among these functions, factor on the price of products of columns that do not act together.
    dearer_apart: float = 5.0
    # Nats per unit of ln(misfit), in the rankings beside what is projected out.
    peeling_weights: tuple[float, ...] = (1.0, 2.5, 6.0)
    roots: int = 2  # sums at the top of each of these rankings that go on to the next step
    rounding: float = 1e-31  # a fit ends at this share of the square of y
    # Prices of a factor of a monomial, of a factor in its denominator, of a combination of two columns, and of a term.
    monomial: float = 1.5
    reciprocal: float = 2.0
    combined: float = 5.0
    term: float = 2.0
