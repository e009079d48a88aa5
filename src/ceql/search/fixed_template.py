"""A template in which only numbers are unknown: it is fitted from many starts, without a search.

Starts pass through the complex domain, as in a search, so that poles can move across rows. The best of them are fitted
by plain least squares and become formulas.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ceql.choice.exactness import is_exact
from ceql.data.dataset import Dataset, Scaling
from ceql.engine import fit
from ceql.engine.dispatch import Work, Workers
from ceql.errors import InputError
from ceql.formula import held, lowest_form, make_symbols
from ceql.search.outcome import Found, Outcome
from ceql.search.policy import SearchPolicy
from ceql.search.reduction import Reduced, fitted
from ceql.search.settings import Settings
from ceql.templates import Template
from ceql.templates.assembly import Assembly
from ceql.templates.sizes import drawn_values


def fitted_template(template: Template, data: Dataset, settings: Settings, workers: Workers) -> Found:
    """The template with the constants of the lowest minimum found."""
    policy = settings.search
    few = data.thinned(policy.fixed.rows)
    assembly, params = _starts(template, few, settings.seed, policy)
    x, y = assembly.scaling.apply(few.x, few.y)
    plain = fit.Samples.of(x, y, few.weight)
    tempered = fit.Samples.of(x, y, few.weight / (1.0 + y**2))  # as in a search
    edges = np.zeros((len(params), 0), bool)
    (chunk,) = workers.fit([Work(assembly, tempered, policy.schedule, edges, params)])
    begun = np.concatenate([chunk.params, _promising(assembly, plain, params, policy)])
    options = fit.Levenberg(policy.fixed.iterations, separable=True)
    ends = fitted(assembly, plain, np.zeros((len(begun), 0), bool), begun, options, workers.threads_here)
    symbols = make_symbols(data.names)
    forms = [assembly.named(end.edges, end.params, lambda part: part) for end in _lowest(ends, policy)]
    form = lowest_form(forms, data.thinned(policy.polish.most_rows), symbols)
    best = None if form is None else held(form, data, symbols, settings.constraints, policy.polish)
    if best is None:
        raise InputError(
            "For all values of its parameters that were tried, the template is undefined on some row or violates "
            "the constraints: check its logarithms, roots and divisions, or give a parameter bounds."
        )
    outcome = Outcome.EXACT if is_exact(best, data, policy.exact) else Outcome.FITTED
    return Found([best], outcome, len(params), rows_searched=len(few.y))


def _starts(template: Template, data: Dataset, seed: int, policy: SearchPolicy) -> tuple[Assembly, np.ndarray]:
    """The starting values. Sizes are drawn first, since parameters are fitted in units of them."""
    scaling = Scaling.of(data.x, data.y)
    frame = Assembly(template, data.names, scaling).frame
    columns = dict(zip(data.names, data.x.T, strict=True))
    rng = np.random.default_rng(seed)
    count = policy.fixed.starts
    values = drawn_values(frame, template.parameters, columns, data.y, count, rng, policy.fixed.sizes)
    sizes = dict(zip(template.parameters, np.abs(values[0]).tolist(), strict=True))
    sized = {name: _sized(parameter, sizes[name]) for name, parameter in template.parameters.items()}
    assembly = Assembly(replace(template, parameters=sized), data.names, scaling)
    params = policy.start_scale * rng.standard_normal((count, assembly.n_params))
    order = {name: k for k, name in enumerate(template.parameters)}
    for number in assembly.numbers:
        params[:, number.index] = number.raw(values[:, order[number.name]])
    return assembly, params


def _promising(assembly: Assembly, samples: fit.Samples, params: np.ndarray, policy: SearchPolicy) -> np.ndarray:
    """The starts that improve most in a few steps. They are used unchanged: the complex domain leads some astray."""
    options = fit.Levenberg(policy.fixed.look, separable=True)
    looked = fitted(assembly, samples, np.zeros((len(params), 0), bool), params, options, 1)
    order = np.argsort([end.misfit for end in looked], kind="stable")
    return np.array([looked[k].params for k in order[: policy.fixed.direct]])


def _sized(parameter: Any, size: float) -> Any:
    return parameter if parameter.value is not None else replace(parameter, about=size)


def _lowest(ends: list[Reduced], policy: SearchPolicy) -> list[Reduced]:
    """The lowest distinct minima: misfits that agree to six digits belong to the same minimum."""
    ordered = sorted(ends, key=lambda end: end.misfit)
    distinct = {f"{end.misfit:.5e}": end for end in reversed(ordered) if np.isfinite(end.misfit)}
    return sorted(distinct.values(), key=lambda end: end.misfit)[: policy.fixed.finished]
