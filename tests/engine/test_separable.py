"""Separable least squares: the weights of the last sum are solved, and only what is nonlinear is searched."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from ceql.engine import fit
from ceql.engine.stages import Schedule, Work, fit_chunks, on_processor
from ceql.network import Network
from ceql.network.libraries import search_network
from ceql.network.recording import network_tape
from ceql.network.sampling import Stream, draw
from ceql.operators.tape import Tape, TapeBuilder
from ceql.search.archive import empty_archive
from ceql.search.policy import SearchPolicy
from ceql.search.proposals import Proposals

laws = settings(derandomize=True, deadline=None, max_examples=20)


def wave_tape() -> Tape:
    """c0 + c1 x + c2 cos(u) + c3 sin(u), u = w log(x + b)."""
    builder = TapeBuilder(1)
    *weights, w, b = (builder.parameter() for _ in range(6))
    inner = builder.operator("log", builder.linear([(0, -1, 1.0), (builder.one, b, 1.0)]))
    u = builder.linear([(inner, w, 1.0)])
    terms = [builder.one, 0, builder.operator("cos", u), builder.operator("sin", u)]
    return builder.finish(builder.linear([(slot, c, 1.0) for slot, c in zip(terms, weights, strict=True)]))


def starts(count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    inside = np.column_stack([rng.uniform(0.1, 4, count), rng.uniform(0.01, 5, count)])
    return np.column_stack([rng.normal(size=(count, 4)), inside])


def test_a_flat_valley_is_gone_when_its_weights_are_solved(instruction_set):
    x = np.random.default_rng(0).uniform(0, 5, 300)
    y = -0.195 * x + 0.09 * np.cos(np.log(x + 1))
    samples = fit.Samples.of(x[:, None], y / y.std())

    def hits(separable: bool) -> int:
        options = fit.Levenberg(100, target=1e-28, separable=separable)
        return int(np.sum(fit.levenberg(wave_tape(), samples, starts(60), None, options).misfit < 1e-18))

    assert hits(True) >= 48
    assert hits(False) < 15


def mixed_tape() -> Tape:
    """a + b x + c exp(p x) + d / (1 + q x^2)."""
    builder = TapeBuilder(1)
    *weights, p, q = (builder.parameter() for _ in range(6))
    growth = builder.operator("exp", builder.linear([(0, p, 1.0)]))
    below = builder.linear([(builder.one, -1, 1.0), (builder.operator("square", 0), q, 1.0)])
    quotient = builder.operator("div", builder.one, below, None)
    terms = [builder.one, 0, growth, quotient]
    return builder.finish(builder.linear([(slot, c, 1.0) for slot, c in zip(terms, weights, strict=True)]))


@laws
@given(seed=st.integers(0, 2**32 - 1), n=st.sampled_from([12, 128, 300]), ridge=st.sampled_from([0.0, 1e-3]))
def test_no_other_least_squares_goes_further_from_there(seed, n, ridge):
    rng = np.random.default_rng(seed)
    x, weight = rng.uniform(-2, 2, n), rng.uniform(0.1, 2, n)
    a, b, c, d, p, q = rng.uniform(0.3, 2, 6)
    y = a + b * x + c * np.exp(p * x) + d / (1 + q * x**2) + 0.1 * rng.normal(size=n)
    tape, samples = mixed_tape(), fit.Samples.of(x[:, None], y, weight)
    penalties = fit.Penalties(ridge=np.full(6, ridge))
    begin = np.array([0, 0, 0, 0, p * 1.3, q * 0.7])
    options = fit.Levenberg(300, least_reduction=1e-12, separable=True)
    ours = fit.levenberg(tape, samples, begin, None, options, penalties)

    def residual(params):
        a, b, c, d, p, q = params
        gap = a + b * x + c * np.exp(p * x) + d / (1 + q * x**2) - y
        return np.concatenate([np.sqrt(weight / n) * gap, np.sqrt(ridge) * params])

    assert 2 * least_squares(residual, begin, method="lm").cost >= 0.99 * ours.objective[0] or n == 12
    theirs = least_squares(residual, ours.params[0], method="lm", xtol=1e-14, ftol=1e-14)
    assert np.isclose(np.sum(residual(ours.params[0]) ** 2), ours.objective[0], rtol=1e-9)
    assert 2 * theirs.cost >= ours.objective[0] * (1 - 1e-4)


def solved_exactly(columns: np.ndarray, y: np.ndarray, known: np.ndarray, weight: np.ndarray) -> list[float]:
    """Weighted least squares in many digits: that of LAPACK is off by more than the core where columns are alike."""
    with mpmath.workdps(60):
        plain = mpmath.matrix(columns.tolist())
        weighted = mpmath.matrix([[mpmath.mpf(w) * a for a in row] for w, row in zip(weight, columns, strict=True)])
        rest = mpmath.matrix(y.tolist()) - mpmath.matrix(known.tolist())
        return [float(value) for value in mpmath.lu_solve(weighted.T * plain, weighted.T * rest)]


@pytest.mark.parametrize("n", [7, 128, 500])
def test_without_a_nonlinear_parameter_the_start_is_solved(instruction_set, n):
    rng = np.random.default_rng(n)
    x, y, weight = rng.normal(size=(n, 3)), rng.normal(size=n), rng.uniform(0.1, 2, n)
    x[:, 2] = x[:, 0] + 1e-7 * x[:, 2]  # J'J has no digit left for the difference
    builder = TapeBuilder(3)
    tape = builder.finish(builder.linear([(k, builder.parameter(), 2.0) for k in range(3)] + [(0, -1, 0.5)]))
    samples = fit.Samples.of(x, y, weight)
    result = fit.levenberg(tape, samples, np.zeros(3), None, fit.Levenberg(10, separable=True))
    expected = solved_exactly(2 * x, y, 0.5 * x[:, 0], weight)
    assert np.allclose(result.params[0], expected, rtol=1e-7)
    assert result.status[0] == fit.Status.CONVERGED


def test_a_column_that_others_hold_already_gets_no_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    x = np.column_stack([x, x[:, 0] - 2 * x[:, 1], np.zeros(50)])
    builder = TapeBuilder(4)
    weights, rate = [builder.parameter() for _ in range(5)], builder.parameter()
    growth = builder.operator("exp", builder.linear([(0, rate, 1.0)]))
    terms = [(k, weights[k], 1.0) for k in range(4)] + [(growth, weights[4], 1.0)]
    y = x[:, 0] + x[:, 1] + 0.5 * np.exp(0.7 * x[:, 0])
    begin = np.array([0, 0, 0, 0, 0, 0.2])
    samples, options = fit.Samples.of(x, y), fit.Levenberg(60, separable=True)
    result = fit.levenberg(builder.finish(builder.linear(terms)), samples, begin, None, options)
    assert np.allclose(result.params[0], [1, 1, 0, 0, 0.5, 0.7], atol=1e-9)


def test_bounds_make_a_weight_one_of_the_others():
    builder = TapeBuilder(1)
    p, q, rate = builder.parameter(-1.0, 1.0), builder.parameter(), builder.parameter(0.0, 0.5)
    growth = builder.operator("exp", builder.linear([(0, rate, 1.0)]))
    tape = builder.finish(builder.linear([(0, p, 1.0), (growth, q, 1.0)]))
    x = np.linspace(-1, 1, 50)
    samples, options = fit.Samples.of(x[:, None], 5 * x + 2 * np.exp(x)), fit.Levenberg(100, separable=True)
    bounded = fit.levenberg(tape, samples, np.array([0.2, 1.0, 0.1]), None, options)
    plain = fit.levenberg(tape, samples, np.array([0.2, 1.0, 0.1]), None, fit.Levenberg(100))
    assert bounded.params[0][[0, 2]].tolist() == [1.0, 0.5]
    assert np.isclose(bounded.objective[0], plain.objective[0], rtol=1e-9)


@laws
@given(seed=st.integers(0, 2**32 - 1))
def test_the_objective_never_rises(seed):
    network = Network(2, ({"square": 1, "mul": 2, "div": 2, "log": 1, "sqrt": 1, "exp": 1, "sin": 1},) * 2, "all", True)
    rng = np.random.default_rng(seed)
    masks, params = network.smoothing_mask(draw(network, 8, Stream(0))), rng.normal(0, 0.7, (8, network.n_params))
    x = rng.uniform(-2, 2, (64, 2))
    samples, tape = fit.Samples.of(x, x[:, 0] / (x[:, 1] ** 2 + 1)), network_tape(network)
    penalties = fit.Penalties(ridge=np.where(network.is_imaginary, 1e-3, 0.0), aux=1e-2)
    before = fit.objective(tape, samples, params, masks, penalties).objective
    for iterations in (0, 2, 20):
        options = fit.Levenberg(iterations, separable=True)
        result = fit.levenberg(tape, samples, params, masks, options, penalties)
        finite = np.isfinite(before)
        # a step is judged by the projection, which the solved weights have to within rounding
        assert np.all(result.objective[finite] <= before[finite] * (1 + 1e-12))
        again = fit.objective(tape, samples, result.params, masks, penalties)
        assert np.allclose(result.objective[finite], again.objective[finite], rtol=1e-9)
        assert np.allclose(result.misfit[finite], again.misfit[finite], rtol=1e-9)
        before = result.objective


def test_the_search_finishes_more_fits_of_a_sum_with_solved_weights():
    x = np.random.default_rng(0).uniform(0, 5, (128, 1))
    y = 2.3 * x[:, 0] / (x[:, 0] + 0.71) + 0.11 * x[:, 0] - 0.5
    samples, network = fit.Samples.of(x, y / y.std()), search_network(1, None)
    proposals = Proposals(network, SearchPolicy(), empty_archive(network), 0, 1024)
    edges, params, _ = proposals.starts(0, 1024)

    def exact(schedule: Schedule) -> int:
        (chunk,) = fit_chunks([Work(network, samples, schedule, edges, params)], on_processor())
        return int(np.sum(chunk.misfit < 1e-20))

    assert exact(Schedule()) > exact(Schedule(separable=False))


@pytest.mark.parametrize("rows", [40, 300])  # in one block of samples and in several
@pytest.mark.parametrize("projected", [1, 4, 7])
def test_mixed_samples_are_fitted_beside_the_functions_left_out(rows: int, projected: int) -> None:
    """As if the functions were terms with weights of their own."""
    rng = np.random.default_rng(projected)
    x = rng.uniform(0.2, 4.0, rows)
    weight = rng.uniform(0.5, 2.0, rows)
    functions = np.polynomial.chebyshev.chebvander(x / 2.0 - 1.0, projected - 1)
    y = 1.3 * np.exp(-3.7 * x) + functions @ rng.normal(size=projected) + 1e-3 * np.sin(9.0 * x)

    def fitted(beside: np.ndarray, **mixing: np.ndarray) -> tuple[float, float, float]:
        table = np.column_stack([x, beside])
        tape = TapeBuilder(table.shape[1])
        rate, scale = tape.parameter(), tape.parameter()
        decay = tape.operator("exp", tape.linear([(0, rate, 1.0)]))
        others = [(1 + k, tape.parameter(), 1.0) for k in range(beside.shape[1])]
        written = tape.finish(tape.linear([(decay, scale, 1.0), *others]))
        begin = np.zeros((1, written.n_params))
        begin[0, rate] = -3.0
        samples = fit.Samples.of(table, y, weight, **mixing)
        fits = fit.levenberg(written, samples, begin, None, fit.Levenberg(60, least_reduction=1e-12, separable=True))
        return fits.params[0, rate], fits.params[0, scale], fits.misfit[0]

    weighted = np.sqrt(weight)[:, None] * functions
    complement = np.linalg.qr(weighted, mode="complete")[0][:, projected:]
    mixed = fitted(np.zeros((rows, 0)), mixing=complement.T)
    np.testing.assert_allclose(mixed, fitted(functions), rtol=1e-4)


@pytest.mark.parametrize("rate_at_first", [60.0, 100.0, 1e3])
def test_columns_that_overflow_are_no_fit_of_mixed_samples(rate_at_first: float) -> None:
    tape = TapeBuilder(1)
    rate, scale, offset = tape.parameter(), tape.parameter(), tape.parameter()
    growth = tape.operator("exp", tape.linear([(0, rate, 1.0)]))
    square = tape.operator("mul", growth, growth)
    written = tape.finish(tape.linear([(square, scale, 1.0), (growth, offset, 1.0)]))
    begin = np.zeros((1, written.n_params))
    begin[0, rate] = rate_at_first
    samples = fit.Samples.of(np.linspace(0.0, 4.0, 8)[:, None], np.ones(8), mixing=np.eye(8)[3:])
    fits = fit.levenberg(written, samples, begin, None, fit.Levenberg(5, separable=True))
    assert not np.isfinite(fits.misfit[0])


def test_only_separable_least_squares_take_mixed_samples() -> None:
    tape = TapeBuilder(1)
    written = tape.finish(tape.linear([(0, tape.parameter(), 1.0)]))
    samples = fit.Samples.of(np.ones((4, 1)), np.ones(4), mixing=np.eye(4)[:2])
    with pytest.raises(ValueError, match="mixed"):
        fit.levenberg(written, samples, np.zeros(1), None, fit.Levenberg(5))
    with pytest.raises(ValueError, match="a number per sample"):
        fit.Samples.of(np.ones((4, 1)), np.ones(4), mixing=np.eye(3))
