"""Formulas as presentation MathML, which browsers draw by themselves."""

from __future__ import annotations

import html
import re

import sympy
from sympy.printing.mathml import MathMLPresentationPrinter

from ceql.expression.symbolic import Expr, terms_of
from ceql.expression.text.write import in_words

_DIGITS = 6
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]+;")  # XML knows five names alone, HTML thousands
_WITH_NUMBER = re.compile(r"([^\W\d_])_?(\d+)")
_HYPHEN, _MINUS = "<mo>-</mo>", "<mo>−</mo>"
_DOUBLE_STRUCK_E = "\u2147"  # which few fonts have
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def without_control_characters(text: str) -> str:
    """The text with the few characters replaced that neither XML nor HTML can hold."""
    return _NOT_IN_XML.sub("\ufffd", text)


def terms_as_mathml(expression: Expr, left: str = "", digits: int = _DIGITS) -> list[str]:
    """One ``<math>`` element per term of a sum, each with its sign: between them a long formula can be broken.

    `left` is the name before an equals sign, shown as the first element.
    """
    equals = [_element(f"{_name(left)}<mo>=</mo>")] if left else []
    terms = expression.as_ordered_terms() if len(terms_of(expression)) > 1 else [expression]
    return equals + [_element(_signed(term, digits, first=k == 0)) for k, term in enumerate(terms)]


def _signed(term: Expr, digits: int, first: bool) -> str:
    if first:
        return _printed(term, digits)
    negative = bool(term.as_coeff_Mul()[0].is_negative)
    sign = f'<mo form="infix">{"−" if negative else "+"}</mo>'
    return sign + _printed(-term if negative else term, digits)


def _element(inner: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inner}</math>'


def _printed(expression: Expr, digits: int) -> str:
    # Two words side by side do not look like a product; two letters do.
    words = any(len(symbol.name) > 1 and not _WITH_NUMBER.fullmatch(symbol.name) for symbol in expression.free_symbols)
    text = _Printer(digits, "dot" if words else None).doprint(expression)
    return (
        _NAMED.sub(lambda name: html.unescape(name.group()), text)
        .replace(_DOUBLE_STRUCK_E, "e")
        .replace(_HYPHEN, _MINUS)
    )


def _name(name: str) -> str:
    """x12 as x with the index 12; any other name as it is."""
    numbered = _WITH_NUMBER.fullmatch(name)
    if numbered:
        return f"<msub><mi>{_safe(numbered[1])}</mi><mn>{numbered[2]}</mn></msub>"
    return f"<mi>{_safe(in_words(name))}</mi>"


def _safe(text: str) -> str:
    return html.escape(without_control_characters(text))


class _Printer(MathMLPresentationPrinter):
    """SymPy's printer, except that names are escaped, which it forgets, and numbers are short."""

    def __init__(self, digits: int, mul_symbol: str | None) -> None:
        super().__init__({"mul_symbol": mul_symbol})
        self._digits = digits

    def _raw(self, text: str):
        # The printer's text nodes are written as they are.
        holder = self.dom.createElement("mrow")
        holder.appendChild(self.dom.createTextNode(text))
        return holder

    def _print_Symbol(self, expr, style="plain"):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._raw(_name(expr.name))

    def _print_Float(self, expr: sympy.Float):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._raw(number_as_mathml(float(expr), self._digits))


def number_as_mathml(value: float, digits: int = _DIGITS) -> str:
    """The short decimal, with a power of ten where it is very large or small."""
    mantissa, _, exponent = f"{value:.{digits}g}".replace("-", "−").partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    power = exponent.replace("+", "").replace("−", "-")
    return f"<mn>{mantissa}</mn><mo>·</mo><msup><mn>10</mn><mn>{str(int(power)).replace('-', '−')}</mn></msup>"
