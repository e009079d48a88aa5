"""Dimensions of columns and constants as exponents of base quantities, the formulas that they allow, and dimensionless
groups.

The texts of units are parsed elsewhere (`ceql.estimator.unit_texts`); here they are numbers.
"""

from ceql.dimensions.consistency import Rule
from ceql.dimensions.dimension import NONE, Dimension
from ceql.dimensions.groups import Groups, groupings
from ceql.dimensions.quantities import Dimensions, Part, Quantity

__all__ = ["NONE", "Dimension", "Dimensions", "Groups", "Part", "Quantity", "Rule", "groupings"]
