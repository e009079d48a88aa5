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
    """What noisy data leave of fits: the most promising of a round are reduced by the criterion."""

    first_round: int = 2  # after which fits are reduced; what is exact has mostly been found by then
    fits: int = 16  # reduced after a round
    kept: int = 48  # reduced fits that are remembered
    progress: float = 1.0  # of the criterion that counts as a better one
    hopeless: float = 40.0  # criterion above the best of a path at which it is given up
    refit: Levenberg = Levenberg(
        25, least_reduction=1e-4, separable=True
    )  # after a removal; the last digits mean nothing in noise
    first_fit: Levenberg = Levenberg(60, least_reduction=1e-6, separable=True)  # before the first removal
    as_good: float = 2.0  # times the least misfit that counts as just as good when noise is looked for
    sizes_for_nothing: int = 6  # sizes of fits beyond that which are no better: then there is noise
    as_good_in_few: float = 2.5  # the same in few rows, of the noise that fits see there,
    sizes_for_nothing_in_few: int = 3  # and sizes: only fits with at most half as many edges as rows count
    quiet: int = 8  # rounds without a better one that end a search whose residuals are noise
    quiet_in_doubt: int = 16  # the same where the residuals are not like noise


@dataclass(frozen=True)
class HitPolicy:
    """What is made of exact fits."""

    tried: int = 6  # exact fits of a round that are eliminated
    near_tried: int = 2  # fits that may hide an exact one, where there is none
    polished: int = 2  # of what survives, the smallest become formulas
    margin: float = 10.0  # times its own misfit that one which is not exact may have on the way to a smaller one
    refit: int = 60  # iterations after a removal
    separable: bool = (
        True  # the weights of the last sum are solved there: what is left of a sum often lies in a flat valley
    )
    far_off: float = 1e-3  # relative error of a closed form in the typical row, above which it is not even finished


@dataclass(frozen=True)
class DrawingPolicy:
    """Which fits become the formulas of a front."""

    contenders: int = 8  # reduced fits
    foremost: int = 3  # of these, the best come before all others
    eliminated: int = 2  # of these, the best are taken apart down to a single edge
    rows: int = 8  # formulas on the way there, the smallest first; half as many of the best fit per size
    linear_inputs: int = 12  # up to this number of inputs, weighted sums are drawn as well
    linear_fit: int = 30  # iterations for such a sum
    outline: int = 5  # rows beside an exact formula
    far_worse: float = 30.0  # by the criterion than a rival; the full effort does not make up for more
    better: float = 0.999  # a larger fit must have less than this share of the misfit of every smaller one


@dataclass(frozen=True)
class ShortcutPolicy:
    """When formulas that need no search are looked for, for y and for the other targets."""

    targets: int = 32  # that are looked at; to look at one takes about 0.2 s
    targets_in_noise: int = 12  # the same where the data look noisy
    a_round: int = 8  # of these after every round
    summed: int = 1  # of up to this many columns sums of terms are looked for as well
    short_fraction: int = 14  # terms of a fraction that needs no shorter form
    making: float = 0.04  # seconds that it takes to make the other targets, times the square of the columns,
    making_rows: int = 400  # and less where the rows are fewer than these; they are not begun in the last moment


@dataclass(frozen=True)
class NoisyPolicy:
    """Formulas for noisy data that need no search: when one of them explains the data."""

    rows: int = 2000  # that are looked at,
    rows_of_best: int = 20_000  # and those for the best,
    compared: int = 40  # which are this many
    fewest_rows: int = 100  # in which noise can be told from what a formula fails to say
    smallest: float = 1e-6  # size of what is left of y, as a share of its own, from which it may be noise
    largest: float = 0.5  # and up to which
    leeway: float = 1.5  # a smooth function is judged on few rows
    asking: float = 0.25  # share of the time limit that may go into asking more targets
    worth_making: int = 4  # targets to be asked, from which on those not there yet are made for it, in about a second


@dataclass(frozen=True)
class ReweightingPolicy:
    """How the weights of the rows follow the best fit so far, under a loss that is not of squares."""

    rows: int = 20_000  # of a long table that are looked at
    pilots: int = 12  # fits tried as pilots after a round
    concentrations: int = 4  # times that the nearest rows of a pilot are chosen anew
    refit: int = 30  # iterations of the fit to these rows
    progress: float = 1.0  # of the criterion, for which the weights change
    steep: float = 3.0  # scales, beyond which the weight of a row grows no more where a loss is steeper than squares
    rounding: float = 1e-12  # share of the size of y below which residuals are not told apart
    neighbours: int = 8  # rows that a row is compared with before the first round
    compared: int = 2000  # rows among which these are looked for
    comparisons: float = 1e8  # numbers compared for that, above which they are looked for among fewer
    loose: float = 4.0  # scales at which a row that disagrees with its neighbours counts half


