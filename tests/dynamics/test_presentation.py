"""What a user sees of a finding: words, tables, JSON, pictures and the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from ceql import InputError
from ceql.dynamics.analysis import behaviour
from ceql.dynamics.courses import courses, r_squared
from ceql.dynamics.finding import Constant, as_written
from ceql.dynamics.frames import constants_table, courses_table, fixed_points_table, initial_table, systems_table
from ceql.dynamics.page import SystemSubject, command_line, python_lines, system_page
from ceql.dynamics.pictures import all_figures, phase
from ceql.dynamics.rounding import rounded, shown_system, with_error
from ceql.dynamics.summary import as_json, doubts, equations_in_words, in_words

FINDINGS = ("lotka_volterra", "pendulum", "michaelis_menten", "driven")


@pytest.fixture(params=FINDINGS)
def finding(request):
    return request.getfixturevalue(request.param)


def told(finding, fine=False):
    along = courses(finding, fine=fine)
    return finding, along, behaviour(finding, along)


# ---- words --------------------------------------------------------------------------------------------------------


def test_words_begin_with_the_equations_and_hold_what_is_known(finding):
    words = in_words(*told(finding))
    assert words.startswith("\n".join(equations_in_words(finding.best)))
    for part in (
        "R2 of the trajectory" if len(finding.series.trajectories) == 1 else "R2 of 2",
        "c1 = ",
        "Initial state",
    ):
        assert part in words
    assert finding.how in words
    assert "Found in 1.5 s." in words


def test_words_name_other_systems_and_notes(lotka_volterra):
    words = in_words(*told(lotka_volterra))
    assert "dx/dt = 0.01*x**2 - 0.4*x*y + 1.1*x" in words
    assert words.count("dy/dt = 0.1*x*y - 0.4*y") == 1  # the other system has the same one
    assert "A note of the search." in words
    assert "x = 4, y = 2.75: centre (eigenvalues ±0.6633i)" in words


def test_constants_of_trajectories_stand_by_name_and_in_a_list(driven):
    words = in_words(*told(driven))
    assert words.startswith("dlevel/dt = c2[trajectory]*level + 2.0*u")
    assert "  c2 of slow = -0.5 ± 0.005\n  c2 of fast = -1.5 ± 0.005" in words
    assert "Fixed points of trajectory slow with u = 0.1488:" in words


def test_a_single_trajectory_that_leaves_much_open_asks_for_another(michaelis_menten):
    assert doubts(michaelis_menten) == []
    best = michaelis_menten.best
    loose = replace(best, constants=tuple(replace(c, error=abs(c.value)) for c in best.constants))
    sentences = doubts(replace(michaelis_menten, systems=(loose,)))
    assert sentences == [
        "The data hardly determine c1 of ds/dt, c2 of ds/dt.",
        "One trajectory visits few states: measure another from a different initial state.",
    ]


def test_a_system_that_explains_nothing_says_so(michaelis_menten):
    poor = replace(michaelis_menten, systems=(replace(michaelis_menten.best, r2=(0.1,)),))
    assert "explains little of the motion" in doubts(poor)[0]


def test_a_simulation_that_ends_early_is_told(system_of, finding_of):
    finding = finding_of(system_of({"x": "x**2"}), [[1.0]], np.linspace(0, 0.9, 40))
    early = replace(finding.best, initial=np.array([[1.3]]))
    words = in_words(*told(replace(finding, systems=(early,))))
    assert "The simulation ends at t = 0.7" in words
    assert "it blows up there or leaves the domain of an equation." in words


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (1.1003041, 0.0014, "1.1003 ± 0.0014"),
        (-0.40047, 4.7e-4, "-0.40047 ± 0.00047"),
        (123456.0, 2000.0, "123500 ± 2000"),
        (2.0, 0.0, "2"),
        (3.14159265, np.inf, "3.142, which the data do not determine"),
    ],
)
def test_a_number_has_the_digits_that_its_error_leaves(value, error, words):
    assert with_error(value, error) == words


def test_rounding_stays_within_a_share_of_the_error():
    rng = np.random.default_rng(0)
    for value, share in zip(rng.normal(0, 100, 200), 10.0 ** rng.uniform(-6, 0, 200), strict=True):
        error = abs(value) * share
        assert abs(rounded(float(value), float(error)) - value) <= 0.1 * error


def test_what_is_shown_has_short_numbers(system_of, finding_of):
    system = system_of({"x": "1.10234567*x - 0.40123456*x*y", "y": "0.10012345*x*y - 0.4001234*y"})
    shown = shown_system(finding_of(system, [[10.0, 5.0]], np.linspace(0, 5, 30)).best)
    assert str(shown) == "dx/dt = -0.4012*x*y + 1.102*x\ndy/dt = 0.1001*x*y - 0.4001*y"


def test_constants_keep_their_numbers_when_terms_change_places(system_of):
    """SymPy orders the terms of a sum by their numbers, so that names would wander without care."""
    system = system_of({"x": "0.3*y - 9.8*sin(x)", "y": "x"})
    written = dict(zip(("c1", "c2"), system.formulas[0].form.values, strict=True))
    turned = (Constant("x", "c1", written["c2"], 0.2), Constant("x", "c2", written["c1"], 0.1))
    assert as_written(system, turned) == (
        Constant("x", "c1", written["c1"], 0.1),
        Constant("x", "c2", written["c2"], 0.2),
    )
    strange = (Constant("x", "c1", 7.0, 0.1), Constant("x", "c2", 8.0, 0.1))
    assert as_written(system, strange) == strange


# ---- tables and JSON ----------------------------------------------------------------------------------------------


def test_tables_have_a_row_for_everything(finding):
    _, along, found = told(finding)
    assert len(systems_table(finding)) == len(finding.systems)
    assert float(np.sum(systems_table(finding)["weight"])) == pytest.approx(1.0)
    constants = constants_table(finding.best)
    assert len(constants) == len(finding.best.constants)
    assert ("trajectory" in constants) == any(c.trajectory for c in finding.best.constants)
    assert initial_table(finding.series, finding.best).shape == (len(along), 2 * len(finding.system.states))
    assert len(courses_table(finding, along)) == finding.series.samples
    assert len(fixed_points_table(found)) == len(found.fixed_points)


def test_the_table_of_courses_holds_measured_and_simulated(lotka_volterra):
    table = courses_table(lotka_volterra, courses(lotka_volterra, fine=True))
    plain = courses_table(lotka_volterra, courses(lotka_volterra))
    assert np.allclose(table["x simulated"], plain["x simulated"], rtol=1e-5)
    scores = [r_squared(table[name].to_numpy(), table[f"{name} simulated"].to_numpy()) for name in ("x", "y")]
    assert scores == pytest.approx(list(lotka_volterra.best.r2), abs=1e-6)


def test_json_is_plain_and_whole(finding):
    known = json.loads(json.dumps(as_json(*told(finding)), allow_nan=False))
    assert list(known["equations"]) == list(finding.system.states)
    assert known["systems"][0]["equations"] == known["equations"]
    assert len(known["trajectories"]) == len(finding.series.trajectories)
    assert known["latex"].startswith("\\begin{aligned}")


# ---- pictures -----------------------------------------------------------------------------------------------------


def test_every_finding_has_its_pictures(finding, tmp_path):
    figures = dict(all_figures(*told(finding, fine=True)))
    assert list(figures) == ["trajectories", "phase"]
    panels = len(finding.system.states) * len(finding.series.trajectories)
    assert len(figures["trajectories"].axes) == panels
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=40)


def test_a_portrait_shows_nullclines_fixed_points_and_trajectories(lotka_volterra):
    figure = dict(all_figures(*told(lotka_volterra, fine=True)))["phase"]
    labels = {line.get_label() for line in figure.axes[0].lines}
    assert {"dx = 0", "dy = 0", "measured", "system", "initial state", "centre", "saddle"} <= labels
    assert len(figure.axes[0].collections) == 1  # the arrows


def test_three_states_are_drawn_in_pairs(system_of, finding_of):
    equations = {"x": "10*(y - x)", "y": "x*(28 - z) - y", "z": "x*y - 8/3*z"}
    finding = finding_of(system_of(equations), [[1.0, 1.0, 1.0]], np.linspace(0, 5, 120))
    figure = dict(all_figures(*told(finding)))["phase"]
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes] == [("x", "y"), ("x", "z"), ("y", "z")]
    with pytest.raises(InputError, match="A phase portrait has two states"):
        phase(*told(finding), states=["x"])
    with pytest.raises(ValueError, match="Did you mean 'x'"):
        phase(*told(finding), states=["x", "X"])


# ---- the page -----------------------------------------------------------------------------------------------------


def subject(finding, **parameters) -> SystemSubject:
    defaults = {"order": 1, "time_limit": 60.0, "random_state": 0, "depends_on_time": False, "operators": None}
    column = "run" if len(finding.series.trajectories) > 1 else None
    settings = {**defaults, "order": finding.series.order, **parameters}
    return SystemSubject(*told(finding, fine=True), settings, defaults, column, "data.csv")


def test_the_page_is_one_document_without_scripts_or_addresses(finding):
    page = system_page(subject(finding))
    for text in equations_in_words(finding.best):
        assert text in page
    assert "<script" not in page
    assert not re.search(r"""(src|href)=|url\(|@import""", page)
    assert page.count("<section>") == page.count("</section>") == 10
    for svg in re.findall(r"<svg class=.chart.*?</svg>.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg)
    for math in re.findall(r"<math.*?</math>", page, re.DOTALL):
        ElementTree.fromstring(math)


def test_names_cannot_add_markup_to_a_page(system_of, finding_of):
    nasty = "<img src=x>"
    finding = finding_of(system_of({nasty: f"-0.5*`{nasty}`"}), [[2.0]], np.linspace(0, 4, 30))
    page = system_page(subject(replace(finding, notes=("<b>bold</b>",))))
    assert "<img" not in page
    assert "<b>bold" not in page


def test_the_page_says_how_to_find_the_system_again(lotka_volterra, pendulum):
    one = subject(lotka_volterra, operators=["mul", "div"], depends_on_time=True)
    assert command_line(one) == (
        "ceql ode data.csv --time t --state x,y --trajectory run --seed 0 --depends-on-time --operators mul,div"
    )
    assert "operators=['mul', 'div']" in python_lines(one)
    assert "trajectory='run'" in python_lines(one)
    assert "--order 2" in command_line(subject(pendulum))
    compile(python_lines(one), "lines", "exec")
