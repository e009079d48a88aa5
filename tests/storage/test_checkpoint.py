"""A search that was stopped and goes on is the search that never stopped."""

from __future__ import annotations

import dataclasses
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.constraints import Constraints
from ceql.data.dataset import Dataset
from ceql.discovery import Discovery, Outcome, Progress, Settings
from ceql.engine.stages import Chunk
from ceql.formula import Formula, LawConstant, NamedLaw, make_symbols
from ceql.pipeline import discover
from ceql.search.archive import Archive
from ceql.search.glimpses import WRITING
from ceql.search.partials import Partial
from ceql.search.policy import SearchPolicy, ShortcutPolicy
from ceql.search.reduction import Contenders, Reduced
from ceql.search.state import Ending, Rest, RowWeights, SearchState, Signed
from ceql.search.summing import Summing
from ceql.search.target_search import TargetState
from ceql.storage.checkpoint import Checkpoint, CheckpointError, read_checkpoint, to_bytes
from ceql.sums import Known, Peeled, SumSearchPolicy
from ceql.sums.peeling import Hope
from ceql.sums.terms import Factor, Real, Sum, Term
from ceql.templates import Parameter, Template, Unknown

SMALL_ROUNDS = SearchPolicy(round_size=48, chunk_size=24)
SEARCHED = ("square", "div")  # without products nothing is proposed
ALWAYS: dict[str, Any] = {"every": 1e-9, "share": np.inf}  # every round gets a checkpoint
ROUNDS = {
    "template": 6,
    "with a spare": 10,
    "many targets": 4,
    "wide": 3,
    "with a rest": 5,
}  # after which these are stopped; the others end by themselves


def _exact() -> tuple[Dataset, Settings]:
    x = np.random.default_rng(0).uniform(0.5, 3, (50, 2))
    y = x[:, 0] * np.sqrt(x[:, 1] + 0.37 * x[:, 0]) + 0.5 * x[:, 1]
    # With this seed it takes seven rounds, of which some have other targets.
    return Dataset.of(x, y), Settings(operators=("mul", "sqrt"), seed=4, search=SMALL_ROUNDS)


def _noisy() -> tuple[Dataset, Settings]:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (60, 1))
    y = 1.3 / (x[:, 0] - 2.5) + 0.05 * rng.standard_normal(60)
    return Dataset.of(x, y), Settings(operators=SEARCHED, search=SMALL_ROUNDS)


