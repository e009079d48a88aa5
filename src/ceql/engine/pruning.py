"""Which edges can go: by size or by the loss they carry, and what is left when one goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ceql.network import Structure


def drop_small(network: Structure, edges: np.ndarray, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Removes edges whose complex weight is smaller than `threshold`, unless nothing would be left."""
    kept = network.cleaned(edges & (np.abs(weights) >= threshold))
    return kept if kept.any() else edges


def drop_least_important(
    network: Structure,
    edges: np.ndarray,
    loss_without: Callable[[np.ndarray], np.ndarray],
    fraction: float,
    minimum_edges: int,
) -> np.ndarray:
    """Removes the `fraction` of live edges whose removal raises the loss least, but never below `minimum_edges`.

    Each removal is judged anew after the one before: of two edges that can stand in for each other only one may go.

    `loss_without` takes masks, one per candidate removal and each already cleaned up, and gives their losses.
    """
    goal = max(minimum_edges, int(edges.sum()) - max(1, int(fraction * edges.sum())))
    while edges.sum() > goal:
        candidates = removals(network, edges)
        candidates = candidates[candidates.sum(axis=1) >= minimum_edges]
        losses = loss_without(candidates)
        if not np.isfinite(losses).any():
            break
        edges = candidates[np.argmin(losses)]
    return edges


def drop_least_at_once(
    network: Structure,
    edges: np.ndarray,
    loss_without: Callable[[np.ndarray], np.ndarray],
    fraction: float,
    minimum_edges: int,
) -> np.ndarray:
    """The same, all removals judged on the network as it is and made together; the clean-up comes after them."""
    live = np.flatnonzero(edges)
    count = min(int(fraction * len(live)), len(live) - minimum_edges)
    if count <= 0:
        return edges
    candidates = np.repeat(edges[None], len(live), axis=0)
    candidates[np.arange(len(live)), live] = False
    losses = loss_without(network.cleaned(candidates))
    losses = np.where(np.isfinite(losses), losses, np.inf)
    kept = edges.copy()
    kept[live[np.argsort(losses, kind="stable")[:count]]] = False
    kept = network.cleaned(kept)
    return kept if kept.any() else edges


Needed = Sequence[Sequence[int]]  # groups of inputs, of each of which one must stay in use


def removals(network: Structure, edges: np.ndarray, needed: Needed = ()) -> np.ndarray:
    """Every mask that one removal and its clean-up lead to, (candidates, n_edges); equal ones are given once."""
    return removals_of_each(network, [edges], needed)[0]


def removals_of_each(network: Structure, masks: Sequence[np.ndarray], needed: Needed = ()) -> list[np.ndarray]:
    """The removals of several masks; one clean-up of all of them costs hardly more than that of one."""
    counts = [int(edges.sum()) for edges in masks]
    candidates = np.repeat(np.array(masks), counts, axis=0)
    candidates[np.arange(sum(counts)), np.concatenate([np.flatnonzero(edges) for edges in masks])] = False
    parts = np.split(network.cleaned(candidates), np.cumsum(counts)[:-1])
    return [_keeping(network, _distinct(part), needed) for part in parts]


def _keeping(network: Structure, masks: np.ndarray, needed: Needed) -> np.ndarray:
    return masks[network.permitted(masks, needed)] if needed else masks


def _distinct(masks: np.ndarray) -> np.ndarray:
    first = {row.tobytes(): k for k, row in reversed(list(enumerate(masks)))}
    return masks[[k for k in sorted(first.values()) if masks[k].any()]]
