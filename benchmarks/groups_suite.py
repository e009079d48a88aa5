"""Fits the grouped problems of `groups_grammar.py` and prints the result of each.

    python benchmarks/groups_suite.py [--seed 0 --seed 1 --seed 2] [--limit 60] [--only 0-03]

A seed determines 20 problems, and is also the seed of the search. A problem counts as solved if the chosen formula has
the right structure and split: it has as many shared and per-group constants as the truth and, once its constants are
fitted to noiseless values of the truth on other rows, agrees with them to a millionth of their spread. Fewer shared
constants are also right if a number took the place of one.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import sympy
from groups_grammar import RANGE_OF_X, RANGE_OF_Z, GroupedProblem, problems

from ceql import CEQLRegressor, Dataset
from ceql.expression.text.write import write_formula
from ceql.groups.grouped_formula import GroupedFormula
from ceql.groups.policy import POLICY
from ceql.groups.rows import GroupedRows
from ceql.groups.splitting import Splitter, Structure
from ceql.groups.structures import made_law

ROWS = 40  # rows per group on which structures are compared with the truth
CLOSE = 1e-6  # share of the standard deviation of the truth
STEPS = 400


def judged(formula: object, problem: GroupedProblem) -> str:
    """What is wrong with the chosen formula; empty if it is right."""
    if not isinstance(formula, GroupedFormula):
        return "no law"
    own, shared = sum(problem.own), len(problem.own) - sum(problem.own)
    if len(formula.parts.own) != own or len(formula.parts.shared) > shared:
        return f"{len(formula.parts.shared)} shared and {len(formula.parts.own)} of each, not {shared} and {own}"
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(len(problem.values)), ROWS)
    ranges = (RANGE_OF_X, RANGE_OF_Z)[: len(problem.columns)]
    x = np.column_stack([rng.uniform(*ends, len(codes)) for ends in ranges])
    truth = problem.clean(x, codes)
    off = np.sqrt(left_over(formula, x, codes, truth)) / np.std(truth)
    return "" if off < CLOSE else f"another structure: {off:.1e} of the spread are left"


def left_over(formula: GroupedFormula, x: np.ndarray, codes: np.ndarray, truth: np.ndarray) -> float:
    """The mean square that the structure leaves of the truth, fitted from the constants that were found.

    Groups that fit badly are restarted from the constants of others.
    """
    parts = formula.parts
    columns = {symbol: sympy.Symbol(f"x{k + 1}", real=True) for k, symbol in enumerate(formula.symbols[:-1])}
    names = (*parts.shared, *parts.own)
    text = write_formula(formula.structure.xreplace(columns))
    law = made_law(text, len(columns), names, [[1.0]] * len(names))
    rows = GroupedRows.of(Dataset(x, truth, np.ones(len(truth)), tuple(f"x{k + 1}" for k in range(x.shape[1]))), codes)
    start = parts.rows_of(formula.values, rows.order).T
    given = (False,) * len(parts.shared) + (True,) * len(parts.own)
    structure = Structure(law, tuple(range(len(columns))), start, given=given)
    patient = replace(POLICY, explored_steps=STEPS, explored_gain=1e-12, repairs=8, slack=np.inf)
    return Splitter(structure, rows, patient).all_splits()[0].fit.misfit / len(truth)


def run(problem: GroupedProblem, seed: int, limit: float) -> tuple[bool, str]:
    table = pd.DataFrame(problem.x, columns=list(problem.columns))
    model = CEQLRegressor(per_group="auto", random_state=seed, time_limit=limit, threads=1, verbose=False)
    begin, work = time.monotonic(), time.process_time()
    model.fit(table, problem.y, groups=pd.Series(problem.labels, name="g"))
    seconds = f"{time.monotonic() - begin:5.1f} s, {time.process_time() - work:5.1f} s of a processor"
    found = model.discovery_.best
    wrong = judged(found, problem)
    print(f"{problem.name}  {'right' if not wrong else 'WRONG'}  {problem}")
    print(f"      {seconds}: {found}{f'   ({wrong})' if wrong else ''}", flush=True)
    return not wrong, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--only", action="append")
    given = parser.parse_args()
    for seed in given.seed or (0, 1, 2):
        drawn = [p for p in problems(seed) if not given.only or p.name in given.only]
        right = sum(run(problem, seed, given.limit)[0] for problem in drawn)
        print(f"seed {seed}: {right} of {len(drawn)} right", flush=True)


if __name__ == "__main__":
    main()