def _explained() -> tuple[Dataset, Settings]:
    """A formula that needs no search leaves only noise."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (120, 1))
    y = 1.3 / (x[:, 0] - 2.5) + 0.05 * rng.standard_normal(120)
    return Dataset.of(x, y), Settings(operators=("mul", "div"), search=SMALL_ROUNDS)


def _template() -> tuple[Dataset, Settings]:
    x = np.random.default_rng(2).uniform(1, 3, (60, 2))
    y = 2.5 * np.exp(-1.5 / x[:, 0]) * (0.4 + x[:, 1] ** 2) / np.sqrt(x[:, 1] + 0.7)
    template = Template("exp(-E/x1) * f", parameters={"E": Parameter(low=0)}, functions={"f": Unknown(["x2"])})
    return Dataset.of(x, y), Settings(template=template, search=SMALL_ROUNDS)


def _many_columns() -> tuple[Dataset, Settings]:
    x = np.random.default_rng(3).uniform(0.5, 2, (50, 10))
    return Dataset.of(x, np.sqrt(x[:, 3] * x[:, 7] + 0.4) * x[:, 3]), Settings(
        operators=("mul", "sqrt"), search=SMALL_ROUNDS
    )


def _within_a_limit() -> tuple[Dataset, Settings]:
    x = np.random.default_rng(4).uniform(0.5, 3, (40, 1))
    y = 1.5 * np.sqrt(x[:, 0] + 0.2)
    return Dataset.of(x, y), Settings(operators=("square", "sqrt"), max_complexity=5, search=SMALL_ROUNDS)


def _with_a_spare() -> tuple[Dataset, Settings]:
    """Several poles: their fraction is known at once, and rounds go into a shorter way to say it."""
    x = np.random.default_rng(5).uniform(-2, 2, (120, 2))
    y = 1 / (x[:, 0] - 2.5) + 2 / (x[:, 1] + 3.1) + 1 / (x[:, 0] + x[:, 1] - 5.3) + x[:, 0] / (x[:, 1] - 2.7)
    return Dataset.of(x, y), Settings(operators=("mul", "div"), search=SMALL_ROUNDS)


def _long() -> tuple[Dataset, Settings]:
    """Begins on a few rows, sees noise, and begins anew on all of them."""
    rng = np.random.default_rng(6)
    x = rng.uniform(-2, 2, (450, 1))
    y = 1.3 / (x[:, 0] - 2.5) + 0.05 * rng.standard_normal(450)
    return Dataset.of(x, y), Settings(operators=SEARCHED, search=SMALL_ROUNDS)


def _guessed() -> tuple[Dataset, Settings]:
    rng = np.random.default_rng(7)
    x = rng.uniform(0.5, 3, (60, 2))
    y = x[:, 0] * np.sqrt(x[:, 1] + 0.3) + 0.02 * rng.standard_normal(60)
    constraints = Constraints(costs={"sqrt": 3}, forbidden_nesting={"sqrt": ("sqrt",)})
    return Dataset.of(x, y), Settings(
        operators=("mul", "sqrt"), guesses=("a*x1*x2",), constraints=constraints, search=SMALL_ROUNDS
    )


def _many_targets() -> tuple[Dataset, Settings]:
    """More targets than are looked at for a closed form after one round."""
    x = np.random.default_rng(8).uniform(0.5, 3, (40, 1))
    y = np.exp(np.sin(3.7 * x[:, 0])) + 0.3 * x[:, 0] ** 3
    few_a_round = replace(SMALL_ROUNDS, shortcuts=ShortcutPolicy(a_round=3))
    return Dataset.of(x, y), Settings(operators=("mul", "sqrt", "exp", "log", "sin"), search=few_a_round)


def _wide() -> tuple[Dataset, Settings]:
    """The search looks at some of the columns; several poles leave a spare formula, in all of the columns' names."""
    x = np.random.default_rng(9).uniform(-2, 2, (120, 70))
    a, b = x[:, 60], x[:, 3]
    y = 1 / (a - 2.5) + 2 / (b + 3.1) + 1 / (a + b - 5.3) + a / (b - 2.7)
    return Dataset.of(x, y), Settings(operators=("mul", "div"), search=SMALL_ROUNDS)


def _robust() -> tuple[Dataset, Settings]:
    """The rows are weighed anew after each round."""
    rng = np.random.default_rng(10)
    x = rng.uniform(-2, 2, (80, 1))
    y = 1.3 / (x[:, 0] - 2.5) + 0.05 * rng.standard_t(2, 80)
    return Dataset.of(x, y), Settings(operators=SEARCHED, loss="huber", search=SMALL_ROUNDS)


def _with_a_rest() -> tuple[Dataset, Settings]:
    """A term of one column is known at once, and what is left becomes a target."""
    x = np.random.default_rng(11).uniform(0.2, 4.0, (60, 2))
    y = 0.3 * x[:, 0] ** 3 - np.sinc(x[:, 1]) / (1.0 + x[:, 1] ** 5) ** 0.3
    few = SumSearchPolicy(degrees=(2, 0), most_terms=200, in_pairs=(50, 50, 50), starts_a_rung=48)
    return Dataset.of(x, y), Settings(search=replace(SMALL_ROUNDS, sums=few))


PROBLEMS: dict[str, Callable[[], tuple[Dataset, Settings]]] = {
    "exact": _exact,
    "noisy": _noisy,
    "explained": _explained,
    "template": _template,
    "many columns": _many_columns,
    "within a limit": _within_a_limit,
    "with a spare": _with_a_spare,
    "long": _long,
    "guessed": _guessed,
    "many targets": _many_targets,
    "wide": _wide,
    "robust": _robust,
    "with a rest": _with_a_rest,
}


