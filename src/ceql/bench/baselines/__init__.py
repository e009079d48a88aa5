"""One small adapter per system. Its fields are its settings; the heavy packages are imported when it runs."""

from __future__ import annotations

from ceql.bench.baselines.aaa import Aaa
from ceql.bench.baselines.ablated import DenseStarts, Unpenalised
from ceql.bench.baselines.eql_div import EqlDiv
from ceql.bench.baselines.gplearn import Gplearn
from ceql.bench.baselines.operon import Operon
from ceql.bench.baselines.own import Own, Paper
from ceql.bench.baselines.pysr import Pysr
from ceql.bench.baselines.sindy import Sindy
from ceql.bench.methods import Method

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Own("ceql"),
        Paper("ceql-paper"),
        Own("ceql-real", recipe="real"),
        Unpenalised("ceql-unpenalised"),
        DenseStarts("ceql-dense"),
        EqlDiv("eql-div"),
        Sindy("sindy"),
        Operon("operon"),
        Pysr("pysr"),
        Gplearn("gplearn"),
        Aaa("aaa"),
    )
}
