"""A template is plain data; assembled, its tape, its formula and its text all say the same."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
import sympy

from ceql.data.dataset import Scaling
from ceql.engine import fit
from ceql.errors import InputError, UnknownNameError
from ceql.expression import compile_numpy
from ceql.network.sampling import Prior, Stream
from ceql.templates import Parameter, Template, Terms, Unknown
from ceql.templates.assembly import Assembly

RATE = Template(
    "k * exp(-E/u) * f",
    parameters={"k": Parameter(), "E": Parameter(low=0, about=2)},
    functions={"f": Unknown(["v"], ["mul", "div"])},
)
POLES = Template(
    "a*u + b + S",
    parameters={"a": Parameter(), "b": Parameter(low=-1, high=2)},
    sums={"S": Terms("A/(v - p)", most=3, parameters={"A": Parameter(), "p": Parameter(sign="-")})},
)
PEAKS = Template(
    "a*u + S",
    parameters={"a": Parameter(sign="+")},
    sums={
        "S": Terms(
            "A/((u - h)**2 + g)",
            most=4,
            parameters={"A": Parameter(), "g": Parameter(sign="+", about=0.1)},
            functions={"h": Unknown(["v"], ["square", "mul"])},
        )
    },
)
MODES = Template(
    "sqrt(P**2 + Q**2) + 0.25*log(v) + u**5*c",
    parameters={"c": Parameter()},
    sums={
        "P": Terms(
            "u*(R*h + I)/(h**2 + z**2 + 1)",
            most=2,
            parameters={"R": Parameter(), "I": Parameter(), "z": Parameter(high=3)},
            functions={"h": Unknown(["v"], ())},
            also={"Q": "u*(I*h - R*z)/(h**2 + z**2 + 1)"},
        )
    },
)
TEMPLATES = {"rate": RATE, "poles": POLES, "peaks": PEAKS, "modes": MODES}
NUMBERS: Any = {"a": 1.0}
SLIPS: dict[str, Any] = {
    "parameters": [Parameter()],
    "functions": Unknown(["u"]),
    "sums": [Terms("A/u", parameters={"A": Parameter()})],
    "also": "Q",
    "number": "6",
    "none": None,
}
SCALING = Scaling(np.array([2.0, 8.0]), 4.0)


def assembled(name: str) -> Assembly:
    return Assembly(TEMPLATES[name], ("u", "v"), SCALING)


def some_starts(assembly: Assembly, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    edges = assembly.mutated(assembly.drawn(count, Stream(7), Prior()), Stream(8), Prior())
    return edges, assembly.started(rng.normal(0.0, 0.7, (count, assembly.n_params)), Stream(9))


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_tape_equals_the_extracted_formula(name):
    assembly = assembled(name)
    edges, params = some_starts(assembly, 30)
    x = np.random.default_rng(1).uniform(0.5, 6.0, (40, 2))
    samples = fit.Samples.of(x / SCALING.x, np.zeros(40))
    tape, masks = assembly.tape(), assembly.parameter_mask(edges, imaginary=False)
    # Parameters outside their bounds are moved inside by a fit, also by one of no steps.
    params = fit.levenberg(tape, samples, params, masks, fit.Levenberg(0)).params
    values = fit.values(tape, samples, params, masks)
    symbols = [sympy.Symbol(column, real=True) for column in ("u", "v")]
    for row in range(len(edges)):
        formula = assembly.in_units(edges[row], params[row], symbols, SCALING)
        expected = compile_numpy(formula, symbols)(x) / SCALING.y
        np.testing.assert_allclose(values[row], expected, rtol=1e-9, atol=1e-9)


def test_the_formula_equals_the_text_with_its_numbers_in_place():
    assembly = assembled("poles")
    edges, params = some_starts(assembly, 1)
    edges = assembly.cleaned(np.ones_like(edges))
    value = {(n.name, n.term): n.value(params[0, n.index]) for n in assembly.numbers}
    symbols = u, v = sympy.symbols("u v", real=True)
    direct = value["a", -1] * 3.0 + value["b", -1]
    direct += sum(value["A", k] / (5.0 - value["p", k]) for k in range(3))
    formula = assembly.in_units(edges[0], params[0], symbols, SCALING)
    assert float(formula.subs({u: 3.0, v: 5.0})) == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("name", TEMPLATES)
def test_clean_masks_stay_as_they_are_and_terms_go_as_a_whole(name):
    assembly = assembled(name)
    edges, _ = some_starts(assembly, 40)
    assert edges.any(axis=1).all()
    np.testing.assert_array_equal(assembly.cleaned(edges), edges)
    for term in assembly.terms:
        off = edges[~edges[:, term.gate]]
        assert not off[:, term.edges].any()


@pytest.mark.parametrize("name", TEMPLATES)
def test_imaginary_parts_are_in_use_only_while_they_smooth(name):
    assembly = assembled(name)
    edges, _ = some_starts(assembly, 5)
    assert not assembly.parameter_mask(edges, imaginary=False)[:, assembly.is_imaginary].any()
    smoothing = assembly.smoothing_mask(edges)
    assert smoothing[:, assembly.n_params - assembly.n_smoothing :].all()
    assert smoothing.shape == (5, assembly.n_params) == (5, assembly.tape().n_params)


def test_a_sign_holds_for_every_value_of_the_fit():
    assembly = assembled("peaks")
    numbers = [n for n in assembly.numbers if n.parameter.sign == "+"]
    raw = np.random.default_rng(0).normal(0.0, 100.0, 1000)
    for number in numbers:
        clipped = np.clip(raw, *number.bounds)
        assert (number.value(clipped) > 0).all()
        np.testing.assert_allclose(number.raw(number.value(clipped)), clipped)
    assert numbers


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_named_formula_has_the_values_of_the_other(name):
    assembly = assembled(name)
    edges, params = some_starts(assembly, 5)
    x = np.random.default_rng(1).uniform(0.5, 6.0, (20, 2))
    symbols = [sympy.Symbol(column, real=True) for column in ("u", "v")]
    for row in range(5):
        named = assembly.named(edges[row], params[row], lambda part: part)
        assert len(set(named.symbols)) == len(named.symbols)
        plain = compile_numpy(assembly.in_units(edges[row], params[row], symbols, SCALING), symbols)(x)
        np.testing.assert_allclose(compile_numpy(named.substitute(named.values), symbols)(x), plain, rtol=1e-9)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_survives_json_and_pickle(name):
    template = TEMPLATES[name]
    assert Template.from_dict(json.loads(json.dumps(template.as_dict()))) == template
    assembly = pickle.loads(pickle.dumps(assembled(name)))
    assert assembly.template == template
    assert assembly.n_params == assembled(name).n_params


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (Template("a*q", parameters={"a": Parameter()}), "unknown name 'q'"),
        (Template("a*u + g", parameters={"a": Parameter()}), "unknown name 'g'"),
        (Template("u", parameters={"a": Parameter()}), "declares a but does not use it"),
        (Template("f", functions={"f": Unknown(["t"])}), "takes t, which is not a column"),
        (Template("u*v", parameters={"u": Parameter()}), "also a column"),
        (Template("a*u*(", parameters={"a": Parameter()}), "ends where a value is expected"),
        (Template("S", sums={"S": Terms("A/(u - p)", parameters={"A": Parameter()})}), "unknown name 'p'"),
        (Template("S", sums={"S": Terms("u", parameters={"A": Parameter()})}), "declares A but does not use it"),
    ],
)
def test_a_template_that_does_not_suit_the_data_is_refused(template, message):
    with pytest.raises(InputError, match=message):
        Assembly(template, ("u", "v"), SCALING)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Parameter(low=2, high=1), "low < high"),
        (lambda: Parameter(sign="plus"), "sign"),
        (lambda: Parameter(low=0, sign="+"), "either a sign or bounds"),
        (lambda: Parameter(about=-1), "positive number"),
        (lambda: Unknown([]), "at least one column"),
        (lambda: Unknown("c"), "lists of names"),
        (lambda: Terms("A", most=0), "1 to 60"),
        (lambda: Template("u"), "nothing to be found"),
        (lambda: Template("a*u", parameters=NUMBERS), "must be a Parameter"),
        (lambda: Template("a*u", parameters=SLIPS["parameters"]), r"such as \{'k': Parameter\(\)\}, not a list"),
        (lambda: Template("a*u", functions=SLIPS["functions"]), "functions of a template is a dict"),
        (lambda: Template("S", sums=SLIPS["sums"]), "sums of a template is a dict"),
        (lambda: Terms("A", parameters=SLIPS["parameters"]), "parameters of a template is a dict"),
        (lambda: Terms("A", also=SLIPS["also"]), "also of a template is a dict"),
        (lambda: Terms("A", most=SLIPS["number"]), "1 to 60"),
        (lambda: Parameter(low=SLIPS["number"]), "low must be a number, not '6'"),
        (lambda: Parameter(value=SLIPS["number"]), "value must be a number, not '6'"),
        (lambda: Unknown(SLIPS["none"]), "lists of names"),
        (lambda: Unknown(["u"], layers=SLIPS["number"]), "at least one layer"),
        (lambda: Unknown(["u"], about=SLIPS["none"]), "about must be a number"),
        (lambda: Template("a*u", parameters={"a": Parameter()}, functions={"a": Unknown(["u"])}), "declared twice"),
        (lambda: Template("a b", parameters={"a b": Parameter()}), "plain word"),
        (lambda: Template.from_dict({"formula": "a"}), "not a template"),
    ],
)
def test_a_template_that_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_an_unknown_operator_is_named():
    with pytest.raises(UnknownNameError, match="sqroot"):
        Unknown(["u"], ["sqroot"])


def test_a_function_without_a_tape_is_refused():
    turned = Template("tan(a*u + pi/2)", parameters={"a": Parameter()})  # which SymPy makes a cotangent
    with pytest.raises(InputError, match="cannot contain cot"):
        Assembly(turned, ("u",), Scaling(np.ones(1), 1.0)).tape()