class Run(NamedTuple):
    data: Dataset
    settings: Settings
    found: Discovery
    versions: list[bytes]  # of the checkpoint, one after each round


def stop_after(rounds: float) -> Callable[[Progress], None]:
    """Presses Ctrl-C in that round."""
    seen: set[int] = set()  # starts: the first report comes before a round, others after the last

    def report(progress: Progress) -> None:
        seen.add(progress.starts)
        if len(seen) > rounds:
            raise KeyboardInterrupt

    return report


def summary(found: Discovery) -> tuple:
    return [(str(f), f.loss, f.constants, f.complexity) for f in found.front], found.chosen, found.outcome, found.starts


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Callable[[str], Run]:
    """Each problem searched to its end, with every version of its checkpoint."""
    known: dict[str, Run] = {}

    def search(name: str) -> Run:
        if name not in known:
            data, chosen = PROBLEMS[name]()
            # With more threads the sums of a round may come later, and not every round leaves a version.
            chosen = replace(chosen, time_limit=600.0, threads=1)
            path = tmp_path_factory.mktemp("undisturbed") / "run.ckpt"
            versions: list[bytes] = []
            stop = stop_after(ROUNDS.get(name, np.inf))

            def report(progress: Progress) -> None:
                """The file holds what the round before left."""
                collect()
                stop(progress)

            def collect() -> None:
                content = path.read_bytes() if path.exists() else b""
                if content and content not in versions[-1:]:
                    versions.append(content)

            found = discover(data, chosen, report, Checkpoint(path, **ALWAYS))
            collect()
            known[name] = Run(data, chosen, found, versions)
        return known[name]

    return search


def arrays_of(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as file:
        return dict(file)


def header_of(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content)) as file:
        return json.loads(file["header"].tobytes())


def state_of(content: bytes) -> dict[str, Any]:
    return header_of(content)["state"]


def with_state(content: bytes, **changes: Any) -> bytes:
    return with_header(content, state=state_of(content) | changes)


