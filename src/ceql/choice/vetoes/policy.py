"""Every number that decides whether a formula is struck."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class VetoPolicy:
    """Where in doubt a formula stays: a law that is wrongly struck is worse than a fit that is overlooked."""

    # Where it is looked at.
    inner_points: int = 7  # between two neighbouring rows
    most_points: int = 6000  # of this kind; in a longer table there are fewer between two rows, but at least one
    next_to_row: float = 1e-3  # of their distance: two more, so that a peak beside a row is seen to begin
    most_segments: int = 2000  # between neighbours in one column; of a longer table not every row ends one
    most_anchors: int = 300  # rows of several columns whose neighbours are looked up
    neighbours: int = 3  # of each of these
    longest: float = (
        2.0  # median distances of neighbours in several columns: of those farther apart only the nearest count
    )
    most_factors: int = 12  # denominators, roots and logarithms that are looked at, the shortest first
    most_places: int = 64  # zeros of one of them
    zooms: int = 10  # rounds of locating one, each 32 times as sharp as the one before
    dip: float = 0.2  # a denominator that falls to this share of its size at the rows may make a peak

    # A pole or a peak between rows.
    far: float = 3.0  # ranges of y beyond the data at which a value leaves their envelope by far
    beside: float = 1e-6  # of the distance of two rows: how close to a pole its strength is read off
    window: int = 8  # rows on either side of a pole that may show it
    window_of_several: int = 16  # rows around one in several columns
    fewest_of_several: int = 6  # of them, without which nothing can be said
    smooth_degree: int = 2  # of the polynomial that the rows must not follow without the pole
    smooth_degree_of_several: int = 1
    smooth: float = 2.0  # times the noise: misfit of that polynomial, one row left out, up to which no pole is shown
    bent: float = 0.999  # leverage of the row left out above which the formula follows that row wherever it lies
    doubtful: float = 8.0  # takes the place of `smooth` for such a row
    giant: float = 30.0  # ranges of the middle half of y: a row so far from their median is evidence by itself
    grown: float = 3.0  # times as far from it as all other rows around the pole: likewise

    # Undefined between rows.
    empty: float = 3.0  # distances of neighbouring rows: where that much has no row, being undefined there is no fault
    middles: int = 512  # between rows of several columns, by which the part of their hull without a value is judged
    undefined_pairs: int = 2  # of neighbours in several columns, none in two of them: one may be a bent border's chord

    # Frequencies. One period is needed to tell a sine from a parabola; rows that cover exactly one leave its frequency
    # uncertain by several percent, which must not strike it.
    least_periods: float = 0.9
    least_periods_of_tangent: float = 0.5  # which never covers more than one without a pole
    rows_per_period: float = 2.0  # Nyquist
    most_nodes: int = 200  # of the argument of a sine that is looked at along one column after the other

    # Constants.
    decades: float = 15.0  # of a constant, beyond those of the data, up to which it is a number of science
    highest_power: float = 4.0  # of a column, whose decades a constant may have to make up for
    # Times the constant: an error from which on it is struck. Laws on measured tables have constants with errors of two
    # or three times their size (the cosine of a wave that is nearly a sine), and `fewer` offers what does without them.
    hopeless: float = 5.0
    most_refits: int = 12  # with one constant less, per formula
    most_constants: int = 20  # of a formula that is refitted at all: with many, each refit takes long
    as_well: float = 1.001  # times the loss: a constant less that costs no more was not needed
