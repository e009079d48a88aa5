"""A process that is forked while another thread is at its first fit can fit too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# The child is forked in the middle of the import. It would wait for ever for a lock; the watchdog then ends it.
DURING_THE_IMPORT = """
import faulthandler, os, sys, threading
import ceql
thread = threading.Thread(target=lambda: ceql.CEQLRegressor())
thread.start()
while MODULE not in sys.modules:
    pass
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(60, exit=True)
    ceql.CEQLRegressor()
    os._exit(0)
thread.join()
sys.exit(os.waitpid(child, 0)[1] != 0)
"""

IMPORTS_OF_A_FIT = """
import sys
from ceql import CEQLRegressor
import numpy as np
rng = np.random.default_rng(0)
x = rng.uniform(1, 2, (60, 3))
CEQLRegressor()
before = set(sys.modules)
for noise, loss in ((0.0, "squared"), (0.01, "squared"), (0.01, "absolute")):
    y = x[:, 0] / x[:, 1] + noise * rng.normal(size=60)
    CEQLRegressor(time_limit=1.0, loss=loss).fit(x, y)
print(sorted(set(sys.modules) - before))
"""


def output_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["ceql.estimator.regressor", "ceql.estimator.working"])
def test_a_fork_during_another_threads_import(module):
    """Of the class, and of what its first model brings."""
    output_of(DURING_THE_IMPORT.replace("MODULE", repr(module)))


def test_a_model_that_was_pickled_brings_the_library():
    copied = output_of(
        "import pickle; from ceql import CEQLRegressor; print(pickle.dumps(CEQLRegressor(time_limit=1.0)).hex())"
    )
    program = (
        f"import pickle, sys; pickle.loads(bytes.fromhex({copied!r})); assert 'ceql.estimator.working' in sys.modules"
    )
    output_of(program)


def test_a_class_alone_brings_next_to_nothing():
    """SymPy, the search and what else a fit takes come with the first model."""
    output_of(
        "import sys; from ceql import CEQLRegressor\n"
        "assert not {'sympy', 'ceql.pipeline', 'ceql.formula'} & {*sys.modules}"
    )


def test_a_fit_imports_nothing():
    """So that no thread holds the lock of a module when another one forks."""
    assert output_of(IMPORTS_OF_A_FIT) == "[]"