def with_header(content: bytes, **changes: Any) -> bytes:
    arrays = arrays_of(content)
    arrays["header"] = np.frombuffer(json.dumps(header_of(content) | changes).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def same(a: Any, b: Any) -> bool:
    """Equal to the last bit, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Formula):
        return sympy.srepr(a.expression) == sympy.srepr(b.expression) and all(
            getattr(a, field.name) == getattr(b, field.name) for field in dataclasses.fields(a)
        )
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def idle(progress: Progress) -> None:
    if progress.message != WRITING:
        pytest.fail("there is nothing to search")


# ---- the law ------------------------------------------------------------------------------------------------------


def version(run: Run, which: str) -> bytes:
    """One of the checkpoints of a search that goes on: any, first, last, or when it began anew on all rows."""
    unfinished = [content for content in run.versions if state_of(content)["ending"] is None]
    if which == "anew":
        return next(content for content in unfinished if state_of(content)["started_before"])
    drawn = np.random.default_rng(len(unfinished)).integers(len(unfinished))
    return unfinished[{"first": 0, "last": -1, "any": drawn}[which]]


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("long", "anew"),
        ("noisy", "last"),
        ("exact", "last"),
        ("many targets", "first"),
        *((name, "any") for name in PROBLEMS if name != "many targets"),
    ],
)
def test_stopped_after_any_round_it_goes_on_as_if_nothing_had_happened(undisturbed, tmp_path, name, which):
    run = undisturbed(name)
    kept = version(run, which)
    path = tmp_path / "run.ckpt"
    path.write_bytes(kept)
    left = ROUNDS.get(name, np.inf) - state_of(kept)["rounds"]
    assert left > 0
    resumed = discover(run.data, run.settings, stop_after(left), Checkpoint(path, 60.0))
    assert summary(resumed) == summary(run.found)


def test_the_problems_are_of_all_kinds(undisturbed):
    outcomes = {name: undisturbed(name).found.outcome for name in PROBLEMS}
    assert outcomes["exact"] is outcomes["many columns"] is Outcome.EXACT
    assert outcomes["noisy"] is outcomes["explained"] is Outcome.SETTLED
    explained = [state_of(content)["rounds_explained"] for content in undisturbed("explained").versions]
    assert max(explained) > 0
    assert outcomes["within a limit"] is Outcome.TOO_COMPLEX
    assert state_of(undisturbed("with a spare").versions[-1])["targets"][0]["spare"] is not None
    assert len(state_of(undisturbed("exact").versions[-1])["targets"]) > 1
    stages = {bool(state_of(content)["started_before"]) for content in undisturbed("long").versions}
    assert stages == {False, True}
    first = state_of(undisturbed("many targets").versions[1])["targets"]
    assert {target["tried_closed_form"] for target in first} == {False, True}
    assert state_of(undisturbed("guessed").versions[-1])["targets"][0]["archive"]["founders"]
    assert all(len(undisturbed(name).versions) > 1 for name in PROBLEMS)


def test_a_checkpoint_changes_nothing(undisturbed):
    run = undisturbed("noisy")
    assert summary(discover(run.data, run.settings)) == summary(run.found)


def test_out_of_time_and_interrupted_searches_go_on_with_more_time(undisturbed, tmp_path):
    """The round that the clock cut short does not count, nor the one in which Ctrl-C came."""
    run, kept_in = undisturbed("exact"), Checkpoint(tmp_path / "run.ckpt", 60.0)
    first = discover(run.data, replace(run.settings, time_limit=0.05), None, kept_in)
    assert first.outcome is Outcome.OUT_OF_TIME
    second = discover(run.data, run.settings, stop_after(3), kept_in)
    assert second.outcome is Outcome.INTERRUPTED
    last = discover(run.data, run.settings, None, kept_in)
    assert summary(last) == summary(run.found)


@pytest.mark.parametrize("name", ["exact", "noisy", "within a limit"])
def test_what_has_ended_comes_back_at_once(undisturbed, tmp_path, name):
    run, path = undisturbed(name), tmp_path / "run.ckpt"
    path.write_bytes(run.versions[-1])
    again = discover(run.data, replace(run.settings, time_limit=6000.0), idle, Checkpoint(path))
    assert summary(again) == summary(run.found)
    assert again.seconds >= state_of(run.versions[-1])["ending"]["seconds"]
    assert path.read_bytes() == run.versions[-1]


def test_out_of_time_stands_for_the_same_time(undisturbed, tmp_path):
    run, kept_in = undisturbed("exact"), Checkpoint(tmp_path / "run.ckpt", 60.0)
    short = replace(run.settings, time_limit=0.05)
    first = discover(run.data, short, None, kept_in)
    assert summary(discover(run.data, short, idle, kept_in)) == summary(first)


def test_no_round_begins_after_the_time(undisturbed, tmp_path):
    """Killed just before the end, with nothing left to do but to draw the front."""
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    path.write_bytes(with_state(run.versions[3], seconds=1000.0))
    found = discover(run.data, run.settings, idle, Checkpoint(path))
    assert found.outcome is Outcome.OUT_OF_TIME
    assert found.seconds > 1000.0  # the earlier ones count


def test_how_it_is_computed_and_shown_may_change(undisturbed, tmp_path):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    path.write_bytes(run.versions[-2])
    other = replace(run.settings, time_limit=500.0, threads=1, n_jobs=1, model_selection="accuracy")
    assert discover(run.data, other, None, Checkpoint(path)).outcome is run.found.outcome


# ---- save and load ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_load_after_save_is_the_identity(undisturbed, tmp_path, name):
    for content in undisturbed(name).versions[-2:]:
        path = tmp_path / "run.ckpt"
        path.write_bytes(content)
        state, fingerprint = read_checkpoint(path)
        path.write_bytes(to_bytes(state, fingerprint))
        again, fingerprint_again = read_checkpoint(path)
        assert same(again, state)
        assert fingerprint_again == fingerprint


def test_formulas_come_back_in_the_form_they_had(undisturbed, tmp_path):
    """Node by node, as they were in memory, and not multiplied out."""
    x, y = make_symbols(("x1", "x2"))
    inside = Formula(sympy.Mul(sympy.Float(-0.3), x + 2 * y, evaluate=False), (x, y), 0.1, ((-0.3, 0.1),), {"sin": 2})
    found = [formula for name in ("exact", "with a spare", "guessed") for formula in undisturbed(name).found.front]
    constants = (LawConstant("a", "slope", -0.3, np.inf), LawConstant("b", "level", 2.0, 0.1))
    named = replace(inside, law=NamedLaw("a line", "plain models", "a*(x1 + b*x2)", constants, 2, ("another name",)))
    ending = Ending("SETTLED", (inside, named, *found), 5, 5, 1.0, np.inf)
    path = tmp_path / "run.ckpt"
    path.write_bytes(to_bytes(SearchState((), ending=ending), {"columns": ["x1", "x2"]}))
    assert same(read_checkpoint(path)[0].ending, ending)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 5), known=st.integers(0, 3), n_edges=st.integers(1, 20))
def test_every_bit_of_a_state_survives(tmp_path_factory, seed, rows, known, n_edges):
    rng = np.random.default_rng(seed)
    n_params = n_edges + int(rng.integers(0, 9))

    def params(n: int) -> np.ndarray:
        return rng.choice([0.0, -0.0, 5e-324, -1.7e308, np.inf, np.pi], (n, n_params))

    def masks(n: int) -> np.ndarray:
        return rng.random((n, n_edges)) < 0.5

    chunk = Chunk(masks(rows), params(rows), rng.choice([np.inf, 0.0, 1e-30], rows), rng.random(rows) < 0.5)
    reduced = (Reduced(e, p, float(m)) for e, p, m in zip(masks(known), params(known), rng.random(known), strict=True))
    keys = [frozenset(row.tobytes() for row in masks(int(n))) for n in rng.integers(0, 6, 2)]
    founders = tuple(zip(masks(known), params(known), strict=True))
    archive, tried_closed_form = Archive(chunk, 5, 3, founders), bool(rng.random() < 0.5)
    target = TargetState(archive, keys[0], tried_closed_form, Contenders(tuple(reduced), keys[1], 7), None, np.inf)
    weights = RowWeights(rng.random(7), Signed(-3.5), keys[0])
    term = Term((0, 2), (Factor(41, 0, (Real(-0.5), Real(1e-300))),))
    found = Sum((term,), (Real(-2.0),), 1e-9)
    peeled = Peeled((0, 1), (1,), found, rung=2, hopes=(Hope(1.5, (0,), found),), sure=Hope(0.0, (0, 1), Sum(())))
    part = Partial(found, (1,))
    sums = Summing(Known((found,), frozenset({str(term.key)})), False, peeled, (part,))
    rests = Rest(part, SearchState((target,), 3, sums=sums)), Rest(part, is_done=True)
    state = SearchState((target, target), 3, 2, 1, frozenset({0, 4}), True, 6, 4, 5, 2048, weights, sums, rests, 0.1)
    path = tmp_path_factory.mktemp("state") / "run.ckpt"
    path.write_bytes(to_bytes(state, {"columns": ["x1"]}))
    assert same(read_checkpoint(path)[0], state)


# ---- files that are something else --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda content: content[: len(content) // 2], "only part of one"),
        (lambda content: b"", "only part of one"),
        (lambda content: b"t,y\n1,2\n", "not a checkpoint of ceql"),
        (lambda content: with_header(content, format="ceql-model"), "not a checkpoint of ceql"),
        (lambda content: with_header(content, version=99), "version 99 of the format.* use the ceql that wrote it"),
        (lambda content: with_header(content, ceql="9.9"), "written by ceql 9.9.* continue with the same version"),
        (lambda content: with_state(content, targets=[]), "damaged"),
        (lambda content: with_state(content, seconds="long"), "damaged"),
        (lambda content: with_state(content, rounds=10**12), "damaged.*rounds"),
        (lambda content: with_state(content, main_turns=99), "damaged.*turns"),
        (lambda content: with_state(content, other_turns=-1), "damaged"),
        (lambda content: with_state(content, asked=[7]), "damaged.*other targets"),
        (lambda content: with_state(content, luck=7), "damaged"),
    ],
)
def test_a_wrong_file_is_named(undisturbed, tmp_path, spoil, words):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    path.write_bytes(spoil(run.versions[4]))
    with pytest.raises(CheckpointError, match=f"(?s)run.ckpt.*{words}.*(Delete it|name another)"):
        discover(run.data, run.settings, None, Checkpoint(path))


def with_arrays(content: bytes, **changes: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **(arrays_of(content) | changes))
    return buffer.getvalue()


def changed(name: str, value: Any, place: int = 0) -> Callable[[bytes], bytes]:
    """The checkpoint with another number in one of its arrays."""

    def change(content: bytes) -> bytes:
        array = arrays_of(content)[name].copy()
        array[place] = value
        return with_arrays(content, **{name: array})

    return change


def in_first_target(*path: str, to: Any) -> Callable[[bytes], bytes]:
    """The checkpoint with another value somewhere in its first target."""

    def change(content: bytes) -> bytes:
        targets = state_of(content)["targets"]
        place = targets[0]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to
        return with_state(content, targets=targets)

    return change


def with_a_misfit_of(value: float) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        arrays = arrays_of(content)
        stored = state_of(content)["targets"][0]["archive"]["chunk"]["params"]["stored"]
        arrays["values"][stored] = value  # the first misfit comes after the parameters
        path = io.BytesIO()
        np.savez(path, allow_pickle=False, **arrays)
        return path.getvalue()

    return change


def packed(content: bytes) -> bytes:
    """As small as zeros can be made, and without a header of ours."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **(arrays_of(content) | {"values": np.zeros(2**24)}))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (with_a_misfit_of(-1.0), "a misfit that is not a number of at least 0"),
        (with_a_misfit_of(np.nan), "a misfit that is not a number of at least 0"),
        (changed("places", -1), "numbers lie outside their array"),
        (changed("places", 10**12), "numbers lie outside their array"),
        (lambda content: with_arrays(content, values=np.ones(3)), "its arrays are too short"),
        (lambda content: with_arrays(content, bits=np.ones((4, 2))), "'bits' is of another kind"),
        (in_first_target("archive", "chunk", "edges", to={"mask": [10**9, 10**9]}), "larger than what they hold"),
        (in_first_target("archive", "chunk", "edges", to={"mask": [-1, 3]}), "-1 is not of the type int"),
        (in_first_target("archive", "chunk", "misfit", to=None), "None is not an array"),
        (in_first_target("contenders", "quiet", to=-1), "-1 is not of the type int"),
        (in_first_target("edges_too_many", to=float("nan")), "nan is not a number of at least 0"),
        (in_first_target("spare", to="x1"), "'x1' is not a table"),
        (lambda content: with_state(content, seconds=-5.0), "-5.0 is not a number of at least 0"),
        (lambda content: with_state(content, seconds=float("nan")), "nan is not a number of at least 0"),
        (lambda content: with_state(content, rounds_explained=1.5), "1.5 is not of the type int"),
        (packed, "not a checkpoint of ceql, or only part of one"),
    ],
)
def test_what_a_file_claims_is_checked(undisturbed, tmp_path, spoil, words):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    path.write_bytes(spoil(version(run, "last")))
    with pytest.raises(CheckpointError, match=f"run.ckpt .*{words}"):
        discover(run.data, run.settings, None, Checkpoint(path))


