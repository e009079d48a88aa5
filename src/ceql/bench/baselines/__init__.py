"""One small adapter for each system. Its fields are its settings; heavy packages are imported when it runs."""

from __future__ import annotations

from ceql.bench.baselines.eql_div import EqlDiv
from ceql.bench.baselines.implicit_systems import SindyPi
from ceql.bench.baselines.others import Aaa, Gplearn, Operon, Pysr, Sindy
from ceql.bench.baselines.own import DenseStarts, Own, Paper, Without, WithUnits
from ceql.bench.baselines.systems import OwnSystems, Pysindy
from ceql.bench.methods import Adapter

METHODS: dict[str, Adapter] = {
    method.name: method
    for method in (
        Own("ceql"),
        WithUnits("ceql-units"),
        Paper("ceql-paper"),
        Own("ceql-real", recipe="real"),
        Without("ceql-unpenalised", part="penalty"),
        Without("ceql-no-elimination", part="elimination"),
        Without("ceql-no-sums", part="sums"),
        Without("ceql-no-exchange", part="exchange"),
        DenseStarts("ceql-dense"),
        EqlDiv("eql-div"),
        Sindy("sindy"),
        Operon("operon"),
        Pysr("pysr"),
        Gplearn("gplearn"),
        Aaa("aaa"),
    )
}
# Methods that find differential equations.
SYSTEM_METHODS: dict[str, Adapter] = {
    method.name: method for method in (OwnSystems("ceql"), Pysindy("pysindy"), SindyPi("sindy-pi"))
}
