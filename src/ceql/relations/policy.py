"""Every number that steers the search for relations."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.expression.prices import PRICES, Prices


@dataclass(frozen=True)
class TablePolicy:
    """Which tables and columns are accepted."""

    least_rows: int = 12  # fewest rows of a table
    least_in_group: int = 4  # fewest rows of a group
    # A column is a copy of another if it differs from a multiple of it by less than this share of its spread.
    same: float = 1e-9


@dataclass(frozen=True)
class VocabularyPolicy:
    """Which functions of columns may be terms of a relation."""

    most_terms: int = 400  # most terms, the cheapest of those that the columns allow
    # A column with at most this many values gets an extra check: functions of it may cancel in all of them.
    few_values: int = 12
    largest_angle: float = 15.0  # largest |x| of a column whose sine and cosine are terms
    largest_exponent: float = 12.0  # largest |x| of a column whose exponential is a term
    most_in_pairs: int = 6  # up to this many columns, functions of two are terms as well, such as 1/sqrt(x**2 + y**2)
    # If two columns differ in size by this factor, the sum of their squares is about one of them, and is no term.
    unlike: float = 10.0
    least_turn: float = 0.3  # smallest range of a column whose sine and cosine are terms
    least_ratio: float = 1e-6  # smallest ratio of the least to the largest value of a column whose logarithm is a term
    nearest_pole: float = 0.01  # the same for its reciprocal


@dataclass(frozen=True)
class SupportPolicy:
    """How sets of terms are searched. Distances are squares, in squared standard deviations of the columns."""

    most_rows: int = 1000  # rows of a long table on which sets of terms are compared
    most_fitted: int = 20_000  # rows of a long table that numbers are fitted to
    weightings: int = 6  # weightings of the rows that are used; the worst counts
    screened: int = 8000  # sets of each size that are compared in all weightings
    pairs: int = 150  # pairs of terms that are extended
    triples: int = 300  # triples of terms that are kept
    in_triples: int = 120  # cheapest terms, of which all triples are compared
    beam: int = 100  # sets of each larger size that are extended
    a_set_of_columns: int = 4  # of these, sets that are kept in any case for each set of columns
    largest: int = 6  # most terms of a relation, not counting the constant
    largest_whole: int = 36  # most terms of a family that is fitted as a whole and then reduced
    largest_thinned: int = 9  # most terms of a relation found that way
    swapped: int = 6  # best sets of each size in which single terms are exchanged
    drafts: int = 24  # sums of terms that are finished
    apart: float = 50.0  # largest distance of these from the best, in the criterion
    weighings: int = 4  # rounds in which the rows are weighted by the gradients of the previous fit
    least_distance: float = 1e-13  # below this, rounding errors in the products hide differences between distances
    trivial: float = 4.0  # a set is meaningless if shuffled rows are no more than this many times as far from it
    ridge: float = 1e-10  # share of the diagonal that is added to the matrix of gradients to keep it invertible
    flat: float = 1e-2  # lower limit on a gradient in the weights, as a share of the typical one
    # Rows are moved away from a surface; if they then seem nearer than they are, it has several sheets.
    reach: float = 6.0  # how far rows are moved, in multiples of their distance
    least_reach: float = 1e-3  # but at least this far, in standard deviations
    moved: int = 2000  # rows that are moved in all
    thin: float = 0.75  # the surface is single if the rows seem to be away by more than this share
    far_reach: float = 0.1  # how far rows are moved to see whether a surface is everywhere, in standard deviations
    everywhere: float = 0.1  # it is if the rows then seem to be away by less than this share
    thinnest: float = 1e-9  # smallest thickness that is used


@dataclass(frozen=True)
class FittingPolicy:
    """How the numbers of one relation are fitted. Distances are squares, as above."""

    rounds: int = 20  # rounds of alternating between points on the surface and numbers
    steps: int = 20  # steps of the fit of the numbers in each round
    settled: float = 1e-4  # the fit ends when the distance changes by less than this share
    exact: float = 1e-28  # distance below which only rounding is left
    astray: float = 1.5  # a round that increases the distance by more than this factor is discarded
    flat: float = 1e-2  # lower limit on a gradient in the weights, as a share of the typical one
    farthest: float = 5.0  # the point on the surface is sought no farther than this many median distances from its row


@dataclass(frozen=True)
class JudgingPolicy:
    """The tests that a relation must pass."""

    held_out: int = 4  # one row in this many is held out
    exact: float = 1e-22  # squared distance below which only rounding is left
    least_share: float = 0.8  # smallest share explained on held-out rows, compared with all columns shuffled
    least_of_column: float = 0.3  # the same with each single column of the relation shuffled
    worse_held_out: float = 3.0  # held-out rows may be this many times as far away as fitted ones
    shuffles: int = 8  # times that columns are shuffled
    farthest: float = 3.0  # distances of rows are cut off at this many standard deviations
    least_far: float = 0.05  # if shuffled rows are nearer than this, in standard deviations, the surface is everywhere
    independent: float = 0.02  # smallest sine of the angle between the gradients of two different relations
    as_near: float = 3.0  # a further relation may be this many times as far away as the first
    most: int = 3  # most relations
    rows_of_neighbours: int = 400  # rows used to test whether columns are independent
    # Decrease in the logarithm of the distance between neighbours, compared with shuffled rows, if they are not.
    nearer: float = 0.15
    put_onto: int = 3  # steps by which rows are moved onto known relations
    given: int = 1  # terms of the last relation that are each required in a search for further relations
    given_another: int = 12  # further relations from the first search that are examined again
    tried: int = 8  # candidates that are tested, the best first
    least_for_pattern: int = 40  # with fewer rows, the residuals are not tested for a pattern
    bars: float = 3.0  # standard deviations by which the agreement of neighbours must exceed chance
    pairing: float = 0.4  # variance of this agreement by chance, times the number of rows; neighbours are often mutual


@dataclass(frozen=True)
class SolvingPolicy:
    """The search for formulas of one column at a time."""

    share: float = 0.9  # share of the remaining time, for a table of two columns
    share_of_many: float = 0.7  # the same for other tables, which may have further relations
    least_seconds: float = 1.0  # fewest seconds per column; with less, this search is not made
    most_columns: int = 6  # columns that are solved for
    formulas: int = 8  # formulas for each column that are finished, the likeliest first


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
    threads: int | None = None  # for the search for formulas; None: all cores
    solve: bool = True  # search for formulas of single columns where no sum of terms is exact
    policy: RelationsPolicy = POLICY


SETTINGS = RelationsSettings()
