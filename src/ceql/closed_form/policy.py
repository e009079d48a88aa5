"""The numbers that steer closed forms: how many rows and candidates are looked at, and what counts as vanishing."""

from __future__ import annotations

from dataclasses import dataclass

_SIZES = (1.0, 2.0, 1 / 2, 3.0, 1 / 3, 4.0, 1 / 4, 3 / 2, 2 / 3, 1 / 6, 6.0, 1 / 8, 8.0)
_SIMPLE = tuple(sign * size for size in _SIZES for sign in (1.0, -1.0))


@dataclass(frozen=True)
class PowerPolicy:
    """The products of powers that a formula may be made of."""

    highest: int = 4  # The power of a column goes up to this, and down to its negative.
    highest_alone: int = 6  # So does the power of the only column.
    together: int = 15  # The sizes of all powers of a product add up to at most this.


@dataclass(frozen=True)
class FewTermsPolicy:
    """How a few of many columns are chosen that make up a goal without remainder."""

    at_once: tuple[int, ...] = (12, 30, 80, 130)  # This many candidates are all taken, then those not needed left out.
    most_terms: int = 12  # A goal has at most this many terms.
    rivals: int = 3  # This many choices are followed side by side.
    rows_per_term: int = 4  # A goal has at most one term for this many rows.
    rows_per_candidate: float = 1.5  # Candidates are not taken all at once with fewer rows for each.
    rows_one_by_one: int = 200  # Rows for the choice of one candidate after the other, which takes the most time.
    most_paired: int = 1000  # All pairs of this many candidates are looked at,
    pairs_tried: int = 60  # and this many of the best more closely,
    glimpse: float = 1e-9  # if they seem to leave no more than this of its square.
    likely: int = 12  # The candidates of every step that are looked at together when one by one has failed.
    vanishes: float = 3e-13  # A sum may leave this share of the goal.
    cancelled: float = 1e-15  # It may leave this share of terms that are much larger than the goal.
    most_cancelled: float = 3e-12  # But it leaves no more of the goal for that reason.
    leap: float = 1e4  # By this what is left falls with the last term; of a smooth function that is no sum, far less.
    used_up: float = 1e-9  # A candidate of which others leave no more than this is rounding.
    nothing_new: float = 1e-6  # One of which others leave no more than this is not taken together with them.


@dataclass(frozen=True)
class FractionPolicy:
    """How fractions of polynomials are looked for."""

    rows: int = 600  # A fraction is looked for on at most this many rows.
    most_columns: int = 100  # Numerator and denominator have at most this many terms to choose from.
    rows_per_column: float = 1.6  # With fewer rows for each of them a fraction could meet the data by chance.
    rows_per_power: float = 1.25  # The same for a polynomial: it has no poles to put between the rows.
    above: int = 6  # The highest total degree of the numerator.
    below: int = 4  # The highest total degree of the denominator.
    alone: int = 10  # The highest total degree of a polynomial.
    vanishes: float = 1e-13  # A combination vanishes whose singular value is this share of the largest.
    # With all terms there is room for, the smallest singular value must be below this share, or there is no fraction:
    glimpse: float = 1e-11
    glance: float = 1e-13  # and its square below this one, which is looked at first.
    leap: float = 3e8  # By this it falls at the right degree; for a smooth function that is no fraction, by far less.
    few_terms: int = 5  # One of no more terms is believed though lower degrees come close to it,
    several_columns: int = 2  # if this many columns are in it: of one, a smooth function may have as few.
    idle: float = 1e-9  # A coefficient below this share of the largest, all columns being of equal size, is rounding.
    moderate: float = 1e3  # A function of a column may be part of a polynomial up to this size.
    most_replaced: int = 20  # Of more columns than this none has a function in its place.


