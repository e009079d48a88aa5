"""The two forms of a sum of resonances as templates, and the template with unknown laws for a user's own search."""

from __future__ import annotations

from collections.abc import Sequence

from ceql.errors import InputError, unknown_name
from ceql.templates.template import Parameter, Template, Terms, Unknown

FORMS = ("paper", "modal")
_LAW_OPERATORS = ("square", "mul", "sqrt")

_PAPER = "A/((w - h)**2 + g)"
# 1/(D + jE) = (D - jE)/(D^2 + E^2), with D = h^2 - w^2 and E = 2 z h w: real and imaginary part of one mode.
_BELOW = "((h**2 - w**2)**2 + (2*z*h*w)**2)"
_REAL = f"w**2*(R*(h**2 - w**2) + I*2*z*h*w)/{_BELOW}"
_IMAGINARY = f"w**2*(I*(h**2 - w**2) - R*2*z*h*w)/{_BELOW}"


def resonance_template(
    form: str = "paper",
    frequency: str = "w",
    conditions: Sequence[str] = ("d",),
    most: int = 20,
    operators: Sequence[str] = _LAW_OPERATORS,
    about: float = 1.0,
) -> Template:
    """Return a sum of resonances whose centres are unknown functions, for ``CEQLRegressor(template=...)``.

    "paper" is a w + b + sum of A/((w - h)^2 + g); "modal" the magnitude of the sum of modes
    w^2 (R + jI)/(h^2 - w^2 + 2j z h w). `about` is the size of the frequencies.
    """
    law = Unknown(tuple(conditions), tuple(operators), layers=2, about=about)
    if not frequency.isidentifier():
        raise InputError(f"The frequency column must be a plain word such as 'f', not {frequency!r}.")
    return form_template(form, law, most, about, 1.0, complex_values=False, named=frequency)


def form_template(
    form: str, law: Unknown, most: int, frequency: float, magnitude: float, complex_values: bool, named: str = "w"
) -> Template:
    """Return the form with this law for every centre; the sizes of frequency and magnitude set those of parameters."""
    # In these formulas the letter w occurs only as the frequency, which has the name `named`.
    paper, real, imaginary, line = (text.replace("w", named) for text in (_PAPER, _REAL, _IMAGINARY, "a*w + b + S"))
    if form == "paper":
        if complex_values:
            raise InputError("The paper's form is real: give magnitudes, or form='modal' for complex curves.")
        own = {"A": Parameter(about=magnitude * frequency**2), "g": Parameter(sign="+", about=frequency**2)}
        background = {"a": Parameter(about=magnitude / frequency), "b": Parameter(about=magnitude)}
        return Template(line, background, sums={"S": Terms(paper, most, own, {"h": law})})
    if form == "modal":
        own = {"R": Parameter(about=magnitude), "I": Parameter(about=magnitude), "z": Parameter(sign="+")}
        whole = "P*(1 - part) + Q*part" if complex_values else "sqrt(P**2 + Q**2)"
        return Template(whole, sums={"P": Terms(real, most, own, {"h": law}, {"Q": imaginary})})
    raise unknown_name("form of resonances", form, FORMS)
