"""The adapters: small real runs where the system is installed, and their parts everywhere."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

from ceql.bench.baselines import METHODS
from ceql.bench.baselines.front import Data, Rough, Row, best_row, pareto, refitted, rounding, without_neutral
from ceql.bench.baselines.others import from_postfix, quotient, readable_rows, trimmed
from ceql.bench.baselines.own import Own, Paper, Without, as_trained
from ceql.bench.errors import MethodError
from ceql.bench.judge import score
from ceql.bench.methods import find_method
from ceql.bench.points import columns
from ceql.bench.problems import load_problem, load_suite, sample
from ceql.expression import compile_numpy, node_count, parse_formula
from ceql.search.policy import SearchPolicy
from ceql.training import recipes


def solved(method, problem_name, seconds=1.0):
    problem = load_problem(problem_name)
    samples = sample(problem, 0)
    found = method.run(samples.X_train, samples.y_train, samples.names, 0, seconds)
    return score(found.expression, problem, samples)


@pytest.mark.parametrize("name", ["E-1", "E-3", "E-7", "E-9", "E-10"])
def test_aaa_finds_the_rationals_of_one_variable(name):
    result = solved(find_method("aaa"), name)
    assert result.exact
    assert result.equivalent


def test_aaa_does_not_find_a_log():
    assert not solved(find_method("aaa"), "E-5").exact


def test_aaa_refuses_two_variables():
    with pytest.raises(MethodError, match="one variable; this problem has 2"):
        solved(find_method("aaa"), "E-8")


def test_quotient_equals_the_barycentric_form():
    points, values, weights = (
        np.array([-1.0, 0.3, 2.0]),
        np.array([2.0, -1.0, 0.5]),
        np.array([0.2, -0.7, 0.4]),
    )
    top, bottom = quotient(points, values, weights)
    x = 0.77
    terms = weights / (x - points)
    expected = (terms @ values) / terms.sum()
    assert np.polyval(top[::-1], x) / np.polyval(bottom[::-1], x) == pytest.approx(expected, rel=1e-13)
    assert len(trimmed(np.array([1.0, 2.0, 1e-15]), 2.0, 1e-11)) == 2


@pytest.mark.parametrize("name", ["E-1", "E-2", "E-3", "E-4"])
def test_sindy_finds_the_polynomials(name):
    pytest.importorskip("pysindy")
    assert solved(find_method("sindy"), name).exact


def test_sindy_fails_on_a_pole():
    pytest.importorskip("pysindy")
    result = solved(find_method("sindy"), "E-7")
    assert not result.exact
    assert result.interp_mse > 1


def node(name, value=1.0, arity=0, label=0):
    return SimpleNamespace(Name=name, Value=value, Arity=arity, IsVariable=name == "variable", HashValue=label)


def test_an_operon_tree_with_a_power_is_written_out():
    tree = [node("constant", 3.0), node("variable", 2.0, label=7), node("pow", arity=2), node("exp", arity=1)]
    assert from_postfix(tree, {7: "x"}, ["3", "2"]) == "exp(((2*x)**(3)))"


def test_formulas_of_a_front_that_cannot_be_read_are_left_out():
    data = Data(np.linspace(1.0, 2.0, 5)[:, None], np.linspace(2.0, 4.0, 5), ("x",))
    roughs = [Rough(lambda texts: f"x**{texts[0]}", [power]) for power in (900.0, 2.0)]
    (row,) = readable_rows(zip((3, 3), roughs, strict=True), data)
    assert row.source is roughs[1]


@pytest.mark.parametrize(("name", "module"), [("operon", "pyoperon"), ("gplearn", "gplearn")])
def test_rivals_give_their_front_and_may_use_exponentials(name, module):
    pytest.importorskip(module)
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 2.0, (40, 1))
    found = find_method(name, load_suite("laws").settings[name]).run(X, np.exp(X[:, 0]), ("x",), 0, 1.0)
    front = [parse_formula(text, ("x",)) if isinstance(text, str) else text for text in found.front]
    assert any(formula.has(sympy.exp) for formula in front)
    assert len({node_count(formula) for formula in front}) > 1 or front[0] == sympy.exp(front[0].args[0])


def test_operon_runs_and_is_refitted():
    pytest.importorskip("pyoperon")
    result = solved(find_method("operon"), "E-1", seconds=1)
    assert result.exact
    # Beyond what float32 constants can give.
    assert result.interp_mse < 1e-26


def test_gplearn_runs():
    pytest.importorskip("gplearn")
    result = solved(find_method("gplearn", {"population": 100}), "E-1", seconds=0.2)
    assert math.isfinite(result.interp_mse)


def test_polish_refits_and_drops_what_does_nothing():
    X = np.linspace(-2, 2, 50)[:, None]
    y = 1.5 * X[:, 0] / (X[:, 0] - 2.5)
    constants = np.array([1e-7, 1.0000001, 1.5, -2.5], np.float32).tolist()

    def write(texts):
        return "({} + ({}*(({}*x1)/(x1 + {}))))".format(*texts)

    rough, data = Rough(write, constants), Data(X, y, ("x1",))
    loss, expression = refitted(rough, data)
    assert loss < 1e-28
    slim = without_neutral(rough, data, loss, expression, rounding(y))
    # One scale is left free: a fraction has it.
    assert node_count(slim) == node_count(parse_formula("1.5*x1/(x1 - 2.5)", ("x1",)))


def test_best_row_is_the_knee_of_the_front():
    rows = [Row(1, 10.0, "a"), Row(3, 9.0, "b"), Row(5, 1e-30, "c"), Row(9, 1e-31, "d"), Row(9, 20.0, "e")]
    assert best_row(rows, floor=1e-28).expression == "c"
    assert [row.expression for row in pareto(rows)] == ["a", "b", "c", "d"]
    assert best_row([Row(4, math.inf, "only")], 1e-28).expression == "only"


def test_own_methods_pass_what_they_say():
    assert Own("ceql").arguments(3, 30.0) == {"random_state": 3, "time_limit": 30.0}
    real = Own("ceql-real", recipe="real", operators=("div",)).arguments(3, 30.0)
    assert real == {"random_state": 3, "time_limit": 30.0, "recipe": "real", "operators": ["div"]}


def test_the_recipe_is_the_papers_unless_a_part_is_taken_out():
    assert Paper("ceql-paper").recipe() == recipes.paper()
    assert not Paper("x", complex_weights=False).recipe().complex_weights
    changed = Paper("x", logs=1, skips=False, imaginary_penalty=False, passes_complex=True, starts=2).recipe()
    assert [layer["log"] for layer in changed.layers] == [1, 1]
    assert (changed.skip, changed.passes_complex, changed.starts) == ("none", True, 2)
    assert {phase.imaginary for phase in changed.phases} == {0.0}
    assert not Paper("ceql-paper").timed
    assert Paper("x", schedule="authors-ablation").recipe() == recipes.authors_ablation()
    with pytest.raises(MethodError, match="Did you mean 'authors'"):
        Paper("x", schedule="author").recipe()


def test_a_network_as_trained_is_read_off_without_a_refit():
    layers = ({"const": 1}, {"id": 1, "div": 1})
    short = replace(recipes.paper(), layers=layers, phases=(replace(recipes.paper().phases[0], epochs=2000),), starts=2)
    x = np.random.default_rng(0).uniform(-2, 2, (40, 1))
    found = as_trained(x, 1.87 * x[:, 0] + 2.01, ("x1",), short, seed=0)
    value = compile_numpy(found.expression, columns(("x1",)))(x)
    assert np.mean((value - 1.87 * x[:, 0] - 2.01) ** 2) < 1e-2
    assert found.extra["imaginary_residue"] > 0


def test_the_search_without_its_penalty_runs():
    assert math.isfinite(solved(find_method("ceql-unpenalised"), "E-1", seconds=5).interp_mse)


def without(name, settings=None) -> Without:
    method = find_method(name, settings)
    assert isinstance(method, Without)
    return method


def test_a_part_of_the_search_can_be_left_out():
    policy = SearchPolicy()
    assert not without("ceql-no-sums").changed(policy).sums.used
    searched = without("ceql-no-elimination").changed(policy)
    parts = searched.schedule, searched.hits, searched.reduction.refit, searched.reduction.first_fit, searched.sums
    assert not any(part.separable for part in parts)
    assert not without("ceql-no-exchange").changed(policy).rests.used
    assert max(without("ceql-unpenalised").changed(policy).schedule.imaginary) < 1e-20
    with pytest.raises(MethodError, match="penalty, elimination, sums, exchange"):
        without("ceql-no-sums", {"part": "sumz"}).changed(policy)


@pytest.mark.parametrize("method", ["ceql-no-sums", "ceql-no-elimination"])
def test_the_search_without_a_part_runs(method):
    assert solved(find_method(method), "E-1", seconds=5).exact


def test_dense_starts_find_a_line():
    assert solved(find_method("ceql-dense", {"chunk": 4}), "E-1", seconds=20).exact


def test_methods_are_called_by_their_names():
    assert all(method.name == name for name, method in METHODS.items())
    assert all(method.settings.keys().isdisjoint({"name"}) for method in METHODS.values())


def test_settings_of_suites_exist():
    for suite in ("paper", "poles", "noise", "scalability", "ablation"):
        loaded = load_suite(suite)
        for name in (*loaded.methods, *loaded.settings):
            assert find_method(name, loaded.settings.get(name), loaded.variants).name == name
    assert "exp" in find_method("operon", load_suite("poles").settings["operon"]).settings["operators"]


def test_typos_in_settings():
    with pytest.raises(MethodError, match="Did you mean 'max_length'"):
        find_method("operon", {"maxlength": 3})
