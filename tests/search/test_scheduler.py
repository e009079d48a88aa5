"""Whose turn it is, and what the other targets bring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ceql.data.dataset import Dataset
from ceql.discovery import Outcome, Settings
from ceql.engine.deadline import NEVER
from ceql.engine.dispatch import Workers
from ceql.engine.stages import Chunk
from ceql.formula import make_symbols
from ceql.network.libraries import DEFAULT_OPERATORS, search_network
from ceql.pipeline import discover
from ceql.search.policy import SearchPolicy
from ceql.search.scheduler import SearchTargets, is_measured, looks_noisy, next_turn, round_of
from ceql.search.state import SearchState
from ceql.search.target_search import TargetProblem, begin, few_show_noise, next_round, sees_noise
from ceql.transforms import plain

QUICK = SearchPolicy(round_size=32, chunk_size=32)


def targets_for(x: np.ndarray, y: np.ndarray, operators: tuple[str, ...] = DEFAULT_OPERATORS) -> SearchTargets:
    def problem(data, whole, target):
        return TargetProblem(data, target, whole, search_network(target.x.shape[1], operators), QUICK)

    data = Dataset.of(x, y)
    return SearchTargets(data, plain(data, make_symbols(data.names)), operators, problem, QUICK)


def begun(targets: SearchTargets) -> SearchState:
    return SearchState(tuple(map(begin, targets.mains)))


def turns(targets: SearchTargets, state: SearchState, rounds: int) -> tuple[SearchState, list[int]]:
    """The state after these rounds, and whose turn it was."""
    order, workers = [], Workers(None, 1)
    for _ in range(rounds):
        state, turn = next_turn(targets, state)
        count = round_of(targets, state, turn, None)
        changed, _ = next_round(targets.problems(state)[turn], state.targets[turn], count, workers, NEVER)
        state, order = state.with_target(turn, changed), [*order, turn]
    return state, order


def test_y_itself_comes_first_and_every_other_round():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3, (100, 2))
    targets = targets_for(x, x[:, 0] * np.exp(np.sin(5 * x[:, 1])) + np.cos(7 * x[:, 0] * x[:, 1]))
    state = begun(targets)
    assert len(state.targets) == 1  # the others wait until they are needed
    state, order = turns(targets, state, 6)
    assert order[0] == 0
    assert order.count(0) >= 3
    assert len(state.targets) == len(targets.problems(state)) > 1


def test_rounds_grow_with_the_starts_before_them_up_to_a_limit():
    x = np.random.default_rng(0).uniform(0.5, 3, (20, 1))
    targets = targets_for(x, x[:, 0] ** 2)
    policy, (known,) = targets.policy, begun(targets).targets

    def size(starts: int, turn: int = 0, max_starts: int | None = None) -> int:
        state = SearchState((replace(known, archive=replace(known.archive, starts=starts)),))
        return round_of(targets, state, turn, max_starts)

    assert size(0) == size(100) == policy.round_size
    sizes = [size(10**k) for k in range(3, 9)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == policy.largest_round
    assert size(10**5) == int(policy.growth * 10**5) // policy.chunk_size * policy.chunk_size > size(10**5, turn=1)
    assert size(10**5, max_starts=10**5 + 40) == 2 * policy.round_size  # as many as it takes to reach them


def test_fewer_variables_are_the_only_other_target_where_no_operator_can_be_undone():
    x = np.random.default_rng(0).uniform(-2, 2, (100, 2))
    targets = targets_for(x, x[:, 0] * np.sin(3 * x[:, 1]) + 0.0, ("sin",))
    state, order = turns(targets, begun(targets), 12)
    assert len(state.targets) == 2
    assert 1 in order


def test_the_others_take_turns_in_two_circles():
    x = np.random.default_rng(0).uniform(-2, 2, (100, 2))
    others = targets_for(x, x[:, 0] * np.sin(3 * x[:, 1])).others
    first, rest = len(others.shorter), len(others.transformed)
    assert first
    assert rest
    seen = [others.turn(number) for number in range(2 * first * rest)]
    assert seen[::2] == [k % first for k in range(first * rest)]
    assert seen[1::2] == [first + k % rest for k in range(first * rest)]


def test_many_columns_are_searched_in_part_and_as_a_whole():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (128, 20))
    targets = targets_for(x, x[:, 4] / (x[:, 11] - 0.5))
    assert [problem.target.x.shape[1] for problem in targets.mains] == [2, 20]
    assert [str(s) for s in targets.mains[0].target.symbols] == ["x5", "x12"]
    state, first = next_turn(targets, begun(targets))
    assert (first, next_turn(targets, state)[1]) == (0, 1)


def test_a_target_that_has_not_begun_sees_no_noise():
    """The first of two may fit so well in its first round that the second is asked before it had one."""
    x = np.random.default_rng(3).uniform(0.5, 2, (50, 10))
    targets = targets_for(x, np.sqrt(x[:, 3] * x[:, 7] + 0.4) * x[:, 3], ("mul", "sqrt"))
    state, _ = turns(targets, begun(targets), 1)
    assert not sees_noise(state.targets[1].archive.chunk, QUICK.reduction)
    assert not looks_noisy(targets, state)


@pytest.mark.parametrize(
    ("formula", "columns", "nodes"),
    [
        (lambda a, b, c, d: a * np.exp(-b * c / d), 4, 12),
        (lambda a, b, c: 2.5 * a * np.log(b / c), 3, 10),
        (lambda a, b, c, d: a**2 * b / (c * np.sqrt(d)), 4, 14),
    ],
)
def test_formulas_in_several_variables_come_through_other_targets(formula, columns, nodes):
    x = np.random.default_rng(0).uniform(0.5, 3, (200, columns))
    found = discover(Dataset.of(x, formula(*x.T)), Settings(time_limit=60.0))
    assert found.outcome is Outcome.EXACT
    assert found.best.complexity <= nodes


def test_a_formula_among_many_columns():
    x = np.random.default_rng(1).uniform(-2, 2, (128, 25))
    y = (1.2 * x[:, 3] - 0.7) / (x[:, 17] + 0.4 * x[:, 3] - 0.5)
    found = discover(Dataset.of(x, y), Settings(time_limit=60.0))
    assert found.outcome is Outcome.EXACT
    assert {str(s) for s in found.best.expression.free_symbols} == {"x4", "x18"}


# ---- measured tables ----------------------------------------------------------------------------------------------

END = SearchPolicy().end
# Little is made of what was found: the rounds are what counts here.
LEAST = replace(
    QUICK, finishing=replace(QUICK.finishing, levels=(6,)), catalogue=replace(QUICK.catalogue, forms_per_size=1)
)
TWO_OPERATORS = Settings(operators=("mul", "div"), time_limit=60, more=0, catalogue=False)
SMOOTH = np.exp(np.linspace(-3.0, 5.0, 40))


@pytest.mark.parametrize("digits", [1, 3, END.digits_measured])
def test_rounded_numbers_are_measured(digits):
    rounded = np.array([float(f"{value:.{digits - 1}e}") for value in SMOOTH])
    for y in (rounded, -rounded, 1e-30 * rounded, np.array([float(f"{v:.3g}e40") for v in rounded])):
        assert is_measured(y, END)


@pytest.mark.parametrize("logarithm", [np.log, np.log10])
def test_logarithms_of_rounded_numbers_are_measured(logarithm):
    rounded = np.array([float(f"{value:.2e}") for value in SMOOTH])
    assert is_measured(logarithm(rounded), END)
    assert not is_measured(logarithm(rounded) + 1e-3, END)


def test_next_to_nothing_is_no_logarithm():
    """Whose exponential is one, to the digits that measured numbers have."""
    assert not is_measured(1e-15 * SMOOTH, END)


def test_computed_numbers_are_not():
    assert not is_measured(SMOOTH, END)
    assert not is_measured(100.0 * SMOOTH, END)  # of which the exponential is no number
    longer = np.array([float(f"{value:.{END.digits_measured + 1}e}") for value in SMOOTH])
    assert not is_measured(longer, END)


def test_a_single_long_number_is_enough_to_be_computed():
    y = np.round(SMOOTH, 2)
    assert is_measured(y, END)
    y[7] = np.pi
    assert not is_measured(y, END)


def test_zeros_say_nothing():
    y = np.round(SMOOTH, 2)
    y[:5] = 0.0
    assert is_measured(y, END)
    y[7] = np.pi
    assert not is_measured(y, END)
    assert is_measured(np.zeros(5), END)


def test_many_rows_can_tell_more_formulas_apart():
    y = np.round(np.linspace(1.0, 9.0, END.few_measured + 1), 3)
    assert is_measured(y[:-1], END)
    assert not is_measured(y, END)


def measured_table(rows: int) -> Dataset:
    """Noise of every size, so that no other reason ends the search."""
    x = np.linspace(0.3, 6.0, rows)
    y = 5.0 * x / (1.5 + x) + 0.3 * np.random.default_rng(0).standard_normal(rows)
    return Dataset.of(x[:, None], np.round(y, 2))


@pytest.mark.parametrize(("rows", "base", "rows_a_round", "rounds"), [(12, 2, 16, 2), (12, 2, 4, 5), (20, 0, 7, 2)])
def test_a_measured_table_ends_after_rounds_that_its_rows_are_worth(rows, base, rows_a_round, rounds):
    end = replace(END, rounds_measured=base, rows_a_round=rows_a_round)
    found = discover(measured_table(rows), replace(TWO_OPERATORS, search=replace(LEAST, end=end)))
    assert found.outcome is Outcome.SETTLED
    assert found.starts == rounds * QUICK.round_size


def test_more_rounds_than_asked_for_are_made_where_numbers_are_not_rounded():
    policy = replace(LEAST, end=replace(END, rounds_measured=1, few=0))
    asked_for = replace(TWO_OPERATORS, max_starts=5 * QUICK.round_size, search=policy)
    assert discover(measured_table(12), asked_for).starts == QUICK.round_size
    assert discover(unrounded_table(12), asked_for).starts == 5 * QUICK.round_size


def unrounded_table(rows: int) -> Dataset:
    data = measured_table(rows)
    return Dataset.of(data.x, data.y + 1e-9 * np.pi * np.arange(rows))


@pytest.mark.parametrize(("most", "base", "a_row", "rounds"), [(12, 2, 0, 2), (12, 1, 0.25, 4), (11, 1, 0, 6)])
def test_a_search_of_few_rows_ends_after_rounds_that_they_are_worth(most, base, a_row, rounds):
    """Whatever the digits of their numbers; of more rows it does not."""
    end = replace(END, few=most, rounds_of_few=base, rounds_a_row=a_row)
    unseen = replace(LEAST.reduction, sizes_for_nothing_in_few=100)
    policy = replace(LEAST, end=end, reduction=unseen)
    asked_for = replace(TWO_OPERATORS, max_starts=6 * QUICK.round_size, search=policy)
    found = discover(unrounded_table(12), asked_for)
    assert found.starts == rounds * QUICK.round_size
    assert (found.outcome is Outcome.SETTLED) == (rounds < 6)


def test_few_rows_that_show_noise_end_it_as_rounded_ones_do():
    end = replace(END, rounds_measured=2, rounds_of_few=6, rounds_a_row=0)
    seen = replace(LEAST.reduction, as_good_in_few=np.inf, sizes_for_nothing_in_few=0)
    asked_for = replace(TWO_OPERATORS, search=replace(LEAST, end=end, reduction=seen))
    assert discover(unrounded_table(12), asked_for).starts == 2 * QUICK.round_size


@pytest.mark.parametrize("rows", [12, 20, 40])
def test_fits_of_few_rows_show_noise_where_more_edges_bring_no_more_than_chance(rows):
    sizes = np.arange(2, rows // 2 + 4)
    edges = np.arange(sizes[-1]) < sizes[:, None]
    nothing = np.zeros(edges.shape)

    def shows(misfit: np.ndarray) -> bool:
        return few_show_noise(Chunk(edges, nothing, misfit, np.ones(len(sizes), bool)), rows, QUICK.reduction)

    of_noise = np.where(sizes == 2, 50.0, 1.0 - sizes / rows)
    assert shows(of_noise)
    assert shows(np.where(sizes > rows // 2, 1e-30, of_noise))  # any rows are met by that many
    assert not shows(10.0**-sizes)
    assert not few_show_noise(Chunk(edges[:0], nothing[:0], of_noise[:0], np.ones(0, bool)), rows, QUICK.reduction)


def test_other_targets_are_not_made_without_the_time_for_it():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 3, (100, 3))
    targets = targets_for(x, x[:, 0] * np.sin(x[:, 1] * x[:, 2]))
    (known,) = begun(targets).targets
    state = replace(begun(targets), rounds=1).with_target(0, replace(known, archive=replace(known.archive, starts=64)))
    assert targets.may_make_others(state, np.inf)
    assert not targets.may_make_others(state, 0.0)
    assert len(next_turn(targets, state, 0.0)[0].targets) == 1
    made, _ = next_turn(targets, state)
    assert len(made.targets) > 1
    assert targets.may_make_others(made, 0.0)  # they are there


def test_a_model_of_few_edges_shows_noise_where_there_is_nothing_larger():
    misfit = np.array([1.0, 1e-3, 0.9e-3, 0.9e-3])
    edges = np.tril(np.ones((4, 4), bool))
    few = Chunk(edges, np.zeros((4, 4)), misfit, np.ones(4, bool))
    assert sees_noise(few, QUICK.reduction)
    assert not sees_noise(few.rows(np.arange(3)), QUICK.reduction)  # the largest was not tried
    many = replace(few, edges=np.column_stack([edges, np.zeros((4, 20), bool)]))
    assert not sees_noise(many, QUICK.reduction)
