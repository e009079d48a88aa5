"""Complex targets of templates with the imaginary unit: each row is split into its real and its imaginary part.

Both parts share all constants. An additional column tells them apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ceql.choice.validation import Folds
from ceql.data.dataset import column_names, is_complex, numeric_matrix
from ceql.errors import InputError
from ceql.expression.complex_parts import PART
from ceql.templates import Template


def wants_parts(template: Template | None, y: Any) -> bool:
    """Whether both y and the template are complex; if only one of them is, it is reported later."""
    return template is not None and template.has_unit and is_complex(y)


def in_parts(X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, np.ndarray, Any]:
    """The rows with the real parts of y, then the rows with the imaginary parts."""
    names, values = column_names(X), np.asarray(y)
    if PART in names:
        raise InputError(
            f"X has a column {PART!r}, a name that is needed to tell real from imaginary parts: rename it."
        )
    if values.ndim != 1 or len(values) != len(numeric_matrix(X, names)):
        raise InputError(f"A complex y must be one column with a value for each row of X, not of shape {values.shape}.")
    frame = pd.DataFrame(rows_of_parts(numeric_matrix(X, names)), columns=pd.Index([*names, PART]))
    weight = sample_weight if sample_weight is None or np.ndim(sample_weight) == 0 else np.tile(sample_weight, 2)
    return frame, np.concatenate([np.real(values), np.imag(values)]), weight


def rows_of_parts(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.tile(x, (2, 1)), np.repeat([0.0, 1.0], len(x))])


def joined(values: np.ndarray) -> np.ndarray:
    """The complex values, from those of the real parts followed by those of the imaginary parts."""
    real, imaginary = np.split(values, 2)
    return real + 1j * imaginary


def folds_of_parts(folds: Folds | None) -> Folds | None:
    """The folds over the split rows; both parts of a row are held out together."""
    if folds is None:
        return None
    rows = 1 + max(int(part.max()) for fold in folds for part in fold)
    return [(np.concatenate([train, train + rows]), np.concatenate([test, test + rows])) for train, test in folds]