@dataclass(frozen=True)
class TurnPolicy:
    """Whose turn it is."""

    many_columns: int = 8  # above this a search among the columns that seem to matter runs beside that among all
    most_joined: int = 16  # up to this number, statistics look for fewer variables among all columns as well
    most_predicted: int = 4  # up to this number, they are looked for by predicting rows too, where there are many rows
    most_shorter: int = 5  # targets in fewer variables
    most_grouped: int = 5  # targets over groups without dimension, where units are known and numbers have none
    as_smooth: float = 3.0  # groups explain y as well as any that leave this many times as much
    groups_reduced: int = 2  # of these, fewer variables are looked for in this many
    other_every: int = 2  # another target than y has every second start
    other_every_in_noise: int = 4  # less often where the data seem noisy, but a hard formula may look like noise
    first_rows: int = 400  # of a long table; without noise few rows say as much as many
    rows: int = 2000  # of a long table, once noise is seen
    few_rows: int = 40  # up to this number, some of the other targets are drawn too: their noise matters less


@dataclass(frozen=True)
class RestPolicy:
    """What is left of y beside terms that the search for sums is sure of: targets of their own."""

    used: bool = True  # whether there are any
    most: int = 4  # for the first of such parts of y
    every: int = 3  # of all starts they have one in this many,
    starts: int = 16_384  # and each at most this many
    explained: float = 1e-10  # share of y up to which functions of the columns that are left say all that is left
    asked: int = 12  # of the targets made of one, the first are asked for formulas that need no search
    vanishes: float = (
        1e-20  # share of it that an exact sum leaves at most: it is off by what the numbers of y's part are
    )


@dataclass(frozen=True)
class EndPolicy:
    """When a search ends by itself."""

    rounds_beyond_limit: int = 12  # after an exact formula that is larger than allowed, for an approximation
    rounds_explained: int = 2  # after a formula without a search that leaves only noise, for a better one
    # Of a table with few rows whose target was rounded: these cannot tell more formulas apart.
    rounds_measured: int = 7  # and one more
    rows_a_round: int = 16  # for this many rows,
    few_measured: int = 300  # as long as they are no more than these.
    digits_measured: int = 8  # significant digits that a measured target has at most
    # So few rows that fits of all sizes are soon tried, whatever the target. A search of them ends as that of a rounded
    # one where they show noise, and anyhow
    few: int = 40  # rows
    rounds_of_few: int = 16  # after these rounds
    rounds_a_row: float = 2  # and these for every row.
    least_logarithms: float = 1.0  # span of a target that may be the logarithm of measured numbers
    rounds_with_spare: int = 40  # after an exact formula for which there may be a shorter one
    fewest_edges: int = 6  # a limit on the edges of sub-networks is never less
    edges_a_node: float = 0.75  # edges that a node of the largest formula allowed needs
    edges_a_row: float = 2.0  # most edges for every row, less `edges_spare`: with as many as rows all are met
    edges_spare: int = 10


@dataclass(frozen=True)
class NarrowingPolicy:
    """Which columns of a wide table a search looks at."""

    widest: int = 64  # Up to this many columns, a search looks at all of them.
    kept: int = 40  # Of more, it looks at this many.
    rows: int = 2000  # They are chosen on at most this many rows.


@dataclass(frozen=True)
class MemoryPolicy:
    """How much memory a step may take beside the table itself. Most work block by block, on few rows or few columns."""

    share: float = 0.25  # This share of the machine's memory,
    most: float = 4e9  # and no more bytes than these.
    copies: int = 8  # A linear fit holds this many copies of its rows.
    held: float = 0.5  # This share of it may go into states that the search may have to go back to.

    def budget(self, machine: float | None = None) -> float:
        """Bytes."""
        return min(self.share * (machine_memory() if machine is None else machine), self.most)

    def rows(self, columns: int, machine: float | None = None) -> int:
        """Of a table with this many columns, how many a linear fit may have at once."""
        return int(self.budget(machine) / (8 * self.copies * max(columns, 1)))


