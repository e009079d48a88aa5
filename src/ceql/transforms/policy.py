"""The numbers that steer transforms: how many rows are looked at, and how sure a test must be."""

from __future__ import annotations

from dataclasses import dataclass

from ceql.dimensions.groups import GroupPolicy


@dataclass(frozen=True)
class SmoothnessPolicy:
    """How a smooth function of some columns is fitted."""

    nugget: float = 1e-7  # This is added to the diagonal of the kernel.
    lengths: tuple[float, ...] = (1.0, 2.0, 4.0)  # Lengths of the kernel that are tried, in standard deviations.
    no_curve: float = 0.02  # Ranks next to each other in the only column make no curve if they vary by this share.
    wide: float = 4.0  # A column of one sign that spans more than this factor is looked at on a logarithmic scale.


@dataclass(frozen=True)
class FewerColumnsPolicy:
    """When a smooth function of one variable less is taken to explain the data as well as before."""

    rows: int = 160  # It is fitted to at most this many rows.
    clearly_better: float = 0.8  # A step holds that leaves this share of the error before.
    as_good: float = 2.0  # So does one that leaves at most this many times the error before,
    stands_out: float = 0.05  # if that is this share of what other steps lead to.


@dataclass(frozen=True)
class IndependencePolicy:
    """When statistics are taken to say that y does not depend on a column."""

    rows: int = 400  # With fewer rows no test is made.
    no_sign: float = 3.5  # A connection of fewer standard deviations than this is none.
    clear: float = 6.0  # One of more is certain.
    group: int = 25  # This many rows have about the same value of a pairing.
    nearest: int = 3  # This many exponents next to the slope of the power law are tried.
    nearly: float = 0.3  # y is nearly a power law that leaves this share of the spread of its logarithm,
    least_left: float = 1e-11  # but more than this: less is rounding.
    # A factor is a column to one of these powers.
    exponents: tuple[float, ...] = (-4, -3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4)


@dataclass(frozen=True)
class SymmetryPolicy:
    """When columns are taken to be rescaled or shifted together."""

    rows: int = 1000  # A polynomial is fitted to at most this many rows, for its slopes.
    rows_a_term: float = 2.0  # It has at most one term for this many rows,
    degree: int = 9  # and at most this degree.
    least_degree: int = 3  # Of a lower degree its slopes say too little.
    unexplained: float = 0.05  # It may leave this share of the spread of y.
    vanishes: float = 0.05  # A combination of slopes vanishes that is this share of the largest.
    even: float = 0.005  # A slope is the same everywhere that differs by this share in the typical row.
    parts: int = 2  # Powers are whole numbers or halves,
    highest: float = 4.0  # up to this.
    well_posed: float = 1e3  # No columns are eliminated whose powers are known worse than this.


@dataclass(frozen=True)
class ScreeningPolicy:
    """How the columns that matter are chosen from many."""

    rows: int = 256  # Prediction from the nearest neighbour is tried on at most this many rows.
    starting: int = 120  # All pairs of this many columns are looked at.
    pairs_extended: int = 12  # To this many of the best pairs further columns are added.
    gain: float = 0.93  # Another column must lower the error to this share of it.
    most_products: int = 5 * 10**8  # To rank all pairs, at most this many numbers are multiplied by leaving out rows,
    fewest_rows: int = 256  # but this many stay.
    pairs_per_column: int = 4  # This many of the best pairs are listed for each column that is wanted.
    nothing_new: float = 1e-4  # A column of which others leave no more than this share brings nothing.
    rows_per_step: int = 3  # With fewer rows for each column that is taken, any column explains what is left.
    bent: int = 6  # Of the first columns that a fit takes, squares, cubes and products are taken with them.
    chance: float = 1e-3  # A column shows if one of all columns would show as much without a meaning this seldom.


@dataclass(frozen=True)
class TransformPolicy:
    """All of them."""

    smoothness: SmoothnessPolicy = SmoothnessPolicy()
    fewer_columns: FewerColumnsPolicy = FewerColumnsPolicy()
    independence: IndependencePolicy = IndependencePolicy()
    symmetries: SymmetryPolicy = SymmetryPolicy()
    screening: ScreeningPolicy = ScreeningPolicy()
    groups: GroupPolicy = GroupPolicy()
    widest_exponent: float = 50.0  # exp(y) is a target only where y spans less than this,
    largest_exponent: float = 500.0  # and is nowhere larger than this.
    least_angle: float = 0.3  # y may be an angle, with a sine, if it spans more than this, in radians.
