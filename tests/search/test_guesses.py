"""Guesses: read and fitted, embedded in the network, and what the search makes of them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import CEQLRegressor, CeqlWarning, Dataset, InputError, Settings, discover
from ceql.discovery import Outcome
from ceql.expression import compile_numpy, parse_formula
from ceql.expression.constants.rewrites import loosened
from ceql.formula import make_symbols
from ceql.network import clean_up
from ceql.network.embedding import embed
from ceql.network.extract import extract
from ceql.network.libraries import search_network
from ceql.network.sampling import Prior, Stream, draw, graft
from ceql.search.guesses import read_guess, starting_formulas
from ceql.search.policy import SearchPolicy

NAMES = ("x1", "x2", "x3")
SYMBOLS = make_symbols(NAMES)
NETWORK = search_network(3, ["mul", "div", "log", "sqrt", "exp", "sin", "square", "pow", "tanh"])
POINTS = np.random.default_rng(0).uniform(0.5, 2.0, (40, 3))


def table(function, rows=80, seed=0):
    x = np.random.default_rng(seed).uniform(0.5, 3.0, (rows, 3))
    return Dataset.of(x, function(*x.T))


# ---- embedding ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2.5",
        "1.5*x1 - x2 + 0.3",
        "x1*x2*x3",
        "(x1 + 2)*(x2 - 0.3*x3)",
        "2*sin(3*x1)/(x2 + 1.5)",
        "exp(-0.4*x3**2)/(x1 + 0.6) + 1.7*sin(3*x1*x2 + 1)",
        "sqrt(x1**2 + x2**2)",
        "1/sqrt(x1 + x2)",
        "x1**3 + x2**4",
        "x1**1.7",
        "x1**(-0.7)",
        "log(x1)*log(x1) + tanh(x2)",
        "x1**x2",
        "3*(x1 + 2*exp(x2)) - exp(x2)",
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_an_embedded_formula_computes_the_same(text, late):
    expression = parse_formula(text, NAMES)
    scales = (2.0, 0.5, 4.0), 8.0
    placed = embed(expression, NETWORK, SYMBOLS, *scales, late=late)
    assert placed is not None
    edges, params = placed
    assert (clean_up(NETWORK, edges) == edges).all()
    scaled = [s / k for s, k in zip(SYMBOLS, scales[0], strict=True)]
    again = scales[1] * extract(NETWORK, edges, params, scaled)
    wanted, got = (compile_numpy(e, SYMBOLS)(POINTS) for e in (expression, again))
    np.testing.assert_allclose(got, wanted, rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000))
def test_what_was_extracted_can_mostly_be_embedded_and_is_the_same(seed):
    """SymPy may write a sub-network in a deeper way, which need not fit; what does fit computes the same."""
    rng = np.random.default_rng(seed)
    edges = draw(NETWORK, 1, Stream(seed), Prior(maximum_edges=8))[0]
    expression = extract(NETWORK, edges, rng.uniform(0.5, 2.0, NETWORK.n_params), SYMBOLS)
    placed = embed(expression, NETWORK, SYMBOLS, (1.0, 1.0, 1.0), 1.0)
    if placed is not None:
        wanted, got = (compile_numpy(e, SYMBOLS)(POINTS) for e in (expression, extract(NETWORK, *placed, SYMBOLS)))
        np.testing.assert_allclose(got, wanted, rtol=1e-7)


@pytest.mark.parametrize(
    "text", ["asin(x1/9)", "cos(x1)", "exp(exp(exp(exp(x1))))", "x1*sin(x1)*sin(x2)*sin(x3)", "0*x1"]
)
def test_what_has_no_place_is_not_embedded(text):
    assert embed(parse_formula(text, NAMES), NETWORK, SYMBOLS, (1.0, 1.0, 1.0), 1.0) is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 100_000))
def test_grafts_are_clean_and_mostly_new(seed):
    parents = draw(NETWORK, 30, Stream(seed))
    children = graft(NETWORK, parents, Stream(seed + 1))
    assert (clean_up(NETWORK, children) == children).all()
    assert children.any(axis=1).all()
    assert (children != parents).any(axis=1).mean() > 0.1


# ---- reading and fitting ------------------------------------------------------------------------------------------


def test_unknown_names_are_constants_and_numbers_are_fitted():
    expression, unknown = read_guess("a*sin(b*x1)/x2 + 3 + pi*x1**2", NAMES)
    assert unknown == ("a", "b")
    assert loosened(expression).has(sympy.Float(3.0))
    assert expression.has(sympy.pi)
    assert SYMBOLS[0] ** 2 in expression.atoms(sympy.Pow)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a*sinn(x1)", "Did you mean 'sin'|did you mean 'sin'"),
        ("a*(x1", "never closed"),
        ("", "empty"),
        ("X1 + 2", "Did you mean the column 'x1'"),
        (3, "as text"),
    ],
)
def test_what_cannot_be_read_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_guess(text, NAMES)


def test_a_misspelt_column_is_not_taken_for_a_constant():
    with pytest.raises(InputError, match="Did you mean the column 'temperature'"):
        read_guess("k*temprature", ("temperature", "p"))


@pytest.mark.parametrize("guesses", ["a*x1", [1], [None]])
def test_guesses_are_a_list_of_texts(guesses):
    with pytest.raises(InputError, match="list of formulas"):
        CEQLRegressor(guesses=guesses).fit(POINTS, POINTS[:, 0])


def test_the_constants_of_a_guess_are_found():
    data = table(lambda a, b, c: 1.7 * np.sin(2.2 * a) / b + 40 * c)
    (formula,) = starting_formulas(("k*sin(w*x1)/x2 + m*x3",), data)
    assert formula.expression == parse_formula("1.7*sin(2.2*x1)/x2 + 40*x3", NAMES)
    _, freed = starting_formulas(("1/(x1 + 3)",), table(lambda a, b, c: 1 / (a + 2.4)))
    assert freed.loss < 1e-25


def test_a_guess_without_a_value_on_the_data_is_left_out():
    with pytest.warns(CeqlWarning, match=r"left out of the search: log\(0 - x1\*\*2\)"):
        assert starting_formulas(("log(0 - x1**2)",), table(lambda a, b, c: a)) == []
    assert starting_formulas((), table(lambda a, b, c: a)) == []


def many(count: int, term: str) -> str:
    return " + ".join(term.format(k, k + 1, k % 3 + 1) for k in range(count))


def test_a_guess_with_too_many_constants_is_used_as_it_stands_or_left_out():
    data = table(lambda a, b, c: a + b * c)
    with pytest.warns(CeqlWarning, match="more than 60 constants"):
        (formula,) = starting_formulas((many(200, "0.{1:03d}*sin({1}*x{2}/7)"),), data)
    assert len(formula.constants) == 200
    assert np.isfinite(formula.loss)
    with pytest.warns(CeqlWarning, match="otherwise left out"):
        assert starting_formulas((many(200, "a{0}*sin({1}*x{2}/7)"),), data) == []


def test_the_numbers_of_a_long_guess_stay_where_its_names_are_enough_to_fit():
    data = table(lambda a, b, c: a + b * c)
    (formula,) = starting_formulas((many(60, "a{0}*sin({1}*x{2}/7)"),), data)
    assert len(formula.constants) == 60


def test_guesses_beyond_what_the_time_limit_allows_are_named():
    data = table(lambda a, b, c: a + b * c + np.sin(a))
    with pytest.warns(CeqlWarning, match=r"The time limit does not allow .*: k\*x2"):
        formulas = starting_formulas(("x1 + x2*x3", "k*x2"), data, sketches=10)
    assert formulas


# ---- the search ---------------------------------------------------------------------------------------------------


def hard(a, b, c):
    return 1.7 * np.sin(3 * a * b + 1) + 2 * np.exp(-0.4 * c**2) / (a + 0.6)


NEARLY = "a*sin(3*x1*x2 + 1) + b*exp(-c*x3)/(x1 + d)"  # x3 should be squared


def test_the_search_finds_with_a_guess_what_it_does_not_find_without():
    data = table(hard, rows=60)
    operators = ("mul", "div", "exp", "sin", "square")
    given_ = Settings(operators=operators, guesses=(NEARLY,), time_limit=60, search=SearchPolicy(round_size=512))
    found = discover(data, given_)
    assert found.outcome is Outcome.EXACT
    assert found.best.expression == parse_formula("1.7*sin(3*x1*x2 + 1) + 2*exp(-0.4*x3**2)/(x1 + 0.6)", NAMES)
    (guess,) = starting_formulas((NEARLY,), data)
    assert guess.loss > 1e-4  # the guess itself is not it
    # Without the guess, the same number of starts and more leads nowhere.
    without = Settings(operators=operators, time_limit=4, search=SearchPolicy(round_size=512))
    assert discover(data, without).outcome is not Outcome.EXACT


def test_a_guess_competes_in_the_front_even_where_it_does_not_fit_the_library():
    data = table(lambda a, b, c: np.arctan(2 * a) + 0.3 * b)
    settings_ = Settings(operators=("mul",), guesses=("atan(k*x1) + m*x2",), time_limit=0.5)
    found = discover(data, settings_)
    assert found.best.expression == parse_formula("atan(2*x1) + 0.3*x2", NAMES)