@dataclass(frozen=True)
class ProductPolicy:
    """How products of powers and exponentials are looked for."""

    rows: int = 400  # A product is looked for on at most this many rows.
    most_in_exponent: int = 200  # An exponential has at most this many products of columns to choose from.
    most_pairs: int = 1000  # Sums and differences of two columns that are looked at: all of up to 22 columns.
    few_columns: int = 4  # Up to this many columns, products and ratios of two stand inside sines and beside one.
    simple: float = 1e-9  # An exponent that is a whole number to this accuracy is meant to be one.
    powers: PowerPolicy = PowerPolicy()  # What stands in an exponential.
    terms: FewTermsPolicy = FewTermsPolicy()  # How the factors are chosen.


@dataclass(frozen=True)
class SumPolicy:
    """How sums of few terms are looked for."""

    rows: int = 400  # A sum is looked for on at most this many rows.
    most_candidates: int = 900  # A sum of powers has at most this many terms to choose from.
    most_with_functions: int = 2500  # A sum with functions of a column has about this many, the best.
    most_products: int = 7000  # Of more products of powers and functions than this, only the best are looked at.
    few_columns: int = 2  # Up to this many columns, functions are applied to powers, products and ratios as well,
    most_nested: int = 60  # beside this many products of powers.
    small: float = 0.1  # This quantile of |y| is where a row begins to count for its absolute error.
    powers: PowerPolicy = PowerPolicy()  # What a term is a product of.
    terms: FewTermsPolicy = FewTermsPolicy()  # How the terms are chosen.


@dataclass(frozen=True)
class WavePolicy:
    """How waves over two columns are looked for."""

    rows: int = 200  # They are looked for on at most this many rows,
    fewest_rows: int = 16  # and on no fewer than these, which are two for each number.
    most_columns: int = 5  # Of more columns no pairs are looked at.
    slow: tuple[float, ...] = (0.1, 0.3, 0.9)  # Half turns over the range of a column at which slow waves begin;
    slowest: float = 0.02  # none is slower: any product of two lines looks like one,
    fastest: int = 400  # a periodogram shows those of whole half turns up to this many,
    peaks: int = 4  # and so many of its peaks are begun at.
    first_steps: int = 8  # After this many steps the best
    kept: int = 3  # go on,
    steps: int = 30  # for this many more.
    vanishes: float = 1e-11  # A wave may leave this share of the spread of y.
    idle: float = 1e-8  # An amplitude below this share of the largest is rounding.


@dataclass(frozen=True)
class ShapePolicy:
    """How curves of one variable are compared with known shapes."""

    rows: int = 200  # They are compared on at most this many rows.
    scales: tuple[float, ...] = (1e-4, 1e-2, 0.3, 1.0, 3.0, 10.0)  # What the variable reaches, to begin with.
    powers: tuple[int, ...] = (-2, -1, 0, 1, 2)  # Powers of the variable that may stand beside a shape.
    first_steps: int = 3  # After this many steps the best
    kept: int = 6  # go on,
    steps: int = 14  # and have made this many in the end.
    nearby: float = 1e-5  # Slopes are differences over this share of the scale.
    vanishes: float = 1e-10  # A shape may leave this share of y, which may have lost digits itself.
    better: float = 0.3  # One that is not as simple must leave this share of what a simpler one leaves.


