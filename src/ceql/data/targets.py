"""The columns of y, each of which is a separate target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ceql.data.dataset import Dataset, column_of, is_table, require_text, shape_of
from ceql.errors import InputError


@dataclass(frozen=True, eq=False)
class Targets:
    """The datasets of all targets, which share inputs and weights."""

    names: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    groups: tuple[str, ...] = ()  # names of groups; if there are any, the last column holds the numbers of the groups

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> Targets:
        """Return one target for a y of shape (n,) or (n, 1), and k targets for (n, k)."""
        shape = () if y is None else shape_of(y, "y")
        labels = tuple(map(str, getattr(y, "columns", ()))) if is_table(y) else ()
        if len(shape) != 2 or shape[1] == 1:
            label = labels[0] if labels else getattr(y, "name", None)
            name = "y" if label is None else str(label)
            require_text(name, "The target")
            return cls((name,), (Dataset.of(X, y, sample_weight),))
        if shape[1] == 0:
            raise InputError("y has no columns: give at least one target.")
        names = labels or tuple(f"y{k + 1}" for k in range(shape[1]))
        datasets: list[Dataset] = []
        for k, name in enumerate(names):
            require_text(name, "A target")
            data = Dataset.of(X, column_of(y, k), sample_weight, f"target {name!r}")
            datasets.append(replace(data, x=datasets[0].x, weight=datasets[0].weight) if datasets else data)
        return cls(names, tuple(datasets))

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.datasets[0].names
