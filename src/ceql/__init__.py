"""ceql: reads a formula out of data, at home at poles, logarithms, square roots and resonances."""

from importlib.metadata import PackageNotFoundError, version

from ceql import operators
from ceql.data import Dataset
from ceql.errors import CeqlError, CeqlWarning, InputError
from ceql.estimator import CEQLRegressor, load
from ceql.expression import node_count
from ceql.formula import Formula
from ceql.network import Network
from ceql.pipeline import Discovery, Settings, discover
from ceql.training import Recipe, recipes

try:
    __version__ = version("ceql")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "CEQLRegressor",
    "CeqlError",
    "CeqlWarning",
    "Dataset",
    "Discovery",
    "Formula",
    "InputError",
    "Network",
    "Recipe",
    "Settings",
    "__version__",
    "discover",
    "load",
    "node_count",
    "operators",
    "recipes",
]
