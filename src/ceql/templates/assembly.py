"""A template assembled for the columns of a table: one model with edges, masks and a tape, ready to be searched.

The order of its parameters: first the edges, namely the gates of terms and the edges of every unknown function; then
the numbers that are always present; then the imaginary parts. A term without its gate, or with a function that has no
edges left, is removed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ceql.data.dataset import Scaling
from ceql.expression import parametrise
from ceql.expression.complex_parts import real_form
from ceql.expression.constants.named import NamedForm
from ceql.network import Network, Start, extract
from ceql.operators.tape import Tape
from ceql.templates import drawing
from ceql.templates.reading import gate_of, read_frame, read_terms, symbol
from ceql.templates.recording import Recorder
from ceql.templates.template import Parameter, Template, Terms, Unknown

WHOLE = -1  # in place of a term's number: the template itself
_TINY = 1e-6  # the square root of the smallest value of a parameter with a sign, in units of its size

# The template itself or one of its terms: its number, its declarations, its sum, and the parameter that is its gate.
_Owner = tuple[int, Template | Terms, str, str | None]


@dataclass(frozen=True, eq=False)
class Number:
    """A parameter with its `index` in the row of parameters and the `term` it belongs to, or WHOLE.

    The fit uses its raw value: the parameter in units of its size, or, if it has a sign, the square root of that.
    """

    name: str
    parameter: Parameter
    term: int
    index: int = -1

    @property
    def unit(self) -> float:
        return -self.parameter.size if self.parameter.sign == "-" else self.parameter.size

    def value(self, raw: Any) -> Any:
        """Return the number for a raw value."""
        return self.unit * (raw if self.parameter.sign is None else raw**2)

    def raw(self, value: Any) -> Any:
        """Return the raw value for a number."""
        return value / self.unit if self.parameter.sign is None else np.sqrt(np.abs(value) / self.parameter.size)

    def slope(self, raw: float) -> float:
        """Return the derivative of the number by its raw value, without its sign."""
        return self.parameter.size * (1.0 if self.parameter.sign is None else 2.0 * raw)

    @property
    def limits(self) -> tuple[float, float]:
        """The lower and upper bound of the number itself; `bounds` are those of its raw value."""
        if self.parameter.sign is None:
            return self.parameter.low, self.parameter.high
        least = _TINY**2 * self.parameter.size
        return (least, np.inf) if self.parameter.sign == "+" else (-np.inf, -least)

    @property
    def bounds(self) -> tuple[float, float]:
        if self.parameter.sign is not None:
            return _TINY, np.inf
        return self.parameter.low / self.parameter.size, self.parameter.high / self.parameter.size


@dataclass(frozen=True, eq=False)
class Block:
    """An unknown function of the model: its network, its input columns, and where its edges and imaginary parts are."""

    name: str
    function: Unknown
    term: int
    network: Network
    columns: tuple[int, ...]
    first: int
    imaginary: int = -1

    @property
    def edges(self) -> slice:
        return slice(self.first, self.first + self.network.n_edges)

    @property
    def n_imaginary(self) -> int:
        return self.network.n_params - self.network.n_edges

    @property
    def imaginary_parts(self) -> slice:
        return slice(self.imaginary, self.imaginary + self.n_imaginary)

    def params(self, params: np.ndarray) -> np.ndarray:
        """Return the row of parameters of its network."""
        return np.concatenate([params[..., self.edges], params[..., self.imaginary_parts]], axis=-1)


@dataclass(frozen=True, eq=False)
class Term:
    """A term of a sum: `gate` is the edge that switches it on, `edges` are all edges that belong to it."""

    sum: str
    gate: int
    held: bool  # whether the gate is only a switch, fixed at one, and no parameter of the term
    edges: np.ndarray


@dataclass(frozen=True, eq=False)
class Assembly:
    """A template for given columns and a scaling of the data; a `Structure` of the search."""

    template: Template
    names: tuple[str, ...]
    scaling: Scaling
    frame: Any = field(init=False, repr=False)
    term_forms: dict[str, dict[str, Any]] = field(init=False, repr=False)
    numbers: tuple[Number, ...] = field(init=False, repr=False)
    blocks: tuple[Block, ...] = field(init=False, repr=False)
    terms: tuple[Term, ...] = field(init=False, repr=False)
    n_edges: int = field(init=False, repr=False)
    n_real: int = field(init=False, repr=False)  # number of parameters that are not imaginary parts

    def __post_init__(self) -> None:
        """Assign edges and parameters to all parts; errors in the text are raised here."""
        frame = read_frame(self.template, self.names)
        forms = {name: read_terms(self.template, name, self.names) for name in self.template.sums}
        owners: list[_Owner] = [(WHOLE, self.template, "", None)]
        for name, of_sum in self.template.sums.items():
            gate, first = gate_of(of_sum, forms[name]), len(owners) - 1
            owners += [(first + k, of_sum, name, gate) for k in range(of_sum.most)]
        declared = [Number(name, p, term) for term, part, *_ in owners for name, p in part.parameters.items()]
        switches = {(gate, term) for term, _, _, gate in owners}
        optional = [number for number in declared if (number.name, number.term) in switches]
        fixed = [number for number in declared if (number.name, number.term) not in switches]
        n_edges, gates = len(optional), []
        for term, _, _, gate in owners[1:]:
            if gate is None:
                gates.append(n_edges)
                n_edges += 1
            else:
                gates += [k for k, number in enumerate(optional) if (number.name, number.term) == (gate, term)]
        blocks = []
        for term, part, *_ in owners:
            for name, function in part.functions.items():
                columns = tuple(self.names.index(column) for column in function.inputs)
                blocks.append(Block(name, function, term, network_of(function), columns, n_edges))
                n_edges += blocks[-1].network.n_edges
        imaginary = n_real = n_edges + len(fixed)
        for k, block in enumerate(blocks):
            blocks[k] = replace(block, imaginary=imaginary)
            imaginary += block.n_imaginary
        numbers = [replace(number, index=k) for k, number in enumerate(optional)]
        numbers += [replace(number, index=n_edges + k) for k, number in enumerate(fixed)]
        terms = []
        for (term, _, name, gate), edge in zip(owners[1:], gates, strict=True):
            own = [edge, *(number.index for number in numbers if number.term == term and number.index < n_edges)]
            own += [e for b in blocks if b.term == term for e in range(b.edges.start, b.edges.stop)]
            terms.append(Term(name, edge, gate is None, np.unique(own)))
        found = (frame, forms, tuple(numbers), tuple(blocks), tuple(terms), n_edges, n_real)
        for each, value in zip(fields(self)[3:], found, strict=True):
            object.__setattr__(self, each.name, value)

    def __reduce__(self) -> tuple:
        """Pickle the data; the networks are included because they register the user's own operators on unpickling."""
        return _arrived, ([block.network for block in self.blocks], self.template, self.names, self.scaling)

    @property
    def n_inputs(self) -> int:
        return len(self.names)

    @property
    def n_params(self) -> int:
        return self.n_real + sum(block.n_imaginary for block in self.blocks) + self.n_smoothing

    @property
    def n_smoothing(self) -> int:
        """The number of imaginary parts of the frame, which are the last parameters."""
        return self._recorded[1]

    @cached_property
    def _recorded(self) -> tuple[Tape, int]:
        return Recorder(self).finish()

    def tape(self) -> Tape:
        return self._recorded[0]

    @property
    def edge_source(self) -> np.ndarray:
        return self._edge_marks[0]

    @property
    def is_frequency(self) -> np.ndarray:
        return self._edge_marks[1]

    @cached_property
    def _edge_marks(self) -> tuple[np.ndarray, np.ndarray]:
        source, frequency = np.full(self.n_edges, -1), np.zeros(self.n_params, bool)
        for block in self.blocks:
            columns = np.array([*block.columns, -1])
            source[block.edges] = columns[np.minimum(block.network.edge_source, len(block.columns))]
            frequency[block.edges] = block.network.is_frequency[: block.network.n_edges]
        return source, frequency

    @property
    def is_imaginary(self) -> np.ndarray:
        return np.arange(self.n_params) >= self.n_real

    def parameter_mask(self, edges: np.ndarray, imaginary: bool = True) -> np.ndarray:
        """Return masks over parameters, with the imaginary parts of live edges or without any."""
        return self._mask(edges, imaginary, smoothing=False)

    def smoothing_mask(self, edges: np.ndarray, threads: int = 1) -> np.ndarray:
        return self._mask(edges, imaginary=True, smoothing=True)

    def _mask(self, edges: np.ndarray, imaginary: bool, smoothing: bool) -> np.ndarray:
        edges = np.asarray(edges, bool)
        masks = np.zeros((*edges.shape[:-1], self.n_params), bool)
        masks[..., : self.n_edges] = edges
        # The core ignores those of a term that is switched off.
        masks[..., self.n_edges : self.n_real] = True
        if imaginary:
            masks[..., self.n_params - self.n_smoothing :] = smoothing
            for block in self.blocks:
                own = edges[..., block.edges]
                of_network = block.network.smoothing_mask(own) if smoothing else block.network.parameter_mask(own)
                masks[..., block.imaginary_parts] = of_network[..., block.network.n_edges :]
        return masks

    operator_names = frozenset[str]()  # none: only a search can fill in a template
    linear_edges = None

    def embedded(self, formula: Any, symbols: Sequence[Any], scaling: Scaling) -> list[Start]:
        return []

    def permitted(self, edges: np.ndarray, needed: Sequence[Sequence[int]]) -> np.ndarray:
        return np.ones(len(edges), bool)

    def cleaned(self, edges: np.ndarray) -> np.ndarray:
        edges = np.array(edges, bool)
        for block in self.blocks:
            edges[..., block.edges] = block.network.cleaned(edges[..., block.edges])
        for number, term in enumerate(self.terms):
            alive = edges[..., term.gate].copy()
            for block in self.blocks:
                if block.term == number:
                    alive &= edges[..., block.edges].any(axis=-1)
            edges[..., term.edges] &= alive[..., None]
        return edges

    drawn = drawing.draw
    mutated = grafted = drawing.mutate
    started = drawing.start

    def upright(self, edges: np.ndarray, params: np.ndarray, x: np.ndarray) -> np.ndarray:
        params = params.copy()
        for block in self.blocks:
            own = edges[block.edges]
            if own.any():
                turned = extract.upright(block.network, own, block.params(params), x[:, list(block.columns)])
                params[block.edges] = turned[: block.network.n_edges]
        return params

    def in_units(self, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any], scaling: Scaling) -> Any:
        """Return the formula without terms that are switched off; `symbols` are the columns."""
        numbers = {n: sympy.Float(float(n.value(params[n.index]))) for n in self.numbers}
        functions = {b: self._found(b, edges, params, symbols) for b in self.blocks}
        return real_form(self._filled_in(edges, numbers, functions, symbols))

    def named(self, edges: np.ndarray, params: np.ndarray, shorten: Callable[[Any], Any]) -> NamedForm:
        """Return the formula over named constants; those of terms and functions have a number after the name."""
        names, symbols = _Names(self.names), [symbol(name) for name in self.names]
        live = [k for k, term in enumerate(self.terms) if edges[term.gate]]
        place = {k: sum(self.terms[other].sum == self.terms[k].sum for other in live if other < k) for k in live}
        numbers = {n: names.new(n.name, *_place(place, n.term)) for n in self.numbers if n.term in (WHOLE, *place)}
        constants = [(s, float(n.value(params[n.index])), *n.limits) for n, s in numbers.items()]
        functions = {}
        for block in self.blocks:
            if block.term in (WHOLE, *place):
                form = parametrise(shorten(self._found(block, edges, params, symbols)))
                own = [names.new(block.name, *_place(place, block.term), k) for k in range(len(form.values))]
                functions[block] = form.substitute(own)
                constants += [(s, float(value), -np.inf, np.inf) for s, value in zip(own, form.values, strict=True)]
        written = self._filled_in(edges, numbers, functions, symbols)
        listed = [constant for constant in constants if constant[0] in written.free_symbols]
        values, low, high = np.array([numbers for _, *numbers in listed], float).reshape(-1, 3).T
        return NamedForm(written, tuple(s for s, *_ in listed), values, low, high)

    def _filled_in(
        self, edges: np.ndarray, numbers: Mapping[Number, Any], functions: Mapping[Block, Any], symbols: Sequence[Any]
    ) -> Any:
        """Return the frame and its live terms with numbers and functions replaced by these expressions."""

        def of(term: int) -> dict[Any, Any]:
            found = (*numbers.items(), *functions.items())
            return {symbol(part.name): written for part, written in found if part.term == term}

        whole = {symbol(name): s for name, s in zip(self.names, symbols, strict=True)} | of(WHOLE)
        parts: dict[str, list[Any]] = {name: [] for forms in self.term_forms.values() for name in forms}
        for number, term in enumerate(self.terms):
            if edges[term.gate]:
                for name, form in self.term_forms[term.sum].items():
                    parts[name].append(form.xreplace(whole | of(number)))
        return self.frame.xreplace(whole | {symbol(name): sympy.Add(*terms) for name, terms in parts.items()})

    def _found(self, block: Block, edges: np.ndarray, params: np.ndarray, symbols: Sequence[Any]) -> Any:
        """Return the expression that was found for an unknown function."""
        scaled = [symbols[k] / float(self.scaling.x[k]) for k in block.columns]
        own, readout = block.params(params).copy(), block.network.sums[-1]
        own[readout.first : readout.last] *= block.function.about
        return extract.extract(block.network, edges[block.edges], own, scaled)


class _Names:
    """Makes symbols for constants, with names that are not taken."""

    def __init__(self, taken: Sequence[str]) -> None:
        self._taken = set(taken)

    def new(self, name: str, *places: int) -> Any:
        name = "_".join([name, *(str(place + 1) for place in places)])
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return symbol(name)


def _place(places: Mapping[int, int], term: int) -> tuple[int, ...]:
    return () if term == WHOLE else (places[term],)


def _arrived(networks: list[Network], template: Template, names: tuple[str, ...], scaling: Scaling) -> Assembly:
    return Assembly(template, names, scaling)


def network_of(function: Unknown) -> Network:
    """Return the network for an unknown function; if it has no operators, the network has one unused unit."""
    twice = {"square", "mul"} & set(function.operators) if len(function.inputs) > 1 else set()
    layer = tuple(name for name in function.operators for _ in range(2 if name in twice else 1)) or ("id",)
    return Network(len(function.inputs), (layer,) * function.layers, skip="all", bias=function.constant)
