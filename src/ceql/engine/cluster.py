"""A context manager that makes the Dask or Ray cluster at an address the backend of joblib."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import joblib

from ceql.errors import InputError, WorkersLostError, missing_extra

_SECONDS_TO_ANSWER = 15
_TOKEN = " If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here (`ray get-auth-token` there)."


@contextmanager
def cluster(address: str, device: str = "cpu") -> Iterator[None]:
    """Use the cluster at `dask://host:port` (scheduler), `ray://host:port` (head) or `ray://auto` (this node's)."""
    kind, _, place = address.partition("://")
    if kind not in _KINDS or not place:
        raise InputError(f"A cluster is named dask://host:port or ray://host:port, not {address!r}.")
    with _KINDS[kind](place, device):
        yield


@contextmanager
def _dask(place: str, _: str) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError:
        raise missing_extra("dask.distributed", "dask", "A Dask cluster") from None
    try:
        client = Client(f"tcp://{place}", timeout=_SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise _no_answer("Dask scheduler", place, error) from error
    with client, joblib.parallel_config(backend="dask"):
        yield


@contextmanager
def _ray(place: str, device: str) -> Iterator[None]:
    try:
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]
        from ray.util.joblib import register_ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise missing_extra("ray", "ray", "A Ray cluster") from None
    if place != "auto" and find_spec("grpc") is None:
        raise missing_extra("grpcio", "ray", "Ray's client")
    with warnings.catch_warnings():
        # Ray's client warns about messages and ports, which is of use to authors of Ray programs only.
        warnings.filterwarnings("ignore", module=r"ray\.util\.client")
        try:
            ray.init("auto" if place == "auto" else f"ray://{place}", log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RayError) as error:
            raise _no_answer("Ray head", place, error, _TOKEN) from error
        register_ray()
        try:
            with joblib.parallel_config(backend="ray", **_ray_workers(ray.cluster_resources(), device)):
                yield
        finally:
            ray.shutdown()


def _ray_workers(resources: Mapping[str, float], device: str) -> dict[str, Any]:
    """Return joblib's options for one worker per core, or per GPU, each with a GPU to itself."""
    if device != "gpu":
        return {"n_jobs": int(resources["CPU"])}
    if not resources.get("GPU"):
        raise InputError('Ray knows of no GPU in this cluster: start its nodes with --num-gpus, or use device="cpu".')
    return {"n_jobs": int(resources["GPU"]), "ray_remote_args": {"num_gpus": 1}}


def _no_answer(what: str, place: str, error: Exception, hint: str = "") -> WorkersLostError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = lines[-1 if lines[0].endswith(":") else 0].strip().rstrip(".")  # a traceback ends with its message
    return WorkersLostError(f"No {what} answers at {place} ({reason}). Is it running, and is the port open?{hint}")


_KINDS = {"dask": _dask, "ray": _ray}
