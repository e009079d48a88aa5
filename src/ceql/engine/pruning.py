"""Removal of edges, by their weight or by their effect on the loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ceql.network import Structure


def drop_small(network: Structure, edges: np.ndarray, weights: np.ndarray, threshold: float) -> np.ndarray:
    """Remove edges whose complex weight is smaller than `threshold`, unless nothing would be left."""
    kept = network.cleaned(edges & (np.abs(weights) >= threshold))
    return kept if kept.any() else edges


def drop_least_important(
    network: Structure,
    edges: np.ndarray,
    loss_without: Callable[[np.ndarray], np.ndarray],
    fraction: float,
    minimum_edges: int,
) -> np.ndarray:
    """Remove the `fraction` of live edges whose removal raises the loss least, but keep at least `minimum_edges`.

    Losses are computed again after each removal: of two edges that can replace each other, only one may be removed.
    `loss_without` returns the losses for masks, one per candidate removal, which are already cleaned up.
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
    """Do the same as `drop_least_important`, but judge all removals on the current network and make them together."""
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


Needed = Sequence[Sequence[int]]  # groups of inputs; at least one of each must stay in use


def removals(network: Structure, edges: np.ndarray, needed: Needed = ()) -> np.ndarray:
    """Return every distinct mask that results from removing one edge and cleaning up, (candidates, n_edges)."""
    return removals_of_each(network, [edges], needed)[0]


def removals_of_each(network: Structure, masks: Sequence[np.ndarray], needed: Needed = ()) -> list[np.ndarray]:
    """Return the removals of several masks; cleaning up all together costs hardly more than for one mask."""
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
