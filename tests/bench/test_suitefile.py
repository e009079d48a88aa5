"""A suite file of one's own, and what is said about its errors."""

from __future__ import annotations

import pytest

from ceql.bench.errors import SuiteError
from ceql.bench.methods import find_method
from ceql.bench.problems import load_suite

GOOD = """\
title = "Mine"
seeds = "0-1"
time_limit = 5

[defaults]
n_train = 32

[[problem]]
name = "a"
family = "f"
expression = "1/(x - 0.5)"
variables = ["x"]
train = [[-1, 1]]

[[problem]]
name = "b"
expression = "u*v"
variables = ["u", "v"]
train = { u = [[0, 1]], v = [[2, 3], [4, 5]] }
noise = [0.0, 0.1]

[[include]]
suite = "paper"
problems = ["E-7"]
nuisance = 2
"""


def load(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_suite(path)


def test_a_good_file(tmp_path):
    suite = load(tmp_path, GOOD)
    assert (suite.name, suite.title, suite.seeds, suite.time_limit) == ("mine", "Mine", (0, 1), 5.0)
    assert [p.name for p in suite.problems] == ["a", "b[noise=0.0]", "b[noise=0.1]", "E-7"]
    assert suite.problems[0].n_train == 32
    assert suite.problems[2].train == (((0.0, 1.0),), ((2.0, 3.0), (4.0, 5.0)))
    assert suite.problems[3].nuisance == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "a"', "name = ", r"not valid TOML.*line 9"),
        (
            'expression = "1/(x - 0.5)"',
            'expression = "1/(y - 0.5)"',
            r"line 11, problem 'a', field 'expression'",
        ),
        ("train = [[-1, 1]]", "train = [[1, -1]]", r"line 13, problem 'a', field 'train': the interval"),
        ("train = [[-1, 1]]", "train = [1, 2]", "field 'train': an interval is a pair"),
        ("v = [[2, 3], [4, 5]] }", "w = [[2, 3]] }", r"line 19.*field 'train': Unknown variable 'w'"),
        ('family = "f"', 'familly = "f"', r"line 10.*field 'familly': .*Did you mean 'family'"),
        ('variables = ["x"]', "", r"line 8, problem 'a', field 'variables': is missing"),
        ('variables = ["x"]', 'variables = ["x", "x"]', "names a variable twice"),
        ("noise = [0.0, 0.1]", "noise = [0.0, -0.1]", r"line 20.*field 'noise': must not be negative"),
        ("n_train = 32", 'n_train = "many"', "field 'n_train': must be a whole number"),
        ('name = "b"', 'name = "a"\nn_interp = 9', "two problems are called|field 'name'"),
        ("time_limit = 5", "time_limit = 0", r"line 3, field 'time_limit': must be positive"),
        ('seeds = "0-1"', 'seeds = "1-0"', r"line 2, field 'seeds': .*runs backwards, write 0-1"),
        ('title = "Mine"', 'titel = "Mine"', r"line 1, field 'titel': .*Did you mean 'title'"),
        ('problems = ["E-7"]', 'problems = ["E-70"]', r"line 24, include 1, field 'problems'"),
        ('suite = "paper"', 'suite = "papers"', "Did you mean 'paper'"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, old, new, message):
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if "two problems" in message:
        text = text.replace("noise = [0.0, 0.1]\n", "")
    with pytest.raises(SuiteError, match=message) as caught:
        load(tmp_path, text)
    assert "mine.toml" in str(caught.value) or "papers" in str(caught.value)


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SuiteError, match="cannot be read"):
        load_suite(path)


def test_an_empty_file(tmp_path):
    with pytest.raises(SuiteError, match="no problems"):
        load(tmp_path, "")


VARIED = GOOD.replace(
    "[defaults]",
    """[variant.quick]
method = "operon"
label = "a quick one"
published = 0.5
population = 50

[defaults]""",
)


def test_variants_are_methods_under_another_name(tmp_path):
    suite = load(tmp_path, VARIED.replace("time_limit = 5", "time_limit = 5\nmemory = true"))
    assert suite.memory
    method = find_method("quick", {}, suite.variants)
    assert (method.name, method.settings["population"]) == ("quick", 50)
    assert (suite.variants["quick"].label, suite.variants["quick"].published) == ("a quick one", 0.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('method = "operon"\n', "", r"line 5, variant 'quick', field 'method': is missing"),
        (
            "published = 0.5",
            'published = "half"',
            r"line 8, variant 'quick', field 'published': must be a finite number",
        ),
        ("time_limit = 5", "memory = 3", r"line 3, field 'memory': must be true or false"),
    ],
)
def test_errors_in_variants_have_their_place(tmp_path, old, new, message):
    with pytest.raises(SuiteError, match=message):
        load(tmp_path, VARIED.replace(old, new))


@pytest.mark.parametrize("way", [("a",), ("a", "b"), ("a", "b", "c")])
def test_a_suite_that_includes_itself_is_named(tmp_path, monkeypatch, way):
    monkeypatch.chdir(tmp_path)
    for name, other in zip(way, (*way[1:], way[0]), strict=True):
        (tmp_path / f"{name}.toml").write_text(f'[[include]]\nsuite = "./{other}.toml"\n')
    round_ = " includes ".join(f"{name}.toml" for name in (*way, way[0]))
    with pytest.raises(SuiteError, match=rf"a.toml includes itself \({round_}\): leave out one"):
        load_suite("./a.toml")


def test_a_suite_may_include_another_file_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.toml").write_text('[[include]]\nsuite = "paper"\nproblems = ["E-7", "E-8"]\n')
    parts = "".join(f'[[include]]\nsuite = "./b.toml"\nproblems = ["{name}"]\n' for name in ("E-7", "E-8"))
    (tmp_path / "a.toml").write_text(parts)
    assert [problem.name for problem in load_suite("./a.toml").problems] == ["E-7", "E-8"]


def test_a_long_chain_of_suites_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k in range(30):
        (tmp_path / f"s{k}.toml").write_text(f'[[include]]\nsuite = "./s{k + 1}.toml"\n')
    with pytest.raises(SuiteError, match="chain of more than 20 files"):
        load_suite("./s0.toml")
