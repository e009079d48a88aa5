"""Measured tables without a known law: R2 on held-out rows of ceql, ridge regression, gradient boosting and Operon.

A folder holds tables (.csv or .tsv, with the target in the last column or in one called `target`). A pair
NAME_train.csv and NAME_test.csv keeps its split; other tables are split at random, with two thirds to train on. Columns
named by --leave-out are further targets and not used as inputs.

    python benchmarks/measured_tables.py FOLDER [--splits 0-2] [--jobs 2] [--time-limit 30] [--json FILE]
        [--methods ceql,ridge,boosting,operon] [--leave-out water,protein]
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from ceql import CEQLRegressor
from ceql.bench.selections import parse_seeds, split_names

TRAIN, TEST = "_train", "_test"


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",")


def target_of(table: pd.DataFrame) -> str:
    return "target" if "target" in table.columns else str(table.columns[-1])


def tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame | None]]:
    """The name and rows of each table, and its test rows if they are given."""
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.tsv")]):
        if path.stem.endswith(TEST):
            continue
        other = path.with_name(path.name.replace(TRAIN, TEST))
        yield path.stem.removesuffix(TRAIN), read(path), read(other) if path.stem.endswith(TRAIN) else None


def predicted(method: str, train: tuple, x_test: pd.DataFrame, seed: int, time_limit: float) -> tuple[np.ndarray, str]:
    """The predicted values in the held-out rows, and the formula if there is one."""
    if method == "ceql":
        model = CEQLRegressor(time_limit=time_limit, random_state=seed, threads=1, verbose=False).fit(*train)
        return model.predict(x_test), str(model.discovery_.best)
    if method == "operon":
        operon_module: Any = importlib.import_module("pyoperon.sklearn")  # an extra: ceql[baselines]
        symbols = "add,sub,mul,div,constant,variable,exp,log,sqrt,square,sin,cos"
        operon = operon_module.SymbolicRegressor(
            allowed_symbols=symbols, max_time=int(time_limit), n_threads=1, generations=10**6, random_state=seed
        )
        # Copies: arrays of pandas cannot be written to, which it refuses.
        x, y, new = (np.array(part, float, order="C") for part in (*train, x_test))
        return np.asarray(operon.fit(x, y).predict(new)), ""
    ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 33)))
    other = ridge if method == "ridge" else GradientBoostingRegressor(random_state=seed)
    return other.fit(*train).predict(x_test), ""


def run(name: str, rows: pd.DataFrame, held: pd.DataFrame | None, split: int, method: str, limit: float) -> dict:
    target = target_of(rows)
    parts: Any = (rows, held) if held is not None else train_test_split(rows, test_size=1 / 3, random_state=split)
    train, test = parts
    x_train, x_test = (part.drop(columns=[target]) for part in (train, test))
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, formula = predicted(method, (x_train, train[target]), x_test, split, limit)
    seconds = time.perf_counter() - begin
    undefined = ~np.isfinite(values)
    values = np.where(undefined, float(train[target].mean()), values)
    r2 = float(r2_score(test[target], values))
    return {"table": name, "split": split, "method": method, "r2": r2, "undefined": int(undefined.sum())} | {
        "seconds": seconds,
        "formula": formula,
    }


def summary(records: Sequence[dict], methods: Sequence[str]) -> str:
    frame: Any = pd.DataFrame(records)
    mean = frame.pivot_table("r2", "table", "method")[list(methods)]
    clipped = frame.assign(r2=frame["r2"].clip(0, 1)).groupby("method")["r2"].mean()[list(methods)]
    return f"{mean.round(3).to_string()}\n\nmean of R2 clipped to 0..1\n{clipped.round(3).to_string()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", default="0-2")
    parser.add_argument("--methods", default="ceql,ridge,boosting,operon")
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    methods = split_names(options.methods)
    others = list(split_names(options.leave_out))  # a tuple would be the name of one column
    jobs = [
        delayed(run)(name, rows.drop(columns=others, errors="ignore"), held, split, method, options.time_limit)
        for name, rows, held in tables(options.folder)
        for split in parse_seeds(options.splits)
        for method in methods
    ]
    records: list[Any] = list(tqdm(Parallel(options.jobs, return_as="generator_unordered")(jobs), total=len(jobs)))
    if options.json is not None:
        options.json.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    print(summary(records, methods))


if __name__ == "__main__":
    main()
