"""The numbers that steer transforms: how many rows are looked at, and how sure a test must be."""

from __future__ import annotations

from dataclasses import dataclass

from ceql.dimensions.groups import GroupPolicy


@dataclass(frozen=True)
class SmoothnessPolicy:
    """How a smooth function of some columns is fitted."""

    nugget: float = 1e-7  # added to the diagonal of the kernel
    lengths: tuple[float, ...] = (1.0, 2.0, 4.0)  # lengths of the kernel that are tried, in standard deviations
    no_curve: float = 0.02  # with a single column, y is no curve if the ranks of neighbouring rows vary by this share
    wide: float = 4.0  # a column of one sign that spans more than this factor is taken on a logarithmic scale


@dataclass(frozen=True)
class FewerColumnsPolicy:
    """When a smooth function of one variable less explains the data as well as before."""

    rows: int = 160  # rows that it is fitted to
    clearly_better: float = 0.8  # a step is accepted if it leaves this share of the previous error
    # It is also accepted if it leaves at most this many times the previous error, but clearly less than others.
    as_good: float = 2.0
    stands_out: float = 0.05  # namely this share of what other steps typically leave


@dataclass(frozen=True)
class IndependencePolicy:
    """When statistics show that y does not depend on a column."""

    rows: int = 400  # with fewer rows, no test is made
    no_sign: float = 3.5  # a connection of fewer standard deviations counts as none
    clear: float = 6.0  # a connection of more standard deviations is certain
    group: int = 25  # rows with about the same value of a product or ratio that are compared
    nearest: int = 3  # exponents next to the slope of the power law that are tried
    nearly: float = 0.3  # y is nearly a power law if this leaves less than this share of the spread of log(y)
    least_left: float = 1e-11  # and more than this, since less is rounding
    # Exponents of a column that is a factor.
    exponents: tuple[float, ...] = (-4, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4)


@dataclass(frozen=True)
class SymmetryPolicy:
    """When columns may be rescaled or shifted together."""

    rows: int = 1000  # rows that a polynomial is fitted to, for its slopes
    rows_a_term: float = 2.0  # rows needed per term of that polynomial
    degree: int = 9  # its highest degree
    least_degree: int = 3  # if only a lower degree is possible, its slopes say too little
    unexplained: float = 0.05  # share of the spread of y that it may leave
    vanishes: float = 0.05  # a combination of slopes vanishes if it is less than this share of the largest
    even: float = 0.005  # a slope is constant if it differs by less than this share in the typical row
    parts: int = 2  # powers are multiples of one over this number
    highest: float = 4.0  # largest power
    well_posed: float = 1e3  # columns are not eliminated if the condition number of their powers is larger


@dataclass(frozen=True)
class ScreeningPolicy:
    """How the columns that matter are chosen from many."""

    rows: int = 256  # rows for prediction from the nearest neighbour
    starting: int = 120  # columns of which all pairs are tried
    pairs_extended: int = 12  # best pairs to which further columns are added
    gain: float = 0.93  # a further column must lower the error to this share
    # Limit on the work of ranking all pairs, in multiplications; if exceeded, fewer rows are used.
    most_products: int = 5 * 10**8
    fewest_rows: int = 256  # but at least this many
    pairs_per_column: int = 4  # best pairs that are listed for each column wanted
    nothing_new: float = 1e-4  # a column adds nothing if the others leave less than this share of it
    rows_per_step: int = 3  # rows needed per column; with fewer, any column would explain what is left
    bent: int = 6  # for the first columns of a fit, at most this many, squares, cubes and products are included
    chance: float = 1e-3  # a column counts if one of all meaningless columns would show as much this rarely


@dataclass(frozen=True)
class TransformPolicy:
    """All of them."""

    smoothness: SmoothnessPolicy = SmoothnessPolicy()
    fewer_columns: FewerColumnsPolicy = FewerColumnsPolicy()
    independence: IndependencePolicy = IndependencePolicy()
    symmetries: SymmetryPolicy = SymmetryPolicy()
    screening: ScreeningPolicy = ScreeningPolicy()
    groups: GroupPolicy = GroupPolicy()
    widest_exponent: float = 50.0  # exp(y) is a target only if y spans less than this
    largest_exponent: float = 500.0  # and if |y| stays below this
    least_angle: float = 0.3  # y may be an angle only if it spans more than this, in radians