@dataclass(frozen=True)
class PurePolicy:
    """How laws with simple numbers are looked for between groups without dimension."""

    rows: int = 80  # They are compared on this many rows at random,
    extreme: int = 60  # and about as many as this with the largest and smallest groups.
    glance: int = 36  # First they are compared on so many of these rows,
    glance_a_factor: int = 3  # or on so many for every factor that a law may have, where these are more.
    most_groups: int = 4  # Between more groups none is looked for.
    numbers: tuple[float, ...] = _SIMPLE  # What stands inside a function is w times one of these fractions
    powers_of_pi: tuple[int, ...] = (0, 1, -1)  # and such a power of pi;
    powers: tuple[int, ...] = (0, 1, -1, 2, -2)  # w is made of such powers of the groups,
    plain_powers: int = 3  # whose sizes add up to at most this,
    most_powers: int = 5  # or with the simplest functions to this,
    most_powers_beside: int = 2  # and beside a sine or cosine to this.
    groups_beside: int = 2  # Between so many groups, products of them may stand beside a law.
    parts: int = 2  # Exponents are whole numbers or halves,
    whole: float = 1e-3  # to this accuracy,
    highest: float = 6.5  # and not higher than this.
    at_once: int = 16  # Of those that are not plain so many are looked at together.
    tried: int = 40  # Of what may be made of them together, so many are tried
    near: float = 1e-2  # that leave no more than this share of what a product leaves of the logarithm of y,
    digits: float = 1e-13  # which is more than this.
    close: float = 1e-5  # A law that leaves no more than this of y may have a small term beside it.
    accuracy: float = 1e-9  # The number before a law is simple to this accuracy, or to what the law leaves.
    rough: float = 1e-6  # A coefficient of a fraction is simple to this accuracy: small terms are not known better.
    corrected: int = 3  # Beside so many laws that leave more than rounding, a small term is looked for.
    idle: float = 1e-10  # A factor of which others leave no more than this share is no other one.
    vanishes: float = 1e-11  # A law may leave this share of y.
    rounding: float = 3e-16  # What leaves no more than this is off by rounding.
    better: float = 0.3  # One law is better than another if it leaves this share of what that one leaves.
    kept: int = 24  # So many laws are kept that these rows cannot tell apart,
    finished: int = 4  # and so many that no row can are written in the shortest way, which tells what they cost.
    most_variables: int = 420  # No more products are looked at inside of functions, the simplest ones.
    wave: int = 2  # In this order a sine or cosine counts as such a power.


@dataclass(frozen=True)
class NoisyLogarithmPolicy:
    """How logarithms of noisy values are taken, around a smooth function of one sign."""

    rows_a_term: int = 4  # It has squares and products of logarithms with this many rows for each term.
    steps: int = 40  # It is fitted in at most this many steps,
    damping: float = 1e-2  # the first of them damped by this,
    bolder: float = 4.0  # those after a good one by this much less,
    shyer: float = 6.0  # and those after a bad one by this much more,
    settled: float = 1e-4  # until one takes less than this share of what is left.
    left: float = 0.15  # It leaves at most this share of the square of y, or y has no one sign.
    far: float = 6.0  # A row that is this many times as far from it as the typical one stands for itself.
    wrong_sign: float = 0.02  # At most this share of the rows may be so far on the other side of zero.


@dataclass(frozen=True)
class PowerFitPolicy:
    """How power laws are fitted to noisy values."""

    steps: int = 8  # At most this many steps,
    shares: tuple[float, ...] = (1.0, 0.3, 0.05)  # whole or, where that is worse, a part,
    settled: float = 1e-5  # until one takes less than this share of what is left.
    rank: float = 1e-8  # Directions this much less steep than the steepest are left alone.
    nearby: float = 1e-5  # Slopes by the scale are differences over this share of it.


@dataclass(frozen=True)
class ShapedPowerPolicy:
    """How power laws times a known shape of a product of powers are proposed for noisy data."""

    rows: int = 200  # All shapes are looked at on about this many rows,
    most_rows: int = 2000  # and the best on at most this many.
    rows_a_column: int = 6  # With fewer rows for each number there are none.
    fewest_columns: int = 2  # Nor with fewer columns than these, which have no ratio: small forms serve there,
    most_columns: int = 8  # or with more than these.
    most_in_group: int = 4  # A shape is of the product of at most this many columns.
    most_groups: int = 700  # At most this many products are looked at,
    scales: tuple[float, ...] = (
        0.1,
        0.5,
        0.9,
        2.0,
        8.0,
    )  # with this as the largest argument of a shape, to begin with.
    fitted: int = 120  # The best are fitted to the logarithms of more rows,
    steps: int = 8  # in at most this many steps,
    refined: int = 60  # and the best of these to the values themselves.
    nearby: float = 1e-5  # Slopes are differences over this share of the scale.
    doubt: float = 3.0  # A number may be a simple one within this many standard errors.
    # Of what the power law alone leaves, a shape must take more than this, times the logarithm of the rows by the rows.
    worth: float = 2.0
    logarithms: NoisyLogarithmPolicy = NoisyLogarithmPolicy()
    fits: PowerFitPolicy = PowerFitPolicy()
    kept: int = 16  # This many become formulas.


