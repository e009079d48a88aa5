"""The table of formulas in a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ceql.cli.fit_command import fit
from ceql.cli.flags import flags_of
from ceql.cli.front_table import CHOSEN, front_table, wrapped
from ceql.cli.summary import in_words
from ceql.errors import in_terms_of
from ceql.search.outcome import Outcome

PIECES = st.sampled_from(["2.5e-07", "x1", "sin(x2 - 0.5)", "(x1 + 3)**2", "exp(-1.2*x1)", "weight_of_the_beam"])
FORMULAS = st.lists(st.tuples(PIECES, st.sampled_from([" + ", " - ", "*", "/"])), min_size=1, max_size=9).map(
    lambda parts: "".join(piece + sign for piece, sign in parts[:-1]) + parts[-1][0]
)


@given(FORMULAS, st.integers(10, 60))
def test_a_wrapped_formula_has_all_its_characters_in_their_order(formula, width):
    lines = wrapped(formula, width)
    assert "".join(lines).replace(" ", "") == formula.replace(" ", "")
    assert all(lines)


@given(FORMULAS)
def test_a_formula_that_fits_is_one_line(formula):
    assert wrapped(formula, len(formula)) == [formula]


def test_a_formula_is_broken_between_terms_and_factors():
    assert wrapped("1.25e-07*x**2 + 3*sin(x - 1) - 0.5/x", 16) == ["1.25e-07*x**2", "+ 3*sin(x - 1)", "- 0.5/x"]


def test_the_chosen_row_is_marked_and_no_other(law_model):
    found = law_model().discovery_
    rows = [*range(len(found.formulas))]
    lines = front_table(found, rows, [""] * len(rows), None)[1:]
    assert [k for k, line in enumerate(lines) if line.startswith(CHOSEN)] == [found.chosen]
    assert [line.split()[line.startswith(CHOSEN)] for line in lines] == [str(row) for row in rows]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_table_is_no_wider_than_the_terminal(law_model, width):
    found = law_model().discovery_
    rows = [*range(len(found.formulas))]
    laws = [formula.law.name if formula.law else "" for formula in found.formulas]
    for line in "\n".join(front_table(found, rows, laws, width)).splitlines():
        assert len(line) <= width
        assert line == line.rstrip() or line.startswith("  row")


def test_a_narrow_terminal_keeps_the_row_the_error_and_the_formula(law_model):
    found = law_model().discovery_
    heading = front_table(found, [0, 1], ["", "Michaelis-Menten"], 50)[0]
    assert heading.split() == ["row", "RMSE", "formula"]


def test_a_loss_that_is_not_of_squares_is_called_a_loss(law_model):
    found = law_model().discovery_
    other = replace(found, front=tuple(replace(f, surprise=1.0) for f in found.front))
    assert front_table(found, [0, 1], ["", ""], None)[0].split()[2] == "RMSE"
    assert front_table(other, [0, 1], ["", ""], None)[0].split()[2] == "loss"


def test_on_the_command_line_sentences_name_options(law_model):
    for outcome in Outcome:
        told = in_terms_of(outcome.value, flags_of(fit))
        assert "_" not in told.replace("max_starts", "")  # which the command does not have
    found = law_model()._finding()
    late = replace(found, discovery=replace(found.discovery, outcome=Outcome.OUT_OF_TIME))
    assert "Raise --time-limit" in in_words(late)
