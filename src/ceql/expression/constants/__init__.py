"""The constants of a formula: naming them, fitting them, and rounding them to the numbers they stand for."""

from ceql.expression.constants.parametrise import Parametrised, parametrise
from ceql.expression.constants.refit import Refit, refit
from ceql.expression.constants.rounding import round_to_errors
from ceql.expression.constants.snapping import snap

__all__ = ["Parametrised", "Refit", "parametrise", "refit", "round_to_errors", "snap"]
