"""The numbers that steer closed forms: how many rows and candidates are looked at, and what counts as vanishing."""

from __future__ import annotations

from dataclasses import dataclass

_SIZES = (1.0, 2.0, 1 / 2, 3.0, 1 / 3, 4.0, 1 / 4, 3 / 2, 2 / 3, 1 / 6, 6.0, 1 / 8, 8.0)
_SIMPLE = tuple(sign * size for size in _SIZES for sign in (1.0, -1.0))


@dataclass(frozen=True)
class PowerPolicy:
    """The products of powers that a formula may be made of."""

    highest: int = 4  # largest power of a column, positive or negative
    highest_alone: int = 6  # the same for a single column
    together: int = 15  # limit on the sum of the sizes of all powers of a product


@dataclass(frozen=True)
class FewTermsPolicy:
    """How a few columns that add up to a goal without remainder are chosen from many."""

    # Numbers of candidates that are taken all at once, after which those not needed are removed.
    at_once: tuple[int, ...] = (12, 30, 80, 130)
    most_terms: int = 12  # most terms of a goal
    rivals: int = 3  # choices that are followed side by side
    rows_per_term: int = 4  # rows needed per term
    rows_per_candidate: float = 1.5  # rows needed per candidate to take candidates all at once
    rows_one_by_one: int = 200  # rows used when candidates are chosen one after the other, the slowest step
    most_paired: int = 1000  # candidates of which all pairs are tried
    pairs_tried: int = 60  # best pairs that are then checked fully
    glimpse: float = 1e-9  # such a pair may leave at most this share of the square of the goal, by a rough estimate
    likely: int = 12  # candidates of each step that are taken together if choosing one by one has failed
    vanishes: float = 3e-13  # share of the goal that a sum may leave
    cancelled: float = 1e-15  # share of its terms that it may leave, where they are much larger than the goal
    most_cancelled: float = 3e-12  # limit on what it may then leave, as a share of the goal
    # Factor by which the remainder falls with the last term; for a smooth function that is no sum, it is far less.
    leap: float = 1e4
    used_up: float = 1e-9  # a candidate is rounding if the others leave no more than this of it
    nothing_new: float = 1e-6  # a candidate of which the others leave no more than this is not taken together with them


@dataclass(frozen=True)
class FractionPolicy:
    """How fractions of polynomials are searched."""

    rows: int = 600  # rows that are used
    most_columns: int = 100  # most terms of numerator and denominator together
    rows_per_column: float = 1.6  # rows needed per term; with fewer, a fraction could meet the data by chance
    rows_per_power: float = 1.25  # the same for a polynomial, which has no poles to put between the rows
    above: int = 6  # highest total degree of the numerator
    below: int = 4  # highest total degree of the denominator
    alone: int = 10  # highest total degree of a polynomial
    vanishes: float = 1e-13  # a combination vanishes if its singular value is at most this share of the largest
    # There is no fraction unless, with all terms there is room for, the smallest singular value is below `glimpse`
    # times the largest, and its square below `glance`, which is checked first.
    glimpse: float = 1e-11
    glance: float = 1e-13
    # Factor by which it falls at the right degree; for a smooth function that is no fraction, it is far less.
    leap: float = 3e8
    # A fraction is accepted without such a fall if it has at most `few_terms` terms in at least `several_columns`
    # columns; with one column, a smooth function may have as few.
    few_terms: int = 5
    several_columns: int = 2
    idle: float = 1e-9  # a coefficient below this share of the largest is rounding, for columns of equal size
    moderate: float = 1e3  # a function of a column may take part if its values stay below this
    most_replaced: int = 20  # with more columns, none is replaced by a function of it


@dataclass(frozen=True)
class ProductPolicy:
    """How products of powers and exponentials are searched."""

    rows: int = 400  # rows that are used
    most_in_exponent: int = 200  # products of columns that an exponential may be made of
    most_pairs: int = 1000  # sums and differences of two columns that are tried: all of them for up to 22 columns
    few_columns: int = 4  # up to this many columns, products and ratios are tried inside sines and next to 1
    simple: float = 1e-9  # accuracy to which an exponent must be a whole number to be rounded
    powers: PowerPolicy = PowerPolicy()  # products in an exponential
    terms: FewTermsPolicy = FewTermsPolicy()  # how the factors are chosen


@dataclass(frozen=True)
class SumPolicy:
    """How sums of few terms are searched."""

    rows: int = 400  # rows that are used
    most_candidates: int = 900  # terms that a sum of powers is chosen from
    most_with_functions: int = 2500  # terms that a sum with functions of a column is chosen from, the best of all
    most_products: int = 7000  # with more products of powers and functions, only the best are considered
    few_columns: int = 2  # up to this many columns, functions are also applied to powers, products and ratios
    most_nested: int = 60  # products of powers that are used besides these
    # Rows with |y| below this quantile count by their absolute error, others by their relative error.
    small: float = 0.1
    powers: PowerPolicy = PowerPolicy()  # which products may be terms
    terms: FewTermsPolicy = FewTermsPolicy()  # how the terms are chosen


