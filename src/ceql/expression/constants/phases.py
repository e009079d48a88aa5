"""Writes the phase of a sine or cosine as the smallest of the numbers that mean the same."""

from __future__ import annotations

import math

from sympy import Add, Float, cos, sin

from ceql.expression.symbolic import Expr

TURN = 2.0 * math.pi


def with_small_phases(expr: Expr) -> Expr:
    """Whole turns inside sines and cosines are left out: sin(2.1*x - 12.17) becomes sin(2.1*x + 0.4)."""
    turned = {wave: wave.func(_less_turns(wave.args[0])) for wave in expr.atoms(sin, cos)}
    changed = {wave: new for wave, new in turned.items() if new != wave}
    return expr.xreplace(changed) if changed else expr


def _less_turns(argument: Expr) -> Expr:
    if not isinstance(argument, Add):
        return argument
    phases = [term for term in argument.args if isinstance(term, Float)]
    if len(phases) != 1:
        return argument
    phase = float(phases[0])
    turns = round(phase / TURN)
    return argument - phases[0] + Float(phase - turns * TURN) if turns else argument
