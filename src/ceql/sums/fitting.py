"""Many sums fitted at once by the core: their weights are solved for, only their numbers are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product as every

import numpy as np

from ceql.engine import fit
from ceql.operators import functions
from ceql.operators.onto_tape import write_function
from ceql.operators.program import Instruction
from ceql.operators.tape import TapeBuilder
from ceql.sums.table import Table
from ceql.sums.terms import Sum, Term
from ceql.sums.view import View
from ceql.sums.vocabulary import KINDS

_AT_ONCE = 48  # sums on one tape


def fitted(sums: Sequence[Sum], view: View, threads: int = 1) -> list[Sum]:
    """Each with the numbers and weights that leave least beside what is projected out; without those that cannot."""
    found: list[Sum] = []
    for first in range(0, len(sums), _AT_ONCE):
        found += _fitted(sums[first : first + _AT_ONCE], view, threads)
    return found


def _fitted(sums: Sequence[Sum], view: View, threads: int) -> list[Sum]:
    table = view.table
    tape = TapeBuilder(view.samples.x.shape[1])
    numbers, weights, readout = [], [], []
    for one in sums:
        own = [tape.parameter() for _ in one.numbers]
        slots = _columns(tape, one, own, table)
        scale = [tape.parameter() for _ in slots]
        readout += list(zip(slots, scale, [1.0] * len(slots), strict=True))
        numbers.append(own)
        weights.append(scale)
    written = tape.finish(tape.linear(readout))
    params, masks = np.zeros((len(sums), written.n_params)), np.zeros((len(sums), written.n_params), np.uint8)
    for k, one in enumerate(sums):
        params[k, numbers[k]] = one.numbers
        masks[k, numbers[k] + weights[k]] = 1
    size = table.size / len(table.y)
    options = fit.Levenberg(
        table.policy.fitting_steps, target=table.policy.rounding * size, least_reduction=1e-6, separable=True
    )
    fits = fit.levenberg(written, view.samples, params, masks, options, threads=threads)
    good = np.isfinite(fits.misfit) & np.isfinite(fits.params).all(axis=1)
    return [
        replace(
            one.with_numbers(fits.params[k, numbers[k]]),
            weights=tuple(fits.params[k, weights[k]].tolist()),
            misfit=float(fits.misfit[k]) / size,
        )
        for k, one in enumerate(sums)
        if good[k]
    ]


def _columns(tape: TapeBuilder, one: Sum, parameters: Sequence[int], table: Table) -> list[int]:
    """The slots of all linear columns, in the order of `columns_of`."""
    given, slots = iter(parameters), []
    first = table.inners.values.shape[1]
    for term in one.terms:
        slots += _term_slots(tape, term, [next(given) for _ in range(term.numbers)], first)
    return slots


def _term_slots(tape: TapeBuilder, term: Term, parameters: list[int], first: int) -> list[int]:
    parts, place = [], 0
    for factor in term.factors:
        own = parameters[place : place + len(factor.numbers)]
        place += len(factor.numbers)
        parts.append([_write(tape, program, factor.inner, own) for program in KINDS[factor.kind].programs])
    slots = []
    for choice in every(*parts):
        for monomial in term.monomials:
            slot = first + monomial
            for part in choice:
                slot = part if slot == first else tape.operator("mul", slot, part)  # the first monomial is one
            slots.append(slot)
    return slots


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
