"""A network as a tape. Parameters keep the network's numbering: real parts by edge, then the imaginary parts."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from ceql.engine.tape import Tape, TapeBuilder
from ceql.network.network import OUTPUT, Network
from ceql.operators import Argument


class DomainPenalty(Enum):
    """How arguments that must be positive are pushed to be so."""

    SHORTFALL = "shortfall"  # how far they are below zero: exactly zero when satisfied
    ANGLE = "angle"  # their angle in the complex plane: it jumps where an argument near zero wavers


@lru_cache(maxsize=64)
def network_tape(
    network: Network, penalty: DomainPenalty = DomainPenalty.SHORTFALL, passes_complex: bool = False
) -> Tape:
    """Records the network. ``passes_complex`` lets log and sqrt hand on a complex value, as the paper's text has it."""
    return _Recorder(network, penalty, passes_complex).tape()


class _Recorder:
    def __init__(self, network: Network, penalty: DomainPenalty, passes_complex: bool) -> None:
        self.network = network
        self.penalty = penalty
        self.passes_complex = passes_complex
        self.builder = TapeBuilder(network.n_inputs)
        for _ in range(network.n_params):
            self.builder.parameter()
        for edge, imaginary in enumerate(network.imaginary):
            if imaginary >= 0:
                self.builder.pair(edge, int(imaginary))
        # Per node the slots of its value: real part, and imaginary part where one is passed on.
        self.slots: dict[int, tuple[int, int | None]] = {k: (k, None) for k in range(network.n_inputs + 1)}

    def tape(self) -> Tape:
        arguments: dict[int, list[tuple[int, int | None]]] = {}
        for unit, operator in enumerate(self.network.units):
            if operator.arity == 0:
                self.slots[self.network.node(unit)] = (operator.record(self.builder, kinds=()), None)
        for s in self.network.sums:
            pair = self._sum(s)
            if s.unit == OUTPUT:
                return self.builder.finish(pair[0])
            collected = arguments.setdefault(s.unit, [])
            collected.append(pair)
            if len(collected) == self.network.units[s.unit].arity:
                self._unit(s.unit, collected)
        raise AssertionError("a network ends in its readout")

    def _sum(self, s) -> tuple[int, int | None]:
        real, imaginary = [], []
        for edge in range(s.first, s.last):
            re, im = self.slots[int(self.network.edge_source[edge])]
            im_param = int(self.network.imaginary[edge])
            real.append((re, edge, 1.0))
            if im is not None and im_param >= 0:
                real.append((im, im_param, -1.0))
            if s.kind is Argument.COMPLEX:
                imaginary.append((re, im_param, 1.0))
                if im is not None:
                    imaginary.append((im, edge, 1.0))
        slot = self.builder.linear(real)
        return slot, self.builder.linear(imaginary) if s.kind is Argument.COMPLEX else None

    def _unit(self, unit: int, arguments: list[tuple[int, int | None]]) -> None:
        operator = self.network.units[unit]
        slot = operator.record(self.builder, *arguments, kinds=operator.arguments)
        imaginary = None
        if self.passes_complex and operator.name == "log":
            imaginary = self.builder.operator("angle", *arguments[0])
        if self.passes_complex and operator.name == "sqrt":
            imaginary = self.builder.operator("sqrt_im", *arguments[0])
        self.slots[self.network.node(unit)] = (slot, imaginary)
        if operator.positive_argument:
            real, imag = arguments[0]
            if self.penalty is DomainPenalty.ANGLE:
                self.builder.penalise(self.builder.operator("angle", real, imag))
            else:
                self.builder.penalise(self.builder.operator("shortfall", real))
