"""The families of the suite `poles`: each yields makers, and a maker draws a formula with a generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ceql.bench.definitions import Intervals

WIDE: Intervals = ((-10, 10),)
BEYOND: Intervals = ((-15, -10), (10, 15))

Rng = np.random.Generator


@dataclass(frozen=True)
class Draft:
    """A formula, its denominators and the other arguments that change sign, and its ranges."""

    expression: str
    denominators: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    train: tuple[Intervals, ...] = ()
    extrap: tuple[Intervals, ...] = ()
    variables: tuple[str, ...] = ()


Make = Callable[[Rng], Draft]


def coefficient(rng: Rng) -> float:
    return float(rng.choice([-1, 1]) * round(rng.uniform(0.5, 3.0), 2))


def magnitude(rng: Rng, high: float = 3.0) -> float:
    return round(rng.uniform(0.5, high), 2)


def total(rng: Rng, *terms: str) -> str:
    """A sum of terms with random coefficients; the term "" is the constant."""
    parts = []
    for term in terms:
        c = coefficient(rng)
        body = f"{abs(c):.2f}" + (f"*{term}" if term else "")
        parts.append(f"- {body}" if c < 0 else f"+ {body}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else "-" + text[2:]


def linear(rng: Rng, *names: str) -> str:
    return total(rng, *names, "")


def quadratic(rng: Rng, *names: str) -> str:
    crossed = [f"{a}*{b}" for i, a in enumerate(names) for b in names[i + 1 :]]
    return total(rng, *[f"{n}**2" for n in names], *crossed, *names, "")


def scaled(rng: Rng, body: str) -> str:
    return f"{coefficient(rng):.2f}*{body}"


def added(first: str, second: str) -> str:
    return f"{first} - {second[1:]}" if second.startswith("-") else f"{first} + {second}"


def names(count: int) -> tuple[str, ...]:
    return tuple(f"x{i + 1}" for i in range(count))


def ratio(top: Callable[[Rng], str], bottom: Callable[[Rng], str]) -> Make:
    def make(rng: Rng) -> Draft:
        numerator, denominator = top(rng), bottom(rng)
        return Draft(f"({numerator})/({denominator})", (denominator,))

    return make


def _linear_in(inputs: Sequence[str], rng: Rng) -> str:
    return linear(rng, *inputs)


def linear_rationals() -> Iterator[Make]:
    for count in (1, 1, 2, 2, 3, 4, 5, 6, 7, 8):
        form = partial(_linear_in, names(count))
        yield ratio(form, form)


def quadratic_rationals_1() -> Iterator[Make]:
    for _ in range(7):
        yield ratio(lambda r: quadratic(r, "x1"), lambda r: quadratic(r, "x1"))


def quadratic_rationals_2() -> Iterator[Make]:
    def full(r: Rng) -> str:
        return quadratic(r, "x1", "x2")

    pairs = [
        (lambda r: total(r, "x1**2", "x2", ""), lambda r: total(r, "x1", "x2**2", "")),
        (lambda r: total(r, "x1*x2", ""), lambda r: total(r, "x1**2", "x2**2", "")),
        (lambda r: total(r, "x1**2", "x2**2", ""), lambda r: total(r, "x1*x2", "x1", "")),
        (lambda r: total(r, "x1**2", "x1*x2", "x2"), lambda r: total(r, "x2**2", "x1", "")),
        (full, lambda r: linear(r, "x1", "x2")),
        (lambda r: linear(r, "x1", "x2"), full),
        (full, full),
    ]
    for top, bottom in pairs:
        yield ratio(top, bottom)


def separate_poles() -> Iterator[Make]:
    def make(rng: Rng, inputs: Sequence[str], polynomial: Sequence[str]) -> Draft:
        bottoms = tuple(linear(rng, name) for name in inputs)
        text = total(rng, *polynomial)
        for bottom in bottoms:
            text = added(text, f"{coefficient(rng):.2f}/({bottom})")
        return Draft(text, bottoms)

    for inputs, polynomial in (
        (["x1"] * 2, ["x1"]),
        (["x1"] * 2, ["x1", ""]),
        (["x1"] * 2, ["x1**2", "x1"]),
        (["x1", "x2"], ["x1"]),
        (["x1", "x2"], ["x1*x2", ""]),
        (["x1"] * 3, ["x1"]),
        (["x1"] * 3, ["x1**2", ""]),
        (["x1", "x2", "x3"], ["x1", "x2"]),
    ):
        yield lambda r, i=inputs, p=polynomial: make(r, i, p)


def of_quadratic(function: str) -> Iterator[Make]:
    def make(rng: Rng, *terms: str) -> Draft:
        inner = total(rng, *terms)
        return Draft(scaled(rng, f"{function}({inner})"), (), (inner,))

    for terms in (
        *[("x1**2", "x1", "")] * 3,
        ("x1**2", "x2", ""),
        ("x1**2", "x2**2", ""),
        ("x1*x2", "x1", ""),
        ("x1**2", "x1*x2", "x2**2", "x1", "x2", ""),
    ):
        yield lambda r, t=terms: make(r, *t)


def of_ratio() -> Iterator[Make]:
    def make(rng: Rng, function: str, top: Sequence[str], bottom: Sequence[str]) -> Draft:
        numerator, denominator = total(rng, *top), total(rng, *bottom)
        text = scaled(rng, f"{function}(({numerator})/({denominator}))")
        return Draft(text, (), (numerator, denominator))

    for function in ("log", "sqrt"):
        for top, bottom in (
            (["x1", ""], ["x1", ""]),
            (["x1", ""], ["x2", ""]),
            (["x1**2", ""], ["x2", ""]),
            (["x1", "x2", ""], ["x1", "x2", ""]),
        ):
            yield lambda r, f=function, t=top, b=bottom: make(r, f, t, b)


def log_and_pole() -> Iterator[Make]:
    def make(rng: Rng, inner: Sequence[str], bottom: Sequence[str], rest: Sequence[str]) -> Draft:
        argument, denominator = total(rng, *inner), total(rng, *bottom)
        text = added(scaled(rng, f"log({argument})"), f"{coefficient(rng):.2f}/({denominator})")
        text = added(text, total(rng, *rest)) if rest else text
        return Draft(text, (denominator,), (argument,))

    for inner, bottom, rest in (
        (["x1", ""], ["x1", ""], []),
        (["x1**2", "x1", ""], ["x1", ""], []),
        (["x1", ""], ["x2", ""], []),
        (["x1**2", ""], ["x2", ""], ["x2"]),
        (["x1", "x2", ""], ["x1", ""], []),
        (["x1", "x2", ""], ["x1", "x2", ""], []),
        (["x1", ""], ["x2**2", ""], []),
    ):
        yield lambda r, i=inner, b=bottom, e=rest: make(r, i, b, e)


def products() -> Iterator[Make]:
    def shift(r: Rng, name: str) -> str:
        return f"({added(name, f'{coefficient(r):.2f}')})"

    def make(rng: Rng, top: Sequence[str], bottom: Sequence[str]) -> Draft:
        above, below = ([shift(rng, n[:-1]) if n.endswith("+") else n for n in part] for part in (top, bottom))
        bottom_text = below[0] if len(below) == 1 else f"({'*'.join(below)})"
        text = scaled(rng, f"{'*'.join(above)}/{bottom_text}")
        return Draft(text, tuple(b.strip("()") for b in below))

    for top, bottom in (
        (["x1"], ["x2", "x3+"]),
        (["x1", "x2"], ["x3", "x4+"]),
        (["x1+", "x2"], ["x3+"]),
        (["x1+", "x2+"], ["x3+", "x4+"]),
        (["x1**2"], ["x2", "x3+"]),
        (["x1", "x2+"], ["x1+", "x3"]),
        (["x1", "x2", "x3"], ["x4+"]),
    ):
        yield lambda r, t=top, b=bottom: make(r, t, b)


def exponentials() -> Iterator[Make]:
    def growth(r: Rng, *terms: str) -> str:
        return f"exp({total(r, *terms)})"

    yield ratio(lambda r: scaled(r, growth(r, "x1")), lambda r: linear(r, "x1"))
    yield ratio(lambda r: scaled(r, growth(r, "x1")), lambda r: linear(r, "x2"))
    yield ratio(lambda r: added(scaled(r, growth(r, "x1")), f"{coefficient(r):.2f}"), lambda r: quadratic(r, "x1"))
    yield ratio(lambda r: f"{coefficient(r):.2f}", lambda r: f"{growth(r, 'x1')} - {magnitude(r):.2f}")
    yield ratio(lambda r: scaled(r, f"exp(-{magnitude(r):.2f}*x1**2)"), lambda r: linear(r, "x2"))
    yield ratio(lambda r: growth(r, "x1", "x2"), lambda r: total(r, "x1*x2", ""))
    yield ratio(lambda r: added(scaled(r, growth(r, "x1")), total(r, "x2")), lambda r: linear(r, "x1", "x2"))


def sines() -> Iterator[Make]:
    def wave(r: Rng, name: str = "x1", function: str = "sin") -> str:
        return f"{function}({linear(r, name)})"

    def wide(text: str, denominators: tuple[str, ...] = ()) -> Draft:
        count = 2 if "x2" in text else 1
        return Draft(text, denominators, train=(WIDE,) * count, extrap=(BEYOND,) * count)

    def damped(text: str, *second: Intervals) -> Draft:
        return Draft(text, train=(((0, 6),), *second[:1]), extrap=(((6, 9),), *second[1:]))

    def over_pole(r: Rng) -> Draft:
        bottom = linear(r, "x1")
        return wide(f"{scaled(r, wave(r))}/({bottom})", (bottom,))

    yield lambda r: wide(scaled(r, wave(r)))
    yield lambda r: wide(added(scaled(r, wave(r)), linear(r, "x1")))
    yield lambda r: wide(added(scaled(r, wave(r)), scaled(r, wave(r, "x1", "cos"))))
    yield lambda r: wide(added(scaled(r, f"x1*{wave(r, 'x2')}"), f"{coefficient(r):.2f}"))
    yield over_pole
    yield lambda r: damped(scaled(r, f"exp(-{magnitude(r, 1.0):.2f}*x1)*{wave(r)}"))
    yield lambda r: damped(added(scaled(r, f"exp(-{magnitude(r, 1.0):.2f}*x1)*{wave(r)}"), f"{coefficient(r):.2f}"))
    yield lambda r: damped(scaled(r, f"exp(-{magnitude(r, 1.0):.2f}*x1)*{wave(r, 'x2')}"), WIDE, BEYOND)


# family: prefix of its problems' names, makers
FAMILIES: dict[str, tuple[str, Callable[[], Iterator[Make]]]] = {
    "linear rational": ("linrat", linear_rationals),
    "quadratic rational, 1 variable": ("quadrat1", quadratic_rationals_1),
    "quadratic rational, 2 variables": ("quadrat2", quadratic_rationals_2),
    "separate poles": ("poles", separate_poles),
    "log of quadratic": ("logquad", lambda: of_quadratic("log")),
    "root of quadratic": ("rootquad", lambda: of_quadratic("sqrt")),
    "log or root of ratio": ("ofratio", of_ratio),
    "log and pole": ("logpole", log_and_pole),
    "product ratio": ("product", products),
    "exponential over polynomial": ("exp", exponentials),
    "sine": ("sine", sines),
}