@dataclass(frozen=True)
class GuessPolicy:
    """How much effort goes into fitting the formulas that a user suspects."""

    starts: int = 60  # This many values are tried for constants without one.
    iterations: int = 50  # The best of them are fitted in this many steps.
    few_constants: int = 20  # Up to this many constants, all starts are made; the work of one grows with their cube.
    fewest_starts: int = 2  # However many constants there are, this many starts are made,
    fewest_iterations: int = 10  # with this many steps.
    finished_constants: int = 30  # Up to this many constants, the fitted formula is simplified and its numbers rounded,
    finished_nodes: int = 400  # if it has at most this many nodes.
    most_constants: int = 60  # A guess with more constants is not fitted before the search.
    sketches_a_guess: int = 10  # To fit a guess with the full effort costs this many sketches of a formula.
    decades: float = 2.0  # The values that are tried span this many decades up and down from one.
    rows: int = 400  # The starts are compared on at most this many rows.


@dataclass(frozen=True)
class PeriodogramPolicy:
    """Which frequencies sines start at."""

    fastest: float = 60.0  # No frequency is higher, in radians per unit of scaled input.
    most: int = 3  # At most this many peaks are kept per input,
    high: float = 0.25  # if they reach this share of the highest one.
    rows: int = 1024  # At most this many rows are looked at.


@dataclass(frozen=True)
class LossPolicy:
    """The shapes of the named losses, and how the slope of one of the user's own is found."""

    huber: float = 1.345  # Beyond this many scales Huber's loss is linear; all three have 95 % efficiency.
    cauchy: float = 2.385  # Beyond about this many scales Cauchy's loss is a logarithm.
    log_cosh: float = 1.2047  # Beyond about this many scales log-cosh is linear.
    nearly_zero: float = 1e-2  # Residuals below this share of the scale have the same weight in a loss with a kink.
    step: float = 1e-4  # The slope is a difference over this share of the residual.


@dataclass(frozen=True)
class JudgementPolicy:
    """How finished formulas are fitted and judged by a loss that is not of squares."""

    rows: int = 2000  # All formulas are fitted to at most this many rows.
    nearest: float = 0.75  # The best is told by this share of the rows, those that a formula is nearest to.
    reweightings: int = 20  # A fit has at most this many rounds,
    steps: int = 10  # and this many steps in each.
    work: float = 1e8  # It has fewer of them if they would take more products than this.
    fitted_anyway: int = 8  # This many formulas are fitted however short the time limit is.
    fitting: float = 0.1  # Fits to some rows may take this share of the time limit.
    last: tuple[int, int] = (2, 1)  # Rounds and steps of the fit to all rows of a long table, with little left to do.
    last_a_row: float = 3e-6  # This fit takes that many seconds a row.
    shrinkings: int = 20  # The scale is found anew at most this many times; a formula that begins far off needs many.
    shrinks: float = 0.99  # It goes on while the scale falls below this share of what it was.
    drawn_in: float = 2.0  # Beyond this many scales a residual says nothing about the size of the noise.
    dearest: float = 9.0  # A row costs at most this in the choice, in units of the variance.
    undefined: float = 1e12  # A row without a finite loss costs this: a formula that has one there is preferred.
    levels: int = 41  # This many quantiles of y are tried as constants.
    kept_share: float = 0.35  # This share of the time limit is kept for a long table,
    kept_a_row: float = 1e-5  # and at most this many seconds a row.


@dataclass(frozen=True)
class Finishing:
    """How many formulas get how much attention at the end of a search."""

    asked: int  # Targets that are asked for formulas that need no search.
    sketched: int  # Of what they propose, those that are fitted to y.
    polished: int  # Of these, with the full effort: constants that become whole numbers may turn the order round.
    drawn: int  # Rows of a front, beside the constant.
    finished: int  # Of these, with the full effort.
    relatives: int  # Formulas beside which others with simpler numbers are put.
    outlined: int  # Other targets whose fits are drawn where the data have few rows.
    reduced: int  # Fits that are reduced before a front is drawn, since some of them hide smaller ones.


@dataclass(frozen=True)
class Leaders:
    """Which formulas get relatives with simpler numbers in the end."""

    first: int = 8  # At most so many of all formulas that are there,
    later: tuple[int, ...] = (
        3,
        3,
        2,
        2,
    )  # and then so many of these and their relatives, as long as there are new ones.
    behind: float = 60.0  # None is further behind the best than this, by the criterion.