@dataclass(frozen=True)
class WavePolicy:
    """How waves over two columns are searched."""

    rows: int = 200  # rows that are used
    fewest_rows: int = 16  # with fewer rows no wave is looked for; that is two for each number
    most_columns: int = 5  # with more columns no pairs are tried
    # Starting frequencies for slow waves, in half turns over the range of a column.
    slow: tuple[float, ...] = (0.1, 0.3, 0.9)
    slowest: float = 0.02  # no slower wave is accepted: any product of two lines looks like one
    fastest: int = 400  # highest frequency in the periodogram, in half turns
    peaks: int = 4  # peaks of the periodogram that are used as starts
    first_steps: int = 8  # steps after which only the best starts continue
    kept: int = 3  # number of starts that continue
    steps: int = 30  # steps that these take
    vanishes: float = 1e-11  # share of the spread of y that a wave may leave
    idle: float = 1e-8  # an amplitude below this share of the largest is rounding


@dataclass(frozen=True)
class ShapePolicy:
    """How curves of one variable are compared with known shapes."""

    rows: int = 200  # rows that are used
    # Starting scales: values that the largest argument then has.
    scales: tuple[float, ...] = (1e-4, 1e-2, 0.3, 1.0, 3.0, 10.0)
    powers: tuple[int, ...] = (-2, -1, 0, 1, 2)  # powers of the variable that a shape may be multiplied by
    first_steps: int = 3  # steps after which only the best starts continue
    kept: int = 6  # number of starts that continue
    steps: int = 14  # steps in all
    nearby: float = 1e-5  # step of difference quotients, as a share of the scale
    vanishes: float = 1e-10  # share of y that a shape may leave; y may have lost digits itself
    better: float = 0.3  # a later shape must leave less than this share of what a simpler one leaves


@dataclass(frozen=True)
class PurePolicy:
    """How laws with simple numbers are searched between dimensionless groups."""

    rows: int = 80  # random rows on which they are compared
    extreme: int = 60  # about as many rows with the largest and smallest groups are added
    glance: int = 36  # rows of these that are used for a first comparison
    glance_a_factor: int = 3  # the same per possible factor of a law; the larger number counts
    most_groups: int = 4  # with more groups nothing is searched
    # The argument of a function is a product of powers of the groups, times one of these fractions, times a power of
    # pi.
    numbers: tuple[float, ...] = _SIMPLE
    powers_of_pi: tuple[int, ...] = (0, 1, -1)
    powers: tuple[int, ...] = (0, 1, -1, 2, -2)  # powers of a group in such a product
    plain_powers: int = 3  # limit on the sum of the sizes of these powers
    most_powers: int = 5  # the same where only the simplest functions are tried
    most_powers_beside: int = 2  # the same for a product that includes a sine or cosine, or that is added to a law
    groups_beside: int = 2  # with at most this many groups, products of them may be added to a law
    parts: int = 2  # exponents are multiples of one over this number
    whole: float = 1e-3  # to this accuracy
    highest: float = 6.5  # largest exponent of a function
    at_once: int = 16  # products beyond the plain ones that are tried together
    tried: int = 40  # best arguments of each batch that are examined further
    near: float = 1e-2  # these may leave at most this share of what a plain product leaves of log|y|
    digits: float = 1e-13  # if a plain product leaves no more than this, it is the law itself
    close: float = 1e-5  # a law that leaves more than this of y is dropped; less may be due to a missing small term
    accuracy: float = 1e-9  # accuracy of the simple number in front of a law, unless the law leaves more
    rough: float = 1e-6  # the same for coefficients of a fraction, whose small terms are known less accurately
    corrected: int = 3  # best laws that leave more than rounding for which a small additional term is looked for
    idle: float = 1e-10  # a factor is redundant if the others leave no more than this share of it
    vanishes: float = 1e-11  # share of y that a law may leave
    rounding: float = 3e-16  # laws that leave no more than this are equally good
    better: float = 0.3  # one law is better than another if it leaves less than this share of what the other leaves
    kept: int = 24  # laws that are kept if these rows cannot distinguish them
    # Laws that are finished, if all rows cannot distinguish them: their shortest form shows what they cost.
    finished: int = 4
    most_variables: int = 420  # most products that are tried inside functions, the simplest first
    wave: int = 2  # cost of a sine or cosine when products are ordered, in powers


@dataclass(frozen=True)
class NoisyLogarithmPolicy:
    """How logarithms of noisy values are taken, using a smooth positive or negative trend."""

    rows_a_term: int = 4  # rows needed per term for the trend to have squares and products of logarithms
    steps: int = 40  # steps of its fit
    damping: float = 1e-2  # damping of the first step
    bolder: float = 4.0  # divisor of the damping after a successful step
    shyer: float = 6.0  # factor on the damping after a failed step
    settled: float = 1e-4  # the fit ends when a step gains less than this share
    left: float = 0.15  # share of the square of y that the trend may leave; if it leaves more, y is not of one sign
    far: float = 6.0  # a row this many times as far from the trend as the typical one keeps its own logarithm
    wrong_sign: float = 0.02  # share of the rows that may lie this far on the other side of zero


