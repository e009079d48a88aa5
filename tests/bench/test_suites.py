"""Every problem that comes with the package is well posed and samples the same way everywhere."""

from __future__ import annotations

import runpy
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ceql.bench.definitions import families
from ceql.bench.errors import SuiteError
from ceql.bench.points import is_grid
from ceql.bench.posed import complaints
from ceql.bench.problems import every, load_problem, load_suite, sample, select, suite_names

OWN = ("ablation", "few-rows", "noise", "paper", "poles", "scalability", "sums")
PUBLIC = ("classic", "empirical", "srbench", "srsd", "strogatz")
MOTION = ("ode", "odebench", "rational")
SUITES = tuple(sorted((*OWN, *PUBLIC, *MOTION, "laws", "parts")))
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def inside(X: np.ndarray, ranges) -> bool:
    columns = zip(X.T, ranges, strict=False)
    return all(
        np.any([(a <= x) & (x <= b) for a, b in getattr(where, "intervals", where)], axis=0).all()
        for x, where in columns
    )


def test_the_suites_are_there():
    assert suite_names() == SUITES


@pytest.mark.parametrize(("suite", "seed"), [*((s, k) for s in OWN for k in (0, 1)), *((s, 0) for s in PUBLIC)])
def test_every_problem_samples(suite, seed):
    for problem in load_suite(suite).problems:
        samples = sample(problem, seed)
        sizes = (problem.n_train, problem.n_interp, problem.n_extrap)
        parts = (
            (samples.X_train, samples.y_train, problem.train),
            (samples.X_interp, samples.y_interp, problem.test or problem.train),
            (samples.X_extrap, samples.y_extrap, problem.extrap),
        )
        assert samples.names == problem.names
        for (X, y, ranges), size in zip(parts, sizes, strict=True):
            given = is_grid(ranges) or (problem.data and X is samples.X_train)
            assert X.shape == (len(y) if given else size, len(problem.names))
            assert problem.system or problem.data or inside(X, ranges), problem.name
            assert np.isfinite(y).all()
        assert np.abs(samples.y_interp).max() <= problem.limit


@pytest.mark.parametrize("suite", OWN)
def test_every_problem_is_well_posed(suite):
    wrong = {problem.name: list(complaints(problem)) for problem in load_suite(suite).problems}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_poles_covers_its_families():
    families = Counter(problem.family for problem in load_suite("poles").problems)
    assert sum(families.values()) >= 80
    assert min(families.values()) >= 6
    assert len(families) == 12


def test_sums_are_spread_evenly():
    problems = load_suite("sums").problems
    shares = Counter(family for problem in problems for family in families(problem.family))
    some = range(1, 5)
    assert len(problems) == 200
    assert shares["pole"] == 50
    assert [shares[f"{n + 1} terms"] for n in some] == [50] * 4
    assert [shares[f"{n} constant{'s' * (n > 1)}"] for n in some] == [52, 52, 48, 48]
    assert [shares[f"{n} column{'s' * (n > 1)}"] for n in some] == [50] * 4
    assert [problem.name for problem in problems if bool(problem.singular) != ("no pole" not in problem.family)] == []


@pytest.mark.parametrize("suite", ["poles", "sums"])
def test_the_generator_writes_the_suite_that_is_there(tmp_path, monkeypatch, suite):
    script = BENCHMARKS / f"make_{suite}_suite.py"
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", [script.name, str(tmp_path / f"{suite}.toml")])
    runpy.run_path(str(script), run_name="__main__")
    committed = BENCHMARKS.parent / "src" / "ceql" / "bench" / "suites" / f"{suite}.toml"
    assert (tmp_path / f"{suite}.toml").read_text() == committed.read_text()


def test_the_paper_has_its_ten():
    problems = load_suite("paper").problems
    assert [p.name for p in problems] == [f"E-{i}" for i in range(1, 11)]
    assert {(p.n_train, p.n_interp, p.n_extrap, p.limit) for p in problems} == {(128, 8192, 8192, 100.0)}


