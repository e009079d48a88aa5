"""Every number that steers the search, as data: a user sets it, a checkpoint fingerprints it, a test varies it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ceql.catalogue.policy import CataloguePolicy
from ceql.choice.exactness import Exactness
from ceql.choice.residuals import ResidualPolicy
from ceql.choice.sifting import SiftingPolicy
from ceql.closed_form.policy import ClosedFormPolicy
from ceql.engine.fit import Levenberg
from ceql.engine.memory import machine_memory
from ceql.engine.stages import Schedule
from ceql.expression.prices import Prices
from ceql.formula import PolishPolicy
from ceql.network.sampling import Prior
from ceql.shapes.policy import ShapePolicy
from ceql.sums.policy import SumSearchPolicy
from ceql.templates.sizes import SizePolicy
from ceql.transforms.policy import TransformPolicy


@dataclass(frozen=True)
class ReductionPolicy:
    """How fits to noisy data are reduced: edges are removed from the most promising ones while the criterion falls."""

    first_round: int = 2  # rounds before the first reduction; exact fits have mostly been found by then
    fits: int = 16  # fits that are reduced after a round
    kept: int = 48  # reduced fits that are remembered
    progress: float = 1.0  # smallest gain in the criterion that counts as an improvement
    hopeless: float = 40.0  # an elimination stops once its criterion is this far above the best one on its path
    # Fit after each removal; in noise the last digits do not matter.
    refit: Levenberg = Levenberg(25, least_reduction=1e-4, separable=True)
    first_fit: Levenberg = Levenberg(60, least_reduction=1e-6, separable=True)  # fit before the first removal
    # Signs of noise: the best misfit of a size is within this factor of the lowest of all, and this many larger sizes
    # in the archive bring nothing more.
    as_good: float = 2.0
    sizes_for_nothing: int = 6
    # The same for few rows, judged by the estimated noise and only for fits with at most half as many edges as rows.
    as_good_in_few: float = 2.5
    sizes_for_nothing_in_few: int = 3
    quiet: int = 8  # rounds without improvement that end a search whose residuals look like noise
    quiet_in_doubt: int = 16  # the same where the residuals do not look like noise


@dataclass(frozen=True)
class HitPolicy:
    """How exact fits become formulas."""

    tried: int = 6  # exact fits of a round that are reduced by elimination
    near_tried: int = 2  # where there are none: nearly exact fits that are reduced, since one may hide an exact fit
    polished: int = 2  # formulas made of the reduced fits that are exact, the smallest first
    margin: float = 10.0  # an inexact fit may grow to this many times its misfit on the way to a smaller one
    refit: int = 60  # iterations after a removal
    separable: bool = True  # solve for the weights of the last sum: the rest often lies in a flat valley
    far_off: float = 1e-3  # median relative error above which a closed form is rejected without being finished


@dataclass(frozen=True)
class DrawingPolicy:
    """Which fits become the formulas of a front."""

    contenders: int = 8  # reduced fits that may become formulas
    foremost: int = 3  # the best of these, which are drawn before all other fits
    eliminated: int = 2  # the best of these, which are reduced further, down to a single edge
    # Formulas from that reduction, the smallest first; half as many are added from the best fit of each size.
    rows: int = 8
    linear_inputs: int = 12  # weighted sums of the inputs are drawn as well if there are at most this many inputs
    linear_fit: int = 30  # iterations for such a sum
    outline: int = 5  # approximate formulas that are shown beside an exact one
    far_worse: float = 30.0  # a formula this far behind its rival, by the criterion, does not get the full effort
    better: float = 0.999  # a larger fit is drawn only if its misfit is below this share of that of every smaller one


@dataclass(frozen=True)
class ShortcutPolicy:
    """When formulas that need no search are looked for, for y and for the other targets."""

    targets: int = 32  # targets that are examined; each takes about 0.2 s
    targets_in_noise: int = 12  # the same where the data look noisy
    a_round: int = 8  # targets that are examined after each round
    summed: int = 1  # sums of terms are looked for as well, for targets with at most this many columns
    short_fraction: int = 14  # a fraction with at most this many terms needs no shorter form
    # Making the other targets takes about this many seconds times the square of the number of columns, and less in
    # proportion if there are fewer than `making_rows` rows. They are not made if the time left is shorter.
    making: float = 0.04
    making_rows: int = 400


@dataclass(frozen=True)
class NoisyPolicy:
    """Formulas for noisy data that need no search: how they are compared, and when one of them explains the data."""

    rows: int = 2000  # rows on which all of them are compared
    rows_of_best: int = 20_000  # rows on which the best ones are compared again
    compared: int = 40  # number of best ones that are compared again
    fewest_rows: int = 100  # with fewer rows, noise cannot be told from what a formula misses
    # The residual counts as noise only if its size, as a share of the size of y, lies between these two.
    smallest: float = 1e-6
    largest: float = 0.5
    # How many times the residual of a smooth fit it may leave, since that fit is judged on few rows.
    leeway: float = 1.5
    asking: float = 0.25  # share of the time limit that may be spent on asking further targets
    # If at least this many targets are to be asked, missing ones are made first, which takes about a second.
    worth_making: int = 4


@dataclass(frozen=True)
class ReweightingPolicy:
    """How the row weights follow the best fit so far, under a loss other than squares."""

    rows: int = 20_000  # rows of a long table that are used
    pilots: int = 12  # fits that are tried as pilots after each round
    concentrations: int = 4  # times that the rows nearest to a pilot are chosen again
    refit: int = 30  # iterations of the fit to these rows
    progress: float = 1.0  # gain in the criterion from which on the weights are changed
    steep: float = 3.0  # residuals beyond this many scales get no more weight, where a loss is steeper than squares
    rounding: float = 1e-12  # residuals below this share of the size of y are treated as equal
    neighbours: int = 8  # rows that each row is compared with before the first round
    compared: int = 2000  # rows among which these neighbours are looked for
    comparisons: float = 1e8  # limit on the numbers compared for that; with more, fewer rows are used
    loose: float = 4.0  # a row that differs from its neighbours by this many scales gets half its weight


@dataclass(frozen=True)
class TurnPolicy:
    """Which target gets the next round, and which targets are made."""

    many_columns: int = 8  # with more columns, a search over the columns that seem to matter runs beside that over all
    most_joined: int = 16  # up to this number of columns, statistics look for fewer variables among all of them
    most_predicted: int = 4  # with many rows, prediction from other rows is tried as well up to this number of columns
    most_shorter: int = 5  # targets in fewer variables
    most_grouped: int = 5  # targets over dimensionless groups, where units are known and numbers have none
    # Groups are good enough if a smooth fit leaves at most this many times as much as with the best.
    as_smooth: float = 3.0
    groups_reduced: int = 2  # sets of groups in which fewer variables are looked for
    other_every: int = 2  # one start in this many goes to targets other than y
    other_every_in_noise: int = 4  # the same where the data seem noisy; a hard formula may look like noise too
    first_rows: int = 400  # rows of a long table at first; without noise, few rows say as much as many
    rows: int = 2000  # rows of a long table once noise has been seen
    few_rows: int = 40  # up to this number of rows, fits of some other targets are drawn too: their noise matters less


@dataclass(frozen=True)
class RestPolicy:
    """The rest of y, beside terms that the search for sums is sure of: each rest is a target of its own."""

    used: bool = True  # whether rests are searched at all
    most: int = 4  # number of rests, one for each part of y that is sure
    every: int = 3  # at most one start in this many goes to the rests
    starts: int = 16_384  # most starts for each rest
    # The numbers of the known part are refined only if the other columns explain the rest up to this share.
    explained: float = 1e-10
    asked: int = 12  # targets made from a rest that are asked for formulas that need no search, the first ones
    # Share of the rest that an exact sum may leave: the rest inherits the errors of the known part's numbers.
    vanishes: float = 1e-20


@dataclass(frozen=True)
class EndPolicy:
    """When a search ends by itself."""

    # Further rounds after an exact formula that is larger than allowed, to find an approximation.
    rounds_beyond_limit: int = 12
    # Further rounds after a formula without a search that leaves only noise, to find a better one.
    rounds_explained: int = 2
    # A table with few rows and a rounded target cannot tell more formulas apart than these rounds try:
    # `rounds_measured`, and one more for every `rows_a_round` rows.
    rounds_measured: int = 7
    rows_a_round: int = 16
    few_measured: int = 300  # largest number of rows for which this holds
    digits_measured: int = 8  # significant digits that a measured target has at most
    # With this few rows, fits of all sizes are soon tried, whatever the target. If they show noise, the search ends
    # like that of a rounded target; otherwise after `rounds_of_few` rounds and `rounds_a_row` more per row.
    few: int = 40
    rounds_of_few: int = 16
    rounds_a_row: float = 2
    least_logarithms: float = 1.0  # smallest range of a target that may be the logarithm of measured numbers
    rounds_with_spare: int = 40  # further rounds after an exact formula that may have a shorter form
    fewest_edges: int = 6  # no limit on the edges of sub-networks is lower than this
    edges_a_node: float = 0.75  # edges needed per node of the largest formula allowed
    # Most edges: this many per row, less `edges_spare`, since a network with as many edges as rows fits them all.
    edges_a_row: float = 2.0
    edges_spare: int = 10


@dataclass(frozen=True)
class NarrowingPolicy:
    """Which columns of a wide table are searched."""

    widest: int = 64  # up to this many columns, all are searched
    kept: int = 40  # otherwise, this many are kept
    rows: int = 2000  # rows on which they are chosen


@dataclass(frozen=True)
class MemoryPolicy:
    """How much memory a step may use besides the table itself. Most steps work on blocks of rows or columns."""

    share: float = 0.25  # share of the machine's memory
    most: float = 4e9  # upper limit, in bytes
    copies: int = 8  # copies of its rows that a linear fit holds
    held: float = 0.5  # share of this memory for states that the search may have to return to

    def budget(self, machine: float | None = None) -> float:
        """Bytes."""
        return min(self.share * (machine_memory() if machine is None else machine), self.most)

    def rows(self, columns: int, machine: float | None = None) -> int:
        """Of a table with this many columns, how many a linear fit may have at once."""
        return int(self.budget(machine) / (8 * self.copies * max(columns, 1)))


@dataclass(frozen=True)
class GuessPolicy:
    """How much effort goes into fitting the formulas that a user suspects."""

    starts: int = 60  # starting points for constants without a value
    iterations: int = 50  # iterations of each fit
    # With more constants, starts and iterations are reduced, as the work of one grows with their cube.
    few_constants: int = 20
    fewest_starts: int = 2  # starting points, however many constants there are
    fewest_iterations: int = 10  # iterations, however many constants there are
    # With more constants, the fitted formula is not simplified and its numbers are not rounded.
    finished_constants: int = 30
    finished_nodes: int = 400  # the same for a formula with more nodes
    most_constants: int = 60  # a guess with more constants is not fitted before the search
    sketches_a_guess: int = 10  # cost of fitting a guess with full effort, in sketches of a formula
    # Half of the starts have sizes between 10**-decades and 10**decades; the others are standard normal.
    decades: float = 2.0
    rows: int = 400  # rows on which the starts are fitted


@dataclass(frozen=True)
class PeriodogramPolicy:
    """Which frequencies sines start at."""

    fastest: float = 60.0  # highest frequency, in radians per unit of scaled input
    most: int = 3  # peaks kept per input
    high: float = 0.25  # a peak is kept only if it exceeds this share of the highest one
    rows: int = 1024  # rows that are used


@dataclass(frozen=True)
class LossPolicy:
    """The shapes of the named losses, and how the slope of a user-defined one is computed."""

    # Residuals in units of the noise scale at which each loss departs from squares; all three have 95 % efficiency.
    huber: float = 1.345  # linear beyond this
    cauchy: float = 2.385  # logarithmic beyond about this
    log_cosh: float = 1.2047  # linear beyond about this
    nearly_zero: float = 1e-2  # residuals below this share of the scale all get the same weight, in a loss with a kink
    step: float = 1e-4  # step of the difference quotient for the slope, as a share of the residual


@dataclass(frozen=True)
class JudgementPolicy:
    """How finished formulas are fitted and judged by a loss other than squares."""

    rows: int = 2000  # rows that all formulas are fitted to
    nearest: float = 0.75  # share of the rows, those nearest to a formula, by which the best one is chosen
    reweightings: int = 20  # rounds of reweighting per fit
    steps: int = 10  # steps in each round
    work: float = 1e8  # limit on the products in a fit; if it would take more, rounds and steps are reduced
    fitted_anyway: int = 8  # formulas that are fitted however short the time limit is
    fitting: float = 0.1  # share of the time limit for fits to some of the rows
    # Rounds and steps of the final fit to all rows of a long table, where little is left to do.
    last: tuple[int, int] = (2, 1)
    last_a_row: float = 3e-6  # seconds per row that this final fit takes
    shrinkings: int = 20  # how often the scale may be estimated again; a formula that starts far off needs many
    shrinks: float = 0.99  # this is repeated while the scale falls below this share of its previous value
    drawn_in: float = 2.0  # residuals beyond this many scales are clipped before standard errors are computed
    dearest: float = 9.0  # highest cost of a row in the choice between formulas, in units of the variance
    # Cost of a row without a finite loss; any formula that has a finite loss there is preferred.
    undefined: float = 1e12
    levels: int = 41  # quantiles of y that are tried as constants
    kept_share: float = 0.35  # share of the time limit that is reserved for the rest of a long table
    kept_a_row: float = 1e-5  # upper limit of that reserve, in seconds per row


@dataclass(frozen=True)
class Finishing:
    """How many formulas get how much attention at the end of a search."""

    asked: int  # targets that are asked for formulas that need no search
    sketched: int  # proposals of theirs that are fitted to y
    polished: int  # of these, fitted with the full effort: rounding constants to whole numbers may change the order
    drawn: int  # formulas of a front, besides the constant
    finished: int  # of these, finished with the full effort
    relatives: int  # formulas for which variants with simpler numbers are tried
    outlined: int  # other targets whose fits are drawn, where the data have few rows
    reduced: int  # fits that are reduced before a front is drawn, since some of them hide smaller ones


@dataclass(frozen=True)
class Leaders:
    """Which formulas get relatives with simpler numbers in the end."""

    first: int = 8  # variants are first tried for the best formulas, at most this many
    # Then, round by round, for this many of all formulas and variants, as long as new ones appear.
    later: tuple[int, ...] = (3, 3, 2, 2)
    behind: float = 60.0  # formulas further behind the best than this, by the criterion, are left out


LEADERS = Leaders()


@dataclass(frozen=True)
class FinishingPolicy:
    """A price list, the time that is kept by it, and what that time is spent on.

    The unit is a sketch of a formula; to ask a target or to look for relatives costs about as much, the full effort for
    one formula about ten times that. On a long table all of them grow with the rows.
    """

    # Seconds that a sketch takes: a base amount, and more for each column, each row it is fitted to and each row it is
    # judged on.
    sketch: float = 0.048
    sketch_a_column: float = 1.3e-3
    sketch_a_fitted_row: float = 1.5e-5
    sketch_a_row: float = 3e-7
    # Possible budgets for everything, in sketches; with the first, nothing is left out.
    levels: tuple[int, ...] = (240, 120, 60)
    reserved: float = 0.15  # share of the time limit reserved for drawing the front
    most_reserved: int = 40  # upper limit of that reserve, in sketches
    # However small that reserve is, at least this share of the time limit is kept, but no more than `least_reserved`
    # seconds of it.
    reserved_short: float = 0.4
    least_reserved: float = 1.0  # seconds
    # A long table gets a further reserve: this many seconds for each row beyond `rows_for_free`, up to this share.
    reserved_long: float = 0.35  # share of the time limit
    reserved_a_row: float = 5e-6  # seconds per row
    # Share of the time limit reserved for trying simpler numbers in the leading formulas.
    reserved_simpler: float = 0.05
    priced_simpler: int = 6  # upper limit of that reserve, in sketches
    rows_for_free: int = 2000  # most rows that a formula is fitted to; only further rows add to the reserve
    drawn_anyway: int = 6  # formulas of each kind drawn even if the time is up; for a long table, one
    leaders: Leaders = LEADERS
    everything: Finishing = Finishing(
        asked=48, sketched=12, polished=4, drawn=40, finished=3, relatives=80, outlined=6, reduced=16
    )
    least: Finishing = Finishing(
        asked=1, sketched=1, polished=1, drawn=4, finished=1, relatives=1, outlined=1, reduced=2
    )
    in_haste: Finishing = Finishing(
        asked=1, sketched=2, polished=1, drawn=6, finished=1, relatives=1, outlined=1, reduced=2
    )
    # A plan between `least` and `everything` has one of each kind for every this many sketches.
    shares: Finishing = Finishing(
        asked=5, sketched=3, polished=30, drawn=3, finished=25, relatives=10, outlined=20, reduced=3
    )


@dataclass(frozen=True)
class FixedPolicy:
    """The fit of a template in which only numbers are unknown."""

    starts: int = 1024  # starting points
    rows: int = 400  # rows that the starts are fitted to; the best are fitted to all rows
    look: int = 4  # iterations on the real axis by which the most promising starts are chosen
    direct: int = 200  # starts fitted from there, besides those that went through the complex domain
    iterations: int = 100  # iterations of plain least squares for both
    finished: int = 12  # distinct minima that are fitted to all rows
    sizes: SizePolicy = field(default_factory=SizePolicy)


@dataclass(frozen=True)
class ShapedPolicy:
    """How required shapes are turned into extra rows for the search, and when the rows contradict them."""

    images: int = 3  # symmetries that are added as mirrored rows; each doubles the rows
    point: float = 0.2  # weight of a required point, as a share of the weight of all rows
    rows_a_point: int = 8  # rows per point, where the point leaves some columns free
    sketch: float = 5.0  # how many times as long a sketch takes as without shapes
    against: float = 20.0  # difference in the criterion from which on the rows speak against the shapes


@dataclass(frozen=True)
class SearchPolicy:
    """A round consists of new random starts and mutants of the best fits so far."""

    round_size: int = 1024  # starts in the first rounds
    growth: float = 0.06  # size of a later round of y itself, as a share of all starts so far, whatever the machine
    growth_of_others: float = 0.03  # the same for a round of another target
    largest_round: int = 65_536  # most starts in a round, whichever target it is for
    chunk_size: int = 256  # starts that compete with each other
    bytes_at_a_time: int = 2**27  # memory for start values; larger rounds are made in pieces of this size
    start_scale: float = 0.7  # standard deviation of the initial weights
    mutant_share: float = 0.5  # share of mutants among the starts, from the second round on
    inherit_share: float = 0.5  # share of mutants that keep their parent's weights
    kept_per_size: int = 24  # fits that the archive keeps for each number of edges
    out_of_domain: float = 1e3  # factor on the misfit, for ranking, of a fit that leaves the domain of a function
    oscillating: float = 0.5  # share of starts whose sines begin at frequencies spread over decades
    fastest: float = 30.0  # the highest of these frequencies, in radians per unit of scaled input
    in_rhythm: float = 0.3  # share of starts whose sines begin at peaks of the periodogram
    rhythm_error: float = 0.02  # relative standard deviation of these frequencies about a peak
    beside_inherited: float = 0.3  # factor on the new initial weights of a mutant that keeps its parent's weights
    beside_inherited_imaginary: float = 0.5  # the same for imaginary parts
    founders_share: float = 0.4  # share of mutants that descend from the user's guesses
    prior: Prior = field(default_factory=Prior)
    schedule: Schedule = field(default_factory=Schedule)
    exact: Exactness = field(default_factory=Exactness)
    hits: HitPolicy = field(default_factory=HitPolicy)
    reduction: ReductionPolicy = field(default_factory=ReductionPolicy)
    fixed: FixedPolicy = field(default_factory=FixedPolicy)
    drawing: DrawingPolicy = field(default_factory=DrawingPolicy)
    shortcuts: ShortcutPolicy = field(default_factory=ShortcutPolicy)
    noisy: NoisyPolicy = field(default_factory=NoisyPolicy)
    reweighting: ReweightingPolicy = field(default_factory=ReweightingPolicy)
    turns: TurnPolicy = field(default_factory=TurnPolicy)
    rests: RestPolicy = field(default_factory=RestPolicy)
    end: EndPolicy = field(default_factory=EndPolicy)
    closed_forms: ClosedFormPolicy = field(default_factory=ClosedFormPolicy)
    transforms: TransformPolicy = field(default_factory=TransformPolicy)
    residuals: ResidualPolicy = field(default_factory=ResidualPolicy)
    narrowing: NarrowingPolicy = field(default_factory=NarrowingPolicy)
    memory: MemoryPolicy = field(default_factory=MemoryPolicy)
    guesses: GuessPolicy = field(default_factory=GuessPolicy)
    periodogram: PeriodogramPolicy = field(default_factory=PeriodogramPolicy)
    losses: LossPolicy = field(default_factory=LossPolicy)
    judgement: JudgementPolicy = field(default_factory=JudgementPolicy)
    finishing: FinishingPolicy = field(default_factory=FinishingPolicy)
    polish: PolishPolicy = field(default_factory=PolishPolicy)
    catalogue: CataloguePolicy = field(default_factory=CataloguePolicy)
    prices: Prices = field(default_factory=Prices)
    sifting: SiftingPolicy = field(default_factory=SiftingPolicy)
    sums: SumSearchPolicy = field(default_factory=SumSearchPolicy)
    shapes: ShapePolicy = field(default_factory=ShapePolicy)
    shaped: ShapedPolicy = field(default_factory=ShapedPolicy)
