"""Records a network as a tape. Parameters keep the network's order: real parts by edge, then the imaginary parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

from ceql.network.walk import walk
from ceql.network.wiring import Sum, Wiring
from ceql.operators import Argument
from ceql.operators.onto_tape import penalise_outside
from ceql.operators.tape import Tape, TapeBuilder

Slots = tuple[int, int | None]  # slots of a value's real part, and of its imaginary part if it has one


class DomainPenalty(Enum):
    """The penalty on arguments outside their domain."""

    SHORTFALL = "shortfall"  # the distance to the domain: exactly zero inside
    # The angle in the complex plane of arguments that must be positive. It jumps when one near zero changes sign.
    ANGLE = "angle"


@lru_cache(maxsize=64)
def network_tape(
    network: Wiring, penalty: DomainPenalty = DomainPenalty.SHORTFALL, passes_complex: bool = False
) -> Tape:
    """Return the tape of a network.

    ``passes_complex`` lets log and sqrt pass on complex values, as described in the paper.
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
    """Write the network into a larger tape, with these slots as inputs, and return the slot of its value.

    Its edges are the parameters from `first` on and its imaginary parts those from `imaginary` on; both must be
    declared already.
    """
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
