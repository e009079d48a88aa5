"""A network as a tape. Parameters keep the network's numbering: real parts by edge, then the imaginary parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

from ceql.network.walk import walk
from ceql.network.wiring import Sum, Wiring
from ceql.operators import Argument
from ceql.operators.onto_tape import penalise_outside
from ceql.operators.tape import Tape, TapeBuilder

Slots = tuple[int, int | None]  # of a value: its real part, and its imaginary part where one is passed on


class DomainPenalty(Enum):
    """How arguments that must lie in a domain are pushed into it."""

    SHORTFALL = "shortfall"  # how far they are outside: exactly zero when satisfied
    # The angle in the complex plane of those that must be positive: it jumps where an argument near zero wavers.
    ANGLE = "angle"


@lru_cache(maxsize=64)
def network_tape(
    network: Wiring, penalty: DomainPenalty = DomainPenalty.SHORTFALL, passes_complex: bool = False
) -> Tape:
    """Records the network; another structure records itself.

    ``passes_complex`` lets log and sqrt hand on a complex value, as the text of the paper has it.
    """
    builder = TapeBuilder(network.n_inputs)
    for _ in range(network.n_params):
        builder.parameter()
    for edge, imaginary in enumerate(network.imaginary):
        if imaginary >= 0:
            builder.pair(edge, int(imaginary))
    recorder = _Recorder(network, penalty, passes_complex, builder, range(network.n_inputs))
    return builder.finish(recorder.readout())


def embed(network: Wiring, builder: TapeBuilder, inputs: Sequence[int], first: int, imaginary: int) -> int:
    """Writes the network into a larger tape, over these slots; its edges are parameters from `first` on and its
    imaginary parts from `imaginary` on, both declared before. Gives the slot of its value."""
    recorder = _Recorder(network, DomainPenalty.SHORTFALL, False, builder, inputs)
    recorder.first, recorder.first_imaginary = first, imaginary
    return recorder.readout()


class _Recorder:
    def __init__(
        self,
        network: Wiring,
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
        self.inputs: list[Slots] = [(slot, None) for slot in (*inputs, builder.one)]

    def readout(self) -> int:
        return walk(self.network, self.inputs, self._sum, self._unit)[0]

    def _sum(self, s: Sum, nodes: Mapping[int, Slots]) -> Slots:
        real, imaginary = [], []
        for edge in range(s.first, s.last):
            re, im = nodes[int(self.network.edge_source[edge])]
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

    def _unit(self, unit: int, arguments: Sequence[Slots]) -> Slots:
        operator = self.network.units[unit]
        slot = operator.record(self.builder, *arguments, kinds=operator.arguments)
        imaginary = None
        if self.passes_complex and operator.imaginary_part is not None:
            imaginary = self.builder.operator(operator.imaginary_part, *arguments[0])
        if self.penalty is DomainPenalty.ANGLE and operator.domain.is_half_line:
            self.builder.penalise(self.builder.operator("angle", *arguments[0]))
        elif arguments:
            penalise_outside(self.builder, operator.domain, arguments[0][0])
        return slot, imaginary
