"""Every number that decides which round number takes the place of a fitted one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RoundingPolicy:
    """Deviations are relative to the constant; chances are those of hitting a round number by luck."""

    exact_data: float = 1e-18  # a misfit below this share of the power of y is rounding, not noise
    exact_deviation: float = 1e-7  # largest deviation of a constant of an exact fit from the number it stands for
    exact_digits: int = 14  # most digits of a named constant of an exact fit
    rounding_floor: float = 1e-26  # misfit that any exact formula may have, as a share of the power of y
    error_bars: float = 1.5  # standard errors within which a round number is accepted
    # The same factor for whole numbers, in units of the usual deviation, since they are much likelier.
    whole: float = 1.4
    # Largest chance of a whole number: the deviation must be a small part of the distance to the next.
    whole_chance: float = 0.05
    chance: float = 0.15  # largest chance of any other round number
    share: float = 0.2  # share of the chance that is left to each of the many denominators, with and without pi
    most_digits: int = 6  # most digits of a short decimal
    # Largest denominator of a fraction or a multiple of pi, and largest numerator of the latter.
    largest_denominator: int = 12
    first_steps: int = 50  # steps of the fit before anything is rounded
    known_powers: tuple[int, ...] = (1, -1, 2, -2)  # powers of a known constant that are tried
    # Fractions of a known constant that are tried.
    known_multiples: tuple[tuple[int, int], ...] = (
        *((1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (1, 3), (1, 4), (2, 3), (3, 2), (3, 4), (4, 3)),
    )
    known_spacing: float = 0.3  # assumed spacing of these numbers, relative: the error must be below about two percent
    error_digits: int = 2  # digits of the error that are kept, so a constant moves by at most a twentieth of it
    most_extra_digits: int = 6  # further digits that are kept if fewer spoil the fit
    harmless: float = 0.05  # increase in chi-squared per constant that rounding may cost
    exponent_denominator: int = 6  # largest denominator of a fraction that a decimal exponent may stand for
    near_half: float = 0.1  # an exponent this close to a multiple of a half is tried as that
    errors_apart: float = 2.0  # standard errors within which a number may be a multiple of another
    notable: float = 0.1  # these errors must be below this share of the smaller number
    largest_ratio: int = 9  # largest ratio of two such numbers
    most_numbers: int = 8  # formulas with more numbers are not examined for this
    # A number is tried as zero, a whole number or a fraction with a denominator up to `largest_below` if that is within
    # this many standard errors, and if numbers as simple would be met by luck less often than `simple_chance`.
    simple_reach: float = 3.5
    largest_below: int = 4
    simple_chance: float = 0.15


ROUNDING = RoundingPolicy()
