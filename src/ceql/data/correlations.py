"""Computes how much columns and products of two columns explain of a goal, for all pairs at once by matrix products."""

from __future__ import annotations

import numpy as np

_BLOCK = 2**18  # products scored at a time, which takes a few megabytes for each moment
_CONSTANT = 1e-12  # a product is constant if its variance is below this share of its mean square


@np.errstate(all="ignore")  # products that overflow explain nothing
def explained(columns: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Return, per column, the largest share of a goal's variance that it explains; `goals` has one goal per column."""
    share = np.full((len(columns), 1), 1.0 / len(columns))
    return _explained(np.ones((len(columns), 1)), columns, _standard(goals, share), share)[0]


@np.errstate(all="ignore")
def best_products(
    left: np.ndarray, right: np.ndarray, goals: np.ndarray, most: int, weight: np.ndarray | float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the left and right columns whose products explain most of any one goal, the best first.

    `goals` has one goal per column. A row counts by the square of its weight, as in least squares. The table of all
    pairs is computed block by block to save memory. If both sides are the same array, each pair occurs once, and a
    column may be paired with itself.
    """
    share = np.broadcast_to(weight, len(left)) ** 2
    share = (share / share.sum())[:, None]
    goals = _standard(goals, share)
    step = max(1, _BLOCK // max(right.shape[1], 1))
    scores, pairs = np.zeros(0), np.zeros((0, 2), int)
    least = 0.0  # score needed to be among the best so far
    for first in range(0, left.shape[1], step):
        before = first if left is right else 0  # right columns whose pairs are done already
        block = _explained(left[:, first : first + step], right[:, before:], goals, share)
        if left is right:
            block = np.where(np.tri(len(block), block.shape[1], -1, dtype=bool), -1.0, block)
        new = np.argwhere(block >= least)
        scores = np.concatenate([scores, block[tuple(new.T)]])
        pairs = np.concatenate([pairs, np.add(new, (first, before))])
        best = np.argsort(-scores, kind="stable")[:most]
        scores, pairs = scores[best], pairs[best]
        least = scores[-1] if len(scores) == most else 0.0
    return pairs[:, 0], pairs[:, 1]


def _standard(goals: np.ndarray, share: np.ndarray) -> np.ndarray:
    goals = goals - np.sum(share * goals, axis=0)
    return goals / np.sqrt(np.maximum(np.sum(share * goals**2, axis=0), 1e-300))


def _explained(left: np.ndarray, right: np.ndarray, goals: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the squared correlation of every product with the goal it explains best; zero for constant products."""
    mean = (share * left).T @ right
    square = (share * left**2).T @ right**2
    variance = square - mean**2
    along = np.zeros_like(mean)
    for goal in goals.T:
        along = np.maximum(along, ((share * goal[:, None] * left).T @ right) ** 2)
    explained = along / variance
    return np.where((variance > _CONSTANT * square) & np.isfinite(explained), explained, 0.0)
