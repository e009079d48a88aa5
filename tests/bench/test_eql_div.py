"""EQL with division on our own layers: its derivative, its schedule, and the paper's picture of it."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.bench.baselines.eql_div import EqlDiv, Model
from ceql.bench.judge import score
from ceql.bench.methods import find_method
from ceql.bench.problems import load_problem, sample


def objective(model, weights, X, y, theta):
    """The loss as the paper of EQL with division writes it, without any of the code under test but the two parts."""
    from ceql.engine import fit

    samples = fit.Samples.of(X, y)
    params = model._params(weights)
    top, bottom = (fit.values(part, samples, params, model.is_free)[0] for part in model.parts)
    value = np.array([a / b if b > theta else 0.0 for a, b in zip(top, bottom, strict=True)])
    return np.mean((value - y) ** 2) + np.mean(np.maximum(theta - bottom, 0.0))


@pytest.mark.parametrize("theta", [0.05, 0.4])
def test_the_gradient_is_that_of_the_objective(theta):
    rng = np.random.default_rng(3)
    model = Model.of(2, layers=2, units=2)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    weights = rng.normal(size=int(model.is_free.sum())) * 0.6
    slope = model.gradient(weights, X, y, theta)
    step = 1e-6
    for k in range(len(weights)):
        moved = np.eye(len(weights))[k] * step
        ahead, behind = (objective(model, weights + s * moved, X, y, theta) for s in (1, -1))
        assert slope[k] == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-6)


def test_the_formula_is_the_network():
    rng = np.random.default_rng(0)
    model = Model.of(1, layers=2, units=3)
    weights = rng.normal(size=int(model.is_free.sum()))
    x = np.linspace(-2, 2, 9)
    formula = model.formula(weights, ("x1",))
    written = np.array([float(formula.subs(dict.fromkeys(formula.free_symbols, v))) for v in x])
    theta = -np.inf  # no threshold: the plain quotient
    assert model.error(weights, x[:, None], written, theta) < 1e-20 * np.mean(written**2)


def test_the_threshold_falls():
    method = EqlDiv("eql-div")
    thresholds = [method.threshold(epoch) for epoch in (0, 50, 10_000)]
    assert thresholds[0] == 1.0
    assert thresholds == sorted(thresholds, reverse=True)


def test_it_learns_a_line_and_has_the_size_the_paper_reports():
    problem = load_problem("E-1")
    data = sample(problem, 0)
    method = find_method("eql-div", {"epochs": 1500, "sparsity_until": 1400})
    found = method.run(data.X_train, data.y_train, data.names, 0, 60)
    result = score(found.expression, problem, data)
    assert result.interp_mse < 1e-2
    # Two layers of products give a quotient of quartics: 43 nodes when nothing is pruned.
    assert result.node_count <= 43


def test_it_stops_in_time():
    problem = load_problem("E-7")
    data = sample(problem, 0)
    found = find_method("eql-div").run(data.X_train, data.y_train, data.names, 0, 0.05)
    assert found.extra["epochs"] < 2000
