"""The real cube root as a SymPy function.

SymPy's own cube root is the power 1/3, which is complex below zero. Its real one is a product of a sign and a power, or
a case distinction, which simplification takes apart and nobody recognises in a formula. As a separate function it stays
one node, prints as ``cbrt(x)`` and is read back as the same function.
"""

from __future__ import annotations

from typing import Any

import sympy


class cbrt(sympy.Function):  # SymPy prints the name of the class
    """The cube root of a real argument, with the sign of the argument."""

    nargs = 1  # pyright: ignore[reportAssignmentType]

    @classmethod
    def eval(cls, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if x.is_number and x.is_extended_real:
            return sympy.sign(x) * sympy.Pow(abs(x), sympy.Rational(1, 3))
        if x.is_Pow and x.exp.is_Integer and x.exp % 3 == 0 and x.base.is_extended_real:
            return x.base ** (x.exp / 3)
        if x.could_extract_minus_sign():
            return -cls(-x)
        return None

    def fdiff(self, argindex: int = 1) -> Any:
        return 1 / (3 * self**2)

    def _eval_power(self, expt: Any) -> Any:
        (x,) = self.args
        return x ** (expt / 3) if expt.is_Integer and expt % 3 == 0 else None

    def _eval_is_extended_real(self) -> Any:
        return self.args[0].is_extended_real  # pyright: ignore[reportAttributeAccessIssue]

    def _eval_is_finite(self) -> Any:
        return self.args[0].is_finite  # pyright: ignore[reportAttributeAccessIssue]

    def _eval_is_extended_positive(self) -> Any:
        return self.args[0].is_extended_positive  # pyright: ignore[reportAttributeAccessIssue]

    def _eval_is_extended_negative(self) -> Any:
        return self.args[0].is_extended_negative  # pyright: ignore[reportAttributeAccessIssue]

    def _eval_is_zero(self) -> Any:
        return self.args[0].is_zero  # pyright: ignore[reportAttributeAccessIssue]

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        root = rf"\sqrt[3]{{{printer._print(self.args[0])}}}"
        return root if exp is None else rf"{root}^{{{exp}}}"

    def _mathml_presentation(self, printer: Any) -> Any:
        root, three = printer.dom.createElement("mroot"), printer.dom.createElement("mn")
        three.appendChild(printer.dom.createTextNode("3"))
        root.appendChild(printer._print(self.args[0]))
        root.appendChild(three)
        return root
