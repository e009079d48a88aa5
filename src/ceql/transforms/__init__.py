"""Transformed targets that a search may fit instead of y: shallower or in fewer variables, and undone afterwards."""

from ceql.transforms.dimensionless import dimensionless
from ceql.transforms.fewer_columns import reduced, smooth_error
from ceql.transforms.independence import flattened, independent_parts
from ceql.transforms.outermost import TARGETS, usable_targets
from ceql.transforms.policy import TransformPolicy
from ceql.transforms.screening import promising, relevant
from ceql.transforms.smoothness import is_curve
from ceql.transforms.symmetries import symmetric
from ceql.transforms.target import TransformedTarget, less, only, plain, sampled, towards, with_logs

__all__ = [
    "TARGETS",
    "TransformPolicy",
    "TransformedTarget",
    "dimensionless",
    "flattened",
    "independent_parts",
    "is_curve",
    "less",
    "only",
    "plain",
    "promising",
    "reduced",
    "relevant",
    "sampled",
    "smooth_error",
    "symmetric",
    "towards",
    "usable_targets",
    "with_logs",
]
