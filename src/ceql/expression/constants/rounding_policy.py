"""Every number that decides which round number takes the place of a fitted one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RoundingPolicy:
    """Deviations are relative to the constant, chances are of hitting a round number by luck."""

    exact_data: float = 1e-18  # of the power of y: a misfit below it is rounding, not noise
    exact_deviation: float = 1e-7  # that a constant of an exact fit may have from what it stands for
    exact_digits: int = 14  # of a constant with a name, of an exact fit
    rounding_floor: float = 1e-26  # of the power of y: a misfit that any exact formula may have
    error_bars: float = 1.5  # standard errors within which a round number is taken
    whole: float = 1.4  # deviations within which a whole number is taken, as such numbers are much likelier
    whole_chance: float = 0.05  # of a whole number by luck: the deviation is a small part of the way to the next
    chance: float = 0.15  # of any other round number by luck
    share: float = 0.2  # of the chance that each of the many denominators has, with and without pi
    most_digits: int = 6  # of a short decimal
    largest_denominator: int = 12  # of a fraction or of a multiple of pi, whose numerator it bounds as well
    first_steps: int = 50  # of the fit before anything is rounded
    known_powers: tuple[int, ...] = (1, -1, 2, -2)  # of a known constant that are looked for
    known_multiples: tuple[tuple[int, int], ...] = (  # fractions of a known constant that are looked for
        *((1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (1, 3), (1, 4), (2, 3), (3, 2), (3, 4), (4, 3)),
    )
    known_spacing: float = 0.3  # of the constant itself: with this, its error must be below about two percent
    error_digits: int = 2  # that are kept, so a constant moves by at most a twentieth of its standard error
    most_extra_digits: int = 6  # that are kept as well where fewer spoil the fit
    harmless: float = 0.05  # rise of chi-squared for each constant that rounding may cost
    exponent_denominator: int = 6  # of a fraction that a decimal exponent may stand for
    near_half: float = 0.1  # distance from a multiple of a half at which that is tried as an exponent
    errors_apart: float = 2.0  # standard errors within which a number may be a multiple of another
    notable: float = 0.1  # part of the smaller number that those errors must stay below
    largest_ratio: int = 9  # of two numbers of which one is given by the other
    most_numbers: int = 8  # of a formula whose numbers are compared with each other
    simple_reach: float = 3.5  # standard errors within which zero, a whole number or a simple fraction is tried,
    largest_below: int = 4  # with at most this below the line
    simple_chance: float = 0.15  # if such a number, or one as simple, would be met there by luck more seldom than this


ROUNDING = RoundingPolicy()
