"""The paper's training on its ten expressions, seeds 0-9: how many of the 100 runs reach a training MSE below 1e-6.

Nothing is added to the recipe: the imaginary parts are dropped at the end, and the real network is judged as it is,
without refitting its constants. The authors' counts are printed beside ours.

    python benchmarks/paper_recipe.py [--recipe paper] [--seeds 10] [--jobs 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from ceql.bench.problems import load_problem, sample
from ceql.engine import fit
from ceql.network.recording import network_tape
from ceql.training import recipes, train

AUTHORS = (10, 9, 10, 6, 3, 7, 5, 6, 2, 1)


def run(name: str, seed: int, recipe: str) -> dict:
    data = sample(load_problem(name), seed)
    begin = time.perf_counter()
    trained = train(data.X_train, data.y_train, recipes.RECIPES[recipe](), seed)
    seconds = time.perf_counter() - begin
    mask = trained.network.parameter_mask(trained.edges, imaginary=False)
    samples = fit.Samples.of(data.X_train, data.y_train)
    value = fit.values(network_tape(trained.network), samples, trained.params, mask)[0]
    return {
        "problem": name,
        "seed": seed,
        "train_mse": float(np.mean((value - data.y_train) ** 2)),
        "edges": int(trained.edges.sum()),
        "imaginary_residue": trained.imaginary_residue,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--recipe", choices=list(recipes.RECIPES), default="paper")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    work = [(f"E-{k}", seed) for k in range(1, 11) for seed in range(options.seeds)]
    begin = time.perf_counter()
    pool = Parallel(n_jobs=options.jobs, return_as="generator")
    runs: Any = pool(delayed(run)(*item, options.recipe) for item in work)
    records: list[dict[str, Any]] = list(tqdm(runs, total=len(work), unit="run"))
    wall = time.perf_counter() - begin
    print(f"{'':6}{'ours':>6}{'authors':>9}{'median MSE':>14}{'edges':>7}{'s a run':>9}")
    for k, theirs in enumerate(AUTHORS, start=1):
        rows = [r for r in records if r["problem"] == f"E-{k}"]
        good = sum(r["train_mse"] < 1e-6 for r in rows)
        middle = {key: np.median([r[key] for r in rows]) for key in ("train_mse", "edges", "seconds")}
        print(
            f"E-{k:<4}{good:>6}{theirs:>9}{middle['train_mse']:>14.1e}{middle['edges']:>7.0f}{middle['seconds']:>9.1f}"
        )
    total = sum(r["train_mse"] < 1e-6 for r in records)
    print(f"total {total} of {len(records)} (authors: {sum(AUTHORS)} of 100); wall time {wall:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