def test_a_packed_file_is_not_unpacked(undisturbed, tmp_path):
    path = tmp_path / "run.ckpt"
    path.write_bytes(packed(undisturbed("noisy").versions[4]))
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError):
            read_checkpoint(path)
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()


def test_an_array_is_as_long_as_it_says(undisturbed, tmp_path):
    """The header of an array may claim a size that its bytes do not have."""
    path = tmp_path / "run.ckpt"
    content = undisturbed("noisy").versions[4]
    rows = len(arrays_of(content)["values"])
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            longer = part.replace(f"({rows},)".encode(), f"({rows + 1},)".encode())
            new.writestr(name, longer if name == "values.npy" else part)
    with pytest.raises(CheckpointError, match=r"the array 'values' is not of the size that it says"):
        read_checkpoint(path)


def test_a_loss_in_an_ending_is_held_against_the_data(undisturbed, tmp_path):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    ending = state_of(run.versions[-1])["ending"]
    ending["formulas"][0]["loss"] = 0.0
    path.write_bytes(with_state(run.versions[-1], ending=ending))
    with pytest.raises(CheckpointError, match=r"run.ckpt is damaged \('loss' in row 0 of the front is 0, but"):
        discover(run.data, run.settings, None, Checkpoint(path))


def test_an_ending_that_does_not_exist(undisturbed, tmp_path):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    ending = state_of(run.versions[-1])["ending"]
    path.write_bytes(with_state(run.versions[-1], ending=ending | {"outcome": "GREAT"}))
    with pytest.raises(CheckpointError, match=r"ends with 'GREAT'.*delete it"):
        discover(run.data, run.settings, None, Checkpoint(path))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data())
