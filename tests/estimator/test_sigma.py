"""Errors of measurement that are known: in y, in x, up to a factor; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ceql import CeqlError, CEQLRegressor, load

RNG = np.random.default_rng(1)
X = pd.DataFrame({"x": RNG.uniform(0.5, 6.0, 40)})
SIGMA = RNG.uniform(0.01, 0.2, 40)
Y = 1.3 + 0.7 * X["x"] + SIGMA * RNG.normal(size=40)


def fitted(X: Any = X, y: Any = Y, **errors: Any) -> CEQLRegressor:
    model = CEQLRegressor(operators=["mul"], time_limit=1, max_complexity=5, verbose=False, catalogue=False)
    return model.fit(X, y, **errors)


def test_errors_follow_from_sigma_and_chi_square_tells_whether_it_is_right(tmp_path):
    true, threefold = fitted(sigma=SIGMA), fitted(X.assign(s=3 * SIGMA), sigma="s")
    relative = fitted(sigma=3 * SIGMA, absolute_sigma=False)
    assert true.sympy() == threefold.sympy() == relative.sympy()
    assert list(threefold.feature_names_in_) == ["x"]
    # As in a textbook: the inverse of the weighted normal equations.
    design = np.column_stack([np.ones(40), X["x"]]) / SIGMA[:, None]
    expected = sorted(np.sqrt(np.diag(np.linalg.inv(design.T @ design))))
    assert sorted(true.constants_["standard_error"]) == pytest.approx(expected, rel=1e-3)
    assert sorted(threefold.constants_["standard_error"]) == pytest.approx([3 * e for e in expected], rel=1e-3)
    assert true.chi_square_.freedom == 38
    assert true.chi_square_.value == pytest.approx(9 * threefold.chi_square_.value)
    assert 0.01 < true.chi_square_.probability < 0.99
    assert "errors are smaller than sigma says" in str(threefold.chi_square_)
    scatter = np.sqrt(true.chi_square_.value / 38)
    assert sorted(relative.constants_["standard_error"]) == pytest.approx([scatter * e for e in expected], rel=1e-3)
    assert relative.chi_square_ is None
    true.save(tmp_path / "m.ceql")
    assert load(tmp_path / "m.ceql").chi_square_ == true.chi_square_


def test_errors_in_x_make_constants_less_certain(tmp_path):
    error = RNG.uniform(0.02, 0.4, 40)
    seen = X + error[:, None] * RNG.normal(size=(40, 1))
    without, with_x = fitted(seen, sigma=SIGMA), fitted(seen.assign(e=error), sigma=SIGMA, sigma_x={"x": "e"})
    assert without.chi_square_.probability < 1e-3 < with_x.chi_square_.probability
    assert (with_x.constants_["standard_error"].min()) > without.constants_["standard_error"].min()
    assert list(with_x.feature_names_in_) == ["x"]
    with_x.save(tmp_path / "m.ceql")
    assert str(load(tmp_path / "m.ceql").discovery_.best) == str(with_x.discovery_.best)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ({"sigma": SIGMA[:5]}, "sigma has 5 entries but X has 40 rows"),
        ({"sigma": -SIGMA}, "in row 0: measurement errors must be above zero"),
        ({"sigma": 0 * SIGMA}, "has 0 in row 0"),
        ({"sigma": "s"}, "There is no column 's'"),
        ({"sigma": SIGMA, "sample_weight": SIGMA}, "Give either sigma= or sample_weight, not both"),
        ({"sigma_x": {"x": 0.1}}, "sigma_x needs sigma"),
        ({"sigma": SIGMA, "sigma_x": 0.1}, "sigma_x must be a dictionary of columns"),
        ({"sigma": SIGMA, "sigma_x": {"z": 0.1}}, "There is no column 'z'"),
        ({"sigma": SIGMA, "sigma_x": {"x": -0.1}}, "measurement errors must be above zero"),
        ({"sigma": SIGMA, "sigma_x": {"x": "x"}}, "as a column with errors and as the errors of another"),
    ],
)
def test_what_is_no_error_of_measurement(errors, words):
    with pytest.raises(CeqlError, match=words):
        fitted(**errors)


def test_names_need_a_table():
    with pytest.raises(CeqlError, match="X has no names: give the values themselves"):
        fitted(X.to_numpy(), sigma="s")


def test_on_the_command_line(ceql, tmp_path):
    X.assign(s=SIGMA, y=Y).to_csv(tmp_path / "t.csv", index=False)
    said = ("--operators", "mul", "--time-limit", "1", "--max-complexity", "5", "--no-catalogue", "--no-checkpoint")
    code, out, _ = ceql("fit", tmp_path / "t.csv", "--target", "y", "--sigma", "s", "--sigma-x", "x=0.001", *said)
    assert code == 0
    assert "Chi-square" in out
    assert "for 38 degrees of freedom" in out
    code, _, err = ceql("fit", tmp_path / "t.csv", "--target", "y", "--sigma", "s", "--sigma-x", "x", *said)
    assert (code, "--sigma-x takes NAME=ERROR" in err) == (2, True)