@dataclass(frozen=True)
class NoisyFormPolicy:
    """How power laws, sums and fractions are proposed for noisy data."""

    rows: int = 1000  # They are fitted to at most this many rows.
    fewest_rows: int = 5  # With fewer rows nothing is proposed.
    most_terms: int = 5  # A sum has at most this many terms.
    most_candidates: int = 300  # It has about this many products of powers to choose from.
    most_in_fraction: int = 130  # This many candidates stand above the line of a fraction, and as many below.
    most_products: int = 3300  # Of more products of powers and functions than this, the best are looked at,
    best_products: int = 1200  # which are this many.
    few_columns: int = 3  # Up to this many columns, products of two functions are candidates as well.
    moderate: float = 1e300  # A function of a column is a factor if it reaches this at most, and its reciprocal.
    many_columns: int = 20  # Of more columns, the products and ratios that say most stand for all of them.
    most_factors: int = 20  # A power law has at most this many factors.
    doubt: float = 4.0  # An exponent may be a simple number within this many standard errors.
    terms_inside: int = 16  # A sum with so many terms stands for y beside a denominator,
    times_inside: int = 4  # which is chosen so many times.
    least_below: float = 0.05  # A row with less than this share of the typical denominator counts no more.
    nothing_new: float = 1e-8  # A column of which others leave no more than this brings nothing.
    most_weight: float = 1e3  # No row has more than this many times the weight of a typical one.
    kept: int = 3  # This many of the best choices become formulas.
    sweeps: int = 6  # The terms of a choice are replaced by better ones at most this many times.
    restarts: int = 6  # For each number of terms, this many choices are made at random to begin with,
    likely: int = 60  # from this many columns that are most like y.
    price: float = 12.0  # What a term costs beside its constant: it was chosen among hundreds.
    powers: PowerPolicy = PowerPolicy()  # What a term is a product of.
    shaped: ShapedPowerPolicy = ShapedPowerPolicy()  # Power laws with a known shape beside them.


@dataclass(frozen=True)
class LongSumPolicy:
    """How long sums are made for noisy tables of many columns."""

    # What terms are made of and how they are chosen. An exponential of a column that spans hundreds is none of science.
    terms: NoisyFormPolicy = NoisyFormPolicy(most_terms=30, sweeps=1, nothing_new=1e-6, moderate=1e3)
    rows_a_term: int = 8  # With fewer rows for each term, a sum is no longer.
    lone: float = 0.25  # A term that varies in one row alone, by this share of its squares, is no term.
    errors: float = 0.5  # Standard errors by which a longer sum must predict rows held out better than a shorter one.
    most_folds: int = 20  # Its terms are chosen anew in each fold: with more folds than these it is not made.
    seconds: float = 0.8  # About how long it takes,
    seconds_a_column: float = 0.05  # and how much longer for each column.
    most_of_limit: float = 0.2  # It is not made if that is more than this share of the time limit.


@dataclass(frozen=True)
class ClosedFormPolicy:
    """All of them, one for each kind of formula."""

    fractions: FractionPolicy = FractionPolicy()
    products: ProductPolicy = ProductPolicy()
    sums: SumPolicy = SumPolicy()
    shapes: ShapePolicy = ShapePolicy()
    waves: WavePolicy = WavePolicy()
    pure: PurePolicy = PurePolicy()
    noisy_forms: NoisyFormPolicy = NoisyFormPolicy()
    long_sums: LongSumPolicy = LongSumPolicy()
