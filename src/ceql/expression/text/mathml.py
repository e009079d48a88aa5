"""Formulas as presentation MathML, which browsers draw by themselves."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import sympy
from sympy.printing.mathml import MathMLPresentationPrinter

from ceql.expression.symbolic import Expr, above_and_below, terms_of
from ceql.expression.text.write import in_words, short_text

_DIGITS = 6
_WIDEST = 40  # most characters on one line of a term; longer terms are broken
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z]+;")  # XML has only five names, HTML thousands
_WITH_NUMBER = re.compile(r"([^\W\d_])_?(\d+)")
_HYPHEN, _MINUS = "<mo>-</mo>", "<mo>−</mo>"
_DOUBLE_STRUCK_E = "\u2147"  # missing in most fonts
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def without_control_characters(text: str) -> str:
    """Replace the few characters that neither XML nor HTML can contain."""
    return _NOT_IN_XML.sub("\ufffd", text)


def terms_as_mathml(expression: Expr, left: str = "", digits: int = _DIGITS) -> list[str]:
    """Return one ``<math>`` element per term of a sum, each with its sign; long formulas can be broken between them.

    A term wider than a page is written on one level, fractions with a slash, and broken as well.
    `left` is the name before an equals sign, shown as the first element.
    """
    equals = [_element(f"{_name(left)}<mo>=</mo>")] if left else []
    return equals + [_element(piece) for piece in _sum_in_pieces(expression, digits)]


def _sum_in_pieces(expression: Expr, digits: int) -> list[str]:
    terms = expression.as_ordered_terms() if len(terms_of(expression)) > 1 else [expression]
    pieces = _in_pieces(terms[0], digits)
    for term in terms[1:]:
        negative = bool(term.as_coeff_Mul()[0].is_negative)
        first, *others = _in_pieces(-term if negative else term, digits)
        pieces += [f'<mo form="infix">{"−" if negative else "+"}</mo>{first}', *others]
    return pieces


def _in_pieces(term: Expr, digits: int) -> list[str]:
    """Return elements between which a line may be broken; a single one if the term is short."""
    if not _is_wide(term, digits):
        return [_printed(term, digits)]
    if isinstance(term, sympy.Mul):
        above, below = above_and_below(term)
        if sympy.S.NegativeOne in above:
            first, *others = _in_pieces(-term, digits)
            return [f'<mo form="prefix">−</mo>{first}', *others]
        pieces = _product_in_pieces(above, digits) if above else ["<mn>1</mn>"]
        if not below:
            return pieces
        divisor = _product_in_pieces(below, digits)
        divisor = _bracketed(divisor) if len(below) > 1 else divisor
        return [*pieces, f"<mo>/</mo>{divisor[0]}", *divisor[1:]]
    base, exponent = term.as_base_exp()
    if exponent.is_number and exponent.is_negative and base is not sympy.E:
        return _in_pieces(sympy.Mul(1, term, evaluate=False), digits)
    if isinstance(term, sympy.Pow) and exponent.is_number:
        return _bracketed(_sum_in_pieces(base, digits), f"<msup><mo>)</mo>{_printed(exponent, digits)}</msup>")
    if len(term.args) == 1:
        name = f"<mi>{_safe(type(term).__name__)}</mi><mo>(</mo>"
        return _bracketed(_sum_in_pieces(term.args[0], digits), "<mo>)</mo>", name)
    return [_printed(term, digits)]


def _product_in_pieces(factors: Sequence[Expr], digits: int) -> list[str]:
    pieces: list[str] = []
    for k, factor in enumerate(factors):
        is_sum = len(terms_of(factor)) > 1
        own = _bracketed(_sum_in_pieces(factor, digits)) if is_sum else _in_pieces(factor, digits)
        pieces += [f"<mo>·</mo>{own[0]}" if k else own[0], *own[1:]]
    return pieces


def _bracketed(pieces: list[str], closing: str = "<mo>)</mo>", opening: str = "<mo>(</mo>") -> list[str]:
    """Add brackets that cannot be separated from what they enclose."""
    pieces = [f"{opening}{pieces[0]}", *pieces[1:]]
    return [*pieces[:-1], f"{pieces[-1]}{closing}"]


def _is_wide(term: Expr, digits: int) -> bool:
    """Return whether the longest line of the term may be wider than a page; a fraction takes two lines."""
    above, below = above_and_below(term)
    return max(sum(len(short_text(factor, digits)) for factor in part) for part in (above, below)) > _WIDEST


def _element(inner: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{inner}</math>'


def _printed(expression: Expr, digits: int) -> str:
    # Two adjacent words do not look like a product; two letters do.
    words = any(len(symbol.name) > 1 and not _WITH_NUMBER.fullmatch(symbol.name) for symbol in expression.free_symbols)
    text = _Printer(digits, "dot" if words else None).doprint(expression)
    return (
        _NAMED.sub(lambda name: html.unescape(name.group()), text)
        .replace(_DOUBLE_STRUCK_E, "e")
        .replace(_HYPHEN, _MINUS)
    )


def _name(name: str) -> str:
    """Return x12 as x with the index 12, and any other name unchanged."""
    numbered = _WITH_NUMBER.fullmatch(name)
    if numbered:
        return f"<msub><mi>{_safe(numbered[1])}</mi><mn>{numbered[2]}</mn></msub>"
    return f"<mi>{_safe(in_words(name))}</mi>"


def _safe(text: str) -> str:
    return html.escape(without_control_characters(text))


class _Printer(MathMLPresentationPrinter):
    """SymPy's printer with short numbers and with names escaped, which SymPy does not do."""

    def __init__(self, digits: int, mul_symbol: str | None) -> None:
        super().__init__({"mul_symbol": mul_symbol})
        self._digits = digits

    def _raw(self, text: str):
        # The printer writes text nodes without escaping them.
        holder = self.dom.createElement("mrow")
        holder.appendChild(self.dom.createTextNode(text))
        return holder

    def _print_Symbol(self, expr, style="plain"):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._raw(_name(expr.name))

    def _print_Float(self, expr: sympy.Float):  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._raw(number_as_mathml(float(expr), self._digits))


def number_as_mathml(value: float, digits: int = _DIGITS) -> str:
    """Return a short decimal, with a power of ten if it is very large or small."""
    mantissa, _, exponent = f"{value:.{digits}g}".replace("-", "−").partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    power = exponent.replace("+", "").replace("−", "-")
    return f"<mn>{mantissa}</mn><mo>·</mo><msup><mn>10</mn><mn>{str(int(power)).replace('-', '−')}</mn></msup>"
