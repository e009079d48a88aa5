"""Example tables for the page: simulated measurements, each with its law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Example:
    """An example table with its file name; the target is the last column."""

    name: str
    words: str
    make: Callable[[np.random.Generator], pd.DataFrame]

    def table(self) -> pd.DataFrame:
        return self.make(np.random.default_rng(0)).round(12)


def _lens(rng: np.random.Generator) -> pd.DataFrame:
    distance, focal = rng.uniform(1, 8, 240), rng.uniform(2, 4, 240)
    table = pd.DataFrame({"distance": distance.round(3), "focal": focal.round(3)})
    table = table[(table["distance"] - table["focal"]).abs() > 0.2]
    return table.assign(image=table["distance"] * table["focal"] / (table["distance"] - table["focal"]))


def _enzyme(rng: np.random.Generator) -> pd.DataFrame:
    substrate = np.geomspace(0.05, 20, 40).round(3)
    rate = 2.4 * substrate / (1.3 + substrate) + 0.015 * rng.standard_normal(40)
    return pd.DataFrame({"substrate": substrate, "rate": rate.round(4)})


def _cooling(rng: np.random.Generator) -> pd.DataFrame:
    minutes = np.arange(0, 90, 1.5)
    celsius = 21.5 + 63.0 * np.exp(-minutes / 24.0) + 0.15 * rng.standard_normal(len(minutes))
    return pd.DataFrame({"minutes": minutes, "celsius": celsius.round(2)})


def _resonance(rng: np.random.Generator) -> pd.DataFrame:
    hertz = np.linspace(20, 80, 121)
    response = 3.0 / ((hertz / 50.0 - 1.0) ** 2 + 0.004) ** 0.5 + 0.2 * rng.standard_normal(len(hertz))
    return pd.DataFrame({"hertz": hertz, "response": response.round(3)})


EXAMPLES = (
    Example("lens.csv", "a thin lens: the distance of the image, with a pole where it becomes infinite", _lens),
    Example("enzyme.csv", "the rate of an enzyme reaction, with noise", _enzyme),
    Example("cooling.csv", "a cooling cup of tea, with noise", _cooling),
    Example("resonance.csv", "a resonance, with noise", _resonance),
)


def example(name: str) -> Example | None:
    return next((one for one in EXAMPLES if one.name == name), None)
