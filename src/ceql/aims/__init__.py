"""What a search may aim at instead of y over the columns: shallower, or in fewer variables, and turned back after."""

from ceql.aims.aim import Aim, only, plain, sampled, towards, with_logs
from ceql.aims.independence import independent_parts
from ceql.aims.reduction import reduced, smooth_error
from ceql.aims.screening import promising, relevant
from ceql.aims.targets import usable_targets

__all__ = [
    "Aim",
    "independent_parts",
    "only",
    "plain",
    "promising",
    "reduced",
    "relevant",
    "sampled",
    "smooth_error",
    "towards",
    "usable_targets",
    "with_logs",
]
