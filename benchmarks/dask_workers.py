"""What more workers of a Dask cluster are worth: starts per second of a whole search, by the number of workers.

    python benchmarks/dask_workers.py [--workers 1,2,4,8] [--seconds 20] [--json FILE]

Workers are processes on this machine with one thread each, which are started and have finished their imports before the
clock starts. The search itself, its sums and the work after each round run in another process, so eight workers need
more than eight cores. The target is that of `whole_search.py`, where only the clock ends the search.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import joblib
from distributed import Client, LocalCluster
from whole_search import table

from ceql import Settings, discover
from ceql.bench.selections import split_names


def measured(workers: int, seconds: float) -> dict[str, float]:
    """The figures of one search with this many workers."""
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
        discover(table(seed=1), Settings(time_limit=2.0, threads=1))  # imports on every worker
        begin = time.perf_counter()
        found = discover(table(), Settings(time_limit=seconds, threads=1))
        return {"workers": workers, "starts": found.starts, "wall": time.perf_counter() - begin}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", type=Path, help="append the figures here")
    options = parser.parse_args()
    rates: list[float] = []
    for workers in map(int, split_names(options.workers)):
        figures = measured(workers, options.seconds)
        rates.append(figures["starts"] / figures["wall"])
        sys.stdout.write(
            f"{workers:>4} workers{rates[-1]:>10,.0f} starts a second{rates[-1] / rates[0]:>7.2f} times the first\n"
        )
        if options.json:
            with options.json.open("a") as out:
                out.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
