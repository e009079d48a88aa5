"""Units on the command line and in project files."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pint", reason="units are read by pint, which is an extra")


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Kinetic energies, of which the rows are exact."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    m, v = rng.uniform(1, 3, 40), rng.uniform(5, 20, 40)
    path = tmp_path / "fall.csv"
    np.savetxt(path, np.column_stack([m, v, 0.5 * m * v**2]), delimiter=",", header="m [kg],v [m/s],E [J]", comments="")
    return path


def _plain(table):
    """The same with names alone."""
    path = table.with_name("plain.csv")
    path.write_text(table.read_text().replace("m [kg],v [m/s],E [J]", "m,v,E"))
    return path


def test_units_are_given_by_name(ceql, table):
    options = "--units", "m=kg,v=m/s", "--units", "E=J", "--constants", "dimensionless", "--json", "-"
    code, out, _ = ceql("fit", _plain(table), "--target", "E", *options, "--no-checkpoint")
    assert code == 0
    found = json.loads(out)
    assert found["units"] == {"m": "kg", "v": "m/s", "E": "J"}
    assert found["expression"] in ("0.5*m*v**2", "m*v**2/2")


def test_units_in_headers_are_used_on_request_and_never_in_silence(ceql, table):
    code, _, err = ceql("fit", table, "--target", "E [J]", "--no-checkpoint", "--quiet")
    assert code == 0
    assert "The headers name units (m [kg], v [m/s], E [J]), which are not used" in err
    code, out, err = ceql("fit", table, "--target", "E [J]", "--units", "headers", "--no-checkpoint", "--json", "-")
    assert code == 0
    assert "which are not used" not in err
    assert json.loads(out)["units"] == {"m [kg]": "kg", "v [m/s]": "m/s", "E [J]": "J"}


def test_a_project_file_keeps_them(ceql, table):
    options = "--units", "m=kg,v=m/s,E=J", "--constants", "g=9.81 m/s^2,c", "--write-config", "fit.toml"
    assert ceql("fit", _plain(table), "--target", "E", *options, "--no-checkpoint")[0] == 0
    text = (table.parent / "fit.toml").read_text()
    assert 'units = {m = "kg", v = "m/s", E = "J"}' in text
    assert 'constants = "g=9.81 m/s^2,c"' in text
    code, out, _ = ceql("fit", "--config", "fit.toml", "--no-checkpoint", "--json", "-")
    assert code == 0
    assert json.loads(out)["units"] == {"m": "kg", "v": "m/s", "E": "J"}


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("units = 3", "must be a table"),
        ("units = {m = 1}", "must be a table"),
        ('units = {m = "parsnip"}', "there is no unit 'parsnip'"),
    ],
)
def test_a_project_file_with_other_units_gets_a_sentence(ceql, table, written, words):
    (table.parent / "fit.toml").write_text(f'table = "fall.csv"\ntarget = "E [J]"\n{written}\n')
    code, _, err = ceql("fit", "--config", "fit.toml", "--no-checkpoint")
    assert code != 0
    assert words in err or "There is no column 'm'" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--units", "m"), "--units takes NAME=UNIT"),
        (("--units", "mm=kg"), "There is no column 'mm'. Did you mean 'm'?"),
        (("--units", "m=kg,v=m/s,E=K", "--constants", "dimensionless"), "E in K cannot be made of"),
        (("--constants", "dimensionless"), "give --units of"),
    ],
)
def test_units_that_make_no_sense_get_a_sentence(ceql, table, options, words):
    code, _, err = ceql("fit", _plain(table), "--target", "E", *options, "--no-checkpoint")
    assert code != 0
    assert words in err


def test_the_summary_prints_the_units_of_constants(ceql, table):
    code, out, _ = ceql(
        *("fit", _plain(table), "--target", "E", "--units", "m=kg,E=J,v=km/h", "--constants", "any", "--no-catalogue"),
        "--no-checkpoint",
    )
    assert code == 0
    assert "J*h**2/(kg*km**2)" in out or "constant" not in out
