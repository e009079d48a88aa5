"""Whatever is handed to the core, the process lives: a malformed tape or shape is a ValueError that says why."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ceql import _core
from ceql.engine import fit
from ceql.operators.tape import OPCODES, Tape, TapeBuilder

LINEAR, SQUARE, MUL, DIV, LOG = (OPCODES[name] for name in ("linear", "square", "mul", "div", "log"))


def tape_of(**changes) -> Tape:
    """p * x + q, squared, with some part replaced. Slots: 0 is x, 1 the constant one, 2 the sum, 3 the square."""
    parts = {
        "n_inputs": 1,
        "nodes": [(LINEAR, 0, 2, -1), (SQUARE, 2, -1, -1)],
        "edges": [(0, 0), (1, 1)],
        "coefficients": [1.0, 1.0],
        "n_params": 2,
        "output": 3,
        "aux": [],
        "partner": [-1, -1],
        "lower": [-np.inf, -np.inf],
        "upper": [np.inf, np.inf],
    } | changes
    nodes, edges = (np.array(parts[name], np.int32) for name in ("nodes", "edges"))
    whole = {name: np.array(parts[name], np.int32) for name in ("aux", "partner")}
    real = {name: np.array(parts[name], float) for name in ("coefficients", "lower", "upper")}
    sizes = {name: parts[name] for name in ("n_inputs", "n_params", "output")}
    return Tape(nodes=nodes, edges=edges, **whole, **real, **sizes)


def test_the_tape_that_is_spoilt_below_is_sound():
    samples = fit.Samples.of(np.array([[2.0]]), np.zeros(1))
    assert fit.values(tape_of(), samples, np.array([3.0, 1.0]))[0, 0] == 49.0


TAPES = {
    "unknown operator": ({"nodes": [(LINEAR, 0, 2, -1), (99, 2, -1, -1)]}, "no known operator: 99"),
    "negative operator": ({"nodes": [(LINEAR, 0, 2, -1), (-1, 2, -1, -1)]}, "no known operator: -1"),
    "later slot": ({"nodes": [(LINEAR, 0, 2, -1), (SQUARE, 3, -1, -1)]}, "reads slot 3, which is not before it"),
    "missing argument": ({"nodes": [(LINEAR, 0, 2, -1), (MUL, 2, -1, -1)]}, "reads slot -1"),
    "no denominator": ({"nodes": [(LINEAR, 0, 2, -1), (DIV, 2, -1, 2)]}, "reads slot -1"),
    "bad imaginary part": ({"nodes": [(LINEAR, 0, 2, -1), (LOG, 2, -2, -1)]}, "reads slot -2"),
    "argument too many": ({"nodes": [(LINEAR, 0, 2, -1), (SQUARE, 2, 2, -1)]}, "an argument too many"),
    "edges beyond the end": ({"nodes": [(LINEAR, 1, 2, -1), (SQUARE, 2, -1, -1)]}, "edges that do not exist"),
    "edges before the start": ({"nodes": [(LINEAR, -1, 2, -1), (SQUARE, 2, -1, -1)]}, "edges that do not exist"),
    "overflowing edges": ({"nodes": [(LINEAR, 2**31 - 1, 2**31 - 1, -1)] * 2}, "edges that do not exist"),
    "shared edges": ({"nodes": [(LINEAR, 0, 2, -1), (LINEAR, 1, 1, -1)]}, "each edge belongs to one sum"),
    "edge from later": ({"edges": [(0, 0), (2, 1)]}, "reads slot 2, which is not before it"),
    "edge from nowhere": ({"edges": [(0, 0), (-1, 1)]}, "reads slot -1"),
    "edge with a stray parameter": ({"edges": [(0, 0), (1, 2)]}, "a parameter that does not exist"),
    "edge below the parameters": ({"edges": [(0, 0), (1, -2)]}, "a parameter that does not exist"),
    "output beyond": ({"output": 4}, "output slot does not exist"),
    "output negative": ({"output": -1}, "output slot does not exist"),
    "aux is an input": ({"aux": [0]}, "auxiliary slot 0 is not a node"),
    "aux is beyond": ({"aux": [2, 4]}, "auxiliary slot 1 is not a node"),
    "too many aux": ({"aux": [2] * 64}, "at most 63 auxiliary slots"),
    "own partner": ({"partner": [0, -1]}, "parameter 0 has an impossible partner"),
    "partner beyond": ({"partner": [-1, 2]}, "parameter 1 has an impossible partner"),
    "negative inputs": ({"n_inputs": -3}, "must not be negative"),
    "negative parameters": ({"n_params": -1, "partner": [], "lower": [], "upper": []}, "must not be negative"),
    "huge input number": ({"n_inputs": 2**30}, "too large"),
    "bounds crossed": ({"lower": [1.0, 0.0], "upper": [0.0, 1.0]}, "a lower bound lies above"),
    "bound is NaN": ({"lower": [np.nan, 0.0]}, "a lower bound lies above"),
    "bounds too few": ({"lower": [0.0]}, "one entry per parameter"),
    "coefficient missing": ({"coefficients": [1.0]}, "one coefficient per edge"),
    "coefficient is NaN": ({"coefficients": [1.0, np.nan]}, "coefficients must be finite"),
    "nodes too narrow": ({"nodes": [(LINEAR, 0, 2)]}, "four columns"),
    "edges too wide": ({"edges": [(0, 0, 0), (1, 1, 0)]}, "two columns"),
}


@pytest.mark.parametrize("which", TAPES)
def test_a_malformed_tape_is_refused(which):
    changes, complaint = TAPES[which]
    with pytest.raises(ValueError, match=complaint):
        _ = tape_of(**changes).core


DATA = {
    "no samples": ((np.zeros((0, 1)), np.zeros(0), np.zeros(0)), "at least one sample"),
    "short y": ((np.zeros((3, 1)), np.zeros(2), np.ones(3)), "differ in length"),
    "short weight": ((np.zeros((3, 1)), np.zeros(3), np.ones(2)), "differ in length"),
    "negative weight": ((np.zeros((2, 1)), np.zeros(2), np.array([1.0, -1.0])), "finite and not negative"),
    "weight NaN": ((np.zeros((2, 1)), np.zeros(2), np.array([1.0, np.nan])), "finite and not negative"),
}


@pytest.mark.parametrize("which", DATA)
def test_malformed_data_is_refused(which):
    arrays, complaint = DATA[which]
    with pytest.raises(ValueError, match=complaint):
        fit.Samples(*arrays)


SAMPLES = fit.Samples.of(np.ones((3, 1)), np.zeros(3))
TWO_INPUTS = fit.Samples.of(np.ones((3, 2)), np.zeros(3))
ADAM, LEVENBERG = fit.Adam(1, 1e-2), fit.Levenberg(1)
CALLS = {
    "inputs": (lambda t: fit.values(t, TWO_INPUTS, np.ones(2)), "differ in their number of inputs"),
    "params": (lambda t: fit.values(t, SAMPLES, np.ones(3), np.ones(2)), "a column per parameter"),
    "masks": (lambda t: fit.values(t, SAMPLES, np.ones(2), np.ones(3)), "a column per parameter"),
    "starts": (lambda t: fit.values(t, SAMPLES, np.ones((2, 2)), np.ones((3, 2))), "number of starts"),
    "jacobian": (lambda t: fit.jacobian(t, SAMPLES, np.ones((2, 2))), "of one start"),
    "ridge": (lambda t: fit.gradient(t, SAMPLES, np.ones(2), None, fit.Penalties(np.ones(3))), "one entry per"),
    "lasso": (lambda t: fit.objective(t, SAMPLES, np.ones(2), None, fit.Penalties(lasso=-1.0)), "not be negative"),
    "aux": (lambda t: fit.adam(t, SAMPLES, np.ones(2), None, ADAM, fit.Penalties(aux=-1.0)), "not be negative"),
    "NaN penalty": (
        lambda t: fit.levenberg(t, SAMPLES, np.ones(2), None, LEVENBERG, fit.Penalties(aux=np.nan)),
        "not be negative",
    ),
    "moments": (lambda t: fit.adam(t, SAMPLES, np.ones(2), None, ADAM, resume=state(1, 3, 4)), "moments have"),
    "state": (lambda t: fit.adam(t, SAMPLES, np.ones(2), None, ADAM, resume=state(1, 4, 3)), "state has"),
}


def state(starts: int, moments: int, entries: int) -> fit.Fits:
    none = np.zeros(0)
    return fit.Fits(none, none, none, none, none, np.zeros((starts, moments)), np.zeros((starts, entries)))


@pytest.mark.parametrize("which", CALLS)
def test_arrays_that_do_not_fit_are_refused(which):
    call, complaint = CALLS[which]
    with pytest.raises(ValueError, match=complaint):
        call(tape_of())


def misaligned(plain: np.ndarray) -> np.ndarray:
    """The same numbers, beginning one byte past where a number may begin."""
    moved = np.empty(plain.nbytes + 1, np.uint8)[1:].view(plain.dtype).reshape(plain.shape)
    moved[...] = plain
    return moved


def in_other_byte_order(plain: np.ndarray) -> np.ndarray:
    return plain.astype(plain.dtype.newbyteorder())


@pytest.mark.parametrize("layout", [misaligned, in_other_byte_order])
def test_the_core_refuses_arrays_that_it_would_misread(layout):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    none = np.empty((0, 3))
    for arrays in [(layout(x), y, y), (x, layout(y), y), (x, y, layout(y))]:
        with pytest.raises(TypeError, match="incompatible"):
            _core.Data(*arrays, single_precision=False, mixing=none)


@pytest.mark.parametrize("layout", [misaligned, in_other_byte_order, np.asfortranarray, lambda a: a[::-1].copy()[::-1]])
def test_the_engine_takes_arrays_in_any_layout(layout):
    x, y, params = np.arange(1.0, 4.0)[:, None], np.arange(3.0), np.array([[3.0, 1.0]])
    plain, other = fit.Samples.of(x, y), fit.Samples.of(layout(x), layout(y), layout(np.ones(3)))
    expected = fit.levenberg(tape_of(), plain, params, None, LEVENBERG, fit.Penalties(np.ones(2)))
    result = fit.levenberg(tape_of(), other, layout(params), None, LEVENBERG, fit.Penalties(layout(np.ones(2))))
    assert np.array_equal(result.params, expected.params)


def test_a_tape_without_nodes_gives_its_input():
    empty = {"nodes": np.zeros((0, 4)), "edges": np.zeros((0, 2)), "coefficients": [], "output": 0}
    nothing = {"n_params": 0, "partner": [], "lower": [], "upper": []}
    samples = fit.Samples.of(np.array([[2.0]]), np.zeros(1))
    assert fit.values(tape_of(**empty, **nothing), samples, np.zeros((1, 0)))[0, 0] == 2.0


small = st.integers(-2, 9)
anything = st.integers(-(2**31), 2**31 - 1)
entry = st.one_of(small, small, small, anything)
node = st.tuples(st.one_of(st.integers(0, len(OPCODES) - 1), entry), entry, entry, entry)


@st.composite
def sound_node(draw: st.DrawFn, slot: int, free: int) -> tuple[int, int, int, int]:
    """A node that may well be accepted, so that the passes over it are fuzzed too."""
    shapes = {"mul": 2, "div": 3, "log": 2, "sqrt": 2, "sqrt_im": 2, "sin": 2, "cos": 2, "pow": 3, "angle": 2}
    name = draw(st.sampled_from(sorted(OPCODES)))
    if name == "linear":
        return (LINEAR, free, draw(st.integers(0, 4)), -1)
    first, second, third = (draw(st.integers(0, slot - 1)) if k < shapes.get(name, 1) else -1 for k in range(3))
    return (OPCODES[name], first, second, third)


def use(tape: Tape, seed: int) -> None:
    """Everything the core offers, on a tape it accepted."""
    rng = np.random.default_rng(seed)
    samples = fit.Samples.of(rng.normal(size=(9, tape.n_inputs)), rng.normal(size=9))
    params = rng.normal(size=(2, tape.n_params))
    masks = rng.random(params.shape) < 0.8
    penalties = fit.Penalties(ridge=np.full(tape.n_params, 0.1), lasso=0.1, aux=0.1)
    assert fit.values(tape, samples, params, masks).shape == (2, 9)
    assert fit.jacobian(tape, samples, params[0], masks[0])[1].shape == (9, tape.n_params)
    gradient = fit.gradient(tape, samples, params, masks, penalties).gradient
    assert gradient is not None
    assert gradient.shape == params.shape
    assert fit.adam(tape, samples, params, masks, fit.Adam(3, 1e-2), penalties).params.shape == params.shape
    assert fit.levenberg(tape, samples, params, masks, fit.Levenberg(3), penalties).params.shape == params.shape


def accepted(tape: Tape) -> bool:
    try:
        _ = tape.core
    except ValueError:
        return False
    return True


fuzz = settings(derandomize=True, deadline=None, max_examples=300)


@fuzz
@given(
    nodes=st.lists(node, max_size=6),
    edges=st.lists(st.tuples(entry, entry), max_size=6),
    n_inputs=st.integers(-1, 3),
    output=entry,
    aux=st.lists(entry, max_size=3),
    partner=st.lists(entry, min_size=3, max_size=3),
)
def test_random_numbers_are_a_sound_tape_or_refused(nodes, edges, n_inputs, output, aux, partner):
    tape = tape_of(
        n_inputs=n_inputs,
        nodes=np.array(nodes, np.int32).reshape(-1, 4),
        edges=np.array(edges, np.int32).reshape(-1, 2),
        coefficients=np.ones(len(edges)),
        n_params=3,
        output=output,
        aux=aux,
        partner=partner,
        lower=np.full(3, -1.0),
        upper=np.full(3, 1.0),
    )
    if accepted(tape):
        use(tape, 0)


@fuzz
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_a_random_sound_tape_can_be_used(data, seed):
    n_inputs, n_edges = data.draw(st.integers(0, 2)), 0
    n_nodes = data.draw(st.integers(1, 7))
    first_slot = n_inputs + 1
    nodes = []
    for k in range(n_nodes):
        nodes.append(data.draw(sound_node(first_slot + k, n_edges)))
        n_edges += nodes[-1][2] if nodes[-1][0] == LINEAR else 0
    edges = [(data.draw(st.integers(0, n_inputs)), data.draw(st.integers(-1, 2))) for _ in range(n_edges)]
    node_slot = st.integers(first_slot, first_slot + n_nodes - 1)
    tape = tape_of(
        n_inputs=n_inputs,
        nodes=nodes,
        edges=np.array(edges, np.int32).reshape(-1, 2),
        coefficients=np.ones(n_edges),
        n_params=3,
        output=data.draw(node_slot),
        aux=data.draw(st.lists(node_slot, max_size=3)),
        partner=[1, -1, -1],
        lower=np.full(3, -1.0),
        upper=np.full(3, 1.0),
    )
    assert accepted(tape)
    use(tape, seed)


def test_a_parameter_that_only_a_penalty_reads_has_no_derivative():
    builder = TapeBuilder(1)
    p, q = builder.parameter(), builder.parameter()
    model = builder.linear([(0, p, 1.0)])
    builder.penalise(builder.operator("mul", model, builder.linear([(builder.one, q, 1.0)])))
    tape = builder.finish(model)
    samples = fit.Samples.of(np.arange(1.0, 301.0)[:, None], np.zeros(300))
    fit.levenberg(tape, samples, np.ones(2), None, LEVENBERG, fit.Penalties(aux=1.0))  # fills the memory in use
    jacobian = fit.jacobian(tape, samples, np.array([2.0, 3.0]))[1]
    assert np.array_equal(jacobian, np.column_stack([samples.x[:, 0], np.zeros(300)]))


BARE_INPUT = """
import numpy as np
from ceql.engine import fit
from ceql.operators.tape import TapeBuilder
builder = TapeBuilder(1)
builder.penalise(builder.operator("mul", 0, builder.linear([(0, builder.parameter(), 1.0)])))
tape = builder.finish(0)
samples = fit.Samples.of(np.ones((9, 1)), np.zeros(9))
fit.levenberg(tape, samples, np.ones(1), None, fit.Levenberg(3), fit.Penalties(aux=1.0))
"""


def test_least_squares_on_a_bare_input_does_not_crash():
    assert subprocess.run([sys.executable, "-c", BARE_INPUT], capture_output=True).returncode == 0


def test_least_squares_with_a_parameter_that_only_a_penalty_reads():
    """min mean((p x - y)^2) + mean((p x q)^2): the solution has q = 0 and p as if there were no penalty."""
    builder = TapeBuilder(1)
    p, q = builder.parameter(), builder.parameter()
    model = builder.linear([(0, p, 1.0)])
    builder.penalise(builder.operator("mul", model, builder.linear([(builder.one, q, 1.0)])))
    tape = builder.finish(model)
    x = np.linspace(-1, 1, 1000)
    options, penalties = fit.Levenberg(200), fit.Penalties(aux=1.0)
    result = fit.levenberg(tape, fit.Samples.of(x[:, None], 2 * x), np.array([1.0, 1.0]), None, options, penalties)
    assert np.allclose(result.params[0], [2.0, 0.0], atol=1e-4)
