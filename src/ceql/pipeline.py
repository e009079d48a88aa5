"""The pipeline from a table to a formula: scale, search or train, eliminate, extract, simplify, choose."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ceql.catalogue.offers import line_out_of_time, offers
from ceql.choice.evidence import EVIDENCE, scores, weights
from ceql.choice.exactness import is_hit, meets_most_rows
from ceql.choice.front import pareto_front
from ceql.choice.selection import TIES, check_rule
from ceql.choice.sifting import Sifted, sifted
from ceql.choice.validation import Folds, HeldOut, cross_validated, held_out, r2_of
from ceql.data.dataset import Dataset, typical_size
from ceql.dimensions import Rule
from ceql.discovery import SEARCHES, Discovery, Outcome, Progress, Settings, over_all, poles_of
from ceql.engine import fit
from ceql.engine.deadline import NEVER, Deadline, Stopwatch
from ceql.engine.dispatch import Workers
from ceql.errors import CeqlWarning, InputError, unknown_name
from ceql.expression.prices import PRICES, Prices
from ceql.expression.text.write import short_text
from ceql.formula import Formula, constant_formula, make_symbols, polish
from ceql.network.libraries import search_network
from ceql.search.driver import run
from ceql.search.finishing import sketches_within
from ceql.search.fixed_template import fitted_template
from ceql.search.guesses import starting_formulas
from ceql.search.judgement import constant_for, judged, warn_of_rows_without_loss
from ceql.search.kept_time import for_long_sums, for_offers, for_simpler_numbers, is_wide, seconds_kept
from ceql.search.logged import log_beginning, log_end, logged
from ceql.search.long_sums import JudgedSum, long_sum
from ceql.search.losses import SQUARED, Loss, read_loss, robust_scale
from ceql.search.narrowing import narrowed
from ceql.search.outcome import Found
from ceql.search.reported import by_criterion, by_rows_held_out
from ceql.search.reweighting import first_weights, with_weight
from ceql.search.shaped import fitted_to_rows, pictured, sentence_against, with_prices
from ceql.search.simpler_numbers import simpler_than_the_best
from ceql.search.stage import Search
from ceql.search.state import Ending
from ceql.storage.checkpoint import Checkpoint, CheckpointError
from ceql.storage.claims import check_losses
from ceql.storage.fingerprint import fingerprint
from ceql.storage.keeper import Keeper, kept_alone
from ceql.training import Recipe, read_off, training_error, trainings
from ceql.training.recipes import RECIPES

_LEAST_SCALE = 1e-12  # smallest scale of residuals, as a share of the size of y; below it they are rounding


@np.errstate(all="ignore")  # undefined values are handled where they occur; a warning would help nobody
def discover(
    data: Dataset,
    settings: Settings = Settings(),
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
    folds: Folds | None = None,
) -> Discovery:
    """Find formulas for `data`. Ctrl-C ends the search and keeps what was found.

    With a `checkpoint`, the search continues an earlier one with the same data and settings; the seconds of both count.
    `folds` are pairs of rows to fit to and rows to hold out, for the cross-validation of finished formulas; by default
    there are five, or one per row if there are fewer than ten rows.
    """
    check_rule(settings.model_selection)
    if checkpoint is not None:
        _require_rounds(settings)
    watch = Stopwatch()
    settings.constraints.check_columns(data.names)
    if settings.constraints.asked and settings.template is not None and settings.template.has_unit:
        raise InputError("Shapes need a real target: leave them out for a complex one, or fit its magnitude.")
    if settings.units is not None:
        settings = replace(settings, constraints=replace(settings.constraints, dimensions=Rule(settings.units)))
    few = narrowed(data, settings) if settings.recipe in SEARCHES else data
    keeper = partial(Keeper, fingerprint=lambda: fingerprint(data, settings))
    log_beginning(data, settings)
    report = logged(progress or (lambda _: None))
    found = _discovered(few, settings, report, checkpoint, keeper, watch, folds)
    log_end(found.outcome, found.seconds, found.starts, lambda: short_text(found.best.expression))
    found = replace(found, units=settings.units)
    return found if few is data else over_all(found, data)


def _discovered(
    data: Dataset,
    settings: Settings,
    report: Callable[[Progress], None],
    checkpoint: Checkpoint | None,
    make_keeper: Callable[[Checkpoint | None], Keeper],
    watch: Stopwatch,
    folds: Folds | None,
) -> Discovery:
    settings = _for_table(settings, data)
    constraints, policy = settings.constraints, settings.search

    def tell(progress: Progress) -> None:  # reports the whole time limit, including time kept for later steps
        report(replace(progress, time_limit=settings.time_limit))

    loss = read_loss(settings.loss, data.y, policy.losses)
    few = data if loss is None else data.thinned(policy.reweighting.rows)
    weights = None if loss is None else first_weights(few, policy.reweighting)
    rows = few if weights is None else with_weight(few, weights.weight)
    sketches = sketches_within(settings.time_limit / 2, len(data.y), policy.finishing)
    guesses = starting_formulas(settings.guesses, rows, constraints, sketches, policy.guesses)
    guessed = [formula for formula in guesses if _is_allowed(formula, settings)]
    mean = constant_formula(data, constraints)
    constant = mean if loss is None else constant_for(data, loss, constraints, policy.judgement)
    leftover, template = None, settings.template
    if template is not None and template.is_fixed:
        with kept_alone(checkpoint) as kept_in:
            make_keeper(kept_in)  # rejects the file of another search; so short a search itself saves nothing
        with Workers(settings.n_jobs, settings.threads, settings.time_limit, settings.device) as workers:
            found = fitted_template(template, rows, settings, workers)
    elif data.is_constant:
        found = Found([], Outcome.CONSTANT)
    elif any(_fits_exactly(formula, data, loss) for formula in guessed):
        found = Found([], Outcome.EXACT, starts=0)
    elif settings.recipe in SEARCHES:
        with kept_alone(checkpoint) as kept_in:
            keeper = make_keeper(kept_in)
            watch = watch.ahead(keeper.seconds(settings.time_limit))
            found = _found_earlier(keeper, settings, data)
            if found is None:
                with Workers(settings.n_jobs, settings.threads, settings.time_limit, settings.device) as workers:
                    own = replace(settings, time_limit=settings.time_limit - seconds_kept(data, settings))
                    founders = tuple(formula.expression for formula in guessed)
                    shown = few if settings.template or loss else pictured(few, constraints.asked, policy.shaped)
                    given = shown, own, workers, watch, loss, weights, founders, tell, keeper.note, keeper.write
                    found = keeper.require(partial(run, Search(*given), keeper.kept))
                    found = found if shown is few else fitted_to_rows(found, data, constraints, policy.polish)
                    if found.stands_until == own.time_limit:  # add the time that was kept for later steps
                        found = replace(found, stands_until=settings.time_limit)
                leftover = keeper.end(_ending(found, watch.seconds))
    else:
        found = _trained(data, settings, report, watch)
    known = (formula.over(constant.symbols) for formula in found.formulas)  # those of a checkpoint are over all columns
    formulas = [f for f in (*known, *guessed) if _is_allowed(f, settings)]
    until = watch.until(settings.time_limit) if settings.recipe in SEARCHES else NEVER
    before = until.earlier(policy.sifting.seconds_for(len(data.y), settings.time_limit))
    try:
        sums = _long_sums(data, settings, found.outcome, loss, folds)
        offered = _offers(formulas, data, settings, found.outcome, loss, before)
        formulas += [formula for formula in offered if _is_allowed(formula, settings)]
        concluded = _concluded(formulas, constant, found, data, settings, loss, folds, until, sums)
    except KeyboardInterrupt:  # finish quickly with what was found; a second Ctrl-C ends at once
        few = pareto_front(formulas, len(data.y), policy.prices)
        hasty = replace(settings, search=replace(policy, sifting=policy.sifting.hasty))
        concluded = _concluded(few, constant, found, data, hasty, loss, folds, until)
        # The search may be complete, but not the steps after it: its checkpoint stays, so that they can be done later.
        concluded, leftover = replace(concluded, outcome=Outcome.INTERRUPTED), None
    return replace(concluded, seconds=watch.seconds, leftover=leftover)


def _for_table(settings: Settings, data: Dataset) -> Settings:
    """Return the settings completed for a table: the ranges that shapes refer to, and the rows there is time for."""
    constraints = settings.constraints.over(data.names, data.x, data.y, settings.search.shapes)
    policy = replace(settings.search, polish=settings.search.polish.within(settings.time_limit))
    return replace(settings, search=with_prices(policy, constraints), constraints=constraints)


def _offers(
    formulas: Sequence[Formula],
    data: Dataset,
    settings: Settings,
    outcome: Outcome,
    loss: Loss | None,
    until: Deadline,
) -> list[Formula]:
    """Return formulas that need no search, and the leading formula with simpler numbers, as far as time allows.

    There are none beside an exact formula, which they could only obstruct, or after an interruption.
    """
    if settings.recipe not in SEARCHES or settings.template is not None or settings.constraints.known:
        return []
    if outcome in (Outcome.EXACT, Outcome.CONSTANT, Outcome.INTERRUPTED):
        return []
    operators = _operators_of(settings)
    if formulas and until.over and not settings.constraints.is_about_shape:  # with shapes, a plain model may be best
        if loss is not None or not is_wide(data, settings):
            return []
        bounded = settings.search.catalogue.within(settings.time_limit)
        return line_out_of_time(data, settings.constraints, operators, bounded)
    least = replace(settings.search.catalogue, most_finished=0, forms_per_size=0)  # only the plain models
    has_time = for_offers(data, settings) > 0.0 and loss is None and not until.over
    policy = settings.search.catalogue if has_time else least
    in_memory = settings.search.memory.rows(data.x.shape[1])
    policy = replace(policy, most_rows=min(policy.most_rows, in_memory)).within(settings.time_limit)
    before = until.earlier(for_simpler_numbers(data, settings))
    found = offers(data, settings.catalogue and has_time, settings.constraints, operators, policy, before)
    found = [formula for formula in found if loss is None or not formula.is_shrunk]  # shrinking assumes squared errors
    if loss is not None:
        return found
    policies = settings.search.finishing.leaders, settings.search.polish, settings.search.prices
    return found + simpler_than_the_best([*formulas, *found], data, settings.constraints, *policies, until)


def _operators_of(settings: Settings) -> Collection[str] | None:
    """Return the operators that a formula may contain; None: any."""
    if settings.operators is None:
        return None
    return search_network(1, settings.operators, settings.constraints.without).operator_names


def _long_sums(
    data: Dataset, settings: Settings, outcome: Outcome, loss: Loss | None, folds: Folds | None
) -> list[JudgedSum]:
    """Return at most one long sum, judged by held-out rows. Time is kept for it, so a busy machine finds it as well."""
    constraints, policy = settings.constraints, settings.search
    has_time = for_long_sums(data, settings) > 0.0
    if loss is not None or not has_time or not _is_contest(outcome, settings):
        return []
    most = np.inf if settings.max_complexity is None else settings.max_complexity
    found = long_sum(data, constraints, _operators_of(settings), most, folds, policy.closed_forms.long_sums)
    return [] if found is None or not _is_allowed(found.formula, settings) else [found]


def _concluded(
    formulas: Sequence[Formula],
    constant: Formula,
    found: Found,
    data: Dataset,
    settings: Settings,
    loss: Loss | None,
    folds: Folds | None,
    until: Deadline,
    sums: Sequence[JudgedSum] = (),
) -> Discovery:
    """Return the discovery: the front of these formulas, those that compete beside it, the reported one with its poles,
    and how well each is supported by the rows."""
    constraints, policy = settings.constraints, settings.search
    if loss is not None and found.outcome is not Outcome.CONSTANT:
        given = data, loss, constraints, settings.time_limit, policy.judgement, policy.finishing
        fitted = judged([*formulas, constant], *given, until)  # the order may change
        constant = min((f for f in fitted if not f.expression.free_symbols), key=lambda f: f.loss, default=constant)
        formulas = [formula for formula in fitted if formula is not constant]
    others = [formula for formula in formulas if not formula.is_shrunk]
    left = _sifted([*others, *(each.formula for each in sums)], constant, found.outcome, data, settings, until)
    front, shown = left.front, (*left.front, *left.beside)
    fit_weight = _fit_weight(front, data, loss)
    held = held_out(shown, data, folds, fit_weight) if settings.model_selection == "cv" else None
    chosen = favourite = by_criterion(shown, settings, data, held)
    if settings.model_selection == "best" and _is_contest(found.outcome, settings) and loss is None:
        lines = [formula for formula in formulas if formula.is_shrunk]
        best = by_rows_held_out(chosen, left, lines, sums, constant, data, settings, folds, until)
        shown = shown if best in shown else (*shown, best)
        chosen = shown.index(best)
    best = shown[chosen]
    if loss is not None:
        warn_of_rows_without_loss(best, data, loss)
    outcome = found.outcome
    if constraints and len(shown) == 1 and best is constant and outcome is not Outcome.CONSTANT:
        outcome = Outcome.NOT_ALLOWED
    if outcome is Outcome.EXACT and not _fits_exactly(best, data, loss):
        outcome = Outcome.TOO_COMPLEX
    concluded = Discovery(
        front,
        chosen,
        poles_of(best, data),
        outcome,
        0.0,
        found.starts,
        found.imaginary_residue,
        found.rows_searched or len(data.y),
        len(data.names),
        shortlist=shown[len(front) :],
        struck=left.struck,
    )
    if constraints.asked and settings.recipe in SEARCHES and settings.template is None:
        doubt = sentence_against(best, data, constraints, policy.catalogue, policy.prices, policy.shaped, until)
        if doubt is not None:
            warnings.warn(doubt, CeqlWarning, stacklevel=2)
    overruled = chosen != favourite
    return _with_evidence(concluded, data, folds, fit_weight, policy.prices, held, overruled, until)


def _sifted(
    formulas: Sequence[Formula],
    constant: Formula,
    outcome: Outcome,
    data: Dataset,
    settings: Settings,
    until: Deadline,
) -> Sifted:
    policy = settings.search
    if not _is_contest(outcome, settings):
        # A constant is not an instance of a template.
        shown = formulas if settings.template is not None and formulas else [*formulas, constant]
        return Sifted(tuple(pareto_front(shown, len(data.y), policy.prices)), (), ())
    allows = settings.constraints.allows
    return sifted(formulas, constant, data, settings.more, policy.prices, policy.sifting, allows, until)


def _is_contest(outcome: Outcome, settings: Settings) -> bool:
    """Return whether formulas compete: not if one is exact, a template is given or a recipe trains one network."""
    is_settled = outcome in (Outcome.EXACT, Outcome.CONSTANT)
    return not is_settled and settings.template is None and settings.recipe in SEARCHES


def _with_evidence(
    found: Discovery,
    data: Dataset,
    folds: Folds | None,
    fit_weight: np.ndarray | None,
    prices: Prices = PRICES,
    held: HeldOut | None = None,
    overruled: bool = False,
    until: Deadline = NEVER,
) -> Discovery:
    """Return the discovery with the weights of the formulas and how well each fits.

    Formulas without a chance are not cross-validated; when the time is up, only the chosen one is.
    """
    formulas = found.formulas
    own = scores(formulas, data, prices)
    if overruled:  # held-out rows decided against the criterion's favourite, or broke a tie
        best, tied = own[found.chosen], own[found.chosen] - TIES.apart
        own = [score if score >= best else best if score >= tied else np.inf for score in own]
    shares = weights(own)
    beside = len(found.front)
    judged = [k for k, w in enumerate(shares) if w >= EVIDENCE.competes or k >= beside or k == found.chosen]
    r2_cv = np.full(len(formulas), np.nan) if held is None else np.array(held.r2)
    for k in judged if held is None else ():
        if k == found.chosen or not until.over:
            (r2_cv[k],) = cross_validated([formulas[k]], data, folds, fit_weight)
    return replace(found, weights=shares, r2=r2_of(formulas, data), r2_cv=tuple(r2_cv.tolist()))


def _fit_weight(front: Sequence[Formula], data: Dataset, loss: Loss | None) -> np.ndarray | None:
    """Return row weights for which weighted least squares minimise a loss other than squares, to fit parts of the rows;
    None for squares."""
    if loss is None:
        return None
    prediction = min(front, key=lambda formula: formula.loss)(data.x)
    scale = max(robust_scale(data.y - prediction), _LEAST_SCALE * typical_size(data.y))
    # The weights of "absolute" only serve to find its minimum, so Huber's are used instead.
    smooth = replace(loss, name="huber") if loss.name == "absolute" else loss
    weight = data.weight * smooth.weight(data.y, prediction, scale)
    return weight if weight.sum() > 0.0 else None


def not_searched(data: Dataset) -> Discovery:
    """Return the result of a search that Ctrl-C ended before it began."""
    found = Discovery((constant_formula(data),), 0, (), Outcome.INTERRUPTED, 0.0, 0)
    return _with_evidence(found, data, None, None)


def _is_allowed(formula: Formula, settings: Settings) -> bool:
    if not settings.constraints.is_possible(formula.expression):
        return False
    if settings.template is not None:
        if formula.law is None or not formula.law.is_template:
            return False
        if settings.template.is_fixed:
            return True
    return settings.max_complexity is None or formula.complexity <= settings.max_complexity


def _fits_exactly(formula: Formula, data: Dataset, loss: Loss | None) -> bool:
    if loss is not None:
        return meets_most_rows(formula, data)
    return is_hit(formula, data)


# ---- one network, one schedule ------------------------------------------------------------------------------------


def resolve_recipe(recipe: str | Recipe) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise unknown_name("recipe", recipe, [*SEARCHES, *RECIPES])
    return RECIPES[recipe]()


def _trained(data: Dataset, settings: Settings, report: Callable[[Progress], None], watch: Stopwatch) -> Found:
    recipe = resolve_recipe(settings.recipe)
    stop = fit.StopFlag()

    def follow(epochs: int, edges: int, misfit: float) -> None:
        done = epochs / (recipe.epochs * recipe.starts)
        report(Progress(watch.seconds, 0.0, 1 + epochs // recipe.epochs, misfit, f"{edges} edges", done))

    symbols = make_symbols(data.names)
    runs = []
    for trained in trainings(
        data.x, data.y, recipe, settings.seed, sample_weight=data.weight, stop=stop, progress=follow
    ):
        raw = read_off(trained, recipe.negligible, data.x, symbols)
        runs.append((training_error(raw, symbols, data.x, data.y, data.weight), raw, trained))
    outcome = Outcome.INTERRUPTED if runs[-1][2].stopped else Outcome.SCHEDULE_DONE
    # The start with the smallest training error, or the next one if its formula breaks a constraint.
    for _, raw, trained in sorted(runs, key=lambda run: run[0]):
        formula = polish(raw, data, symbols, settings.constraints, settings.search.polish)
        if formula is not None:
            return Found([formula], outcome, len(runs), trained.imaginary_residue)
    return Found([], outcome, len(runs), runs[0][2].imaginary_residue)


# ---- many sub-networks --------------------------------------------------------------------------------------------


def _require_rounds(settings: Settings) -> None:
    """Raise an error unless the settings ask for a search by rounds, which alone can continue from a file."""
    if settings.recipe not in SEARCHES:
        raise InputError("A checkpoint needs recipe='search': the other recipes train one network in one go.")


def _found_earlier(keeper: Keeper, settings: Settings, data: Dataset) -> Found | None:
    """Return the result of an earlier search if this one would end with the same, else None."""
    ending = keeper.ending(settings.time_limit)
    if ending is None:
        return None
    if ending.outcome not in Outcome.__members__:
        raise CheckpointError(
            f"The checkpoint ends with {ending.outcome!r}, which is not a possible end of a search: delete it."
        )
    outcome = Outcome[ending.outcome]
    symbols = make_symbols(data.names)
    formulas = [formula.over(symbols) for formula in ending.formulas]  # those in the file are over all columns
    if settings.loss == SQUARED:  # under another loss, all formulas are judged again anyway
        keeper.require(lambda: check_losses(tuple(formulas), data, SQUARED))
    return Found(formulas, outcome, ending.starts, 0.0, ending.rows_searched, ending.stands_until)


def _ending(found: Found, seconds: float) -> Ending:
    formulas = tuple(found.formulas)
    return Ending(found.outcome.name, formulas, found.starts, found.rows_searched, seconds, found.stands_until)
