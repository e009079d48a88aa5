"""Dimensions of columns and constants: exponents of base quantities, what formulas they allow, and groups without any.

Units are read at the door (`ceql.estimator.unit_texts`); here they are numbers.
"""

from ceql.dimensions.consistency import Rule
from ceql.dimensions.dimension import NONE, Dimension
from ceql.dimensions.groups import Groups, groupings
from ceql.dimensions.quantities import Dimensions, Part, Quantity

__all__ = ["NONE", "Dimension", "Dimensions", "Groups", "Part", "Quantity", "Rule", "groupings"]
