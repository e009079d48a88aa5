"""Complex-valued data with real constants: real and imaginary part are fitted together.

A formula with the imaginary unit I, such as 1/(k - m*w**2 + I*c*w), is split into its real and its imaginary part.
They share all constants and unknown functions. The table is stacked accordingly: every row comes twice, with a column
that says which part its y is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import sympy

from ceql.errors import InputError
from ceql.expression import FormulaError, parse_formula
from ceql.expression.text.tokens import tokenise
from ceql.expression.text.write import write_formula
from ceql.templates.reading import symbol
from ceql.templates.template import Parameter, Template, Unknown

PART = "part"  # the column that is 0 for real and 1 for imaginary parts


def complex_template(
    formula: str, parameters: Mapping[str, Parameter] | None = None, functions: Mapping[str, Unknown] | None = None
) -> Template:
    """The template of a formula in which I is the imaginary unit; columns, parameters and functions are real."""
    try:
        names = [token.text for token in tokenise(formula) if token.kind in ("name", "quoted")]
        expression: Any = parse_formula(formula, [*dict.fromkeys(names), "I"])
    except FormulaError as error:
        raise InputError(f"The formula {formula!r} cannot be read: {error}.") from error
    if symbol("I") not in expression.free_symbols:
        raise InputError(f"The formula {formula!r} has no imaginary unit I: an ordinary Template will do.")
    if symbol(PART) in expression.free_symbols:
        raise InputError(f"{PART!r} is the name of the column that tells real from imaginary parts: rename yours.")
    both: Any = expression.xreplace({symbol("I"): sympy.I}).as_real_imag()
    together: Any = sympy.together
    parts = [write_formula(together(part)) for part in both]
    text = f"(1 - {PART})*({parts[0]}) + {PART}*({parts[1]})"
    return Template(text, parameters or {}, functions or {})


def stacked(X: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows of X twice, with the real and then with the imaginary parts of y: what such a template is fitted to."""
    values: Any = np.asarray(y)
    if values.ndim != 1 or len(values) != len(X):
        raise InputError(f"y should be a 1d array with {len(X)} entries, one for each row of X, not {values.shape}.")
    if PART in X.columns:
        raise InputError(f"X has a column {PART!r}, the name that tells real from imaginary parts: rename it.")
    halves = [X.assign(**{PART: float(k)}) for k in (0, 1)]
    return pd.concat(halves, ignore_index=True), np.concatenate([values.real, values.imag])


def complex_values(model: Any, X: pd.DataFrame) -> np.ndarray:
    """What a model fitted to stacked data predicts, as complex numbers."""
    real, imaginary = (model.predict(X.assign(**{PART: float(k)})) for k in (0, 1))
    return real + 1j * imaginary
