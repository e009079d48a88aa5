"""Do chosen formulas have features between the rows that no row shows? Poles, jumps, undetermined constants.

A folder holds tables (.csv or .tsv) with the target in the last column or in one called `target`. The default search
chooses a formula for each. It is evaluated on a fine grid between every row and its nearest neighbours in the columns.
What is printed is how far it leaves the values of these two rows, in ranges of the target. None of the library's own
checks is used. A pole that rows do show also leaves their values far behind, so such lines need a look at the
neighbouring rows.

    python benchmarks/between_rows.py FOLDER [FOLDER ...] [--seed 0] [--jobs 2] [--time-limit 30]
        [--leave-out water,protein] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from measured_tables import TEST, read, target_of
from sklearn.neighbors import NearestNeighbors

from ceql import CEQLRegressor
from ceql.bench.selections import split_names

NEIGHBOURS = 4
POINTS = 201  # between a row and a neighbour; more on short tables
MOST_POINTS = 400_000
FAR = 2.0  # ranges of the target


def excess(model: CEQLRegressor, x: np.ndarray, y: np.ndarray) -> float:
    """How far the formula leaves the values of neighbouring rows, in ranges of the target; infinite if undefined."""
    scaled = (x - x.min(axis=0)) / np.maximum(np.ptp(x, axis=0), 1e-300)
    count = min(NEIGHBOURS + 1, len(x))
    near = NearestNeighbors(n_neighbors=count).fit(scaled).kneighbors(scaled, return_distance=False)[:, 1:]
    pairs = np.unique(np.sort(np.stack([np.repeat(np.arange(len(x)), near.shape[1]), near.ravel()], 1), axis=1), axis=0)
    steps = np.linspace(0.0, 1.0, max(POINTS // 10, min(20 * POINTS, MOST_POINTS // max(len(pairs), 1))))
    worst = 0.0
    for first, second in pairs:
        points = x[first] + steps[:, None] * (x[second] - x[first])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = model.predict(points)
        if not np.isfinite(values).all():
            return np.inf
        low, high = min(y[first], y[second]), max(y[first], y[second])
        worst = max(worst, float(np.max(np.maximum(values - high, low - values))))
    return worst / max(float(np.ptp(y)), 1e-300)


def looked_at(path: Path, leave_out: list[str], seed: int, limit: float) -> dict:
    rows = read(path).select_dtypes("number").dropna()
    target = target_of(rows)
    rows = rows.drop(columns=[name for name in leave_out if name in rows.columns and name != target])
    x, y = rows.drop(columns=[target]), rows[target]
    model = CEQLRegressor(time_limit=limit, random_state=seed, threads=1, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, y)
    errors = np.array([error for _, error in model.discovery_.best.constants], float)
    return {
        "table": path.stem,
        "formula": str(model.discovery_.best),
        "excess": excess(model, x.to_numpy(float), y.to_numpy(float)),
        "without_error": int((~np.isfinite(errors)).sum()),
        "poles": [str(pole) for pole in model.poles_][:6],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    leave_out = list(split_names(options.leave_out))
    paths = [path for folder in options.folders for path in sorted([*folder.glob("*.csv"), *folder.glob("*.tsv")])]
    tables = [path for path in paths if not path.stem.endswith(TEST) and path.stem != "laws"]
    tasks = (delayed(looked_at)(path, leave_out, options.seed, options.time_limit) for path in tables)
    records: list[dict] = [record for record in Parallel(n_jobs=options.jobs)(tasks) if record is not None]
    for record in records:
        mark = "!" if record["excess"] > FAR or record["without_error"] else " "
        figures = f"{mark} {record['table']:<32}{record['excess']:>10.2g}{record['without_error']:>4}"
        sys.stdout.write(f"{figures}  {record['formula'][:90]}  {'; '.join(record['poles'])[:80]}\n")
    if options.json:
        options.json.write_text("\n".join(json.dumps(record) for record in records) + "\n")


if __name__ == "__main__":
    main()
