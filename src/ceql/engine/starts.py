"""Start values of parameters, drawn in the core: normal, with frequencies spread over decades or seen in the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ceql import _core
from ceql.network import Structure
from ceql.network.compiled import as_bytes
from ceql.network.sampling import Stream
from ceql.operators.tape import in_layout

StartRule = _core.StartRule


def start_rule(structure: Structure, rhythms: Sequence[np.ndarray], **numbers: float) -> StartRule:
    """Return the rule for start values of a structure; `rhythms` are the frequencies seen in the data, per input."""
    source = np.full(structure.n_params, -1, np.int32)
    at = np.flatnonzero(structure.is_frequency[: structure.n_edges])
    source[at] = np.where(structure.edge_source[at] < 0, structure.n_inputs, structure.edge_source[at])
    return StartRule(
        source=source,
        first=in_layout(np.cumsum([0, *map(len, rhythms)]), np.int32),
        rhythms=in_layout(np.concatenate([np.zeros(0), *rhythms]), np.float64),
        first_imaginary=int(np.count_nonzero(~structure.is_imaginary)),
        **numbers,
    )


def start_values(
    rule: StartRule, structure: Structure, edges: np.ndarray, stream: Stream, parents: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of values per mask over edges, and the mask of those in use.

    Start k inherits from row `parents[k]` of `known`, or from none if that is -1.
    """
    live = structure.smoothing_mask(edges, stream.threads)
    masks = as_bytes(live)
    drawn = _core.start_values(rule, masks, stream.key, stream.first, stream.threads)
    values = in_layout(structure.started(drawn, stream), np.float64)
    _core.inherit(rule, values, masks, in_layout(known, np.float64), in_layout(parents, np.int64), stream.threads)
    return values, live
