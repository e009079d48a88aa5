"""The library of operators for a search: chosen by name, or made of the operators that the user lists."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.errors import InputError, unknown_name
from ceql.network import Network
from ceql.network.wiring import expand

Layers = tuple[tuple[str, ...], ...]

DEFAULT_OPERATORS = ("square", "mul", "div", "log", "sqrt", "exp", "sin", "cos")
PAPER_LAYERS = ({"const": 2, "square": 2, "mul": 2}, {"id": 1, "log": 2, "sqrt": 2, "div": 2})  # from the paper's table
_TWICE = {"square", "mul", "div", "pow"}  # operators that a formula often needs more than once in a layer
_ALWAYS_THERE = {"id", "const"}  # a sum of the search sees all earlier layers and has a bias


def three_layers(names: Sequence[str]) -> Layers:
    """Return three equal layers of these operators."""
    layer = expand({name: 2 if name in _TWICE else 1 for name in names if name not in _ALWAYS_THERE})
    if not layer:
        raise InputError("operators is empty: name at least one, for example ['mul', 'div'].")
    return (layer, layer, layer)


def papers_layers() -> Layers:
    """Return the two layers of the paper: products first, then logarithms, roots and quotients."""
    return tuple(tuple(name for name in expand(layer) if name not in _ALWAYS_THERE) for layer in PAPER_LAYERS)


LIBRARIES: dict[str, Layers] = {"default": three_layers(DEFAULT_OPERATORS), "paper": papers_layers()}


def search_network(n_inputs: int, operators: str | Sequence[str] | None = None, without: Sequence[str] = ()) -> Network:
    """Return a network of these operators except those in `without`; each sum has a bias and sees all earlier nodes."""
    if operators is None:
        operators = "default"
    if isinstance(operators, str):
        if operators not in LIBRARIES:
            raise unknown_name("library (several operators go into a list)", operators, LIBRARIES)
        layers = LIBRARIES[operators]
    else:
        layers = three_layers(operators)
    if without:
        layers = tuple(left for layer in layers if (left := tuple(name for name in layer if name not in without)))
    if not layers:
        raise InputError("The constraint `without` leaves no operator: name fewer there or more in `operators`.")
    return Network(n_inputs, layers, skip="all", bias=True)
