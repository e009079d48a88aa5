"""The network of operators: its layers and edges, masks of live edges, and a reference in plain complex arithmetic."""

from ceql.network.compiled import clean_up
from ceql.network.network import Network
from ceql.network.structure import Start, Structure

__all__ = ["Network", "Start", "Structure", "clean_up"]
