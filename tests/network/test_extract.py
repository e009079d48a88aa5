"""The formula of a network is the network."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.engine import fit
from ceql.expression import compile_numpy
from ceql.formula import make_symbols
from ceql.network import Network
from ceql.network.extract import extract, upright
from ceql.network.recording import network_tape
from ceql.network.sampling import Stream, draw
from ceql.training import recipes

LAYER = {
    "square": 2,
    "mul": 1,
    "div": 2,
    "log": 1,
    "sqrt": 1,
    "exp": 1,
    "sin": 1,
    "cos": 1,
    "tanh": 1,
    "atan": 1,
    "cbrt": 1,
    "abs": 1,
    "pow": 1,
}
NETWORKS = {
    "search": Network(2, (LAYER, LAYER), skip="all", bias=True),
    "paper": recipes.paper().network(2),
}


@pytest.mark.parametrize("which", NETWORKS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_extracted_formula_equals_the_engine_where_it_is_defined(which, seed):
    network = NETWORKS[which]
    rng = np.random.default_rng(seed)
    edges = draw(network, 1, Stream(seed))[0]
    x = rng.uniform(0.2, 1.5, (40, 2))
    params = np.where(network.is_imaginary, 0.0, rng.normal(0, 0.7, network.n_params))
    params = upright(network, edges, params, x)
    symbols = make_symbols(("a", "b"))
    mask = network.parameter_mask(edges, imaginary=False)
    engine = fit.values(network_tape(network), fit.Samples.of(x, np.zeros(40)), params, mask)[0]
    formula = extract(network, edges, params, symbols)
    if formula.has(sympy.I):
        return  # a root of a negative constant: refused later on, where formulas are judged
    value = np.broadcast_to(compile_numpy(formula, symbols)(x), (40,))
    defined = np.isfinite(value) & (np.abs(value) < 1e6)
    np.testing.assert_allclose(engine[defined], value[defined], rtol=1e-6, atol=1e-9)


def test_a_log_that_is_negative_throughout_is_turned_around():
    network = Network(1, (("log",),), skip="inputs")
    edges = np.array([True, False, True])
    params = np.zeros(network.n_params)
    params[[0, 2]] = [-2.0, 1.5]
    x = np.array([[0.5], [1.0], [2.0]])
    turned = upright(network, edges, params, x)
    assert turned[0] == 2.0
    symbols = make_symbols(("x",))
    value = compile_numpy(extract(network, edges, turned, symbols), symbols)(x)
    np.testing.assert_allclose(value, 1.5 * np.log(2 * x[:, 0]))
