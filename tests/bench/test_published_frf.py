"""The paper's beam: its peaks, its model in complex arithmetic, what its read-off loses, and its printed formula."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import sympy

from ceql.bench.figures import published_beam
from ceql.bench.published_frf import PRINTED, ResonatorRecipe, peaks, train
from ceql.expression import compile_numpy, parse_formula

DATA = Path(os.environ.get("CEQL_BEAM_DATA", Path(__file__).parents[2] / ".." / "shared" / "data" / "beam-frf"))
FREQUENCY = np.linspace(0.0, 2.0, 161)
DAMAGE = np.array([0.0, 1.0, 2.0])


def made() -> np.ndarray:
    """Two resonances that move with the damage, on a line."""
    w, d = FREQUENCY[None], DAMAGE[:, None]
    return 1.0 + 2.0 * w + 0.05 / ((w - 0.74 - 0.01 * d) ** 2 + 0.01) + 0.04 / ((w - 1.17 - 0.008 * d) ** 2 + 0.02)


@pytest.fixture(scope="module")
def model():
    return train(FREQUENCY, DAMAGE, made(), ResonatorRecipe(resonators=6).shortened(40), seed=0)


def test_the_recipe_is_the_authors():
    recipe = ResonatorRecipe()
    assert recipe.resonators == 20
    assert recipe.layers == ({"id": 1, "const": 1, "square": 1, "mul": 1},) * 2
    assert [phase.epochs for phase in recipe.phases] == [20_000, 100_000, 20_000]
    assert recipe.phases[1].pruning is not None
    assert recipe.phases[1].pruning.minimum_edges == 50


def test_peaks_are_the_largest_values_within_a_tenth_of_a_kilohertz():
    curves = np.zeros((2, len(FREQUENCY)))
    for row, places in enumerate(((0.70, 1.20), (0.80, 1.15))):
        curves[row, [round(place / 0.0125) for place in places]] = 1.0
    curves[:, round(1.5 / 0.0125)] = 9.0  # outside of both windows
    assert np.allclose(peaks(FREQUENCY, curves), [[0.70, 1.20], [0.80, 1.15]])


def test_the_prediction_is_the_real_part_of_the_complex_model(model):
    layout, params = model.layout, model.params
    w, d = np.meshgrid(FREQUENCY, DAMAGE)
    total = params[layout.slope] * w + params[layout.offset] + 0j
    for k in np.flatnonzero(model.edges.any(axis=1)):
        own = {name: params[numbers[k]] for name, numbers in layout.of_resonance.items()}
        weights = np.where(model.edges[k], params[k * layout.edges : (k + 1) * layout.edges], 0.0)
        centre = network_value(layout.network, weights, d.ravel()).reshape(d.shape) + 1j * own["h_imaginary"]
        amplitude = own["amplitude"] + 1j * own["amplitude_imaginary"]
        total += amplitude / ((w - centre) ** 2 + own["g"] + 1j * own["g_imaginary"])
    assert np.allclose(model.predict(FREQUENCY, DAMAGE), total.real, rtol=1e-8, atol=1e-8)


def network_value(network, weights: np.ndarray, d: np.ndarray) -> np.ndarray:
    from ceql.network.reference import forward

    return forward(network, weights.astype(complex), d[:, None])


def test_training_fits_and_prunes_and_a_dead_resonance_leaves_the_formula(model):
    curves = made()
    error = np.mean((model.predict(FREQUENCY, DAMAGE) - curves) ** 2)
    assert error < 0.5 * curves.var()
    alive = int(model.edges.any(axis=1).sum())
    fractions = [term for term in sympy.Add.make_args(model.formula()) if sympy.fraction(term)[1].free_symbols]
    assert len(fractions) == alive <= 6
    assert model.edges.sum() < 6 * model.layout.edges


def test_both_figures_are_drawn(model):
    pytest.importorskip("matplotlib")
    curves = [row + np.zeros((3, 1)) for row in made()]
    predicted = model.predict(FREQUENCY, DAMAGE)
    drawing = published_beam.draw_curves(FREQUENCY, curves[:2], predicted[:2], ["healthy", "damaged"])
    assert len(drawing.axes) == 2
    truth = np.array([peaks(FREQUENCY, level).mean(axis=0) for level in curves])
    assert len(published_beam.draw_peaks(truth, peaks(FREQUENCY, predicted), list(DAMAGE)).axes) == 2


def test_the_printed_formula_does_not_fit_the_measurements():
    if not (DATA / "Beam_healthy").is_dir():
        pytest.skip(f"the beam's measurements are not in {DATA}")
    table = np.loadtxt(DATA / "Beam_healthy" / "P-1.txt", skiprows=1)
    frequency, measured = table[:, 0] / 1000.0, 10.0 ** (table[:, 1] / 20.0)
    printed = parse_formula(" ".join(PRINTED.split()), ("w", "d"))
    symbols = sorted(printed.free_symbols, key=lambda s: s.name, reverse=True)
    assert [s.name for s in symbols] == ["w", "d"]
    value = compile_numpy(printed, symbols)(np.column_stack([frequency, np.zeros_like(frequency)]))
    assert 1 - np.sum((value - measured) ** 2) / np.sum((measured - measured.mean()) ** 2) < -1e4
