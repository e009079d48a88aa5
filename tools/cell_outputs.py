"""The outputs of a notebook cell: printed text, the last value, and figures. See notebook_pages.py."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Iterator
from typing import Any

_DOTS = 70  # per inch of a stored figure
_terminal = sys.stdout
_values: list[Any] = []
_cells: list[list[dict[str, Any]]] = []
sys.stdout = io.StringIO()


def show(value: Any) -> None:
    if value is not None:
        _values.append(value)


def end_cell() -> None:
    _cells.append(list(_outputs()))
    sys.stdout = io.StringIO()
    _values.clear()


def finish() -> None:
    json.dump(_cells, _terminal)


def _outputs() -> Iterator[dict[str, Any]]:
    printed = sys.stdout.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    if printed:
        yield {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)}
    figures = list(_figures())
    for value in () if figures else _values:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        yield {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}
    yield from figures


def _figures() -> Iterator[dict[str, Any]]:
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(
            picture, format="png", dpi=_DOTS, bbox_inches="tight", metadata={"Software": None}
        )
        text = base64.b64encode(picture.getvalue()).decode("ascii")
        yield {"output_type": "display_data", "data": {"image/png": text}, "metadata": {}}
    pyplot.close("all")
