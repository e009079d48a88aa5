"""Measures whether the errors of constants are honest if the errors of measurement are known.

Thirty synthetic laws with two to four constants and forty rows, whose errors differ between rows by a factor of ten: in
y alone, or in y and one column. Each draw of the noise is fitted with the true structure, from constants that are off
by a tenth. What is counted is how often the true constant lies within the 95 % interval.

    python benchmarks/sigma_study.py --draws 40
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import stdtrit

from ceql.data.dataset import Dataset
from ceql.estimator.effective_variance import in_turn, weighed
from ceql.expression import parametrise, parse_formula
from ceql.formula import Formula, make_symbols, refitted

ROWS = 40
LEVEL = 0.95
SIZE = 0.03  # size of the errors of y, as a share of its spread, and of those of x, as a share of its range
SPAN = (0.3, 3.0)  # smallest and largest error of a row, in units of that
# Laws over x in (0.5, 5.0), and z in (1.0, 3.0) if there is one. Every decimal is a constant to be fitted.
LAWS = (
    "1.3 + 0.71*x",
    "2.3*x**2 + 1.1",
    "0.31*x**2 - 1.2*x + 3.3",
    "2.6*exp(-0.43*x)",
    "2.6*exp(-0.43*x) + 0.52",
    "3.1*(1 - exp(-0.63*x))",
    "2.45*x/(x + 1.35)",
    "4.2/(x + 0.83)",
    "1.7/x + 0.41",
    "1.9*log(x) + 2.7",
    "1.9*log(x + 0.35)",
    "2.2*sqrt(x) + 0.31",
    "2.2*sqrt(x + 1.15)",
    "5.3/(1 + 12.5*exp(-1.4*x))",
    "2.1*sin(1.13*x + 0.47)",
    "1.4*sin(0.83*x) + 2.6",
    "3.7*exp(-(x - 2.3)**2/1.7)",
    "3.7/(1 + (x - 2.3)**2/0.64)",
    "0.53*x**3 + 1.7*x",
    "6.1*x*exp(-0.72*x)",
    "2.4*x*z + 1.3",
    "2.4*x/z + 0.57*z",
    "1.6*x + 0.45*z**2 + 0.83",
    "3.3*exp(-0.37*x)*z",
    "3.3*x/(z + 0.62*x)",
    "2.7*x/(x + 1.1*z)",
    "1.25*sqrt(x*z) + 0.43*z",
    "0.84*log(x*z) + 1.9",
    "2.9*z*sin(0.67*x)",
    "4.4*exp(-0.51*x) + 1.3*exp(-0.31*z)",
)


@dataclass(frozen=True)
class Count:
    within: int
    constants: int

    def __add__(self, other: Count) -> Count:
        return Count(self.within + other.within, self.constants + other.constants)

    def __str__(self) -> str:
        return f"{100 * self.within / max(self.constants, 1):5.1f} % of {self.constants}"


def _uneven(rng: np.random.Generator) -> np.ndarray:
    low, high = np.log(SPAN)
    return np.exp(rng.uniform(low, high, ROWS))


def one_draw(law: str, rng: np.random.Generator, in_x: bool, absolute: bool, factor: float = 1.0) -> Count:
    """The number of constants within their intervals in one fit; `factor` is the factor by which sigma is wrong."""
    names = ("x", "z") if "z" in law else ("x",)
    expression, symbols = parse_formula(law, names), make_symbols(names)
    form = parametrise(expression)
    x = np.column_stack([rng.uniform(0.5, 5.0, ROWS), rng.uniform(1.0, 3.0, ROWS)])[:, : len(names)]
    exact = Formula(expression, symbols, np.inf)(x)
    sigma = SIZE * np.ptp(exact) / 3.0 * _uneven(rng)
    y = exact + sigma * rng.normal(size=ROWS)
    errors = {"x": SIZE * _uneven(rng)} if in_x else {}
    seen = x.copy()
    for name, error in errors.items():
        seen[:, names.index(name)] += error * rng.normal(size=ROWS)
    start = form.substitute(form.values * (1.0 + 0.1 * rng.uniform(-1.0, 1.0, len(form.values))))
    data = weighed(Dataset(seen, y, np.ones(ROWS), names), factor * sigma, absolute)
    fitted = refitted(start, data, symbols)
    if fitted is not None and in_x:
        fitted, _ = in_turn(fitted, data, factor * sigma, {n: factor * e for n, e in errors.items()}, absolute)
    if fitted is None or len(fitted.constants) != len(form.values):
        return Count(0, len(form.values))  # a constant that was lost is one that is not covered
    freedom = np.inf if absolute else ROWS - len(form.values)
    reach = 1.959964 if absolute else float(stdtrit(freedom, 0.5 + 0.5 * LEVEL))
    values, reaches = np.array(fitted.constants).T * np.array([[1.0], [reach]])
    off = np.abs(values[:, None] - form.values)
    found, meant = linear_sum_assignment(off / np.abs(form.values))  # SymPy does not keep the order of terms
    return Count(int((off[found, meant] <= reaches[found]).sum()), len(form.values))


def coverage(draws: int, in_x: bool, absolute: bool, factor: float = 1.0, seed: int = 0) -> dict[str, Count]:
    """The coverage of the intervals for each law."""
    found = {}
    for k, law in enumerate(LAWS):
        rng = np.random.default_rng([seed, k])
        found[law] = sum((one_draw(law, rng, in_x, absolute, factor) for _ in range(draws)), Count(0, 0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40, help="of the noise, for each law")
    parser.add_argument("--each", action="store_true", help="print every law")
    asked = parser.parse_args()
    cases = {
        "errors in y, sigma known": (False, True, 1.0),
        "errors in y, sigma known up to a factor (10)": (False, False, 10.0),
        "errors in y and x, sigma known": (True, True, 1.0),
        "errors in y and x, known up to a factor (10)": (True, False, 10.0),
    }
    for words, case in cases.items():
        began = time.process_time()
        found = coverage(asked.draws, *case)
        print(f"{words}: {sum(found.values(), Count(0, 0))} constants, {time.process_time() - began:.0f} s")
        for law, count in found.items() if asked.each else ():
            print(f"  {count}  {law}")


if __name__ == "__main__":
    main()
