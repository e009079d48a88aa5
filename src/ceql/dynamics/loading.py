"""Saved models of any kind by one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ceql.dynamics.model_file import is_system_file


def load(path: str | Path) -> Any:
    """A model as it was saved: a CEQLRegressor, or an ODERegressor where the file holds a system of equations.

    Nothing in the file is run as code, so it may come from anybody.
    """
    if is_system_file(path):
        from ceql.dynamics.estimator import ODERegressor

        return ODERegressor.load(path)
    from ceql.estimator.regressor import load as load_formula

    return load_formula(path)
