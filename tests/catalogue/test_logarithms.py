"""Tables of logarithms: the law is that of what they are the logarithms of."""

from __future__ import annotations

import numpy as np
import pytest

from ceql.catalogue.law import catalogue
from ceql.catalogue.logarithms import of_logarithms
from ceql.choice.criterion import criterion
from ceql.data.dataset import Dataset

RNG = np.random.default_rng(0)
WANTED = (
    "exponential with offset",
    "Rydberg formula",
    "Planck's law by frequency and temperature",
    "shifted hyperbola",
)
LAWS = [law for law in catalogue() if law.name in WANTED]
TIME = np.linspace(0.0, 6.0, 20)
LOWER, UPPER = np.array([(a, b) for a in range(1, 5) for b in range(a + 1, 8)], float).T
FREQUENCY, TEMPERATURE = 10.0 ** RNG.uniform(9.0, 15.0, 40), RNG.uniform(300.0, 6000.0, 40)
SHARE = 4.8e-11 * FREQUENCY / TEMPERATURE  # up to 150: the law itself is no number that can be fitted


def fits(columns, y, noise=0.01):
    noisy = y + noise * np.random.default_rng(1).standard_normal(len(y))
    found = of_logarithms(Dataset.of(np.column_stack(columns), noisy), LAWS)
    return sorted(found, key=lambda fit: criterion(fit.formula, len(y)))


@pytest.mark.parametrize(
    ("columns", "y", "name", "constants"),
    [
        ([TIME], np.log(0.4 + 0.3 * np.exp(0.7 * TIME)), "logarithm of exponential with offset", (0.4, 0.3, 0.7)),
        ([LOWER, UPPER], -np.log(LOWER**-2 - UPPER**-2), "logarithm of 1/(Rydberg formula)", (1.0,)),
        (
            [FREQUENCY, TEMPERATURE],
            3 * np.log(FREQUENCY) - SHARE - np.log(-np.expm1(-SHARE)) - 114.7,
            "logarithm of Planck's law by frequency and temperature",
            (np.exp(-114.7), 4.8e-11),
        ),
    ],
)
def test_a_law_is_found_under_a_logarithm(columns, y, name, constants):
    best = fits(columns, y)[0]
    assert best.formula.law is not None
    assert best.formula.law.name == name
    assert [constant.value for constant in best.constants] == pytest.approx(constants, rel=0.05)
    assert best.loss < 2e-4


@pytest.mark.parametrize("y", [0.1 * TIME, 500.0 + TIME, 1000.0 * (TIME - 3.0)])
def test_what_looks_like_no_logarithm_is_left_alone(y):
    assert fits([TIME], y) == []


def test_a_logarithm_costs_more_than_the_law():
    found = fits([TIME], np.log(0.4 + 0.3 * np.exp(0.7 * TIME)))
    assert {fit.law.known for fit in found} <= {0, 4}
