"""Random templates hold, and no start of SciPy finds a lower bottom. CEQL_WHOLE=1 tries 200 of them."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from ceql import CEQLRegressor, Parameter, Template
from ceql.errors import InputError
from ceql.expression import parse_formula, value_and_jacobian

WHOLE = bool(os.environ.get("CEQL_WHOLE"))
SMALLEST = 1e-12  # stands for zero where a number is strictly above it

# In each, 0 to 2 stand for parameters; the range of x keeps roots and logarithms of positive numbers defined.
CONSTANT = "{0}"
PIECES = (
    "{0}*x",
    CONSTANT,
    "{0}/x",
    "{0}**2/x",
    "{0}*x**2",
    "{0}*x*z",
    "{0}*exp(-{1}*x)",
    "{0}*x**{1}",
    "{0}/(x + {1})",
    "{0}*log(1 + {1}**2*x)",
    "{0}*sqrt(x + {1}**2)",
    "{0}*tanh({1}*x)",
    "{0}*x/({1} + x)",
    "{0}*sin({1}*x)",
    "{0}*exp(-(x - {1})**2/{2}**2)",
    "{0}/(1 + exp(-{1}*(x - {2})))",
    "{0}*x**2/({1}**2 + x**2)",
    "{0}*atan({1}*x)",
)
KINDS = (Parameter(), Parameter(sign="+"), Parameter(low=0.2, high=3.0), Parameter(low=-2.0), Parameter(high=2.0))


@dataclass(frozen=True, eq=False)
class Case:
    template: Template
    X: pd.DataFrame
    y: np.ndarray
    truth: dict[str, float] | None  # of the parameters, where y is of the template


@st.composite
def formulas(draw) -> tuple[str, list[str]]:
    """One or two pieces, whose parameters may be the same."""
    count = draw(st.integers(1, 2))
    pieces = draw(st.lists(st.sampled_from(PIECES), min_size=count, max_size=count, unique=True))
    names, texts, used = ["a", "b", "c", "d"], [], []
    for piece in pieces:
        wanted = 1 + max(k for k in range(3) if f"{{{k}}}" in piece)
        chosen = draw(st.lists(st.sampled_from(names), min_size=wanted, max_size=wanted, unique=True))
        texts.append(piece.format(*chosen))
        used += chosen
    assume(pieces != [CONSTANT])  # which is no template: it has no column in it
    joint = draw(st.sampled_from([" + ", " - "]))
    return joint.join(texts), sorted(set(used))


@st.composite
def cases(draw) -> Case:
    text, names = draw(formulas())
    parameters = {name: draw(st.sampled_from(KINDS)) for name in names}
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = draw(st.sampled_from([20, 50, 120]))
    X = pd.DataFrame({"x": np.sort(rng.uniform(0.3, 6.0, rows)), "z": rng.uniform(0.5, 2.0, rows)})
    values = {name: float(rng.uniform(0.3, 2.0)) for name in names}
    truth, truth_text = values, text
    if draw(st.booleans()):  # then y is of something else
        truth_text, others = draw(formulas())
        truth, values = None, {name: float(rng.uniform(-2.0, 2.0)) for name in others}
    symbols = sympy.symbols("x z", real=True)
    constants = [sympy.Symbol(name, real=True) for name in values]
    program = value_and_jacobian(parse_formula(truth_text, ["x", "z", *values]), symbols, constants)
    y = program.value(X.to_numpy(), np.array(list(values.values())))
    y = y + draw(st.sampled_from([0.0, 0.01, 0.1])) * np.std(y) * rng.standard_normal(rows)
    return Case(Template(text, parameters), X, y, truth)


def bounds(parameter: Parameter) -> tuple[float, float]:
    if parameter.sign == "+":
        return SMALLEST, np.inf
    return parameter.low, parameter.high


@np.errstate(all="ignore")
def by_scipy(case: Case, starts: int = 30 if WHOLE else 10) -> float:
    """The least mean square that SciPy meets: from the truth, where there is one, and from random starts."""
    symbols = sympy.symbols("x z", real=True)
    names = list(case.template.parameters)
    constants = [sympy.Symbol(name, real=True) for name in names]
    program = value_and_jacobian(parse_formula(case.template.formula, ["x", "z", *names]), symbols, constants)
    x, y = case.X.to_numpy(), case.y
    low, high = np.array([bounds(parameter) for parameter in case.template.parameters.values()]).T
    rng = np.random.default_rng(1)
    begin = [rng.choice([-1.0, 1.0], len(names)) * 10.0 ** rng.uniform(-1.0, 1.0, len(names)) for _ in range(starts)]
    if case.truth is not None:
        begin.append(np.array([case.truth[name] for name in names]))
    best = np.inf
    for start in begin:
        inside = np.clip(start, low + 1e-6, high - 1e-6)

        def residuals(values: np.ndarray) -> np.ndarray:
            return np.nan_to_num(program.value(x, values) - y, nan=1e6, posinf=1e6, neginf=-1e6)

        found = least_squares(residuals, inside, bounds=(low, high), xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=300)
        if np.isfinite(program.value(x, found.x)).all():
            best = min(best, float(np.mean((program.value(x, found.x) - y) ** 2)))
    return best


@pytest.mark.filterwarnings("ignore::ceql.CeqlWarning")  # of a constant y, and of few rows
@settings(max_examples=200 if WHOLE else 8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_a_random_template_holds_and_is_at_its_bottom(case: Case):
    try:
        model = CEQLRegressor(template=case.template, verbose=False).fit(case.X, case.y)
    except InputError:  # of no value for any constants
        assert not np.isfinite(by_scipy(case))
        return
    values = model.constants_["value"]
    assert list(values.index) == list(case.template.parameters)
    for name, parameter in case.template.parameters.items():
        low, high = bounds(parameter)
        assert values[name] > 0.0 if parameter.sign else low <= values[name] <= high, name
    symbols = {sympy.Symbol(name, real=True): sympy.Float(value) for name, value in values.items()}
    frame = parse_formula(case.template.formula, ["x", "z", *values.index])
    assert sympy.expand(model.sympy(form="named") - frame) == 0
    assert sympy.expand(model.sympy() - frame.xreplace(symbols)) == 0
    loss = float(np.mean((model.predict(case.X) - case.y) ** 2))
    assert loss <= by_scipy(case) * (1.0 + 1e-6) + 1e-20 * float(np.mean(case.y**2))
