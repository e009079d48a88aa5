"""Wide tables: the search looks at the columns that promise most, in bounded memory, and the formula takes them all."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ceql import CEQLRegressor, Constraints, Dataset, Settings, discover
from ceql.cli.summary import in_words
from ceql.search.narrowing import narrowed
from ceql.search.policy import NarrowingPolicy, SearchPolicy
from ceql.templates import Template, Unknown

KEPT, WIDEST = NarrowingPolicy().kept, NarrowingPolicy().widest
MEGABYTE = 2**20
ROOM = 4096 * MEGABYTE  # of addresses, most of which are never touched: libraries and the stacks of threads
MOST_MORE = 400 * MEGABYTE  # of memory that a fit may take
FIT = f"""
import resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_AS, ({ROOM}, {ROOM}))
from ceql import CEQLRegressor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

rows, columns = map(int, sys.argv[1:])
random = np.random.default_rng(0)
x = random.normal(size=(rows, columns))
y = x[:, 0] * x[:, 1] + 0.1 * random.normal(size=rows)
before = peak()
model = CEQLRegressor(time_limit=4, threads=1).fit(x, y)
print(peak() - before)
print(*sorted(symbol.name for symbol in model.sympy().free_symbols))
"""


@pytest.fixture
def wide():
    random = np.random.default_rng(1)
    x = random.normal(size=(60, WIDEST + 10))
    return Dataset.of(x, x[:, 3] * x[:, 70] + 0.01 * random.normal(size=60))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on addresses to be set")
@pytest.mark.parametrize("shape", [(100, 200), (30, 1000)])
def test_a_wide_table_needs_little_memory_and_its_product_is_found(shape):
    command = [sys.executable, "-c", FIT, *map(str, shape)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    more, found = done.stdout.splitlines()
    assert int(more) < MOST_MORE
    assert found == "x1 x2"


def test_a_table_that_is_not_wide_is_searched_as_it_is(wide):
    data = replace(wide, x=wide.x[:, :WIDEST], names=wide.names[:WIDEST])
    assert narrowed(data, Settings()) is data


def test_columns_that_the_user_has_named_are_kept(wide):
    every = dict.fromkeys(wide.names)
    shown = narrowed(wide, Settings()).names
    hidden = [name for name in every if name not in shown]
    named = Settings(constraints=Constraints(required=(hidden[0],)), guesses=(f"a*{hidden[1]}",))
    few = narrowed(wide, named)
    assert set(hidden[:2]) <= set(few.names)
    assert len(few.names) == few.x.shape[1] == len(shown) == KEPT
    assert {"x4", "x71"} <= set(few.names)
    assert np.array_equal(few.x[:, few.names.index("x71")], wide.x[:, 70])


def test_a_template_says_itself_which_columns_matter(wide):
    assert narrowed(wide, Settings(template=Template("f", functions={"f": Unknown(["x1"])}))) is wide


def test_columns_that_do_not_vary_are_left_out(wide):
    x = wide.x.copy()
    x[:, 10:] = 1.0
    assert narrowed(replace(wide, x=x), Settings()).names == wide.names[:10]
    assert narrowed(replace(wide, x=np.ones_like(x)), Settings()).names == wide.names[:1]


def test_formulas_take_all_columns_of_a_wide_table(wide):
    model = CEQLRegressor(time_limit=1, operators=["mul"]).fit(wide.x, wide.y)
    assert {symbol.name for symbol in model.sympy().free_symbols} == {"x4", "x71"}
    assert np.std(model.predict(wide.x) - wide.y) < 0.1
    assert model.discovery_.columns_searched == KEPT
    assert f"{KEPT} of {WIDEST + 10} columns" in in_words(model._finding())


def test_the_same_seed_gives_the_same_formula_of_a_wide_table(wide):
    settings = Settings(operators=("mul",), max_starts=64, time_limit=np.inf)
    settings = replace(settings, search=SearchPolicy(round_size=64, chunk_size=32))
    one, two = (discover(wide, replace(settings, threads=threads)) for threads in (1, 2))
    assert [str(formula) for formula in one.front] == [str(formula) for formula in two.front]
