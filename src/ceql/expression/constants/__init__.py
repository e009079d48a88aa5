"""The constants of a formula: naming them, fitting them, rounding them to what they mean."""

from ceql.expression.constants.parametrise import Parametrised, parametrise
from ceql.expression.constants.refit import Refit, refit
from ceql.expression.constants.rounding import round_to_errors
from ceql.expression.constants.snapping import snap

__all__ = ["Parametrised", "Refit", "parametrise", "refit", "round_to_errors", "snap"]
