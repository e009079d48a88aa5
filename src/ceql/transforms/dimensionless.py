"""Dimensionless targets: y divided by a product of columns and constants, as a function of dimensionless groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ceql.dimensions import Dimensions, Groups, groupings
from ceql.dimensions.groups import GroupPolicy
from ceql.transforms.target import TransformedTarget, is_sound


def dimensionless(
    target: TransformedTarget, dimensions: Dimensions, policy: GroupPolicy = GroupPolicy()
) -> list[TransformedTarget]:
    """Return the target over dimensionless groups, for several choices of these, fewest groups first."""
    own = dimensions.of([symbol.name for symbol in target.symbols])
    factors = np.array([quantity.factor for quantity in own.columns])
    offsets = np.array([quantity.offset for quantity in own.columns])
    x = target.x * factors + offsets
    symbols = [_coherent(*one) for one in zip(target.symbols, factors, offsets, strict=True)]
    both = [bool((column > 0).any() and (column < 0).any()) for column in x.T]
    zeros = [bool((column == 0).any()) for column in x.T]
    with np.errstate(all="ignore"):
        made = [_over(target, own, groups, x, symbols) for groups in groupings(own, both, zeros, policy)]
    return [one for one in made if is_sound(one)]


def _over(
    target: TransformedTarget, dimensions: Dimensions, groups: Groups, x: np.ndarray, symbols: Sequence[Any]
) -> TransformedTarget:
    known, whole = _known(groups, x), dimensions.target
    scale, written = _product(known, groups.scale, symbols, groups)
    columns = [_product(known, powers, symbols, groups) for powers in groups.groups]
    y = (target.y * whole.factor + whole.offset) / scale

    def back(expression: Any) -> Any:
        coherent = written * expression - whole.offset if whole.offset else written * expression
        return target.back(coherent / whole.factor if whole.factor != 1.0 else coherent)

    return replace(
        target,
        x=np.column_stack([values for values, _ in columns]),
        y=y,
        symbols=tuple(symbol for _, symbol in columns),
        back=back,
        slope=target.slope * whole.factor / np.abs(scale),
        angles=tuple(k for k, powers in enumerate(groups.groups) if _is_column(powers)),
    )


def _known(groups: Groups, x: np.ndarray) -> np.ndarray:
    """Return the columns followed by one column per constant."""
    sizes = np.array([constant.size for constant in groups.constants])
    return np.column_stack([x, np.broadcast_to(sizes, (len(x), len(sizes)))])


def _product(known: np.ndarray, powers: Sequence[Fraction], symbols: Sequence[Any], groups: Groups) -> tuple[Any, Any]:
    """Return values and expression of a product of powers; roots of columns negative in all rows are of their size."""
    values: Any = np.ones(len(known))
    written: Any = 1
    number = 1.0
    for k, power in enumerate(powers):
        if not power:
            continue
        column = known[:, k]
        exponent = int(power) if power.denominator == 1 else power
        turned = power.denominator > 1 and (column < 0).all()
        values = values * (-column if turned else column) ** float(power)
        if k < len(symbols):
            written = written * (-symbols[k] if turned else symbols[k]) ** exponent
        else:
            number *= groups.constants[k - len(symbols)].size ** float(power)
    return values, written if number == 1.0 else number * written


def _is_column(powers: Sequence[Fraction]) -> bool:
    """Return whether a group is a column (or constant) by itself, which may be an angle."""
    return sorted(power for power in powers if power) == [1]


def _coherent(symbol: Any, factor: float, offset: float) -> Any:
    scaled = symbol if factor == 1.0 else float(factor) * symbol
    return scaled + float(offset) if offset else scaled
