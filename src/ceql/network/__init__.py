"""The network of operators: its layers and edges, which edges are alive, and its plain complex reference."""

from ceql.network.masks import clean_up
from ceql.network.network import Network
from ceql.network.structure import Searchable, Structure

__all__ = ["Network", "Searchable", "Structure", "clean_up"]
