"""A cluster by name: within the block, joblib's backend is the Dask or Ray cluster at that address."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import joblib

from ceql.errors import InputError, WorkersLostError, missing_extra

_SECONDS_TO_ANSWER = 15


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """`dask://host:port` of a Dask scheduler, `ray://host:port` of a Ray head, or `ray://auto` on a node of it."""
    kind, _, place = address.partition("://")
    if kind not in _KINDS or not place:
        raise InputError(f"A cluster is named dask://host:port or ray://host:port, not {address!r}.")
    with _KINDS[kind](place):
        yield


@contextmanager
def _dask(place: str) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError:
        raise missing_extra("dask.distributed", "dask", "A Dask cluster") from None
    try:
        client = Client(f"tcp://{place}", timeout=_SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise _no_answer("Dask scheduler", place) from error
    with client, joblib.parallel_config(backend="dask"):
        yield


@contextmanager
def _ray(place: str) -> Iterator[None]:
    try:
        import ray  # pyright: ignore[reportMissingImports]
        from ray.util.joblib import register_ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise missing_extra("ray", "ray", "A Ray cluster") from None
    try:
        ray.init("auto" if place == "auto" else f"ray://{place}", log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError) as error:
        raise _no_answer("Ray head", place) from error
    register_ray()
    try:
        with joblib.parallel_config(backend="ray", n_jobs=int(ray.cluster_resources()["CPU"])):
            yield
    finally:
        ray.shutdown()


def _no_answer(what: str, place: str) -> WorkersLostError:
    return WorkersLostError(f"No {what} answers at {place}. Is it running, and is the port open?")


_KINDS = {"dask": _dask, "ray": _ray}
