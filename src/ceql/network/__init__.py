"""The network of operators: its layers and edges, which edges are alive, and its plain complex reference."""

from ceql.network.compiled import clean_up
from ceql.network.network import Network
from ceql.network.structure import Start, Structure

__all__ = ["Network", "Start", "Structure", "clean_up"]
