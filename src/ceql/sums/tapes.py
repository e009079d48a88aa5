"""Sums as tapes for the core.

A term is written once per structure, and the tapes of many sums are assembled from these parts: writing each sum step
by step would take longer than fitting it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as every

import numpy as np

from ceql.operators import functions
from ceql.operators.onto_tape import write_function
from ceql.operators.program import Instruction
from ceql.operators.tape import OPCODES, Tape, TapeBuilder
from ceql.sums.terms import Sum, Term
from ceql.sums.vocabulary import KINDS

_LINEAR = OPCODES["linear"]


@dataclass(frozen=True, eq=False)
class Fragment:
    """A term as a tape of its own, and the slots of its linear columns."""

    tape: Tape
    slots: np.ndarray


@dataclass(frozen=True, eq=False)
class Written:
    """A tape of the weighted columns of many sums, and the places of each sum's numbers and weights."""

    tape: Tape
    numbers: list[slice]
    weights: list[slice]


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes sums of columns, or of combinations of two, and of monomials: these are the inputs, in this order."""

    inners: int
    monomials: int
    _known: dict[tuple, Fragment] = field(default_factory=dict)

    @property
    def inputs(self) -> int:
        return self.inners + self.monomials

    def written(self, sums: Sequence[Sum]) -> Written:
        """The sums on one tape, each with parameters of its own: first its numbers, then its weights."""
        numbers = [sum(term.numbers for term in one.terms) for one in sums]
        columns = [sum(term.columns for term in one.terms) for one in sums]
        begins = np.cumsum([0, *(n + c for n, c in zip(numbers, columns, strict=True))]).tolist()
        fragments, first = [], []  # and the first parameter of each
        for one, begin in zip(sums, begins, strict=False):
            for term in one.terms:
                fragments.append(self._fragment(term))
                first.append(begin)
                begin += term.numbers
        own = [slice(b, b + n) for b, n in zip(begins, numbers, strict=False)]
        weights = [slice(b + n, b + n + c) for b, n, c in zip(begins, numbers, columns, strict=False)]
        given = np.arange(begins[-1])
        scales = np.concatenate([given[one] for one in weights])
        return Written(_joined(fragments, np.array(first), scales, begins[-1]), own, weights)

    def _fragment(self, term: Term) -> Fragment:
        key = term.monomials, tuple(factor.key for factor in term.factors)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._written_anew(term)
        return known

    def _written_anew(self, term: Term) -> Fragment:
        tape = TapeBuilder(self.inputs)
        parts = []
        for factor in term.factors:
            own = [tape.parameter() for _ in factor.numbers]
            parts.append([_write(tape, program, factor.inner, own) for program in KINDS[factor.kind].programs])
        one = self.inners  # the slot of the first monomial, which is one
        slots = []
        for choice in every(*parts):
            for monomial in term.monomials:
                slot = one + monomial
                for part in choice:
                    slot = part if slot == one else tape.operator("mul", slot, part)
                slots.append(slot)
        return Fragment(tape.finish(slots[-1]), np.array(slots, np.int32))


def _joined(fragments: Sequence[Fragment], first: np.ndarray, scales: np.ndarray, parameters: int) -> Tape:
    """One tape of all fragments, whose columns are added up with these parameters as their weights."""
    inputs = fragments[0].tape.n_inputs
    nodes, edges = (np.concatenate([getattr(f.tape, name) for f in fragments]) for name in ("nodes", "edges"))
    nodes_each, edges_each = (np.array([len(getattr(f.tape, name)) for f in fragments]) for name in ("nodes", "edges"))
    slots_each = np.array([len(f.slots) for f in fragments])
    before = np.cumsum(nodes_each) - nodes_each  # nodes of the fragments before
    edges_before = np.cumsum(edges_each) - edges_each

    def moved(slots: np.ndarray, each: np.ndarray) -> np.ndarray:
        return np.where(slots > inputs, slots + np.repeat(before, each), slots)

    is_linear = nodes[:, 0] == _LINEAR  # whose entries are its first edge and how many there are
    begins = nodes[:, 1] + np.repeat(edges_before, nodes_each)
    for k in (1, 2, 3):
        nodes[:, k] = np.where(is_linear, nodes[:, k], moved(nodes[:, k], nodes_each))
    nodes[:, 1] = np.where(is_linear, begins, nodes[:, 1])
    own = edges[:, 1] + np.repeat(first, edges_each)
    edges = np.stack([moved(edges[:, 0], edges_each), np.where(edges[:, 1] >= 0, own, -1)], axis=1)
    slots = moved(np.concatenate([f.slots for f in fragments]), slots_each)
    coefficients = [*(f.tape.coefficients for f in fragments), np.ones(len(slots))]
    total = np.array([[_LINEAR, len(edges), len(slots), -1]])
    return Tape(
        n_inputs=inputs,
        nodes=np.concatenate([nodes, total]).astype(np.int32),
        edges=np.concatenate([edges, np.stack([slots, scales], axis=1)]).astype(np.int32),
        coefficients=np.concatenate(coefficients),
        n_params=parameters,
        output=inputs + 1 + len(nodes),
        aux=np.zeros(0, np.int32),
        partner=np.full(parameters, -1, np.int32),
        lower=np.full(parameters, -np.inf),
        upper=np.full(parameters, np.inf),
    )


def _write(tape: TapeBuilder, program: Sequence[Instruction], column: int, parameters: Sequence[int]) -> int:
    """A program of one column; each step becomes a weighted sum of slots and parameters, or an operator."""
    slots: list[int] = []
    for step in program:
        operands = [slots[k] for k in step.operands]
        match step.operation:
            case "input":
                slot = column
            case "constant":
                slot = tape.linear([(tape.one, -1, float(step.payload))])
            case "parameter":
                slot = tape.linear([(tape.one, parameters[int(step.payload)], 1.0)])
            case "add":
                slot = tape.linear([(operand, -1, 1.0) for operand in operands])
            case "multiply":
                slot = operands[0]
                for operand in operands[1:]:
                    slot = tape.operator("mul", slot, operand)
            case "divide":
                slot = tape.operator("div", operands[0], operands[1], None)
            case "integer_power":
                slot = _integer_power(tape, operands[0], int(step.payload))
            case "power":
                slot = tape.operator("pow", operands[0], None, operands[1])
            case "real_power":
                exponent = tape.linear([(tape.one, -1, float(step.payload))])
                slot = tape.operator("pow", operands[0], None, exponent)
            case "function":
                slot = write_function(tape, functions.get(str(step.payload)), operands[0])
            case other:
                raise ValueError(f"A tape has no operation {other!r}.")
        slots.append(slot)
    return slots[-1]


def _integer_power(tape: TapeBuilder, slot: int, exponent: int) -> int:
    if exponent in (2, 3):
        return tape.operator("square" if exponent == 2 else "cube", slot)
    result = slot
    for _ in range(exponent - 1):
        result = tape.operator("mul", result, slot)
    return result
