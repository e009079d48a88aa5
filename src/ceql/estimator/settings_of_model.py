"""Checks the parameters of a model and turns them into the settings of a search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ceql.choice.selection import check_rule
from ceql.constraints import NONE, Constraints
from ceql.discovery import SEARCHES, Settings
from ceql.errors import InputError
from ceql.estimator.parameters import checked_policy, is_number, named_operators, seed_of, texts_of
from ceql.expression.prices import Prices
from ceql.pipeline import resolve_recipe
from ceql.search.losses import SQUARED
from ceql.search.policy import SearchPolicy
from ceql.templates import Template

if TYPE_CHECKING:
    from ceql.estimator.model import Model


def settings_of(model: Model) -> Settings:
    """The settings of a search from the parameters of a model; an InputError names a wrong parameter."""
    if model.recipe not in SEARCHES:
        resolve_recipe(model.recipe)
    if not is_number(model.time_limit) or not model.time_limit > 0:
        raise InputError(f"time_limit must be a positive number of seconds, not {model.time_limit!r}.")
    limit = model.max_complexity
    if limit is not None and (not isinstance(limit, int | np.integer) or limit < 1):
        raise InputError(f"max_complexity must be a whole number of at least 1, or None, not {limit!r}.")
    check_rule(model.model_selection)
    if not isinstance(model.catalogue, bool | np.bool_):
        raise InputError(f"catalogue must be True or False, not {model.catalogue!r}.")
    if not isinstance(model.more, int | np.integer) or isinstance(model.more, bool) or model.more < 0:
        raise InputError(f"more must be a whole number of at least 0, not {model.more!r}.")
    if model.template is not None and not isinstance(model.template, Template):
        raise InputError(
            "template must be a ceql.Template, such as Template('A*exp(-k*x)', {'A': Parameter(), 'k': "
            f"Parameter()}}), not {model.template!r}."
        )
    if model.template is not None and model.guesses:
        raise InputError("A template says what the formula is: leave guesses out, or write them as the template.")
    if model.template is not None and model.recipe not in SEARCHES:
        raise InputError("A template needs recipe='search': the other recipes train one dense network.")
    if not isinstance(model.constraints, Constraints | None):
        raise InputError(f"constraints must be ceql.Constraints(...), not {type(model.constraints).__name__}.")
    if model.loss != SQUARED and model.recipe not in SEARCHES:
        raise InputError("Another loss than 'squared' needs recipe='search': the other recipes minimise squares.")
    if model.policy is not None and model.recipe not in SEARCHES:
        raise InputError("A policy needs recipe='search': the other recipes train one dense network.")
    return Settings(
        recipe=model.recipe,
        operators=named_operators(model.operators),
        time_limit=float(model.time_limit),
        max_complexity=None if limit is None else int(limit),
        model_selection=model.model_selection,
        catalogue=model.catalogue,
        more=int(model.more),
        seed=seed_of(model.random_state),
        n_jobs=model.n_jobs,
        threads=model.threads,
        device=model.device,
        template=model.template,
        constraints=model.constraints or NONE,
        loss=model.loss,
        guesses=texts_of(model.guesses),
        search=checked_policy(policy_of(model)),
    )


def policy_of(model: Model) -> SearchPolicy | None:
    """The search policy of a model, including its prices; None for the defaults."""
    if model.prices is None:
        return model.policy
    if not isinstance(model.prices, Prices):
        raise InputError(f"prices must be a {Prices.__module__}.Prices(...) or None, not {model.prices!r}.")
    return replace(model.policy or SearchPolicy(), prices=model.prices)


def prices_of(model: Model) -> Prices:
    """The prices of operators, numbers, constants and names that the model uses to choose a formula."""
    return (policy_of(model) or SearchPolicy()).prices
