"""Matches the modes of two sets of curves by frequency, shape and height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ceql.frf.modal.policy import ModalPolicy
from ceql.frf.modal.shapes import mac

_SHAPE = 0.5  # weight of a difference in shape relative to the largest difference in frequency
_HEIGHT = 0.1  # weight of a factor of e in height
_ENOUGH_POINTS = 3  # with fewer points, shapes are not compared


@dataclass(frozen=True, eq=False)
class Portrait:
    """What modes are recognised by: frequencies (m,), peak heights (m,) and shapes (m, p)."""

    frequency: np.ndarray
    height: np.ndarray
    shapes: np.ndarray


def portrait(poles: np.ndarray, shapes: np.ndarray) -> Portrait:
    frequency = np.abs(poles)
    height = np.linalg.norm(shapes, axis=1) / np.maximum(-2.0 * np.real(poles) * frequency, np.finfo(float).tiny)
    return Portrait(frequency, height, shapes)


def assigned(one: Portrait, other: Portrait, farthest: float) -> list[tuple[int, int]]:
    """Pairs of corresponding modes whose frequencies differ by no more than the share `farthest`."""
    if not len(one.frequency) or not len(other.frequency):
        return []
    apart = np.abs(one.frequency[:, None] - other.frequency) / one.frequency[:, None] / farthest
    cost = np.minimum(apart, 1.0)
    if one.shapes.shape[1] >= _ENOUGH_POINTS:
        cost = cost + _SHAPE * (1.0 - mac(one.shapes, other.shapes))
    heights = np.log(np.maximum(one.height, 1e-300))[:, None] - np.log(np.maximum(other.height, 1e-300))
    cost = cost + _HEIGHT * np.minimum(np.abs(heights), 5.0)
    cost = np.where(apart < 1.0, cost, 10.0)
    rows, columns = linear_sum_assignment(cost)
    return [(int(r), int(c)) for r, c in zip(rows, columns, strict=True) if apart[r, c] < 1.0]


def clusters(portraits: Sequence[Portrait], farthest: float) -> list[dict[int, int]]:
    """Corresponding modes of all sets, each cluster as {set: mode}; every set is matched with those before it."""
    found: list[dict[int, int]] = []
    for place, here in enumerate(portraits):
        pairs = assigned(_typical(found, portraits), here, farthest) if found else []
        for cluster, mode in pairs:
            found[cluster][place] = mode
        taken = {mode for _, mode in pairs}
        found.extend({place: mode} for mode in range(len(here.frequency)) if mode not in taken)
    return found


def _typical(found: Sequence[dict[int, int]], portraits: Sequence[Portrait]) -> Portrait:
    frequency, height, shapes = [], [], []
    for cluster in found:
        members = [(portraits[place], mode) for place, mode in cluster.items()]
        frequency.append(np.median([own.frequency[mode] for own, mode in members]))
        height.append(np.median([own.height[mode] for own, mode in members]))
        strongest, mode = max(members, key=lambda member: member[0].height[member[1]])
        shapes.append(strongest.shapes[mode])
    return Portrait(np.array(frequency), np.array(height), np.array(shapes))


def recurring(found: Sequence[dict[int, int]], sets: int, policy: ModalPolicy) -> list[dict[int, int]]:
    return [cluster for cluster in found if len(cluster) >= policy.recurs * sets]
