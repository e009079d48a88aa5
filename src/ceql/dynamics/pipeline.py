"""From time series to a system of differential equations: smooth, propose, rank, fit to trajectories, choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import sympy

from ceql.choice.evidence import weights
from ceql.discovery import Settings
from ceql.dynamics.candidates import (
    Candidate,
    Slopes,
    best_in_doubt,
    best_of_size,
    candidates_for,
    polynomials,
    searched,
)
from ceql.dynamics.choosing import (
    Contender,
    Record,
    compete,
    contender,
    exchanged,
    is_exact,
    shared_where_possible,
    simplified,
    structure_of,
)
from ceql.dynamics.contests import contest_of, is_clean, is_murky, taken_over, with_less_noise
from ceql.dynamics.finding import DynamicsFinding, Fitted
from ceql.dynamics.integral_form import IntegralTarget, Path, path_of, states_at, target_of
from ceql.dynamics.policy import DynamicsPolicy, SmoothingPolicy
from ceql.dynamics.recombining import recombined
from ceql.dynamics.results import can_be_followed, fitted, told_apart
from ceql.dynamics.series import Series
from ceql.dynamics.settings import DEFAULTS, DynamicsSettings
from ceql.dynamics.smoothing import SmoothTrajectory, smoothed, with_error_sizes
from ceql.dynamics.system import System
from ceql.dynamics.vocabulary import Vocabulary, vocabulary
from ceql.dynamics.whole_fits import is_taken_down, whole_fit
from ceql.engine.deadline import NEVER, OutOfTime, Stopwatch
from ceql.engine.one_thread import one_thread
from ceql.formula import Formula, make_symbols

Tell = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class _Equation:
    """What is known of one equation that is searched for."""

    place: int  # among the equations of the system
    state: int  # among the measured states
    values: np.ndarray  # of that state at all samples
    sizes: np.ndarray | None  # of their errors, as shares
    floor: float


@one_thread
@np.errstate(all="ignore")
def discover_system(
    series: Series, settings: DynamicsSettings = DEFAULTS, progress: Tell | None = None
) -> DynamicsFinding:
    """Finds the equations behind the series. Ctrl-C ends the search and keeps what was found."""
    tell = progress or (lambda stage, fraction: None)
    if settings.per_trajectory is not None and len(series.trajectories) > 1:
        return _with_own_constants(series, settings, tell)
    watch, policy = Stopwatch(), settings.policy
    tell("smoothing", 0.0)
    series = with_error_sizes(series, policy.smoothing)
    search, *others = _searches(series, settings, watch, tell)
    interrupted = False
    try:
        with suppress(OutOfTime):  # what was being fitted is given up
            is_quick = not is_murky(search.record.contest) and _is_found_quickly(search, others)
            if not is_quick and not _is_found_whole(search):
                if is_murky(search.record.contest):  # else sums of powers have had their turn
                    _recombined_powers(search)
                _rounds(search)
    except KeyboardInterrupt:
        interrupted = True
    return _concluded(search, interrupted)


def _with_own_constants(series: Series, settings: DynamicsSettings, tell: Tell) -> DynamicsFinding:
    """Finds the structure in the longest trajectory, with the same constants for all; then fits all trajectories with
    separate constants, and shares those that can be shared."""
    watch, policy = Stopwatch(), settings.policy
    longest = max(series.trajectories, key=lambda one: len(one.time))
    limit = policy.choice.structure * settings.time_limit
    alone = replace(settings, per_trajectory=None, time_limit=limit)
    found = discover_system(replace(series, trajectories=(longest,)), alone, lambda s, f: tell(s, 0.6 * f))
    series = with_error_sizes(series, policy.smoothing)
    smooth = [smoothed(one, policy.smoothing) for one in series.trajectories]
    record = Record(contest_of(series, smooth, policy, watch.until(settings.time_limit)))
    with suppress(OutOfTime):
        for number, fit in enumerate(found.systems):
            tell("constants of the trajectories", 0.6 + 0.2 * number / len(found.systems))
            record.try_out(fit.system, tuple(range(len(fit.constants))))
        tell("shared constants", 0.8)
        if record.best is not None:
            shared_where_possible(record, record.best)
    contenders = sorted(record.contenders, key=lambda one: one.criterion)[: policy.choice.reported]
    if not contenders:
        return found
    likely = weights([one.criterion for one in contenders])
    systems = tuple(fitted(one, weight, series) for one, weight in zip(contenders, likely, strict=True))
    return DynamicsFinding(series, systems, _how(systems[0], series, settings), watch.seconds, None, found.notes)


@dataclass(eq=False)
class _Search:
    """The state of a search, and its result when the clock or Ctrl-C ends it."""

    record: Record
    path: Path
    other: Path
    equations: Sequence[_Equation]
    smooth: Sequence[SmoothTrajectory]
    settings: DynamicsSettings
    watch: Stopwatch
    tell: Tell
    candidates: list[list[Candidate]] = field(default_factory=list)  # of this round, for every equation

    @property
    def series(self) -> Series:
        return self.record.contest.series


def _rounds(search: _Search) -> None:
    """Rounds of candidates and systems along the path of the best system so far, until they bring no improvement; then
    one with the search on slopes, for laws that are not sums of terms. The first round is without relatives of
    fractions: it is quick, and the path is better afterwards."""
    series, settings, tell = search.series, search.settings, search.tell
    choice, equations = settings.policy.choice, search.equations
    formulas: list[list[Formula]] = [[] for _ in equations]
    last, searched_yet = np.inf, False
    for number in range(choice.rounds):
        best = search.record.best
        stands = number > 0 and best is not None and last - best.criterion < choice.stands
        if stands and searched_yet:
            break
        last = np.inf if best is None or number == 0 else best.criterion
        searches = number > 0 and not searched_yet and (stands or number == choice.rounds - 1)
        searched_yet = searched_yet or searches
        words = vocabulary(search.path.rows, make_symbols(_columns(series, settings)), settings.policy.terms)
        found = []
        for k, equation in enumerate(equations):
            tell(f"equation of {series.states[equation.state]}", _done(number, 0.5 * k / len(equations)))
            if searches:
                formulas[k] += _searched(equation, search)
            found.append(_candidates(equation, formulas[k], words, search, with_relatives=number > 0))
            formulas[k] += [candidate.formula for candidate in found[-1]]
        search.candidates = found
        if _first_tried(search):
            break
        recombined(search.record, search.candidates, settings.policy.recombining, words.plain)
        around = search.record.best
        system = _system([few[0].formula if few else None for few in search.candidates], series, settings)
        compete(
            search.record,
            system,
            search.candidates,
            lambda f, done=number: tell("trajectories", _done(done, 0.5 + 0.5 * f)),
        )
        if search.record.best is not around:
            recombined(search.record, search.candidates, settings.policy.recombining, words.plain)
        best = search.record.best
        if best is None or _is_settled(search.record, search.candidates):
            break
        search.path, search.other = _paths_of_model(search.path, best, series)
        search.record = with_less_noise(search.record, best)


def _searches(series: Series, settings: DynamicsSettings, watch: Stopwatch, tell: Tell) -> Iterator[_Search]:
    """The usual search, and one along a second path if that comes much closer to the samples."""
    policy = settings.policy
    until = watch.until(policy.choice.searching * settings.time_limit)
    nearest = None
    for caution in (policy.smoothing.caution, policy.smoothing.bolder):
        smoothing = replace(policy.smoothing, caution=caution)
        smooth = [smoothed(one, smoothing) for one in series.trajectories]
        path = path_of(smooth, series.order, settings.depends_on_time, policy.integral)
        contest = contest_of(series, smooth, policy, until)
        if nearest is not None and (is_clean(contest) or np.all(contest.noise > policy.smoothing.nearer * nearest)):
            continue
        nearest = contest.noise
        other = _other_path(series, settings, smoothing)
        yield _Search(Record(contest), path, other, _equations(series, policy), smooth, settings, watch, tell)


def _is_found_quickly(search: _Search, others: Sequence[_Search]) -> bool:
    """Whether a system of powers alone is the law: these are found quickly, and many laws are among them. If the
    samples allow several paths, the best of these systems determines which one the search continues with. The systems
    are then fitted along the path of the best one so far, or, if that is further from the samples, along the smooth
    path."""
    choice = search.settings.policy.choice
    for one in (search, *others):
        is_settled = _powers_tried(one)
        if one is not search and one.record.leads(search.record):
            search.record, search.candidates, search.smooth = one.record, one.candidates, one.smooth
            search.path, search.other = one.path, one.other
        if is_settled:
            return True
    smooth, noise = (search.path, search.other), search.record.contest.noise[:: search.series.order]
    last = np.inf
    for _ in range(0 if is_clean(search.record.contest) else choice.quick):
        best = search.record.best
        if best is None or last - best.criterion < choice.stands:
            break
        last = best.criterion
        search.path, search.other = _paths_of_model(search.path, best, search.series)
        search.record = with_less_noise(search.record, best)
        if _powers_tried(search):
            return True
    best = search.record.best
    if best is None or np.any(np.sqrt(best.shot.squares) > noise):
        search.path, search.other = smooth
    return False


def _is_found_whole(search: _Search) -> bool:
    """Whether polynomials fitted to the trajectories directly are the law: the motion may be too fast for its samples.
    If they come much closer to the samples than the smooth path, the search continues from them."""
    series, settings = search.series, search.settings
    policy, choice = settings.policy.whole_fits, settings.policy.choice
    if len(series.states) < policy.fewest_states:
        return False
    search.tell("whole systems", 0.3)
    through = replace(settings.policy.smoothing, decades=policy.through_samples, steps=1)
    smooth = [smoothed(one, through) for one in series.trajectories]
    path = path_of(smooth, series.order, settings.depends_on_time, settings.policy.integral)
    contest = contest_of(series, smooth, settings.policy, search.record.contest.until)
    targets = [target_of(path, equation.values, equation.sizes) for equation in search.equations]
    system = _system([None for _ in search.equations], series, settings)
    for degree in policy.degrees:
        whole = whole_fit(contest, system, targets, degree, policy)
        if whole is None:
            continue
        if np.all(np.sqrt(whole.shot.squares) < choice.finer * search.record.contest.noise[:: series.order]):
            search.record = taken_over(search.record, contest, whole)
            search.path, search.other = _paths_of_model(search.path, whole, series)
        if is_taken_down(search.record, whole, policy):
            return True
    return False


def _recombined_powers(search: _Search) -> None:
    """Starts with sums of powers, and exchanges their terms as the trajectories require."""
    _powers_tried(search)
    recombined(search.record, search.candidates, search.settings.policy.recombining, with_whole=False)


def _powers_tried(search: _Search) -> bool:
    """Whether sums of powers settle the search."""
    search.candidates = [_polynomials(equation, search) for equation in search.equations]
    return _first_tried(search)


def _first_tried(search: _Search) -> bool:
    """Whether the best candidates of all equations together settle the search."""
    for first in _first_systems(search.candidates, search.series, search.settings):
        search.record.try_out(first)
    if not _is_settled(search.record, search.candidates):
        return False
    _equals_tried(search.record, search.candidates)
    return True


def _equals_tried(record: Record, candidates: Sequence[Sequence[Candidate]]) -> None:
    """Tries equations that fit equally well. Along a single trajectory one state may be a function of another, so that
    equations can be exchanged for equivalent ones; simple numbers will show which is meant."""
    best = record.best
    if best is None:
        return
    for place, few in zip(best.system.searched, candidates, strict=True):
        least = min(candidate.criterion for candidate in few)
        close = least + record.contest.policy.choice.alike
        for candidate in few[: record.contest.policy.choice.most_equal]:
            if candidate.criterion < close:
                record.try_out(exchanged(best.system, place, candidate.formula))


def _done(number: int, share: float) -> float:
    """Estimated progress of the rounds; most searches end after two or three."""
    return 0.9 * (1.0 - 0.6 ** (number + share))


def _is_settled(record: Record, candidates: Sequence[Sequence[Candidate]]) -> bool:
    """Whether the best system is exact and each of its equations fits much better than smaller ones. A long sum may fit
    the samples as well, but then sums with one term less nearly do."""
    best = record.best
    if best is None or not is_exact(best, record.contest):
        return False
    structures = structure_of(best.system)
    for place, few in zip(best.system.searched, candidates, strict=True):
        leaps = [one.leap for one in few if one.structure == structures[place]]
        if not leaps or max(leaps) < record.contest.policy.choice.leap:
            return False
    return True


def _equations(series: Series, policy: DynamicsPolicy) -> list[_Equation]:
    found = []
    for k, size in enumerate(series.scale):
        values = np.concatenate([one.states[:, k] for one in series.trajectories])
        shares = [one.sizes[:, k] for one in series.trajectories if one.sizes is not None]
        sizes = np.concatenate(shares) if shares else None
        place = k * series.order + series.order - 1
        found.append(_Equation(place, k, values, sizes, policy.candidates.floor * size))
    return found


def _other_path(series: Series, settings: DynamicsSettings, smoothing: SmoothingPolicy) -> Path:
    """A path of splines of another degree: where the two paths differ, the samples leave the path open."""
    policy = settings.policy
    another = replace(smoothing, degree=policy.candidates.other_degree)
    smooth = [smoothed(one, another) for one in series.trajectories]
    return path_of(smooth, series.order, settings.depends_on_time, policy.integral)


def _columns(series: Series, settings: DynamicsSettings) -> tuple[str, ...]:
    return (*series.system_states, *series.inputs, *((series.time,) if settings.depends_on_time else ()))


def _searched(equation: _Equation, search: _Search) -> list[Formula]:
    """The formulas found by the search on slopes, within its share of the time."""
    series, settings = search.series, search.settings
    policy = settings.policy.candidates
    limit = min(policy.searched, policy.share * settings.time_limit / len(search.equations))
    limit = min(limit, search.record.contest.until.left)
    if limit < policy.least:
        return []
    rows, values, errors = [], [], []
    for one in search.smooth:
        cut = int(policy.left_out * len(one.measured.time))
        time = one.measured.time[cut : len(one.measured.time) - cut]
        columns = [states_at(one, time, series.order), one.measured.inputs_at(time)]
        rows.append(np.column_stack([*columns, time] if settings.depends_on_time else columns))
        values.append(one.states[equation.state](time, series.order))
        errors.append(one.slope_errors[cut : len(one.measured.time) - cut, equation.state])
    slopes = Slopes(np.vstack(rows), np.concatenate(values), np.concatenate(errors))
    asked = Settings(
        time_limit=limit, seed=settings.seed, threads=settings.threads, operators=settings.operators, catalogue=True
    )
    return searched(slopes, _columns(series, settings), asked, settings.policy)


def _candidates(
    equation: _Equation, formulas: Sequence[Formula], words: Vocabulary, search: _Search, with_relatives: bool
) -> list[Candidate]:
    policy, path = search.settings.policy, search.path
    symbols = make_symbols(_columns(search.series, search.settings))
    target: IntegralTarget = target_of(path, equation.values, equation.sizes)
    given = target, search.other, words, formulas, symbols, equation.floor, policy, search.record.contest.until
    return candidates_for(*given, with_relatives)


def _polynomials(equation: _Equation, search: _Search) -> list[Candidate]:
    target = target_of(search.path, equation.values, equation.sizes)
    symbols = make_symbols(_columns(search.series, search.settings))
    return polynomials(target, symbols, equation.floor, search.settings.policy)


def _without_time(search: _Search) -> Iterator[System]:
    """Fallback systems, if there was no time for others or they could not be simulated: sums of powers, straight lines,
    and constant states."""
    policy = search.settings.policy
    lines = replace(policy, elimination=replace(policy.elimination, degrees=(1,)))
    for one in (policy, lines):
        few = [
            _polynomials(equation, replace(search, settings=replace(search.settings, policy=one)))
            for equation in search.equations
        ]
        for level in range(len(policy.candidates.doubted)):
            best = [best_in_doubt(own, level).formula if own else None for own in few]
            yield _system(best, search.series, search.settings)
    yield _system([None for _ in search.series.states], search.series, search.settings)


def _first_systems(
    candidates: Sequence[Sequence[Candidate]], series: Series, settings: DynamicsSettings
) -> Iterator[System]:
    """Systems of the best candidates of all equations, for several levels of doubt about the path and several sizes.
    With few samples, one equation may not pay while another is wrong."""
    policy = settings.policy.candidates
    for level in range(len(policy.doubted)):
        best = [best_in_doubt(few, level).formula if few else None for few in candidates]
        yield _system(best, series, settings)
    for size in policy.together:
        yield _system([best_of_size(few, size).formula if few else None for few in candidates], series, settings)


def _system(formulas: Sequence[Formula | None], series: Series, settings: DynamicsSettings) -> System:
    symbols = make_symbols(_columns(series, settings))
    best = [Formula(sympy.Integer(0), symbols, np.inf) if formula is None else formula for formula in formulas]
    states = series.system_states
    if series.order == 2:
        speeds = [Formula(symbols[2 * k + 1], symbols, 0.0) for k in range(len(best))]
        best = [formula for pair in zip(speeds, best, strict=True) for formula in pair]
    given = tuple(series.order == 2 and k % 2 == 0 for k in range(len(states)))
    return System(states, tuple(best), series.inputs, series.time, settings.depends_on_time, given)


def _paths_of_model(path: Path, best: Contender, series: Series) -> tuple[Path, Path]:
    """The path with the states of the simulated system, segment by segment; and the same plus the residuals of the
    samples, which shows how uncertain that path is."""
    shot, rows, count = best.shot, path.rows.copy(), len(best.system.states)
    doubtful = rows.copy()
    for s, number in enumerate(shot.segments.trajectory):
        one, times = series.trajectories[number], shot.segments.times[s]
        inside = (path.trajectory == number) & (path.times >= times[0]) & (path.times < times[-1])
        seen = (one.time >= times[0]) & (one.time <= times[-1])
        moments = np.unique(np.concatenate([one.time[seen], path.times[inside]]))
        states = best.system.simulate(shot.begins[s], moments, one.inputs_at)
        if not np.isfinite(states).all():
            continue
        rows[inside, :count] = states[np.isin(moments, path.times[inside])]
        left = one.states[seen] - states[np.isin(moments, one.time[seen]), :: series.order]
        doubtful[inside, :count] = rows[inside, :count]
        for k, column in enumerate(left.T):
            known = np.isfinite(column)
            if known.any():
                doubt = np.interp(path.times[inside], one.time[seen][known], column[known])
                doubtful[inside, k * series.order] += doubt
    return replace(path, rows=rows), replace(path, rows=doubtful)


def _concluded(search: _Search, interrupted: bool) -> DynamicsFinding:
    """The best system, with simple numbers where possible, and the other systems."""
    series, settings, watch = search.series, search.settings, search.watch
    choice, record = settings.policy.choice, search.record.until(NEVER)
    left = _without_time(search)
    while record.best is None:
        record.try_out(next(left))
    if record.best is not None and not interrupted:
        search.tell("numbers", 0.92)
        own = record.until(watch.until(choice.simplifying * settings.time_limit))
        with suppress(OutOfTime):
            for one in _alike(record, record.best):
                simplified(own, one)
    contenders, held = _reported(search, record), None
    search.tell("held out", 0.97)
    if not interrupted:
        contenders, held = told_apart(contenders, replace(record.contest, until=watch.until(settings.time_limit)))
    likely = weights([one.criterion for one in contenders])
    systems = tuple(fitted(one, weight, series) for one, weight in zip(contenders, likely, strict=True))
    notes = ("Interrupted: the best system so far.",) if interrupted else ()
    return DynamicsFinding(series, systems, _how(systems[0], series, settings), watch.seconds, held, notes)


def _alike(record: Record, best: Contender) -> list[Contender]:
    """The best system and those nearly as good, which simple numbers may distinguish."""
    choice = record.contest.policy.choice
    few = sorted(record.contenders, key=lambda one: one.criterion)[: choice.most_alike]
    return [one for one in few if one.criterion <= best.criterion + choice.alike]


def _reported(search: _Search, record: Record) -> list[Contender]:
    """The best systems, starting with the first that can be simulated from beginning to end: those before it fit the
    samples only piece by piece. If there is none, the first fallback system that can be simulated."""
    choice, series = record.contest.policy.choice, search.series
    few = sorted(record.contenders, key=lambda one: one.criterion)[: choice.followed]
    for place, one in enumerate(few):
        if can_be_followed(one, series):
            return few[place : place + choice.reported]
    simple = (contender(system, record.contest) for system in _without_time(search))
    first = next((one for one in simple if one is not None and can_be_followed(one, series)), None)
    return few[: choice.reported] if first is None else [first]


def _how(best: Fitted, series: Series, settings: DynamicsSettings) -> str:
    """A sentence about the method. The noise is that of the best system, whatever the smooth paths left."""
    noise = float(np.max(best.noise / np.where(series.scale > 0.0, series.scale, 1.0)))
    in_proportion = [k for k in range(len(series.states)) if _is_in_proportion(series, k)]
    if noise < settings.policy.smoothing.clean:
        return (
            f"The samples have next to no noise ({noise:.1g} of the motion): slopes of splines through them were "
            "searched, and systems were chosen by their simulated trajectories."
        )
    names = ", ".join(series.states[k] for k in in_proportion)
    growing = f" Errors of {names} were taken to grow with the values." if in_proportion else ""
    return (
        f"The samples have noise of about {100 * noise:.2g} % of the motion: right-hand sides were ranked by their "
        "integrals along smoothed paths, without differences, and systems were chosen by their simulated trajectories."
        f"{growing}"
    )


def _is_in_proportion(series: Series, state: int) -> bool:
    return any(one.sizes is not None and np.ptp(one.sizes[:, state]) > 0.0 for one in series.trajectories)