def test_mutated_files_give_a_state_or_our_error(undisturbed, tmp_path_factory, data):
    content = bytearray(undisturbed("noisy").versions[1])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path = tmp_path_factory.mktemp("mutated") / "run.ckpt"
    path.write_bytes(bytes(content))
    with suppress(CheckpointError):
        read_checkpoint(path)


# ---- other searches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d, s: (replace(d, y=d.y + 1.0), s), "the values of y are different"),
        (lambda d, s: (replace(d, x=d.x * 2.0), s), "the values of X are different"),
        (lambda d, s: (replace(d, weight=d.weight[::-1] * 1.5), s), "the weights of the samples are different"),
        (lambda d, s: (replace(d, names=("t",)), s), "columns is t here and x1 there"),
        (lambda d, s: (Dataset.of(d.x[1:], d.y[1:]), s), "rows is 59 here and 60 there. Give"),
        (lambda d, s: (d, replace(s, seed=7)), "seed is 7 here and 0 there"),
        (lambda d, s: (d, replace(s, operators=("mul",))), "operators is mul here and square, div there"),
        (lambda d, s: (d, replace(s, max_complexity=9, seed=7)), "max_complexity is 9 .*; seed is 7"),
        (lambda d, s: (d, replace(s, search=SearchPolicy())), "search differs"),
        (lambda d, s: (d, replace(s, guesses=("1/x1",))), "guesses is 1/x1 here and  there"),
        (lambda d, s: (d, replace(s, constraints=Constraints(costs={"div": 2}))), "constraints differs"),
        (lambda d, s: (d, replace(s, recipe="real")), "recipe is real here and search there"),
        (lambda d, s: (d, replace(s, template=Template("p*x1", {"p": Parameter()}))), "template differs"),
    ],
)
def test_another_search_is_refused_and_what_differs_is_named(undisturbed, tmp_path, change, words):
    run, path = undisturbed("noisy"), tmp_path / "run.ckpt"
    path.write_bytes(run.versions[2])
    data, chosen = change(run.data, run.settings)
    with pytest.raises(CheckpointError, match=f"run.ckpt belongs to another search: .*{words}.*name another file"):
        discover(data, chosen, None, Checkpoint(path))
    assert path.read_bytes() == run.versions[2]
