"""Resonances: what is put in comes out, widths stay positive, laws are chosen by prediction."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from ceql.errors import InputError, UnknownNameError
from ceql.expression import compile_numpy
from ceql.templates.resonance import ResonanceFit, fit_resonances, laws, resonance_template
from ceql.templates.resonance.peaks import find_tracks

FREQUENCY = np.linspace(10.0, 200.0, 500)
DAMAGE = np.array([[0.0], [1.0], [2.0], [4.0]])
PEAKS = ((50.0, 40.0, 9.0), (120.0, 600.0, 25.0))  # centre, amplitude, g


def centres(d: np.ndarray) -> list[np.ndarray]:
    return [PEAKS[0][0] + 2.0 * d, PEAKS[1][0] + 6.0 * np.sqrt(d)]


def paper_curves() -> np.ndarray:
    total = 0.002 * FREQUENCY + 0.1 + np.zeros((len(DAMAGE), 1))
    for h, (_, amplitude, g) in zip(centres(DAMAGE), PEAKS, strict=True):
        total = total + amplitude / ((FREQUENCY - h) ** 2 + g)
    return total


def modal_curves() -> np.ndarray:
    total = np.zeros((len(DAMAGE), len(FREQUENCY)), complex)
    for h, residue, damping in zip(centres(DAMAGE), (0.5 + 0.1j, 1.0 - 0.2j), (0.02, 0.015), strict=True):
        total += FREQUENCY**2 * residue / (h**2 - FREQUENCY**2 + 2j * damping * h * FREQUENCY)
    return total


@pytest.fixture(scope="module")
def paper() -> ResonanceFit:
    return fit_resonances(FREQUENCY, paper_curves(), DAMAGE, names=("d",), max_terms=4)


def test_the_papers_form_is_recovered_with_the_right_number_of_terms(paper):
    assert len(paper.terms) == 2
    assert paper.r2 > 1 - 1e-9
    for term, h, (_, amplitude, g) in zip(paper.terms, centres(DAMAGE[:, 0]), PEAKS, strict=True):
        np.testing.assert_allclose(term.centre_at(DAMAGE), h, rtol=1e-5)
        assert term.amplitude == pytest.approx(amplitude, rel=1e-4)
        assert term.width == pytest.approx(g, rel=1e-4)
    np.testing.assert_allclose(paper.background, (0.002, 0.1), rtol=1e-3)


def test_the_laws_are_those_that_were_put_in(paper):
    d = sympy.Symbol("d", real=True)
    assert paper.terms[0].centre.has(d)
    assert not paper.terms[0].centre.has(sympy.sqrt(d))
    assert paper.terms[1].centre.has(sympy.sqrt(d))


def test_the_expression_is_what_predicts(paper):
    w, d = sympy.symbols("w d", real=True)
    rows = np.column_stack([np.tile(FREQUENCY, 4), np.repeat(DAMAGE[:, 0], len(FREQUENCY))])
    values = compile_numpy(paper.expression, [w, d])(rows)
    np.testing.assert_allclose(values, paper.predict(FREQUENCY, DAMAGE).ravel(), rtol=1e-9)


def test_a_condition_that_was_left_out_is_predicted(paper):
    kept = [0, 1, 3]
    fit = fit_resonances(FREQUENCY, paper_curves()[kept], DAMAGE[kept], names=("d",), max_terms=4)
    np.testing.assert_allclose(fit.predict(FREQUENCY, [[2.0]])[0], paper_curves()[2], rtol=1e-3)


@pytest.mark.parametrize("values", [modal_curves(), np.abs(modal_curves())], ids=["complex", "magnitude"])
def test_the_modal_form_is_recovered(values):
    fit = fit_resonances(FREQUENCY, values, DAMAGE, names=("d",), form="modal", max_terms=3)
    assert fit.r2 > 1 - 1e-6
    assert np.iscomplexobj(fit.predict(FREQUENCY, DAMAGE)) == np.iscomplexobj(values)
    strongest = sorted(fit.terms, key=lambda term: -abs(term.amplitude) / term.width)[:2]
    for term, h in zip(sorted(strongest, key=lambda t: t.centre_at(DAMAGE)[0]), centres(DAMAGE[:, 0]), strict=True):
        np.testing.assert_allclose(np.abs(term.centre_at(DAMAGE)), h, rtol=1e-3)


@pytest.mark.parametrize("form", ["paper", "modal"])
@pytest.mark.parametrize("seed", [0, 1])
def test_widths_are_positive_whatever_the_data(form, seed):
    noise = np.random.default_rng(seed).lognormal(0.0, 1.0, (3, len(FREQUENCY)))
    fit = fit_resonances(FREQUENCY, noise, [[0.0], [1.0], [2.0]], names=("d",), form=form, max_terms=5, seed=seed)
    assert all(term.width > 0 for term in fit.terms)
    assert np.isfinite(fit.predict(FREQUENCY, [[0.5]])).all()


def test_the_same_seed_gives_the_same_formula():
    fits = [fit_resonances(FREQUENCY, paper_curves(), DAMAGE, names=("d",), seed=3, threads=k) for k in (1, 2)]
    assert fits[0].expression == fits[1].expression


def test_a_single_condition_makes_constants_of_the_centres():
    fit = fit_resonances(FREQUENCY, paper_curves()[:1], [[0.0]], names=("d",), max_terms=3)
    assert all(not term.centre.free_symbols for term in fit.terms)
    assert "single condition" in fit.message


def test_decibels_see_the_small_peak():
    curves = paper_curves()
    small = fit_resonances(FREQUENCY, curves, DAMAGE, names=("d",), max_terms=2, weighting="db")
    error = 20 * np.abs(np.log10(np.abs(small.predict(FREQUENCY, DAMAGE)) / curves))
    assert error.max() < 0.5


def test_parameters_are_limited():
    fit = fit_resonances(FREQUENCY, paper_curves(), DAMAGE, names=("d",), max_terms=6, max_parameters=7)
    assert fit.n_parameters <= 7


def test_a_law_is_chosen_by_what_it_predicts():
    d = np.array([[0.0], [3.0], [6.0], [9.0]])
    functions = laws.basis(d)
    columns = np.column_stack([function.values(d) for function in functions])
    kinds = {"id": 5 + 2 * d[:, 0], "sqrt": 5 + 2 * np.sqrt(d[:, 0]), "square": 5 + 0.1 * d[:, 0] ** 2}
    for kind, values in kinds.items():
        law = laws.choose(columns, values + np.array([0.01, -0.01, 0.01, -0.01]), laws.prices(functions))
        assert [functions[k].kind for k in law] == [kind]
    assert laws.choose(columns, np.array([5.0, 5.1, 4.9, 5.0]), laws.prices(functions)) == ()


def test_peaks_are_followed_from_curve_to_curve():
    tracks = find_tracks(FREQUENCY, paper_curves()[:3], DAMAGE[:3])
    clear = sorted((track for track in tracks if track.is_clear), key=lambda track: track.position[0])
    assert len(clear) == 2
    for track, h in zip(clear, centres(DAMAGE[:3, 0]), strict=True):
        np.testing.assert_allclose(track.position, h, atol=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequency": FREQUENCY[::-1]}, "must rise"),
        ({"frequency": FREQUENCY[:5]}, "at least 20"),
        ({"curves": paper_curves()[:, :-1]}, "shape"),
        ({"curves": -paper_curves()}, "negative"),
        ({"curves": 0 * paper_curves()}, "zero everywhere"),
        ({"curves": paper_curves() * np.nan}, "finite"),
        ({"conditions": DAMAGE[:2]}, "one row per curve"),
        ({"names": ("w",)}, "differ"),
        ({"names": ("d", "e")}, "one column per name"),
        ({"max_terms": 0}, "max_terms"),
        ({"time_limit": 0}, "time_limit"),
        ({"curves": modal_curves()}, "paper's form is real"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, message):
    given = {"frequency": FREQUENCY, "curves": paper_curves(), "conditions": DAMAGE, "names": ("d",)} | change
    with pytest.raises(InputError, match=message):
        fit_resonances(given.pop("frequency"), given.pop("curves"), given.pop("conditions"), **given)


@pytest.mark.parametrize("change", [{"form": "lorentz"}, {"weighting": "log"}])
def test_unknown_names_are_refused(change):
    with pytest.raises(UnknownNameError):
        fit_resonances(FREQUENCY, paper_curves(), DAMAGE, names=("d",), **change)


@pytest.mark.parametrize("form", ["paper", "modal"])
def test_the_template_for_a_search_of_ones_own_takes_any_frequency_name(form):
    template = resonance_template(form, frequency="f_hz", conditions=("d", "load"), most=3)
    assert "f_hz" in next(iter(template.sums.values())).formula
    assert "w" not in template.formula
