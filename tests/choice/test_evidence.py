from __future__ import annotations

import numpy as np
import pytest

from ceql.choice.evidence import errors_seem_to_grow, scores, sentence, shortlist, told_apart, weights
from ceql.data.dataset import Dataset
from ceql.expression import parse_formula
from ceql.formula import Formula, make_symbols, mean_square

X = np.linspace(1.0, 3.0, 40)[:, None]
DATA = Dataset(X, 2.0 / X[:, 0] + 0.05 * np.random.default_rng(0).standard_normal(40), np.ones(40), ("x1",))


def formula(text, data=DATA):
    expression, symbols = parse_formula(text, data.names), make_symbols(data.names)
    return Formula(expression, symbols, mean_square(Formula(expression, symbols, 0.0)(data.x) - data.y, data.weight))


def test_weights_are_shares_of_likelihoods():
    assert weights([10.0, 10.0 + 2.0 * np.log(3.0)]) == pytest.approx((0.75, 0.25))
    assert weights([5.0, np.inf]) == (1.0, 0.0)
    assert weights([-1e9, 1e9]) == (1.0, 0.0)
    assert weights([np.inf, np.inf]) == (0.5, 0.5)


def test_rounding_is_no_evidence():
    exact = Dataset(X, 2.0 / X[:, 0], np.ones(40), ("x1",))
    symbols = make_symbols(("x1",))
    short = Formula(parse_formula("2/x1", ("x1",)), symbols, 3e-31)
    long = Formula(parse_formula("2/x1 + 1.0e-17*x1", ("x1",)), symbols, 1e-32)
    shares = weights(scores([short, long], exact))
    assert shares[0] > 0.9


def test_the_shortlist_is_ordered_and_bounded():
    formulas = [formula(text) for text in ("1.9/x1", "2/x1", "2.1/x1", "2/x1", "5.0")]
    values = [2.0, 0.0, 3.0, 0.0, 100.0]
    assert list(map(str, shortlist(formulas, values, 3))) == ["2/x1", "1.9/x1", "2.1/x1"]
    assert list(map(str, shortlist(formulas, values, 2))) == ["2/x1", "1.9/x1"]
    assert list(map(str, shortlist(formulas, values, 9, least_weight=0.3))) == ["2/x1"]
    assert shortlist([], [], 3) == ()
    assert shortlist(formulas, values, 0) == ()


def test_one_formula_in_two_forms_is_one():
    forms = [formula(text) for text in ("-1.2*log(0.2*x1)", "1.9 - 1.2*log(x1)", "1.9/x1")]
    assert told_apart(forms, DATA) == [0, 0, 2]


def test_the_sentence_names_what_cannot_be_told_apart():
    two = [formula("1.9/x1"), formula("2.2*exp(-0.4*x1)")]
    assert sentence(two, (0.6, 0.4), DATA) == (
        "Weights: 0.60 for 1.9/x1, 0.40 for 2.2*exp(-0.4*x1); these rows cannot tell them apart."
    )
    assert sentence(two, (0.95, 0.05), DATA) == ""
    assert sentence(two, (), DATA) == ""
    forms = [formula(text) for text in ("-1.2*log(0.2*x1)", "1.9 - 1.2*log(x1)")]
    assert sentence(forms, (0.6, 0.4), DATA) == ""


def test_the_sentence_counts_what_it_does_not_name():
    many = [formula(text) for text in ("1.9/x1", "2.2*exp(-0.4*x1)", "2.0 - 0.5*x1", "1.5*cos(0.4*x1)", "1.1")]
    assert " and 2 more; these rows" in sentence(many, (0.2,) * 5, DATA)


def steep(censored=None, weight=None, offset=0.0):
    """Errors of 5 % on a hyperbola that falls a hundredfold."""
    x = np.geomspace(0.1, 10.0, 40)[:, None]
    y = 2.0 / x[:, 0] * (1.0 + 0.05 * np.random.default_rng(0).standard_normal(40)) + offset
    return Dataset(x, y, np.ones(40) if weight is None else weight, ("x1",), censored=censored)


def test_errors_in_proportion_are_seen_by_any_formula_that_competes():
    law, other = formula("2/x1"), formula("2/x1 + 0.3*x1")
    assert errors_seem_to_grow([other, law], [0.9, 0.1], steep())
    assert not errors_seem_to_grow([other, law], [1.0, 0.0], steep())
    assert not errors_seem_to_grow([law], [1.0], DATA)


@pytest.mark.parametrize(
    "data",
    [steep(weight=np.linspace(0.5, 1.5, 40)), steep(censored=np.zeros(40)), steep(offset=-0.3)],
    ids=["weights", "censored", "signs"],
)
def test_nothing_is_said_where_it_was_asked_already_or_has_no_remedy(data):
    assert not errors_seem_to_grow([formula("2/x1")], [1.0], data)
