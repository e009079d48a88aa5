"""What several tests share."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings as hypothesis_settings

from ceql import CEQLRegressor, Dataset, Discovery
from ceql.__main__ import exit_code
from ceql.choice.sifting import Struck
from ceql.data.targets import Targets
from ceql.discovery import Outcome, poles_of
from ceql.expression import parametrise, parse_formula
from ceql.formula import Formula, LawConstant, NamedLaw, constant_formula, constants_of, make_symbols, mean_square

# A failure must be the change's, so laws are tried on the same examples every time; CEQL_EXPLORE=1 draws new ones.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("default" if os.environ.get("CEQL_EXPLORE") else "same")


@pytest.fixture
def ceql(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The command: its exit code and what it writes to standard output and to standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = exit_code([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.out, captured.err

    return run


# ---- a browser ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser puts what it saves."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def chrome(downloads: Path) -> Iterator[Any]:
    """A real browser, started once."""
    place = Path(__file__).parents[1] / "tools" / "browser.py"
    spec = importlib.util.spec_from_file_location("browser", place)
    assert spec is not None
    assert spec.loader is not None
    browser = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(browser)
    if browser.CHROMIUM is None or browser.DRIVER is None:
        pytest.skip("there is no chromium with its driver: apt-get install chromium chromium-driver")
    pytest.importorskip("selenium", reason="selenium is not installed")
    with browser.driven(downloads) as driver:
        yield driver


# ---- a model whose formula is a law -------------------------------------------------------------------------------

LAW = NamedLaw(
    "Michaelis-Menten",
    "kinetics",
    "V*dose/(K + dose)",
    (LawConstant("V", "largest rate", 2.0, 0.02), LawConstant("K", "dose of half the largest rate", 1.5, math.inf)),
    1,
    ("Langmuir isotherm", "Monod growth", "Emax model", "voltage divider"),
)
LINE = NamedLaw("straight line", "plain models", "a + b*dose", (LawConstant("a", "value at zero", 0.5, 0.1),), 1)
BESIDE = (0.10, 0.05, 0.04, 0.03, 0.02, 0.02, 0.005, 0.0)  # weights: six of them have a chance
WHY = ("has a pole at dose = 3, between the rows at 2.9 and 3.1, that no row shows", "has <no> value at dose = 7")


def _law_model(targets: int = 1) -> CEQLRegressor:
    """Made without a search: its formula is a law, others stand beside it, and two are struck."""
    dose = np.geomspace(0.1, 20, 40)[:, None]
    names = ("dose",)
    y = 2.0 * dose[:, 0] / (1.5 + dose[:, 0]) + 0.01 * np.random.default_rng(0).standard_normal(40)
    data = Dataset(dose, y, np.ones(40), names)

    def formula(text: str, law: NamedLaw | None = None) -> Formula:
        expression, symbols = parse_formula(text, names), make_symbols(names)
        loss = mean_square(Formula(expression, symbols, np.inf)(dose) - y, data.weight)
        return Formula(expression, symbols, loss, constants_of(parametrise(expression), symbols, data), law=law)

    front = (constant_formula(data), formula("2.0*dose/(dose + 1.5)", LAW))
    beside = (formula("0.5 + 0.08*dose", LINE), *(formula(f"0.5 + 0.{k}*sqrt(dose)") for k in range(2, 9)))
    struck = tuple(map(Struck, (formula("1.5/(dose - 3.0) + dose"), formula("0.5*log(dose + 2.0)", LINE)), WHY))
    found = Discovery(
        front,
        1,
        poles_of(front[1], data),
        Outcome.SETTLED,
        1.5,
        1024,
        rows_searched=40,
        shortlist=beside,
        struck=struck,
        weights=(0.0, 1.0 - sum(BESIDE), *BESIDE),
        r2=(math.nan,) * (2 + len(BESIDE)),
        r2_cv=(math.nan,) * (2 + len(BESIDE)),
    )
    model = CEQLRegressor()
    target_names = tuple(f"rate {k}" for k in range(targets)) if targets > 1 else ("rate",)
    model._take([found] * targets, Targets(target_names, (data,) * targets), from_frame=True)
    return model


@pytest.fixture(scope="session")
def law_model() -> Callable[..., CEQLRegressor]:
    return _law_model
