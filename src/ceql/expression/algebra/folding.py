"""Rewrites that move constants in and out of logs, roots, exponentials and sines.

Each rule looks at one sum or product and proposes equal ones; whether a proposal is shorter, and
whether it is defined where the original is, is decided by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

from sympy import Add, Float, Mul, Pow, S, cos, exp, log, sin

from ceql.expression.algebra.precision import accuracy
from ceql.expression.algebra.simplify_policy import SimplifyPolicy
from ceql.expression.algebra.workspace import number
from ceql.expression.symbolic import Expr, factors_of, terms_of
from ceql.operators import functions


class Arguments(Protocol):
    """The operations on arguments of functions that the rules need."""

    policy: SimplifyPolicy

    def scales(self, argument: Expr) -> list[float]:
        """Return positive factors that make some coefficient of the argument one."""
        ...

    def scaled(self, argument: Expr, factor: float) -> Expr:
        """Return the shortest form of factor * argument."""
        ...

    def shortest_form(self, expr: Expr) -> Expr:
        """Return the shortest form known."""
        ...


def variants(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """Yield equal forms of one node, whose arguments are in their final form."""
    if expr.is_Add or _log_term(expr) is not None:
        yield from _log_scales(expr, arguments)
        yield from _log_merges(expr, arguments)
        yield from _wave_merges(expr)
    if expr.is_Mul or expr.is_Pow or _degree(expr) is not None:
        yield from _root_scales(expr, arguments)
        yield from _root_merges(expr, arguments)
    if expr.is_Mul:
        yield from _exp_merges(expr, arguments)
    if expr.is_Mul or isinstance(expr, exp):
        yield from _exp_shifts(expr, arguments)
    if isinstance(expr, exp):
        yield from _powers(expr)
    if isinstance(expr, sin | cos):
        yield from _phases(expr)


def worth_folding(expr: Expr) -> bool:
    roots = tuple(kind for kind in functions.kinds() if _degree_of(kind) is not None)
    return expr.has(log, exp, sin, cos, *roots) or any(not p.exp.is_Integer for p in expr.atoms(Pow))


def _degree_of(kind: type) -> float | None:
    function = functions.of_kind(kind)
    return None if function is None else function.degree


def _number_of(expr: Expr) -> float | None:
    return float(expr) if expr.is_number and expr.is_real and expr.is_finite else None


def _log_term(term: Expr) -> tuple[float, Expr] | None:
    """(k, u) for k*log(u)."""
    coefficient, rest = term.as_coeff_Mul()
    return (float(coefficient), rest.args[0]) if isinstance(rest, log) else None


def _split_constant(terms: tuple[Expr, ...]) -> tuple[float, list[Expr]]:
    constants = [value for value in map(_number_of, terms) if value is not None]
    return math.fsum(constants), [term for term in terms if _number_of(term) is None]


def _log_scales(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """k*log(u) + c = k*log(s*u) + c - k*log(s); one s makes the constant vanish."""
    constant, terms = _split_constant(terms_of(expr))
    for place, term in enumerate(terms):
        found = _log_term(term)
        if found is None:
            continue
        k, u = found
        scales = arguments.scales(u)
        if constant and abs(constant / k) < 300.0:
            scales = [math.exp(constant / k), *scales]
        for scale in scales:
            rest = constant - k * math.log(scale)
            rest = 0.0 if abs(rest) <= accuracy() * (1.0 + abs(constant)) else rest
            others = terms[:place] + terms[place + 1 :]
            yield Add(Mul(number(k), log(arguments.scaled(u, scale))), number(rest), *others)


def _log_merges(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """k*log(u) + n*k*log(v) = k*log(u*v**n)."""
    terms = list(terms_of(expr))
    logs = [(place, found) for place, found in enumerate(map(_log_term, terms)) if found is not None]
    for i, (first, (k, u)) in enumerate(logs):
        for second, (m, v) in logs[i + 1 :]:
            merged = _merged_log(k, u, m, v, arguments)
            if merged is not None:
                others = [term for place, term in enumerate(terms) if place not in (first, second)]
                yield Add(merged, *others)


def _merged_log(k: float, u: Expr, m: float, v: Expr, arguments: Arguments) -> Expr | None:
    if abs(m) < abs(k):
        k, u, m, v = m, v, k, u
    power = round(m / k)
    if abs(power) > arguments.policy.largest_log_power or abs(m / k - power) > accuracy(10.0) * abs(power):
        return None
    return Mul(number(k), log(arguments.shortest_form(Mul(u, Pow(v, power)))))


def _wave_merges(expr: Expr) -> Iterator[Expr]:
    """a*sin(u) + b*cos(u) = r*sin(u + phase), also with a common factor."""
    waves: dict[tuple[Expr, Expr], dict[type, tuple[int, float]]] = {}
    terms = list(terms_of(expr))
    for place, term in enumerate(terms):
        coefficient, rest = term.as_coeff_Mul()
        for part in factors_of(rest):
            if isinstance(part, sin | cos):
                key = (part.args[0], Mul(*[other for other in factors_of(rest) if other != part]))
                waves.setdefault(key, {})[part.func] = (place, float(coefficient))
    for (argument, common), pair in waves.items():
        if len(pair) == 2:
            (first, a), (second, b) = pair[sin], pair[cos]
            merged = Mul(number(math.hypot(a, b)), common, sin(Add(argument, Float(math.atan2(b, a)))))
            yield Add(merged, *[term for place, term in enumerate(terms) if place not in (first, second)])


def _phases(expr: Expr) -> Iterator[Expr]:
    """Reduce phases by whole turns, and remove quarter turns by changing between sine and cosine."""
    constant, terms = _split_constant(terms_of(expr.args[0]))
    if not constant:
        return
    rest = Add(*terms)
    phase = constant + (math.pi / 2.0 if isinstance(expr, cos) else 0.0)
    quarters = phase / (math.pi / 2.0)
    if abs(quarters - round(quarters)) < accuracy(10.0) * (1.0 + abs(quarters)):
        yield [sin(rest), cos(rest), -sin(rest), -cos(rest)][round(quarters) % 4]
    turns = round(constant / (2.0 * math.pi))
    if turns:
        yield expr.func(Add(rest, Float(constant - 2.0 * math.pi * turns)))


def _degree(factor: Expr) -> float | None:
    """Return r if scaling the inside of a root, or of a power of one, by a positive s multiplies the factor by s**r."""
    if not factor.is_Pow:
        return _degree_of(factor.func)
    if not factor.exp.is_Number:
        return None
    inner = _degree_of(factor.base.func)
    if inner is None and factor.exp.is_Integer:
        return None
    return float(factor.exp) * (1.0 if inner is None else inner)


def _with_inside(root: Expr, inside: Expr) -> Expr:
    if not root.is_Pow:
        return root.func(inside)
    return Pow(inside if _degree_of(root.base.func) is None else root.base.func(inside), root.exp)


def _inside(root: Expr) -> Expr:
    base = root.base if root.is_Pow else root
    return base if _degree_of(base.func) is None else base.args[0]


def _root_parts(expr: Expr) -> tuple[float, list[Expr], list[Expr]]:
    """Return the number, the roots and the other factors of a product."""
    coefficient, rest = expr.as_coeff_Mul()
    value = _number_of(coefficient)
    factors = list(factors_of(rest))
    roots = [f for f in factors if _degree(f) is not None]
    return (1.0 if value is None else value), roots, [f for f in factors if f not in roots]


def _root_scales(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """c*u**r = c*s**(-r) * (s*u)**r; one s makes the number vanish."""
    coefficient, roots, others = _root_parts(expr)
    for root in roots:
        r = _degree(root) or 1.0  # a root has one
        scales = arguments.scales(_inside(root))
        if abs(math.log(abs(coefficient)) / r) < 300.0 and abs(coefficient) != 1.0:
            scales = [abs(coefficient) ** (1.0 / r), *scales]
        for scale in scales:
            rest = coefficient * scale**-r
            kept = [other for other in roots if other != root]
            inner = arguments.scaled(_inside(root), scale)
            yield Mul(number(rest), _with_inside(root, inner), *kept, *others)


def _root_merges(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """sqrt(u)*sqrt(v) = sqrt(u*v) and sqrt(u)/sqrt(v) = sqrt(u/v)."""
    coefficient, roots, others = _root_parts(expr)
    for i, first in enumerate(roots):
        for second in roots[i + 1 :]:
            if first.is_Pow and second.is_Pow and abs(first.exp) == abs(second.exp):
                sign = 1 if first.exp == second.exp else -1
                inner = arguments.shortest_form(Mul(first.base, Pow(second.base, sign)))
                kept = [root for root in roots if root not in (first, second)]
                yield Mul(number(coefficient), Pow(inner, first.exp), *kept, *others)


def _exp_merges(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """exp(u)*exp(v) = exp(u + v), which SymPy leaves alone when u and v hold decimals."""
    factors = factors_of(expr)
    exponents: list[Expr] = [factor.args[0] for factor in factors if isinstance(factor, exp)]
    if len(exponents) > 1:
        others = [factor for factor in factors if not isinstance(factor, exp)]
        yield Mul(*others, exp(arguments.shortest_form(Add(*exponents))))


def _exp_shifts(expr: Expr, arguments: Arguments) -> Iterator[Expr]:
    """c*exp(u + b) = c*exp(b)*exp(u): the constant goes all in front or all inside."""
    coefficient, rest = expr.as_coeff_Mul()
    value = _number_of(coefficient)
    factors = factors_of(rest)
    for place, part in enumerate(factors):
        if not isinstance(part, exp) or value is None:
            continue
        constant, terms = _split_constant(terms_of(part.args[0]))
        others = factors[:place] + factors[place + 1 :]
        sign = S.One if value > 0 else S.NegativeOne
        inside = arguments.shortest_form(Add(*terms, number(constant + math.log(abs(value)))))
        yield Mul(sign, exp(inside), *others)
        if constant and abs(constant) < 300.0:
            yield Mul(number(value * math.exp(constant)), exp(arguments.shortest_form(Add(*terms))), *others)


def _powers(expr: Expr) -> Iterator[Expr]:
    """exp(w*log(u) + v) = u**w*exp(v), which is also defined where u is zero."""
    terms = list(terms_of(expr.args[0]))
    for place, term in enumerate(terms):
        factors = factors_of(term)
        logs = [factor for factor in factors if isinstance(factor, log)]
        if len(logs) == 1:
            exponent = Mul(*[factor for factor in factors if factor != logs[0]])
            yield Mul(Pow(logs[0].args[0], exponent), exp(Add(*terms[:place], *terms[place + 1 :])))
