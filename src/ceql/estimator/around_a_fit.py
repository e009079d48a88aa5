"""What surrounds a fit: formulas of an earlier fit, the checkpoint, and a warning about too many constants."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ceql.data.targets import Targets
from ceql.errors import CeqlWarning, InputError
from ceql.expression.text.write import write_formula
from ceql.storage.checkpoint import Checkpoint


def earlier_formulas(model: Any, targets: Targets) -> list[tuple[str, ...]]:
    """The formulas of an earlier fit as text, for each target; empty without a warm start."""
    if not model.warm_start or not hasattr(model, "discoveries_"):
        return []
    if (targets.inputs, len(targets.names)) != (model._targets.inputs, len(model._targets.names)):
        raise InputError(
            f"warm_start goes on from formulas for {len(model._targets.names)} target(s) in "
            f"{', '.join(model._targets.inputs)}, but the data now have {len(targets.names)} target(s) and the "
            f"columns {', '.join(targets.inputs)}. Set warm_start=False to start from scratch."
        )
    return [tuple(write_formula(f.expression) for f in (found.best, *found.formulas)) for found in model.discoveries_]


def checkpoint_of(model: Any) -> Checkpoint | None:
    """The checkpoint that the parameter `checkpoint` asks for, or None."""
    if model.checkpoint is None or isinstance(model.checkpoint, Checkpoint):
        checkpoint = model.checkpoint
    elif isinstance(model.checkpoint, str | Path) and str(model.checkpoint):
        checkpoint = Checkpoint(model.checkpoint)
    else:
        raise InputError(f"checkpoint must be the path of a file, not {model.checkpoint!r}.")
    if checkpoint is not None and not isinstance(model.random_state, int | np.integer):
        raise InputError("A checkpoint needs a fixed seed: set random_state to a number.")
    return checkpoint


def advise(model: Any) -> None:
    """Warns if a formula has so many constants that a good fit proves little."""
    for name, found, data in zip(model.target_names_, model.discoveries_, model._targets.datasets, strict=True):
        constants = len(found.best.constants)
        if 2 * constants >= len(data.y):
            whose = "The formula" if len(model.discoveries_) == 1 else f"The formula for {name}"
            warnings.warn(
                f"{whose} has {constants} constants, but there are only {len(data.y)} rows, so a good fit proves "
                "little. Give more rows.",
                CeqlWarning,
                stacklevel=3,
            )
