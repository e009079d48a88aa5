"""Every number that decides whether a formula is struck."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VetoPolicy:
    """In doubt a formula stays: striking a true law is worse than overlooking a bad fit."""

    # Where a formula is examined.
    inner_points: int = 7  # points between two neighbouring rows
    most_points: int = 6000  # limit on these points; in a longer table each segment has fewer, but at least one
    next_to_row: float = 1e-3  # two more points lie this share of a segment from its ends, to catch a peak beside a row
    # Segments between neighbours in one column; in a longer table, a segment spans several rows.
    most_segments: int = 2000
    most_anchors: int = 300  # with several columns: rows whose neighbours are looked up
    neighbours: int = 3  # neighbours of each of these rows
    longest: float = 2.0  # longer segments, in median lengths, are left out, except to a row's nearest neighbour
    most_factors: int = 12  # denominators, roots and logarithms that are examined, the shortest first
    most_places: int = 64  # zeros that are located for each of them
    zooms: int = 10  # rounds of refining a zero, each 32 times as precise as the one before
    dip: float = 0.2  # a denominator that falls to this share of its size at the rows may cause a peak

    # A pole or a peak between rows.
    far: float = 3.0  # a value is far off if it lies this many ranges of y outside the data
    beside: float = 1e-6  # distance from a pole at which its strength is measured, as a share of the segment
    window: int = 8  # rows on either side of a pole that may show it
    window_of_several: int = 16  # rows around a pole, with several columns
    fewest_of_several: int = 6  # with fewer of these rows nothing can be said, and the pole stays
    smooth_degree: int = 2  # degree of the polynomial that must fail to describe the rows without the pole
    smooth_degree_of_several: int = 1  # the same with several columns
    smooth: float = 2.0  # the polynomial fails if its misfit, with one row left out, exceeds the noise by this factor
    bent: float = 0.999  # leverage above which the formula follows the left-out row wherever it lies
    doubtful: float = 8.0  # used instead of `smooth` for such a row
    giant: float = 30.0  # a row this many interquartile ranges of y from the median is evidence by itself
    grown: float = 3.0  # so is a row this many times as far from it as all other rows around the pole

    # Undefined between rows.
    empty: float = 3.0  # a formula may be undefined in a gap of this many typical row distances
    # Midpoints of random row pairs that show how much of the data range is undefined, with several columns.
    middles: int = 512
    # With several columns: separate pairs of neighbours with an undefined point between them that are needed.
    undefined_pairs: int = 2

    # Frequencies. One period is needed to distinguish a sine from a parabola. Rows that cover exactly one period
    # determine the frequency to several percent only, hence slightly less than one.
    least_periods: float = 0.9
    least_periods_of_tangent: float = 0.5  # a tangent never covers more than one period without a pole
    rows_per_period: float = 2.0  # the Nyquist limit
    most_nodes: int = 200  # sines with longer arguments are not examined column by column

    # Constants.
    decades: float = 15.0  # a constant may be this many decades larger or smaller than the data
    highest_power: float = 4.0  # the decades of each column are allowed for up to this power
    # Standard error, relative to the constant, beyond which it is hopeless. Laws on measured tables have constants
    # whose errors are two or three times their size (the cosine of a wave that is nearly a sine), and `fewer` offers
    # formulas without them.
    hopeless: float = 5.0
    most_refits: int = 12  # refits with one constant less, per formula
    most_constants: int = 20  # formulas with more constants are not refitted, since each refit takes long
    as_well: float = 1.001  # a constant was not needed if the loss without it is at most this many times as large
