"""How finely shapes are looked at, and how hard a fit is held to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ShapePolicy:
    """Numbers of points, boxes and steps, in counts."""

    # The grid that a formula has to keep to.
    line: int = 2001  # points along the column of a table that has one
    along: int = 101  # points along a column, with the others held
    held: int = 40  # values that the others are held at
    spread: int = 4000  # points over all columns, for what is asked everywhere
    tolerance: float = 1e-9  # of the size of y, by which a value may be off that has to be met, or a sign be wrong
    # Proofs by intervals.
    pieces: int = 16  # into which the range of each column is cut at first, for up to two columns
    boxes: int = 20_000  # at most, over all levels
    levels: int = 24  # times that a box is halved
    # Limits and poles.
    decades_out: int = 15  # away from the data that values are looked at
    decades_in: int = 7  # down to a place, where numbers that cancel lose their digits
    near: float = 1e-6  # of the size of y, by which the limit may be off at the end
    rounding: float = 1e-3  # of the size of y, by which the last value may be off where it was nearer before
    shrinks: float = 0.985  # the least share by which the distance falls from decade to decade, where it is still far
    grows: float = 1.01  # the least factor by which what goes to infinity grows from decade to decade
    # Fits that are held to shapes.
    fit_line: int = 81
    fit_along: int = 15
    fit_step: float = 1e-4  # of the range of a column, between the neighbours that tell its slope or bend
    fit_held: int = 9
    fit_spread: int = 200
    weights: tuple[float, ...] = (1e1, 1e4, 1e8)  # of what breaks a shape, against all rows together, one after another
    margins: tuple[float, ...] = (1e-6, 1e-4, 2e-3)  # of the size of y, that a fit keeps from the edge of what is asked
    steps: int = 20  # of each fit
    last_steps: int = 40
    hopeless: float = 0.05  # of the size of y: what is further from what is asked after these fits is given up
    far: float = 1e4  # in ranges of the column, where a fit meets the limit at infinity
    terms: int = 6  # of a sum, that are left out by ones and twos to meet a limit or a symmetry
    exponents: int = 2  # of a list, that are tried in the place of another
    seeds: int = 6  # plain formulas of the shape that are fitted besides, the best of them
    seed_lengths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)  # of the range of the column, that theirs begin with
    largest: int = 50  # nodes of a formula of which others are made
    repairs: int = 8  # formulas made of one that breaks what is asked of it


POLICY = ShapePolicy()
