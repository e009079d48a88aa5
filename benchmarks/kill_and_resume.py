"""Kills a search at random moments and resumes it each time; also measures the cost of checkpoints.

    python benchmarks/kill_and_resume.py [--kills 10] [--seed 0] [--cost]

The command `ceql fit` searches noisy data, first undisturbed. Then it is repeatedly started with --resume and killed
(SIGKILL) after a random time, until it finally runs to its end. Formula, outcome and number of starts must equal those
of the undisturbed search. With --cost, the same rounds run alternately with and without checkpoints, and their
processor times are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from ceql import Dataset, Settings, discover
from ceql.storage.checkpoint import Checkpoint, read_checkpoint

COMMAND = [sys.executable, "-c", "from ceql.__main__ import main; main()", "fit", "data.csv", "--target", "y"]
OPTIONS = ["--operators", "mul,div,sqrt", "--time-limit", "3600", "--json", "-"]
EVERY = 0.5  # seconds between two checkpoints, so that many kills fit into a short search
LONGEST_LIFE = 0.8  # longest time until a kill, as a share of that of the whole search
ROUNDS, PAIRS = 20, 5  # rounds and pairs of runs for measuring the cost


def table(rows: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.5, 3, (2, rows))
    return pd.DataFrame({"a": a, "b": b, "y": np.sqrt(a * b) / (a + 0.7) + 0.02 * rng.standard_normal(rows)})


def answer(folder: Path, *options: str) -> tuple[str, str, int]:
    done = subprocess.run([*COMMAND, *OPTIONS, *options], cwd=folder, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return report["expression"], report["outcome"], report["starts"]


def kept(path: Path) -> tuple[int, float]:
    """The rounds and seconds in the checkpoint."""
    if not path.exists():
        return 0, 0.0
    state, _ = read_checkpoint(path)
    return state.rounds, state.seconds


def kill_and_resume(kills: int, seed: int) -> bool:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table().to_csv(folder / "data.csv", index=False)
        begin = time.perf_counter()
        undisturbed = answer(folder, "--no-checkpoint")
        whole = time.perf_counter() - begin
        print(f"undisturbed: {undisturbed[0]}, {undisturbed[1]}, {undisturbed[2]:,} starts, {whole:.1f} s\n")
        print(f"{'kill':>4} {'after s':>8} {'rounds kept':>12} {'seconds kept':>13}")
        path = folder / "run.ckpt"
        options = ["--checkpoint", str(path), "--checkpoint-every", str(EVERY), "--resume"]
        answers = []
        for kill in range(kills):
            life = rng.uniform(0.0, LONGEST_LIFE * whole)
            note = "" if is_killed(folder, options, life) else "had ended; the next begins anew"
            rounds, seconds = kept(path)
            print(f"{kill + 1:>4} {life:>8.2f} {rounds:>12} {seconds:>13.1f} {note}", flush=True)
            if note:
                answers.append(answer(folder, *options))
                path.unlink()
        answers.append(answer(folder, *options))
        rests = [rest.name for rest in folder.iterdir() if rest.name not in ("data.csv", "run.ckpt")]
    same = sum(found == undisturbed for found in answers)
    print(
        f"\nthe last: {answers[-1][0]}, {answers[-1][1]}, {answers[-1][2]:,} starts; left behind: {rests or 'nothing'}"
    )
    print(f"searches that ended as the undisturbed one: {same} of {len(answers)}")
    return same == len(answers)


def is_killed(folder: Path, options: list[str], life: float) -> bool:
    """Starts the search and kills it after this many seconds; whether it was still running then."""
    command = [*COMMAND, *OPTIONS, *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            running.wait(life)
            return False
        except subprocess.TimeoutExpired:
            running.kill()
            return True


def processor_seconds(checkpoint: Checkpoint | None) -> float:
    frame = table()
    rounds = []

    def stop(_: object) -> None:
        rounds.append(None)
        if len(rounds) == ROUNDS:
            raise KeyboardInterrupt

    begin = time.process_time()
    settings = Settings(time_limit=3600.0)
    discover(Dataset.of(frame[["a", "b"]], frame["y"]), settings, stop, checkpoint)
    return time.process_time() - begin


def cost() -> None:
    """Prints the cost of checkpoints at the default interval."""
    ratios = []
    with tempfile.TemporaryDirectory() as place:
        for pair in range(PAIRS):
            without = processor_seconds(None)
            path = Path(place) / f"{pair}.ckpt"
            ratios.append(processor_seconds(Checkpoint(path)) / without)
            size = path.stat().st_size / 1024
            print(
                f"{ROUNDS} rounds: {without:.2f} s of processor time, with checkpoints {ratios[-1]:.3f} times that, ",
                end="",
            )
            print(f"a file of {size:.0f} kB", flush=True)
    print(f"median ratio {np.median(ratios):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    if options.cost:
        cost()
    elif not kill_and_resume(options.kills, options.seed):
        sys.exit(1)


if __name__ == "__main__":
    main()