def test_samples_depend_on_name_and_seed_alone():
    problem = load_problem("E-8")
    first, again, other = sample(problem, 0), sample(problem, 0), sample(problem, 1)
    assert np.array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)
    renamed = sample(replace(problem, name="other", stem=""), 0)
    assert not np.array_equal(first.X_train, renamed.X_train)


def test_samples_are_the_same_on_every_machine():
    # A change here changes every number ever reported: it needs a reason.
    assert sample(load_problem("E-7"), 0).X_train[:3, 0] == pytest.approx(PINNED, abs=1e-15)


PINNED = (0.0232038547292599, -1.0358003531402198, 1.302010774093318)


def test_a_longer_sample_begins_with_the_shorter():
    short, long = (sample(load_problem(f"samples[n_train={n}]"), 3) for n in (100, 10000))
    assert np.array_equal(short.X_train, long.X_train[:100])


def test_noise_is_on_the_training_targets_only():
    clean = sample(load_problem("E-7"), 0)
    noisy = sample(load_problem("E-7[noise=0.1]"), 0)
    assert np.array_equal(clean.X_train, noisy.X_train)
    assert np.array_equal(clean.y_interp, noisy.y_interp)
    ratio = (noisy.y_train - clean.y_train).std() / clean.y_train.std()
    assert 0.07 < ratio < 0.13


def test_nuisance_columns_come_after_the_variables():
    few, many = (sample(load_problem(f"rational-2[nuisance={n}]"), 0) for n in (8, 62))
    assert np.array_equal(few.X_train[:, :2], many.X_train[:, :2])
    assert many.names[:3] == ("x1", "x2", "n1")
    assert np.abs(many.X_train).max() <= 2 <= np.abs(many.X_extrap).min()


def test_a_starved_problem_says_why():
    problem = replace(load_problem("E-6"), expression="log(-1 - x1**2)", name="nowhere")
    with pytest.raises(SuiteError, match=r"'nowhere': only 0 of 128 train points.*change the range"):
        sample(problem, 0)


def test_complaints_notice_what_is_wrong():
    problem = replace(load_problem("E-8"), n_train=16)

    def found(**changes):
        return " ".join(complaints(replace(problem, **changes)))

    assert "x2 hardly matters" in found(expression="x1**2", singular=())
    assert "constant" in found(expression="3.5 + 0*x1", singular=())
    assert "hardly changes sign" in found(singular=("x1 + 5",))
    assert "training range is usable" in found(expression="log(x1 - 1.99) + x2")
    assert found() == ""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: load_suite("papr"),
            "Did you mean 'paper'.*Known: ablation, classic, empirical, few-rows, laws",
        ),
        (lambda: load_suite("nowhere/mine.toml"), "no suite file nowhere/mine.toml"),
        (lambda: load_problem("E-77"), "Unknown problem 'E-77'. Did you mean 'E-7"),
        (lambda: select(load_suite("paper"), ("e7",)), "Did you mean 'E-7'"),
    ],
)
def test_typos_get_the_nearest_name(call, message):
    with pytest.raises(SuiteError, match=message):
        call()


def test_select_takes_names_and_families():
    suite = load_suite("paper")
    assert [p.name for p in select(suite, ("E-7", "log"))] == ["E-7", "E-5"]
    assert len(select(load_suite("sums"), ("3 terms",))) == 50


def test_a_share_of_each_family_can_be_taken():
    whole = load_suite("parts")
    sizes = Counter(problem.family for problem in whole.problems)
    some = Counter(problem.family for problem in every(whole, 10).problems)
    assert some == {family: -(-count // 10) for family, count in sizes.items()}
    assert every(whole, 1) == whole
    paper = load_suite("paper")
    assert every(paper, 4).problems == paper.problems[::4]
