"""Draws random masks of a template: the number of terms, the parts left out, and a sub-network for every function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ceql.network import sampling
from ceql.network.sampling import Prior, Stream

if TYPE_CHECKING:
    from ceql.templates.assembly import Assembly, Block

_IN_USE = 0.85  # chance of a column, or of the constant, in a weighted sum
_BARE = 0.35  # chance that a function is only a weighted sum
_EDGES_IN_FUNCTION = 10  # most edges of a function
_FADING = 0.75  # factor on the chance of each further term
_SPREAD, _DECADES = 0.5, 3.0  # share of starts whose parameters of unknown size spread this many decades up and down


def draw(assembly: Assembly, count: int, stream: Stream, prior: Prior) -> np.ndarray:
    return _drawn(assembly, count, stream.rng, prior)


def _drawn(assembly: Assembly, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
    edges = np.zeros((count, assembly.n_edges), bool)
    for block in assembly.blocks:
        edges[:, block.edges] = _drawn_function(block, count, rng, prior)
    for name, terms in assembly.template.sums.items():
        # Take the first terms of each sum, as many as drawn. Since all terms are alike, it does not matter which.
        gates = [term.gate for term in assembly.terms if term.sum == name]
        chances = _FADING ** np.arange(terms.most)
        wanted = 1 + rng.choice(terms.most, count, p=chances / chances.sum())
        edges[:, gates] = np.arange(terms.most) < wanted[:, None]
    cleaned = assembly.cleaned(edges)
    # If nothing is left of a draw, take everything.
    lost = ~cleaned.any(axis=1)
    cleaned[lost] = assembly.cleaned(np.ones((int(lost.sum()), assembly.n_edges), bool))
    return cleaned


def _drawn_function(block: Block, count: int, rng: np.random.Generator, prior: Prior) -> np.ndarray:
    """Draw masks of a function: weighted sums of its inputs and a constant, or sub-networks if it has operators."""
    network = block.network
    readout = network.sums[-1]
    bare = np.zeros((count, network.n_edges), bool)
    direct = [e for e in range(readout.first, readout.last) if network.edge_source[e] <= network.one]
    bare[:, direct] = rng.random((count, len(direct))) < _IN_USE
    bare[np.arange(count), rng.choice(direct, count)] = True
    if not block.function.operators:
        return bare
    small = replace(prior, maximum_edges=min(prior.maximum_edges, _EDGES_IN_FUNCTION), needed=())
    rich = sampling.draw(network, count, _stream(rng), small)
    return np.where(rng.random((count, 1)) < _BARE, bare, rich)


def _stream(rng: np.random.Generator) -> Stream:
    return Stream(int(rng.integers(2**63)))


def start(assembly: Assembly, params: np.ndarray, stream: Stream) -> np.ndarray:
    """Return start values: near known sizes, spread over decades for unknown ones, uniform between two bounds."""
    params, rng = params.copy(), stream.rng
    spread = rng.random(len(params)) < _SPREAD
    for number in assembly.numbers:
        column, parameter = params[:, number.index], number.parameter
        low, high = number.bounds
        if parameter.about is None:
            decades = 10.0 ** rng.uniform(-_DECADES, _DECADES, len(params))
            column[spread] *= decades[spread]
        else:
            column *= np.where(rng.random(len(params)) < 0.5, 1.0, 0.2)
            column += np.where(rng.random(len(params)) < 0.5, 1.0, 0.0) * np.sign(column)
        if np.isfinite(low) and np.isfinite(high):
            column[:] = rng.uniform(low, high, len(params))
        elif np.isfinite(low):
            column[:] = low + np.abs(column)
        elif np.isfinite(high):
            column[:] = high - np.abs(column)
    for term in assembly.terms:
        if term.held:
            params[:, term.gate] = 1.0
    return params


def mutate(assembly: Assembly, parents: np.ndarray, stream: Stream, prior: Prior) -> np.ndarray:
    children, rng = parents.copy(), stream.rng
    fresh = _drawn(assembly, len(parents), rng, prior)
    for row in range(len(children)):
        for _ in range(1 + rng.poisson(0.5)):
            _change(assembly, children[row], fresh[row], rng, prior)
    children = assembly.cleaned(children)
    lost = ~children.any(axis=1)
    children[lost] = parents[lost]
    return children


def _change(assembly: Assembly, child: np.ndarray, fresh: np.ndarray, rng: np.random.Generator, prior: Prior) -> None:
    """Switch a term on or off, or vary a function, in place."""
    gates = [term.gate for term in assembly.terms]
    here = {-1, *(number for number, gate in enumerate(gates) if child[gate])}
    blocks = [b for b in assembly.blocks if b.term in here]
    kinds = [name for name, there in (("term", assembly.terms), ("block", blocks)) if there]
    if not kinds:
        return  # the template has neither terms nor functions
    match rng.choice(kinds):
        case "term":
            number = rng.integers(len(assembly.terms))
            term = assembly.terms[number]
            on = child[term.gate]
            child[term.edges] = False if on else fresh[term.edges]
            child[term.gate] = not on
            if not on:  # draw new functions for a term that is switched on
                for block in assembly.blocks:
                    if block.term == number:
                        child[block.edges] = _drawn_function(block, 1, rng, prior)[0]
        case _:
            block = blocks[rng.integers(len(blocks))]
            child[block.edges] = _varied(block, child[block.edges], rng, prior)


def _varied(block: Block, own: np.ndarray, rng: np.random.Generator, prior: Prior) -> np.ndarray:
    """Return a mutation of this sub-network, or a new draw if there is none."""
    if own.any() and block.function.operators:
        small = replace(prior, maximum_edges=_EDGES_IN_FUNCTION, needed=())
        varied = sampling.mutate(block.network, own[None], _stream(rng), small)[0]
        if varied.any() and (varied != own).any():
            return varied
    return _drawn_function(block, 1, rng, prior)[0]
