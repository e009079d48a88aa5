"""What a fit takes from before and says afterwards: formulas of an earlier fit, a checkpoint, and advice."""

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
    """What an earlier fit found for each target, as text, for a warm start."""
    if not model.warm_start or not hasattr(model, "discoveries_"):
        return []
    if (targets.inputs, len(targets.names)) != (model._targets.inputs, len(model._targets.names)):
        raise InputError(
            f"warm_start goes on from formulas for {len(model._targets.names)} target(s) in "
            f"{', '.join(model._targets.inputs)}, but the data now have {len(targets.names)} target(s) and the "
            f"columns {', '.join(targets.inputs)}. Set warm_start=False to start afresh."
        )
    return [tuple(write_formula(f.expression) for f in (found.best, *found.formulas)) for found in model.discoveries_]


def checkpoint_of(model: Any) -> Checkpoint | None:
    """Where a search keeps its state, as the parameter says."""
    if model.checkpoint is None or isinstance(model.checkpoint, Checkpoint):
        checkpoint = model.checkpoint
    elif isinstance(model.checkpoint, str | Path) and str(model.checkpoint):
        checkpoint = Checkpoint(model.checkpoint)
    else:
        raise InputError(f"checkpoint must be the path of a file, not {model.checkpoint!r}.")
    if checkpoint is not None and not isinstance(model.random_state, int | np.integer):
        raise InputError("A checkpoint needs a number as random_state: another seed would be another search.")
    return checkpoint


def advise(model: Any) -> None:
    """Warns where a formula has so many constants that its fit proves little."""
    for name, found, data in zip(model.target_names_, model.discoveries_, model._targets.datasets, strict=True):
        constants = len(found.best.constants)
        if 2 * constants >= len(data.y):
            whose = "The formula" if len(model.discoveries_) == 1 else f"The formula for {name}"
            warnings.warn(
                f"{whose} has {constants} constants and there are only {len(data.y)} rows: that proves little. "
                "Give more rows.",
                CeqlWarning,
                stacklevel=3,
            )
