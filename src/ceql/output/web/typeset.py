"""Formulas as nested lists from which a page builds elements: nothing in them is read as markup."""

from __future__ import annotations

from xml.etree import ElementTree

from ceql.expression.symbolic import Expr
from ceql.expression.text.mathml import terms_as_mathml

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
Tree = list  # [name, {attribute: value}, child or text, ...]


def typeset(expression: Expr, left: str = "", digits: int = 6) -> list[Tree]:
    """One tree for each piece of the formula; lines may break between pieces."""
    return [_tree(ElementTree.fromstring(piece)) for piece in terms_as_mathml(expression, left, digits)]


def _tree(element: ElementTree.Element) -> Tree:
    text = [element.text] if element.text else []
    return [element.tag.removeprefix(_NAMESPACE), dict(element.attrib), *text, *map(_tree, element)]
