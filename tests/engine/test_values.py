"""The core's real arithmetic equals plain complex128 evaluation, on every instruction set and in both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ceql import _core, operators
from ceql.engine import fit
from ceql.network import Network, clean_up
from ceql.network.recording import DomainPenalty, network_tape
from ceql.network.reference import forward
from ceql.network.wiring import Skip
from ceql.operators import functions, library

BUILT_IN = ("id", "const", "mul", "div", "pow", *functions.names())
PRECISIONS = {"float64": (False, 1e-14, 1e-12), "float32": (True, 2e-7, 1e-4)}
BORDERS = (1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 3001)
laws = settings(
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    layer = st.lists(st.sampled_from(BUILT_IN), min_size=1, max_size=4)
    layers = draw(st.lists(layer, min_size=1, max_size=3))
    skips: tuple[Skip, ...] = ("none", "inputs", "all")
    skip = draw(st.sampled_from(skips))
    return Network(draw(st.integers(1, 3)), tuple(layers), skip=skip, bias=draw(st.booleans()))


def random_case(network: Network, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 0.6, network.n_params), rng.uniform(-2, 2, (n, network.n_inputs))


def plain(network: Network, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return forward(network, weights, x)


def core_values(network: Network, params: np.ndarray, x: np.ndarray, single: bool = False) -> np.ndarray:
    samples = fit.Samples.of(x, np.zeros(len(x)), single_precision=single)
    return fit.values(network_tape(network), samples, params)[0]


def assert_as_close_as_rounding_allows(network: Network, params: np.ndarray, x: np.ndarray, precision: str) -> None:
    """A value may be off by what rounding the weights would change it, and no more."""
    single, epsilon, relative = PRECISIONS[precision]
    weights = network.complex_weights(params)
    reference = plain(network, weights, x)
    rng = np.random.default_rng(0)
    nudged = [plain(network, weights * (1 + epsilon * rng.uniform(-1, 1, len(weights))), x) for _ in range(4)]
    with np.errstate(invalid="ignore", over="ignore"):
        spread = np.max(np.abs(np.array(nudged) - reference), axis=0)
        # elsewhere the formula itself is noise at this precision: a pole, exp(exp(..)), the sine of a huge number
        sound = np.isfinite(reference) & (spread < 1e3 * relative * (1 + np.abs(reference)))
        off = np.abs(core_values(network, params, x, single) - reference)
    assert np.all(off[sound] <= relative * (1 + np.abs(reference[sound])) + 50 * spread[sound])
    assert sound.mean() > 0.5 or len(x) < 10


@pytest.mark.parametrize("precision", PRECISIONS)
@laws
@given(network=networks(), seed=st.integers(0, 2**32 - 1))
def test_random_networks_equal_the_reference(instruction_set, precision, network, seed):
    params, x = random_case(network, seed, 200)
    sound = np.isfinite(plain(network, network.complex_weights(params), x))
    assume(sound.mean() > 0.9)  # log(0) everywhere, say, has nothing to compare
    assert_as_close_as_rounding_allows(network, params, x[sound], precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_operator_equals_the_reference(instruction_set, name, precision):
    network = Network(2, ((name, name),), bias=True)
    params, x = random_case(network, 7, 500)
    assert_as_close_as_rounding_allows(network, params, x, precision)


def test_the_list_of_operators_above_is_complete():
    assert operators.names()[: len(BUILT_IN)] == BUILT_IN
    assert not any(library.is_built_in(name) for name in operators.names()[len(BUILT_IN) :])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("n", BORDERS)
def test_every_number_of_samples_works(instruction_set, n, precision):
    network = Network(2, (("square", "mul", "div"), ("log", "sqrt", "sin")), skip="all", bias=True)
    params, x = random_case(network, 3, n)
    assert_as_close_as_rounding_allows(network, params, x, precision)


@pytest.mark.parametrize("n", BORDERS)
def test_a_value_does_not_depend_on_the_samples_beside_it(n):
    network = Network(2, (("square", "div"), ("log", "exp")), bias=True)
    params, x = random_case(network, 4, max(BORDERS))
    assert np.array_equal(core_values(network, params, x)[:n], core_values(network, params, x[:n]))


@laws
@given(seed=st.integers(0, 2**32 - 1))
def test_switched_off_parameters_equal_zero_weights(instruction_set, seed):
    # operators with a value at zero, since zeroed weights leave dead units in the reference's sum
    layers = (("square", "mul", "tanh"), ("sqrt", "sin", "cos", "exp"))
    network = Network(2, layers, skip="all", bias=True)
    params, x = random_case(network, seed, 60)
    rng = np.random.default_rng(seed)
    mask = network.parameter_mask(clean_up(network, rng.random(network.n_edges) < 0.5))
    masked = fit.values(network_tape(network), fit.Samples.of(x, np.zeros(len(x))), params, mask)[0]
    zeroed = plain(network, network.complex_weights(np.where(mask, params, 0)), x)
    assert np.allclose(masked, zeroed, rtol=1e-9, atol=1e-9)


def test_a_mask_says_the_same_as_zeros_where_no_unit_is_dead(instruction_set):
    network = Network(2, (("square", "mul", "div"),), bias=True)
    params, x = random_case(network, 1, 129)
    rng = np.random.default_rng(2)
    mask = rng.random(network.n_params) < 0.7
    samples = fit.Samples.of(x, np.zeros(len(x)))
    tape = network_tape(network)
    masked = fit.values(tape, samples, params, mask)
    assert np.allclose(masked, fit.values(tape, samples, np.where(mask, params, 0.0)), rtol=1e-13)
    assert not np.allclose(masked, fit.values(tape, samples, params))


def test_imaginary_parts_alone_smooth_a_pole(instruction_set):
    network = Network(1, (("div",),), bias=True)
    x = np.linspace(-1, 1, 101)[:, None]  # zero is among them
    weight = {("div", 0): [0.0, 1.0], ("div", 1): [1.0, 0.0], "out": [0.0, 0.0, 1.0]}
    params = np.concatenate([*weight.values(), [0.0, 0.1]])  # 1 / (x + 0.1 i)
    expected = np.real(1 / (x[:, 0] + 0.1j))
    assert np.allclose(core_values(network, params, x), expected, rtol=1e-13)


@pytest.mark.parametrize("penalty", DomainPenalty)
def test_the_kind_of_penalty_changes_no_value(penalty):
    network = Network(1, (("log", "sqrt", "pow"),), bias=True)
    params, x = random_case(network, 5, 40)
    samples = fit.Samples.of(x, np.zeros(len(x)))
    values = fit.values(network_tape(network, penalty), samples, params)[0]
    assert np.allclose(values, plain(network, network.complex_weights(params), x), rtol=1e-12)


@laws
@given(seed=st.integers(0, 2**32 - 1), complex_rest=st.booleans(), readout=st.booleans())
def test_log_and_sqrt_may_hand_on_a_complex_value(instruction_set, seed, complex_rest, readout):
    layers = (("log", "sqrt", "square"), ("div", "log", "sqrt", "sin"), ("sqrt", "div"))
    network = Network(2, layers, skip="all", bias=True, complex_readout=readout)
    params, x = random_case(network, seed, 50)
    if not complex_rest:
        params = np.where(network.is_imaginary, 0.0, params)
    tape = network_tape(network, passes_complex=True)
    values = fit.values(tape, fit.Samples.of(x, np.zeros(len(x))), params)[0]
    expected = complex_forward(network, network.complex_weights(params), x)
    nudged = complex_forward(network, network.complex_weights(params * (1 + 1e-13)), x)
    sound = np.abs(nudged - expected) < 1e-10 * (1 + np.abs(expected))
    assert sound.any()
    assert np.allclose(values[sound], expected[sound], rtol=1e-8, atol=1e-8)


def complex_forward(network: Network, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The paper's text: log and sqrt keep their imaginary part; whatever is real by definition drops it."""
    nodes = np.zeros((network.n_nodes, len(x)), complex)
    nodes[: network.n_inputs] = x.T
    nodes[network.one] = 1.0
    waiting: dict[int, list[np.ndarray]] = {}
    for s in network.sums:
        total = weights[s.first : s.last] @ nodes[network.edge_source[s.first : s.last]]
        if s.unit < 0:
            return np.real(total)
        arguments = waiting.setdefault(s.unit, [])
        arguments.append(total)
        operator = network.units[s.unit]
        if len(arguments) < operator.arity:
            continue
        keeps = {"log": np.log, "sqrt": np.sqrt}.get(operator.name, operator.surrogate)
        nodes[network.node(s.unit)] = keeps(*arguments)
    raise AssertionError("no readout")


def test_passing_complex_values_on_differs_from_dropping_them():
    network = Network(1, (("log",), ("div",)), bias=True)
    params, x = random_case(network, 0, 20)
    samples = fit.Samples.of(x, np.zeros(len(x)))
    passed, dropped = (fit.values(network_tape(network, passes_complex=p), samples, params) for p in (True, False))
    assert not np.allclose(passed, dropped)


def test_an_unknown_instruction_set_is_refused(use_instruction_set):
    with pytest.raises(ValueError, match="no instruction set 'mmx'"):
        use_instruction_set("mmx")
    assert _core.instruction_set() in _core.instruction_sets()
    assert _core.instruction_sets()[0] == "baseline"


def test_status_names_are_the_cores():
    assert [status.name for status in fit.Status] == ["RAN_OUT", "CONVERGED", "NOT_FINITE", "STOPPED"]
    assert fit.default_threads() >= 1
