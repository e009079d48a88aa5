"""The constants of a formula: naming them, fitting them, rounding them to what they mean."""

from ceql.expression.parametrise import Parametrised, parametrise
from ceql.expression.refit import Refit, refit
from ceql.expression.rounding import round_to_errors
from ceql.expression.snapping import snap

__all__ = ["Parametrised", "Refit", "parametrise", "refit", "round_to_errors", "snap"]
