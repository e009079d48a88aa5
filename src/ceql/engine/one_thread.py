"""Linear algebra on one thread: for small matrices threads cost more than they gain, and they change last digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np  # noqa: F401 - these two load the libraries that are limited
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

from ceql.engine.shared_setting import SharedSetting

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries, only once: it takes milliseconds, and a Ctrl-C during it is lost in a callback from C."""
    return ThreadpoolController()


_limit = SharedSetting(lambda: _libraries().limit(limits=1))


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    @wraps(function)
    def limited(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with _limit:
            return function(*args, **kwargs)

    return limited
