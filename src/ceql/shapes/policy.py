"""How finely shapes are looked at, and how hard a fit is held to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ShapePolicy:
    """Numbers of points, boxes and steps."""

    # The grid on which a shape is checked.
    line: int = 2001  # points along the column of a table with a single one
    along: int = 101  # points along a column while the others are held
    held: int = 40  # combinations of values that the others are held at
    spread: int = 4000  # points over all columns, for conditions that must hold everywhere
    tolerance: float = 1e-9  # accuracy to which a value or a sign must be met, as a share of the size of y
    # Proofs by intervals.
    pieces: int = 16  # initial pieces per column, with up to two columns
    boxes: int = 20_000  # most boxes over all levels
    levels: int = 24  # times that a box may be halved
    # Limits and poles.
    decades_out: int = 15  # decades beyond the data up to which values are checked, for a limit at infinity
    decades_in: int = 7  # decades down to a place; closer, numbers that cancel lose their digits
    near: float = 1e-6  # distance from the limit that must be reached, as a share of the size of y
    rounding: float = 1e-3  # distance that the last value may have after that, since rounding may grow
    shrinks: float = 0.985  # where the limit is still far, the distance must fall at least to this share in each decade
    grows: float = 1.01  # what goes to infinity must grow at least by this factor in each decade
    # Fits that are held to shapes, on a coarser grid.
    fit_line: int = 81  # as `line` above
    fit_along: int = 15  # as `along` above
    fit_step: float = 1e-4  # distance of neighbouring points for slopes and bends, as a share of the range of a column
    fit_held: int = 9  # as `held` above
    fit_spread: int = 200  # as `spread` above
    # Weights of violations relative to all rows together, one after another.
    weights: tuple[float, ...] = (1e1, 1e4, 1e8)
    # Distances from the bound that a fit should keep, as shares of the size of y, one after another.
    margins: tuple[float, ...] = (1e-6, 1e-4, 2e-3)
    steps: int = 20  # steps of each of these fits
    last_steps: int = 40  # steps of the last fit, for each margin
    hopeless: float = 0.05  # a fit that is then still this far from the bound, as a share of the size of y, is given up
    far: float = 1e4  # where a fit meets the limit at infinity, in ranges of the column
    terms: int = 6  # sums with more terms are not shortened to meet a limit or a symmetry
    exponents: int = 2  # exponents from a given list that are tried in place of another
    seeds: int = 6  # plain formulas of the required shape that are fitted as well, the best of them
    # Starting lengths in these, as shares of the range of the column.
    seed_lengths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    largest: int = 50  # formulas with more nodes are not varied
    repairs: int = 8  # variants of a formula that violates a shape


POLICY = ShapePolicy()
