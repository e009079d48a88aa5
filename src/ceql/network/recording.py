"""A network as a tape. Parameters keep the network's numbering: real parts by edge, then the imaginary parts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from ceql.network.network import OUTPUT, Network
from ceql.network.structure import Searchable
from ceql.operators import Argument
from ceql.operators.onto_tape import penalise_outside
from ceql.operators.tape import Tape, TapeBuilder


class DomainPenalty(Enum):
    """How arguments that must lie in a domain are pushed into it."""

    SHORTFALL = "shortfall"  # how far they are outside: exactly zero when satisfied
    # The angle in the complex plane of those that must be positive: it jumps where an argument near zero wavers.
    ANGLE = "angle"


@lru_cache(maxsize=64)
def network_tape(
    network: Searchable, penalty: DomainPenalty = DomainPenalty.SHORTFALL, passes_complex: bool = False
) -> Tape:
    """Records the network; another structure records itself.

    ``passes_complex`` lets log and sqrt hand on a complex value, as the text of the paper has it.
    """
    if not isinstance(network, Network):
        return network.tape()
    builder = TapeBuilder(network.n_inputs)
    for _ in range(network.n_params):
        builder.parameter()
    for edge, imaginary in enumerate(network.imaginary):
        if imaginary >= 0:
            builder.pair(edge, int(imaginary))
    recorder = _Recorder(network, penalty, passes_complex, builder, range(network.n_inputs))
    return builder.finish(recorder.readout())


def embed(network: Network, builder: TapeBuilder, inputs: Sequence[int], first: int, imaginary: int) -> int:
    """Writes the network into a larger tape, over these slots; its edges are parameters from `first` on and its
    imaginary parts from `imaginary` on, both declared before. Gives the slot of its value."""
    recorder = _Recorder(network, DomainPenalty.SHORTFALL, False, builder, inputs)
    recorder.first, recorder.first_imaginary = first, imaginary
    return recorder.readout()


class _Recorder:
    def __init__(
        self,
        network: Network,
        penalty: DomainPenalty,
        passes_complex: bool,
        builder: TapeBuilder,
        inputs: Sequence[int],
    ) -> None:
        self.network = network
        self.penalty = penalty
        self.passes_complex = passes_complex
        self.builder = builder
        self.first, self.first_imaginary = 0, network.n_edges
        # Per node the slots of its value: real part, and imaginary part where one is passed on.
        slots = enumerate([*inputs, builder.one])
        self.slots: dict[int, tuple[int, int | None]] = {node: (slot, None) for node, slot in slots}

    def readout(self) -> int:
        arguments: dict[int, list[tuple[int, int | None]]] = {}
        for unit, operator in enumerate(self.network.units):
            if operator.arity == 0:
                self.slots[self.network.node(unit)] = (operator.record(self.builder, kinds=()), None)
        for s in self.network.sums:
            pair = self._sum(s)
            if s.unit == OUTPUT:
                return pair[0]
            collected = arguments.setdefault(s.unit, [])
            collected.append(pair)
            if len(collected) == self.network.units[s.unit].arity:
                self._unit(s.unit, collected)
        raise AssertionError("a network ends in its readout")

    def _sum(self, s) -> tuple[int, int | None]:
        real, imaginary = [], []
        for edge in range(s.first, s.last):
            re, im = self.slots[int(self.network.edge_source[edge])]
            re_param, im_param = self.first + edge, int(self.network.imaginary[edge])
            has_imaginary = im_param >= 0
            im_param += self.first_imaginary - self.network.n_edges
            real.append((re, re_param, 1.0))
            if im is not None and has_imaginary:
                real.append((im, im_param, -1.0))
            if s.kind is Argument.COMPLEX:
                imaginary.append((re, im_param, 1.0))
                if im is not None:
                    imaginary.append((im, re_param, 1.0))
        slot = self.builder.linear(real)
        return slot, self.builder.linear(imaginary) if s.kind is Argument.COMPLEX else None

    def _unit(self, unit: int, arguments: list[tuple[int, int | None]]) -> None:
        operator = self.network.units[unit]
        slot = operator.record(self.builder, *arguments, kinds=operator.arguments)
        imaginary = None
        if self.passes_complex and operator.imaginary_part is not None:
            imaginary = self.builder.operator(operator.imaginary_part, *arguments[0])
        self.slots[self.network.node(unit)] = (slot, imaginary)
        if self.penalty is DomainPenalty.ANGLE and operator.domain.is_half_line:
            self.builder.penalise(self.builder.operator("angle", *arguments[0]))
        else:
            penalise_outside(self.builder, operator.domain, arguments[0][0])
