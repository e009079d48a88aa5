"""The numbers that steer what surrounds a search: which columns it sees, how guesses are fitted, how it is finished."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NarrowingPolicy:
    """Which columns of a wide table a search looks at."""

    widest: int = 64  # Up to this many columns, a search looks at all of them.
    kept: int = 40  # Of more, it looks at this many.
    rows: int = 2000  # They are chosen on at most this many rows.


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


@dataclass(frozen=True)
class FinishingPolicy:
    """A price list, the time that is kept by it, and what that time is spent on.

    The unit is a sketch of a formula; to ask a target or to look for relatives costs about as much, the full effort for
    one formula about ten times that. On a long table all of them grow with the rows.
    """

    sketch: float = 0.05  # A sketch takes this many seconds,
    sketch_a_row: float = 3e-7  # and this many more for every row.
    levels: tuple[int, ...] = (240, 120, 60)  # Sketches that all may cost; with the first, nothing is left out.
    reserved: float = 0.15  # This share of the time limit is kept for drawing the front,
    most_reserved: float = 2.0  # and at most this many seconds.
    reserved_short: float = 0.4  # Of a short limit even the least plan may need this share,
    least_reserved: float = 1.0  # and at most this many seconds.
    reserved_long: float = 0.35  # This share is kept beside it for a long table,
    reserved_a_row: float = 5e-6  # and at most this many seconds for every row
    rows_for_free: int = 2000  # beyond these, which a formula is fitted to in any case.
    everything: Finishing = Finishing(asked=48, sketched=12, polished=4, drawn=40, finished=3, relatives=80, outlined=6)
    least: Finishing = Finishing(asked=1, sketched=1, polished=1, drawn=4, finished=1, relatives=1, outlined=1)
    in_haste: Finishing = Finishing(asked=1, sketched=2, polished=1, drawn=6, finished=1, relatives=1, outlined=1)
    # Between the least and everything, there is one for every this many sketches.
    shares: Finishing = Finishing(asked=5, sketched=6, polished=30, drawn=3, finished=25, relatives=10, outlined=20)