LEADERS = Leaders()


@dataclass(frozen=True)
class FinishingPolicy:
    """A price list, the time that is kept by it, and what that time is spent on.

    The unit is a sketch of a formula; to ask a target or to look for relatives costs about as much, the full effort for
    one formula about ten times that. On a long table all of them grow with the rows.
    """

    sketch: float = 0.048  # A sketch takes this many seconds,
    sketch_a_column: float = 1.3e-3  # this many more for every column,
    sketch_a_fitted_row: float = 1.5e-5  # for every row that it is fitted to
    sketch_a_row: float = 3e-7  # and for every row that it is judged on.
    levels: tuple[int, ...] = (240, 120, 60)  # Sketches that all may cost; with the first, nothing is left out.
    reserved: float = 0.15  # This share of the time limit is kept for drawing the front,
    most_reserved: int = 40  # and at most the time for this many sketches.
    reserved_short: float = 0.4  # Of a short limit even the least plan may need this share,
    least_reserved: float = 1.0  # and at most this many seconds.
    reserved_long: float = 0.35  # This share is kept beside it for a long table,
    reserved_a_row: float = 5e-6  # and at most this many seconds for every row
    reserved_simpler: float = 0.05  # This share is kept for simpler numbers of what leads in the end,
    priced_simpler: int = 6  # and at most the time for this many sketches.
    rows_for_free: int = 2000  # beyond these, which a formula is fitted to at most.
    drawn_anyway: int = 6  # Of each kind, this many formulas are drawn even if the time is up, of a long table one.
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
    # Between the least and everything, there is one for every this many sketches.
    shares: Finishing = Finishing(
        asked=5, sketched=3, polished=30, drawn=3, finished=25, relatives=10, outlined=20, reduced=3
    )


@dataclass(frozen=True)
class FixedPolicy:
    """The fit of a template in which only numbers are to be found."""

    starts: int = 1024
    rows: int = 400  # that the starts are fitted to; the best of them to all
    look: int = 4  # iterations on the real axis that show which starts promise most there
    direct: int = 200  # of these, besides those that went through the complex domain
    iterations: int = 100  # of plain least squares from both
    finished: int = 12  # bottoms that are fitted to all rows
    sizes: SizePolicy = field(default_factory=SizePolicy)


@dataclass(frozen=True)
class ShapedPolicy:
    """How much the search is shown of what it cannot see in the rows, and when the rows contradict it."""

    images: int = 3  # symmetries that are shown; each doubles the rows
    point: float = 0.2  # share of the weight of all rows that a point has
    rows_a_point: int = 8  # of which it consists where it leaves columns free
    sketch: float = 5.0  # times as long as of another formula a sketch takes, by the price list
    against: float = 20.0  # difference of the criterion from which on the rows speak against the shapes


@dataclass(frozen=True)
class SearchPolicy:
    """A round: starts that are drawn, and mutants of the best fits so far."""

    round_size: int = 1024  # starts of the first rounds
    growth: float = 0.06  # share of all starts so far that a later round of y itself has; it is the same everywhere,
    growth_of_others: float = 0.03  # and of another target,
    largest_round: int = 65_536  # up to this many
    chunk_size: int = 256  # starts that compete with each other
    bytes_at_a_time: int = 2**27  # of start values that are held; the starts of a round are made in pieces of that size
    start_scale: float = 0.7  # standard deviation of the first weights
    mutant_share: float = 0.5  # of a round, from the second on
    inherit_share: float = 0.5  # of the mutants, keep their parent's weights
    kept_per_size: int = 24  # fits the archive holds of every number of edges
    out_of_domain: float = 1e3  # a fit that leaves the domain of a function ranks as if its misfit were larger by this
    oscillating: float = 0.5  # share of starts whose sines begin at frequencies spread over decades
    fastest: float = 30.0  # the highest of these, in radians per unit of scaled input
    in_rhythm: float = 0.3  # share of starts whose sines begin at peaks of the periodogram
    rhythm_error: float = 0.02  # standard deviation about a peak, as a share of it
    beside_inherited: float = 0.3  # factor of a first weight beside those that a mutant has from its parent
    beside_inherited_imaginary: float = 0.5  # the same for imaginary parts
    founders_share: float = 0.4  # of the mutants, children of the user's guesses
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
