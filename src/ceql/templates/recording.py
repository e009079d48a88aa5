"""Records a template as one tape: the frame, its terms and the networks of its functions, in order of dependence.

Every denominator and every argument of a log or a root with something unknown in it gets an imaginary part of its own,
which lets poles move across data points during the search. These are the last parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from ceql.errors import InputError
from ceql.expression.complex_parts import real_form
from ceql.network.recording import embed
from ceql.operators import functions
from ceql.operators.functions import ElementaryFunction
from ceql.operators.onto_tape import penalise_outside, write_function
from ceql.operators.tape import Tape, TapeBuilder
from ceql.templates.reading import symbol

if TYPE_CHECKING:
    from ceql.templates.assembly import Assembly, Block, Number

_WHOLE = -1
_ALWAYS = -1  # in place of a parameter: only the fixed coefficient

Edge = tuple[int, int, float]  # source slot, parameter, coefficient


class Recorder:
    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.tape = TapeBuilder(assembly.n_inputs)
        bounds = {number.index: number.bounds for number in assembly.numbers}
        bounds |= {term.gate: (1.0, 1.0) for term in assembly.terms if term.held}
        for index in range(assembly.n_real + sum(block.n_imaginary for block in assembly.blocks)):
            self.tape.parameter(*bounds.get(index, ()))
        self.n_smoothing = 0
        self.unknown = {symbol(number.name) for number in assembly.numbers}
        self.unknown |= {symbol(block.name) for block in assembly.blocks}

    def finish(self) -> tuple[Tape, int]:
        """Return the tape, and the number of imaginary parts of the frame, which are its last parameters."""
        assembly = self.assembly
        whole = _Scope(self, _WHOLE)
        sums: dict[str, list[Edge]] = {}
        for number, term in enumerate(assembly.terms):
            scope = _Scope(self, number, whole)
            for name, form in assembly.term_forms[term.sum].items():
                edge = (scope.slot(form), term.gate, 1.0) if term.held else scope.edge(form)
                sums.setdefault(name, []).append(edge)
        for name, edges in sums.items():
            whole.known[symbol(name)] = self.tape.linear(edges)
            self.unknown.add(symbol(name))
        slot, parameter, coefficient = whole.edge(real_form(assembly.frame))
        output = self.tape.linear([(slot, parameter, coefficient / assembly.scaling.y)])
        return self.tape.finish(output), self.n_smoothing

    def smoothing(self, argument: Any) -> int | None:
        """Return the slot of an imaginary part for this argument; None if everything in it is known."""
        if not argument.free_symbols & self.unknown:
            return None
        self.n_smoothing += 1
        return self.tape.linear([(self.tape.one, self.tape.parameter(), 1.0)])


class _Scope:
    """The names of a term, or of the whole template, and the slots already written for them."""

    def __init__(self, recorder: Recorder, term: int, outer: _Scope | None = None) -> None:
        self.recorder, self.tape = recorder, recorder.tape
        assembly = recorder.assembly
        self.known: dict[Any, int] = {}
        self.outer = outer
        self.plain: dict[Any, Number] = {}
        self.lonely: dict[Any, Number] = {}
        for number in assembly.numbers:
            if number.term == term:
                (self.plain if number.parameter.sign is None else self.lonely)[symbol(number.name)] = number
        self.blocks: dict[Any, Block] = {symbol(b.name): b for b in assembly.blocks if b.term == term}
        self.columns: Mapping[Any, int] = {symbol(name): k for k, name in enumerate(assembly.names)}

    def _owner(self, name: Any) -> _Scope:
        """Return the scope that writes a name; names of the whole template are written once for all terms."""
        own = name in self.plain or name in self.lonely or name in self.blocks or name in self.known
        return self if own or self.outer is None else self.outer

    def _split(self, expression: Any) -> tuple[float, Number | None, Any]:
        """Split a product into a number, a parameter and the rest."""
        factors = sympy.Mul.make_args(expression)
        coefficient = sympy.Mul(*(factor for factor in factors if factor.is_number))  # including pi
        rest = sympy.Mul(*(factor for factor in factors if not factor.is_number))
        for factor in sympy.Mul.make_args(rest):
            number = self._owner(factor).plain.get(factor)
            if number is not None:
                return float(coefficient), number, rest / factor
        return float(coefficient), None, rest

    def edge(self, expression: Any) -> Edge:
        """Return the expression as slot times parameter times coefficient, so that sums need no node for a product."""
        coefficient, number, rest = self._split(expression)
        parameter = _ALWAYS if number is None else number.index
        coefficient *= 1.0 if number is None else number.parameter.size
        if rest == 1:
            return self.tape.one, parameter, coefficient
        if rest in self.columns:
            column = self.columns[rest]
            return column, parameter, coefficient * float(self.recorder.assembly.scaling.x[column])
        return self.slot(rest), parameter, coefficient

    def slot(self, expression: Any) -> int:
        owner = self._owner(expression) if expression.is_Symbol else self
        if expression not in owner.known:
            owner.known[expression] = owner._written(expression)
        return owner.known[expression]

    def _written(self, expression: Any) -> int:
        if expression in self.blocks:
            block = self.blocks[expression]
            inner = embed(block.network, self.tape, block.columns, block.first, block.imaginary)
            return self._times_number(inner, float(block.function.about))
        if expression in self.lonely:
            number = self.lonely[expression]
            root = self.tape.linear([(self.tape.one, number.index, 1.0)])
            return self._times_number(self.tape.operator("square", root), number.unit)
        if expression.is_Symbol or expression.is_number:
            slot, parameter, coefficient = edge = self.edge(expression)
            return self._times_number(slot, coefficient) if parameter == _ALWAYS else self.tape.linear([edge])
        if expression.is_Add:
            return self.tape.linear([self.edge(term) for term in expression.args])
        if expression.is_Mul:
            return self._product(expression)
        if expression.is_Pow and expression.base is not sympy.E:
            return self._power(expression.base, expression.exp)
        return self._call(expression)

    def _times_number(self, slot: int, factor: float) -> int:
        return slot if factor == 1.0 else self.tape.linear([(slot, _ALWAYS, factor)])

    def _product(self, expression: Any) -> int:
        coefficient, number, _ = self._split(expression)
        if coefficient != 1.0 or number is not None:
            return self.tape.linear([self.edge(expression)])
        above, below = [], []
        for factor in expression.args:
            base, exponent = factor.as_base_exp()
            is_divisor = base is not sympy.E and exponent.is_number and exponent.is_negative
            (below if is_divisor else above).append(base**-exponent if is_divisor else factor)
        if not below:
            return self._times(above)
        return self._quotient(self._times(above) if above else self.tape.one, sympy.Mul(*below))

    def _times(self, factors: list[Any]) -> int:
        slot = self.slot(factors[0])
        for factor in factors[1:]:
            slot = self.tape.operator("mul", slot, self.slot(factor))
        return slot

    def _quotient(self, numerator: int, denominator: Any) -> int:
        return self.tape.operator("div", numerator, self.slot(denominator), self.recorder.smoothing(denominator))

    def _power(self, base: Any, exponent: Any) -> int:
        if exponent.is_number and exponent.is_negative:
            return self._quotient(self.tape.one, base**-exponent)
        if exponent in (2, 3):
            return self.tape.operator("square" if exponent == 2 else "cube", self.slot(base))
        if exponent == sympy.Rational(1, 2):
            return self._elementary(functions.get("sqrt"), base)
        if exponent.is_Integer and exponent > 3:
            half = self.slot(base ** (exponent // 2))
            square = self.tape.operator("square", half)
            return square if exponent % 2 == 0 else self.tape.operator("mul", square, self.slot(base))
        argument = self.slot(base)
        self.tape.penalise(self.tape.operator("shortfall", argument))
        return self.tape.operator("pow", argument, self.recorder.smoothing(base), self.slot(exponent))

    def _call(self, expression: Any) -> int:
        argument = expression.exp if expression.is_Pow else expression.args[0]
        kind = sympy.exp if expression.is_Pow else expression.func
        function = functions.of_kind(kind)
        if function is None:
            known = ", ".join(sorted(functions.names()))
            raise InputError(f"A template cannot contain {kind.__name__}. Use +, -, *, /, powers, {known}.")
        return self._elementary(function, argument)

    def _elementary(self, function: ElementaryFunction, argument: Any) -> int:
        slot = self.slot(argument)
        penalise_outside(self.tape, function.domain, slot)
        smoothing = None if function.surrogate is None else self.recorder.smoothing(argument)
        return write_function(self.tape, function, slot, smoothing)
