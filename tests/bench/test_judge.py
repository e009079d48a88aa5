"""SRBench's verdict and the strict one on data in any unit: what counts as the formula and what does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.bench.judge import Judge, r2, score, units_of
from ceql.bench.problems import load_problem, load_suite, sample
from ceql.expression import compile_numpy, parse_formula

PUBLIC = ("classic", "empirical", "srbench", "srsd", "strogatz")


def small(problem):
    return problem if problem.system else replace(problem, n_train=64, n_interp=256)


def verdict(name, text):
    problem = small(load_problem(name))
    result = score(text, problem, sample(problem, 0))
    return result.exact, result.symbolic_solution


@pytest.mark.parametrize("suite", PUBLIC)
def test_every_truth_is_its_own_solution(suite):
    for problem in map(small, load_suite(suite).problems):
        result = score(problem.expression, problem, sample(problem, 0))
        assert result.exact, problem.name
        assert result.equivalent, problem.name
        assert result.symbolic_solution, problem.name
        assert result.r2 == 1.0, problem.name


SOLUTIONS = {
    "feynman_I_12_2": ["0.0796*q1*q2/(epsilon*r**2)", "0.0795774*q1*q2/(epsilon*r**2) + 0.001"],
    "feynman_I_6_2a": ["0.39894*exp(-0.50003*theta**2)"],
    "feynman_I_10_7": ["m_0*c/sqrt(1.0002*c**2 - 1.0003*v**2)"],
    "feynman_I_13_4": ["0.4999*m*(u**2 + v**2) + 0.5001*m*w**2 + 0.00002*m"],
    "feynman_I_12_11": ["q*(1.0003*Ef + 0.9997*B*v*sin(1.0002*theta))"],
    "feynman_I_12_1": ["1.2*mu*Nn"],
    "I.10.7": ["1.0003*m_0/sqrt(1 - v**2/2.9971e8**2)"],
}
NO_SOLUTIONS = {
    "feynman_I_12_2": ["0.0796*q1*q2/(epsilon*r**2.02)", "0.0796*q1*q2/(epsilon*r**2) + 0.01*q1"],
    "feynman_I_6_2a": ["0.183*cos(0.29*(theta - 6.56)*(theta - 0.24)) + 0.18", "0.2"],
    "feynman_I_13_4": ["0.49*m*(u**2 + v**2) + 0.5001*m*w**2"],
    "feynman_I_12_1": ["mu*Nn + mu"],
    # What the data cannot show is missed all the same.
    "III.9.52": ["(p_d*Ef*t/(6.626e-34/(2*pi)))**2"],
    "III.4.32": ["1.380649e-23*T/(6.626e-34/(2*pi)*omega)"],
    "II.11.28": ["1 + n*alpha"],
    "bonus.8": ["E_n"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SOLUTIONS.items() for text in texts])
def test_factors_offsets_and_last_digits_are_forgiven(name, text):
    assert verdict(name, text) == (False, True)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in NO_SOLUTIONS.items() for text in texts])
def test_other_formulas_are_not(name, text):
    assert verdict(name, text) == (False, False)


@pytest.mark.parametrize(
    ("name", "text", "right"),
    [
        ("hubble", "71.2*D", True),
        ("hubble", "71.2*D + 12", False),
        ("kepler", "366*sqrt(a**3)", True),
        ("kepler", "366*a**1.49", False),
        ("newton", "log(m1) + log(m2) - 2*log(r) - 23.1", True),
        ("newton", "log(m1) + log(m2) - 2.02*log(r) - 23.1", False),
        ("planck", "3*log(nu) - 114.6 - log(exp(4.8e-11*nu/T) - 1)", True),
        ("rydberg", "log(9.1e-8*n1**2*n2**2/(n2**2 - n1**2))", True),
        ("schechter", "-2.1 - 1.22*log(L)", False),
    ],
)
def test_the_constants_of_a_law_are_free_and_no_others(name, text, right):
    assert verdict(name, text) == (False, right)


def test_a_law_may_stand_anywhere_on_the_front():
    problem = load_problem("hubble")
    samples = sample(problem, 0)
    worse, law = "70*D + 50", "71.2*D"
    assert score(worse, problem, samples, (worse, law)).front_solution is True
    assert score(worse, problem, samples, (worse,)).front_solution is False
    assert score(law, problem, samples).front_solution is True
    plain = small(load_problem("feynman_I_12_5"))
    assert score("q2*Ef", plain, sample(plain, 0), ("q2*Ef",)).front_solution is None


@given(st.floats(-25, 25), st.floats(-25, 25))
@settings(max_examples=15, deadline=None)
def test_verdicts_do_not_depend_on_units(shift, scale):
    """The same law in other units, with the same formulas found, is judged alike."""
    a, b = float(f"{10.0**shift:.6e}"), float(f"{10.0**scale:.6e}")
    base = small(load_problem("feynman_I_12_5"))
    low, high = a, 5 * a
    problem = replace(
        base, expression=f"{b!r}*q2*(q2 + {a!r}*Ef)", train=(((low, high),), ((1.0, 5.0),)), name="units", least=0.0
    )
    samples = sample(problem, 0)
    right = score(f"{b!r}*q2**2 + {a * b!r}*q2*Ef", problem, samples)
    wrong = score(f"{b!r}*q2**2 + {1.01 * a * b!r}*q2*Ef", problem, samples)
    assert (right.exact, right.equivalent, right.symbolic_solution) == (True, True, True)
    assert (wrong.exact, wrong.equivalent, wrong.symbolic_solution) == (False, False, False)


def test_units_change_no_value():
    problem = small(load_problem("I.32.17"))
    samples = sample(problem, 0)
    units = units_of(samples.X_train, samples.y_train)
    symbols = [sympy.Symbol(name, real=True) for name in samples.names]
    scaled = units.formula(parse_formula(problem.expression, samples.names), symbols)
    values = compile_numpy(scaled, symbols)(units.points(samples.X_train))
    assert np.allclose(values * units.target, samples.y_train, rtol=1e-12)
    assert all(np.log2(u) == round(np.log2(u)) for u in (*units.columns, units.target))


def test_what_is_too_large_to_judge_is_no_solution():
    problem = small(load_problem("feynman_I_12_1"))
    judge = Judge(problem, sample(problem, 0))
    assert judge.solution(parse_formula("1.2*mu*Nn", problem.variables), 0.9, exact=False)
    ripples = "".join(f" + 0.0000{k}*sin({k}*mu)" for k in range(100, 170))
    huge = parse_formula(f"1.2*mu*Nn{ripples}", problem.variables)
    assert not judge.solution(huge, 0.9, exact=False)


def test_r2_of_a_constant_target_is_not_a_number():
    assert np.isnan(r2(0.0, np.ones(5)))
    assert r2(0.25, np.array([0.0, 1.0])) == 0.0
