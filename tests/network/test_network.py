"""Wiring, masks over parameters, and what a network refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql.errors import InputError, UnknownNameError
from ceql.network import Network
from ceql.network.reference import forward
from ceql.operators import Argument
from ceql.training import recipes

laws = settings(derandomize=True, deadline=None, max_examples=40)
NAMES = ("id", "const", "square", "mul", "div", "log", "sqrt", "exp", "sin", "pow")
SKIPS = ("none", "inputs", "all")


@st.composite
def networks(draw: st.DrawFn) -> Network:
    layers = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=3)
    return Network(
        draw(st.integers(1, 4)), tuple(draw(layers)), skip=draw(st.sampled_from(SKIPS)), bias=draw(st.booleans())
    )


@pytest.mark.parametrize(("n_inputs", "edges"), [(1, 77), (2, 93)])
def test_the_papers_network_has_the_papers_size(n_inputs, edges):
    network = recipes.paper().network(n_inputs)
    assert network.n_edges == edges
    # by hand: 6 sums in layer 1, 9 in layer 2 (id, log, sqrt, div twice over), the readout
    assert edges == 6 * n_inputs + 9 * (n_inputs + 6) + (n_inputs + 7)
    # imaginary parts where a log, a root or a denominator reads them: 6 sums of layer 2
    assert network.n_params == edges + 6 * (n_inputs + 6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("skip", "expected"),
    {
        "none": ([[0, 1], [3, 4], [5]]),
        "inputs": ([[0, 1], [0, 1, 3, 4], [0, 1, 5]]),
        "all": ([[0, 1], [0, 1, 3, 4], [0, 1, 3, 4, 5]]),
    }.items(),
)
def test_sources_of_each_skip_mode(skip, expected, bias):
    network = Network(2, (("square", "mul"), ("log",)), skip=skip, bias=bias)
    for layer, nodes in enumerate(expected):
        assert sorted(network.sources(layer)) == sorted([*nodes, *([network.one] if bias else [])])


@laws
@given(networks())
def test_edges_are_numbered_by_sums_in_order(network):
    assert network.sums[0].first == 0
    assert network.sums[-1].last == network.n_edges == len(network.edge_source) == len(network.edge_sum)
    for before, after in zip(network.sums, network.sums[1:], strict=False):
        assert before.last == after.first
    assert network.sums[-1].unit == -1
    for edge, k in enumerate(network.edge_sum):
        s = network.sums[k]
        assert s.first <= edge < s.last
        if s.unit >= 0:
            assert network.edge_source[edge] < network.node(s.unit)


@laws
@given(networks())
def test_there_is_a_sum_per_argument(network):
    per_unit = [sum(s.unit == unit for s in network.sums) for unit in range(len(network.units))]
    assert per_unit == [operator.arity for operator in network.units]
    assert network.n_nodes == network.n_inputs + 1 + len(network.units)


@laws
@given(networks())
def test_imaginary_parts_belong_to_complex_arguments(network):
    complex_edges = [network.sums[k].kind is Argument.COMPLEX for k in network.edge_sum]
    assert np.array_equal(network.imaginary >= 0, complex_edges)
    assert network.n_params == network.n_edges + sum(complex_edges)
    numbers = network.imaginary[network.imaginary >= 0]
    assert np.array_equal(numbers, np.arange(network.n_edges, network.n_params))
    assert network.is_imaginary.sum() == sum(complex_edges)


@laws
@given(networks(), st.integers(0, 2**32 - 1))
def test_complex_weights_put_the_parts_together(network, seed):
    params = np.random.default_rng(seed).normal(size=(3, network.n_params))
    weights = network.complex_weights(params)
    assert np.array_equal(weights.real, params[:, : network.n_edges])
    has = network.imaginary >= 0
    assert np.array_equal(weights.imag[:, has], params[:, network.n_edges :])
    assert np.all(weights.imag[:, ~has] == 0)


@laws
@given(networks(), st.integers(0, 2**32 - 1))
def test_parameter_mask_switches_both_parts(network, seed):
    edges = np.random.default_rng(seed).random((2, network.n_edges)) < 0.5
    mask = network.parameter_mask(edges)
    weights = network.complex_weights(mask.astype(float))
    assert np.array_equal(weights.real, edges)
    assert np.array_equal(weights.imag, edges & (network.imaginary >= 0))
    assert not network.parameter_mask(edges, imaginary=False)[:, network.is_imaginary].any()


@laws
@given(networks(), st.integers(0, 2**32 - 1))
def test_smoothing_mask_gives_every_complex_sum_an_imaginary_part_of_its_own(network, seed):
    edges = np.random.default_rng(seed).random(network.n_edges) < 0.3
    mask = network.smoothing_mask(edges)
    assert np.array_equal(mask[: network.n_edges], edges)
    assert np.all(mask >= network.parameter_mask(edges))
    used_inputs = {n for n in range(network.n_inputs) if edges[network.edge_source == n].any()}
    for s in network.sums:
        if s.kind is not Argument.COMPLEX:
            continue
        span = slice(s.first, s.last)
        imaginary = mask[network.imaginary[span]]
        sources = network.edge_source[span]
        if not edges[span].any():
            assert not imaginary.any()
            continue
        for on, source, alive in zip(imaginary, sources, edges[span], strict=True):
            assert on == (alive or source == network.one or source in used_inputs)


def test_smoothing_mask_works_on_many_at_once():
    network = Network(2, (("mul", "div"), ("log",)), skip="all", bias=True)
    edges = np.random.default_rng(0).random((6, network.n_edges)) < 0.4
    assert np.array_equal(network.smoothing_mask(edges), [network.smoothing_mask(row) for row in edges])


def test_a_layer_may_be_given_by_counts():
    assert Network(1, ({"mul": 2, "log": 1},)).layers == (("mul", "mul", "log"),)
    assert Network(1, ({"mul": 2},)) == Network(1, (("mul", "mul"),))
    assert hash(Network(1, ({"mul": 2},))) == hash(Network(1, (("mul", "mul"),)))


REFUSALS = {
    "no input": ((0, (("mul",),)), InputError, "at least one input"),
    "no layer": ((1, ()), InputError, "at least one layer"),
    "empty layer": ((1, (("mul",), ())), InputError, "every layer at least one operator"),
    "count of zero": ((1, ({"mul": 0},)), InputError, "every layer at least one operator"),
    "unknown operator": ((1, (("mull",),)), UnknownNameError, "Did you mean 'mul'"),
    "unknown skip": ((1, (("mul",),), "input"), UnknownNameError, "no skip connection 'input'. Did you mean 'inputs'"),
}


@pytest.mark.parametrize("which", REFUSALS)
def test_an_impossible_network_is_refused(which):
    arguments, error, complaint = REFUSALS[which]
    with pytest.raises(error, match=complaint):
        Network(*arguments)


def test_the_reference_is_the_formula_one_writes_by_hand():
    network = Network(1, (("square",), ("div",)), skip="inputs", bias=True)
    x = np.linspace(-2, 2, 9)
    # square: x, 1 | numerator: x, 1, square | denominator: x, 1, square | readout: x, 1, div
    weights = np.array([2, 1, 0, 3, 0, 0.5, 1j, 1, 0.25, 0, 4])
    expected = 0.25 * x + 4 * (3 / (0.5 * x + 1j + (2 * x + 1) ** 2)).real
    assert np.allclose(forward(network, weights, x[:, None]), expected, rtol=1e-14)


def test_a_complex_readout_is_complex_where_a_complex_value_may_come_in_and_travels():
    plain, network = (Network(1, (("log", "square"),), complex_readout=chosen) for chosen in (False, True))
    readout = network.sums[-1]
    sources = [int(node) for node in network.edge_source[readout.first : readout.last]]
    assert [k for k, e in zip(sources, network.imaginary[readout.first :], strict=True) if e >= 0] == [network.node(0)]
    assert network.n_params == plain.n_params + 1
    make, arguments = network.__reduce__()
    assert make(*arguments) == network != plain
