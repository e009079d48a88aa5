"""What rounding may do to a formula, by the size of its terms."""

from __future__ import annotations

import numpy as np
from sympy import Symbol, exp, log, sqrt

from ceql.expression import compile_numpy
from ceql.expression.rounding import of_its_terms

X = Symbol("x", real=True)


def size(expression) -> list[float]:
    return compile_numpy(of_its_terms(expression), (X,))(np.array([[0.25], [4.0]])).tolist()


def test_terms_count_by_their_size():
    assert size(2.0 - 3.0 * log(X) - X) == [2.0 - 3.0 * np.log(0.25) + 0.25, 2.0 + 3.0 * np.log(4.0) + 4.0]


def test_an_exponential_of_what_may_be_complex_elsewhere():
    assert size(1.0 - exp(-sqrt(X))) == [1.0 + np.exp(-0.5), 1.0 + np.exp(-2.0)]
    assert size(21.0 + 64.0 * exp(-X * sqrt(X))) == [21.0 + 64.0 * np.exp(-0.125), 21.0 + 64.0 * np.exp(-8.0)]
