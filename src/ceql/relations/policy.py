"""Every number that steers the search for relations."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.expression.prices import PRICES, Prices


@dataclass(frozen=True)
class TablePolicy:
    """Which tables and columns are taken."""

    least_rows: int = 12  # of a table
    least_in_group: int = 4  # rows
    same: float = 1e-9  # share of its spread by which a column may differ from a multiple of another and be a copy


@dataclass(frozen=True)
class VocabularyPolicy:
    """Which functions of columns may be terms of a relation."""

    most_terms: int = 400  # the cheapest of those that the columns allow
    few_values: int = 12  # of a column: with no more, sums of its functions may vanish in all of them
    largest_angle: float = 15.0  # of a column, up to which its sine and cosine are terms
    largest_exponent: float = 12.0  # of a column, up to which its exponential is a term
    most_in_pairs: int = 6  # columns of which functions of two are terms, such as 1/sqrt(x**2 + y**2)
    unlike: float = 10.0  # ratio of the sizes of two columns from which the sum of their squares is one of them
    least_turn: float = 0.3  # that a column covers where its sine and cosine are terms
    least_ratio: float = 1e-6  # smallest to largest value of a column, from which its logarithm is a term
    nearest_pole: float = 0.01  # the same for its reciprocal


@dataclass(frozen=True)
class SupportPolicy:
    """How sets of terms are searched. Distances are squares, in squared standard deviations of the columns."""

    most_rows: int = 1000  # of a long table that sets of terms are compared on
    most_fitted: int = 20_000  # of it that numbers are fitted to
    weightings: int = 6  # of the rows, of which the worst counts
    screened: int = 8000  # sets of a size that are compared in all weightings
    pairs: int = 150  # that grow
    triples: int = 300  # that are looked at closely
    in_triples: int = 120  # terms, the cheapest, of which all triples are compared
    beam: int = 100  # sets of every larger size that grow
    a_set_of_columns: int = 4  # of them that each set of columns has for sure
    largest: int = 6  # terms of a relation, the constant not counted
    largest_whole: int = 36  # terms of a dictionary that is fitted as a whole and then thinned out
    largest_thinned: int = 9  # terms of such a relation
    swapped: int = 6  # sets of every size whose terms are exchanged one by one
    drafts: int = 24  # sums of terms that are finished
    apart: float = 50.0  # in the criterion, from the best of them
    weighings: int = 4  # of the rows, by the gradients of the fit before
    least_distance: float = 1e-13  # below which products of rounded numbers cannot tell distances apart
    trivial: float = 4.0  # times its distance: a set that shuffled rows are nearer to says nothing
    ridge: float = 1e-10  # share of the gradients' own size that keeps their matrix invertible
    flat: float = 1e-2  # of the typical gradient; a row that has less is weighted as if it had this
    reach: float = 6.0  # distances by which rows are moved to see how thick a surface is
    least_reach: float = 1e-3  # standard deviations
    moved: int = 2000  # rows in all
    thin: float = 0.75  # share of what they were moved by that they seem to be away, from which a surface is single
    far_reach: float = 0.1  # standard deviations by which rows are moved to see whether a surface is everywhere
    everywhere: float = 0.1  # share from which it is not
    thinnest: float = 1e-9  # share that is believed


@dataclass(frozen=True)
class FittingPolicy:
    """How the numbers of one relation are fitted. Distances are squares, as above."""

    rounds: int = 20  # of points and numbers in turn
    steps: int = 20  # of a fit in between
    settled: float = 1e-4  # relative change of the distance at which they end
    exact: float = 1e-28  # distance below which only rounding is left
    astray: float = 1.5  # times the distance before, from which a round is given up
    flat: float = 1e-2  # of the typical gradient; a row that has less is weighted as if it had this
    farthest: float = 5.0  # times the median distance: no point of the surface is sought farther from its row


@dataclass(frozen=True)
class JudgingPolicy:
    """What a relation has to keep to."""

    held_out: int = 4  # one row of this many is held out
    exact: float = 1e-22  # squared distance below which only rounding is left
    least_share: float = 0.8  # explained on rows held out, all columns shuffled
    least_of_column: float = 0.3  # of each column that takes part
    worse_held_out: float = 3.0  # times the distance of the fitted rows that the held-out ones may have
    shuffles: int = 8  # of each column, that the relation must not survive
    farthest: float = 3.0  # standard deviations that a row may be away; more is not measured
    least_far: float = 0.05  # distance of shuffled rows in standard deviations; a surface that is nearer is everywhere
    independent: float = 0.02  # sine of the angle between gradients from which two relations are two
    as_near: float = 3.0  # times the distance of the first relation that a further one may have
    most: int = 3  # relations
    rows_of_neighbours: int = 400  # in which columns are asked whether they are independent
    nearer: float = 0.15  # logarithm by which neighbours are nearer than those of shuffled rows where they are not
    put_onto: int = 3  # steps by which rows are put onto known relations
    given: int = 1  # terms of a relation that are taken as given by its others in the search for further ones, in turn
    given_another: int = 12  # relations found beside the first that are looked at again
    tried: int = 8  # candidates that are asked, the best first
    least_for_pattern: int = 40  # rows from which what is left can show a pattern
    bars: float = 3.0  # standard deviations of chance that neighbours must agree beyond
    pairing: float = 0.4  # squared, the standard deviation of agreement by chance times the rows; neighbours are mutual


@dataclass(frozen=True)
class SolvingPolicy:
    """The search for formulas of one column at a time."""

    share: float = 0.9  # of the time that is left, in a table of two columns
    share_of_many: float = 0.7  # in others, where there may be further relations
    least_seconds: float = 1.0  # for a column; with less none is solved for
    most_columns: int = 6  # that are solved for
    formulas: int = 8  # of those found for a column that are finished, the likeliest first


@dataclass(frozen=True)
class RelationsPolicy:
    """All of them."""

    table: TablePolicy = TablePolicy()
    vocabulary: VocabularyPolicy = VocabularyPolicy()
    supports: SupportPolicy = SupportPolicy()
    fitting: FittingPolicy = FittingPolicy()
    judging: JudgingPolicy = JudgingPolicy()
    solving: SolvingPolicy = SolvingPolicy()
    prices: Prices = field(default=PRICES)


POLICY = RelationsPolicy()


@dataclass(frozen=True)
class RelationsSettings:
    """What to try and when to stop."""

    time_limit: float = 30.0
    seed: int = 0
    threads: int | None = None  # of the search for formulas; None: all cores
    solve: bool = True  # whether formulas for single columns are searched for where no sum of terms is exact
    policy: RelationsPolicy = POLICY


SETTINGS = RelationsSettings()
