"""A saved system comes back as it was, and a file that cannot be true is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import ceql
from ceql import CeqlError, ODERegressor
from ceql.dynamics.analysis import behaviour
from ceql.dynamics.courses import courses
from ceql.dynamics.model_file import is_system_file, read_system, write_system
from ceql.dynamics.summary import as_json

FINDINGS = ("lotka_volterra", "pendulum", "michaelis_menten", "driven")


@pytest.fixture(params=FINDINGS)
def finding(request):
    return request.getfixturevalue(request.param)


def known(finding):
    along = courses(finding)
    return as_json(finding, along, behaviour(finding, along))


def test_what_is_read_is_what_was_written(finding, tmp_path):
    write_system(tmp_path / "m.ceql", {"order": finding.series.order}, finding, "run")
    parameters, again, column = read_system(tmp_path / "m.ceql")
    assert (parameters, column) == ({"order": finding.series.order}, "run")
    assert known(again) == known(finding)
    for one, other in zip(again.systems, finding.systems, strict=True):
        assert one.constants == other.constants
        assert all(map(np.array_equal, one.simulated, other.simulated))
    write_system(tmp_path / "n.ceql", parameters, again, column)
    assert (tmp_path / "n.ceql").read_bytes() == (tmp_path / "m.ceql").read_bytes()


def test_gaps_and_open_errors_come_back(michaelis_menten, tmp_path):
    from dataclasses import replace

    one = michaelis_menten.series.trajectories[0]
    states = one.states.copy()
    states[3] = np.nan
    series = replace(michaelis_menten.series, trajectories=(replace(one, states=states),))
    best = michaelis_menten.best
    left = states - best.simulated[0]
    spread = np.nansum((states - np.nanmean(states)) ** 2)
    constants = tuple(replace(c, error=math.inf) for c in best.constants)
    fitted = replace(best, r2=(float(1.0 - np.nansum(left**2) / spread),), constants=constants)
    write_system(tmp_path / "m.ceql", {}, replace(michaelis_menten, series=series, systems=(fitted,)))
    again = read_system(tmp_path / "m.ceql")[1]
    assert np.isnan(again.series.trajectories[0].states[3, 0])
    assert all(constant.error == math.inf for constant in again.best.constants)


def test_both_kinds_of_models_are_loaded_by_one_function(lotka_volterra, tmp_path):
    model = ODERegressor(time_limit=5)._take(lotka_volterra, "run")
    model.save(tmp_path / "system.ceql")
    (tmp_path / "other.ceql").write_text('{"format": "ceql-model"}')
    assert is_system_file(tmp_path / "system.ceql")
    assert not is_system_file(tmp_path / "other.ceql")
    assert not is_system_file(tmp_path / "nothing.ceql")
    again = ceql.load(tmp_path / "system.ceql")
    assert isinstance(again, ODERegressor)
    assert again.get_params() == model.get_params()
    assert again.text() == model.text()
    with pytest.raises(CeqlError, match="version None"):
        ceql.load(tmp_path / "other.ceql")


@pytest.fixture(scope="module")
def written(lotka_volterra, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("systems") / "m.ceql"
    write_system(path, {"order": 1}, lotka_volterra)
    return path.read_text()


def _set(*path):
    """A change of one place in the file: the last of these is the new value."""
    *places, last, value = path

    def change(content):
        inner = content
        for place in places:
            inner = inner[place]
        inner[last] = value

    return change


def _shift(content):
    for state in content["systems"][0]["simulated"][0]:
        state[0] += 3.0


def _better(content):
    content["systems"][0]["r2"][0] = 0.99999999


def _misnamed(content):
    content["systems"][0]["constants"][0]["value"] *= 1.5


def _without_constant(content):
    content["systems"][0]["constants"].pop()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_set("version", 9), "version 9 of the format"),
        (_set("format", "ceql-model"), "not a saved system"),
        (_set("systems", []), "'systems' has no rows"),
        (_set("systems", 0, "equations", ["x"]), "'equations' has 1 for 2 states"),
        (_set("systems", 0, "equations", 0, "__import__('os')"), "is damaged"),
        (_set("systems", 0, "equations", 0, "1.1*z"), "unknown name 'z'"),
        (_set("systems", 0, "equations", 0, "-0.4*x*y + 1.7*x"), "is damaged"),
        (_set("systems", 0, "weight", 1.5), "whose sum is at most 1"),
        (_set("systems", 0, "initial", [[1.0, 2.0]]), "'initial' has 1 by 2 numbers in place of 2 by 2"),
        (_set("systems", 0, "criterion", None), "'criterion' is None, which is not a number"),
        (_set("trajectories", 0, "time", 3, 0.0), "each larger than the one before"),
        (_set("trajectories", 0, "label", "run 2"), "occurs twice"),
        (_set("trajectories", []), "'trajectories' has no rows"),
        (_set("states", ["x", "x"]), "occurs twice"),
        (_set("order", 2), "is damaged"),
        (_set("parameters", "order", "one"), "the parameter 'order' is 'one'"),
        (_set("parameters", {"recipe": "search"}), "the parameter 'recipe'"),
        (_better, "'r2' of system 0 is 1, but its simulated states have 0.9999"),
        (_shift, "is damaged"),
        (_misnamed, "for a constant that is"),
        (_without_constant, "has not each constant of the equation of 'y' once"),
    ],
)
def test_a_file_that_cannot_be_true_is_refused(change, words, written, tmp_path):
    content = json.loads(written)
    change(content)
    path = tmp_path / "changed.ceql"
    path.write_text(json.dumps(content))
    with pytest.raises(CeqlError) as error:
        read_system(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_simulated_states_are_compared_with_the_equations(written, tmp_path):
    """Scores that go with the states do not help states that the equations do not lead to."""
    content = json.loads(written)
    system = content["systems"][0]
    for states, one in zip(system["simulated"], content["trajectories"], strict=True):
        for made, measured in zip(states, one["states"], strict=True):
            made[:] = [value + 0.3 * math.sin(40.0 * value) for value in measured]
    simulated = np.vstack([np.array(states) for states in system["simulated"]])
    measured = np.vstack([np.array(one["states"]) for one in content["trajectories"]])
    spread = np.sum((measured - measured.mean(axis=0)) ** 2, axis=0)
    system["r2"] = (1.0 - np.sum((simulated - measured) ** 2, axis=0) / spread).tolist()
    (tmp_path / "m.ceql").write_text(json.dumps(content))
    with pytest.raises(CeqlError, match="is not what its equations give"):
        read_system(tmp_path / "m.ceql")


def test_files_that_are_none(tmp_path):
    for text in ("", "{", "[]", "{}", '{"format": "ceql-system"', "\x00"):
        (tmp_path / "m.ceql").write_text(text)
        with pytest.raises(CeqlError):
            read_system(tmp_path / "m.ceql")
    with pytest.raises(CeqlError, match="There is no file"):
        read_system(tmp_path / "nothing.ceql")


def test_every_field_is_needed_and_read_strictly(written, tmp_path):
    """Whatever stands in a field that does not belong there is an error in words, and no crash."""
    whole = json.loads(written)
    for name in set(whole) - {"ceql"}:
        for wrong in (None, 3, "text", [], {}, [[]], True):
            content = {**whole, name: wrong}
            if whole[name] == wrong or (name in ("r2_held_out", "trajectory") and wrong in (None, 3, "text")):
                continue
            if (name, wrong) in (("notes", []), ("how", "text"), ("seconds", 3), ("time", "text"), ("inputs", [])):
                continue
            if (name, wrong) in (("parameters", {}), ("depends_on_time", True)):
                continue
            (tmp_path / "m.ceql").write_text(json.dumps(content))
            with pytest.raises(CeqlError):
                read_system(tmp_path / "m.ceql")