@dataclass(frozen=True)
class PowerFitPolicy:
    """How power laws are fitted to noisy values."""

    steps: int = 8  # most steps
    shares: tuple[float, ...] = (1.0, 0.3, 0.05)  # parts of a step that are tried until one of them improves the fit
    settled: float = 1e-5  # the fit ends when a step gains less than this share
    rank: float = 1e-8  # singular values below this share of the largest are ignored
    nearby: float = 1e-5  # step of difference quotients, as a share of the scale


@dataclass(frozen=True)
class ShapedPowerPolicy:
    """How power laws times a known shape of a product of powers are proposed for noisy data."""

    rows: int = 200  # rows on which all shapes are compared, approximately
    most_rows: int = 2000  # rows on which the best are fitted
    rows_a_column: int = 6  # rows needed per number
    fewest_columns: int = 2  # a single column has no ratios, and is left to small forms
    most_columns: int = 8  # with more columns nothing is proposed
    most_in_group: int = 4  # most columns in the product inside a shape
    most_groups: int = 700  # most products that are tried
    scales: tuple[float, ...] = (0.1, 0.5, 0.9, 2.0, 8.0)  # starting scales: values that the largest argument then has
    fitted: int = 120  # best candidates that are fitted to the logarithms of more rows
    steps: int = 8  # steps of this fit
    refined: int = 60  # best of these, which are fitted to the values themselves
    nearby: float = 1e-5  # step of difference quotients, as a share of the scale
    doubt: float = 3.0  # a number may be replaced by a simple one within this many standard errors
    # A shape must lower the misfit of the plain power law by this share times log(rows)/rows.
    worth: float = 2.0
    logarithms: NoisyLogarithmPolicy = NoisyLogarithmPolicy()
    fits: PowerFitPolicy = PowerFitPolicy()
    kept: int = 16  # candidates that become formulas


@dataclass(frozen=True)
class NoisyFormPolicy:
    """How power laws, sums and fractions are proposed for noisy data."""

    rows: int = 1000  # rows that they are fitted to
    fewest_rows: int = 5  # with fewer rows nothing is proposed
    most_terms: int = 5  # most terms of a sum
    most_candidates: int = 300  # products of powers that its terms are chosen from, approximately
    most_in_fraction: int = 130  # candidates for the numerator of a fraction, and as many for the denominator
    most_products: int = 3300  # with more products of powers and functions, only the best are considered
    best_products: int = 1200  # number of these best ones
    few_columns: int = 3  # up to this many columns, products of two functions are candidates as well
    # A function of a column is a factor only if its values stay below this; the same for its reciprocal.
    moderate: float = 1e300
    many_columns: int = 20  # with more columns, only products and ratios that say most about y are considered
    most_factors: int = 20  # most factors of a power law
    doubt: float = 4.0  # an exponent may be replaced by a simple number within this many standard errors
    terms_inside: int = 16  # terms of a sum that stands for y next to a denominator, while the denominator is chosen
    times_inside: int = 4  # how often the denominator is chosen again
    least_below: float = 0.05  # a row gets no more weight if its denominator is below this share of the typical one
    nothing_new: float = 1e-8  # a column adds nothing if the others leave no more than this of it
    most_weight: float = 1e3  # largest weight of a row, in multiples of a typical one
    kept: int = 3  # best choices that become formulas
    sweeps: int = 6  # passes in which the terms of a choice are replaced by better ones
    restarts: int = 6  # random choices to start from, for each number of terms
    likely: int = 60  # columns most similar to y, from which these are drawn
    price: float = 12.0  # cost of a term besides its constant, since it was chosen among hundreds
    powers: PowerPolicy = PowerPolicy()  # which products may be terms
    shaped: ShapedPowerPolicy = ShapedPowerPolicy()  # power laws times a known shape


@dataclass(frozen=True)
class LongSumPolicy:
    """How long sums are made for noisy tables with many columns."""

    # What terms are made of and how they are chosen. Exponentials of columns that span hundreds do not occur in
    # science.
    terms: NoisyFormPolicy = NoisyFormPolicy(most_terms=30, sweeps=1, nothing_new=1e-6, moderate=1e3)
    rows_a_term: int = 8  # rows needed per term
    lone: float = 0.25  # a term is not used if a single row has this share of its variation
    errors: float = 0.5  # standard errors by which a longer sum must predict held-out rows better than a shorter one
    most_folds: int = 20  # the terms are chosen again in each fold; with more folds no sum is made
    # Time that it takes, approximately: a base amount and more for each column. It is not made if that exceeds a share
    # of the time limit.
    seconds: float = 0.8
    seconds_a_column: float = 0.05
    most_of_limit: float = 0.2


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
