"""Rounds on threads, processes and clusters: the same formula to the last digit, whoever fitted the chunks."""

from __future__ import annotations

import json
import os
import pickle
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import BrokenExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path

import joblib
import numpy as np
import pytest
import sympy

from ceql import CEQLRegressor, Dataset, InputError, Settings, discover, operators
from ceql.discovery import Outcome
from ceql.engine import fit
from ceql.engine.cluster import _ray_workers, cluster
from ceql.engine.deadline import Stopwatch
from ceql.engine.dispatch import Work, Workers, fit_on_processor, workforce
from ceql.engine.stages import Schedule
from ceql.errors import CeqlError, MissingExtraError, WorkersLostError
from ceql.network.libraries import search_network
from ceql.network.sampling import Stream, draw
from ceql.search.driver import run
from ceql.search.policy import SearchPolicy
from ceql.search.stage import Search

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
# Small rounds, so that the formula takes a number of them.
SMALL = SearchPolicy(round_size=96, chunk_size=24)


def data() -> Dataset:
    x = np.random.default_rng(0).uniform(-2, 2, (96, 2))
    return Dataset.of(x, 1.4 * np.log(1.2 * x[:, 0] ** 2 + 0.9 * x[:, 0] + 1) + 0.8 * x[:, 1])


def found(progress=None, **settings) -> list[tuple[str, str]]:
    """Every formula and loss of the front, with all digits."""
    names = ("square", "mul", "div", "log", "sqrt")
    discovery = discover(data(), Settings(operators=names, search=SMALL, seed=1, time_limit=300, **settings), progress)
    assert discovery.outcome in (Outcome.EXACT, Outcome.SETTLED)  # not ended by the clock
    assert discovery.starts > SMALL.round_size
    return [(sympy.srepr(formula.expression), formula.loss.hex()) for formula in discovery.front]


@pytest.fixture(scope="module")
def reference():
    return found(threads=1)


class Killer:
    """Ends a worker with SIGKILL shortly after the first round, when it is busy with the second."""

    def __init__(self, workers) -> None:
        self.workers, self.killed = workers, []

    def __call__(self, _) -> None:
        if not self.killed:
            self.killed.append(self.workers()[0])
            threading.Timer(0.03, os.kill, (self.killed[0], signal.SIGKILL)).start()


def test_two_threads(reference):
    assert found(threads=2) == reference


def test_two_processes(reference):
    assert found(n_jobs=2) == reference
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert found() == reference


def children(parent: int, name: str) -> list[int]:
    """The processes that a process started, that have this name in their command line and that are alive."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parents_id = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if int(parents_id) == parent and state != "Z" and name in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
    return sorted(found)


def joblib_workers(parent: int) -> list[int]:
    return children(parent, "LokyProcess")


def ray_workers() -> list[int]:
    """The actors that fit chunks in the cluster that this process started."""
    return [pid for node in children(os.getpid(), "raylet") for pid in children(node, "PoolActor")]


@linux
def test_a_process_that_is_killed_is_replaced(reference):
    killer = Killer(lambda: joblib_workers(os.getpid()))
    assert found(killer, n_jobs=2) == reference
    assert killer.killed


def test_dask_cluster_and_a_worker_killed_in_the_middle(reference):
    distributed = pytest.importorskip("distributed", reason="needs ceql[dask]")
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
    with local, distributed.Client(local) as client, joblib.parallel_config(backend="dask"):
        assert found() == reference
        killer = Killer(lambda: sorted(client.run(os.getpid).values()))
        assert found(killer) == reference
        client.wait_for_workers(2, timeout=60)
        assert killer.killed[0] not in client.run(os.getpid).values()


def test_cluster_by_name(reference):
    distributed = pytest.importorskip("distributed", reason="needs ceql[dask]")
    local = distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50)
    with local:
        place = local.scheduler_address.removeprefix("tcp://")
        with cluster(f"dask://{place}"):
            assert workforce(None, None).workers == 2
            assert found() == reference


@linux
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_ray_cluster_and_a_worker_killed_in_the_middle(reference):
    ray = pytest.importorskip("ray", reason="needs ceql[ray]")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        register_ray()
        with joblib.parallel_config(backend="ray"):
            assert workforce(None, None).workers == 2
            killer = Killer(ray_workers)
            assert found(killer) == reference
            assert killer.killed[0] not in ray_workers()
    finally:
        ray.shutdown()


@pytest.fixture
def ray_head(tmp_path):
    """The port of a Ray head's server for clients, and the environment that knows its token.

    Ray fails to start such a server now and then, so the test is made on request only.
    """
    if not os.environ.get("CEQL_RAY_CLIENT"):
        pytest.skip("made on request: CEQL_RAY_CLIENT=1")
    pytest.importorskip("ray", reason="needs ceql[ray]")
    pytest.importorskip("grpc", reason="needs Ray's client, as in ceql[ray]")
    # Neither among those that Ray deals out to its workers nor among those that the system deals out to Ray.
    port, port_for_clients = islice(filter(is_free, random.SystemRandom().sample(range(20_000, 32_000), 100)), 2)
    known = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    known["RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S"] = "10"
    ports = f"--port={port}", f"--ray-client-server-port={port_for_clients}"
    alone = "--include-dashboard=false", "--disable-usage-stats", "--block"
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:  # sockets need short names
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--num-cpus=2", *ports, *alone]
        with (tmp_path / "head.txt").open("w") as log:
            head = subprocess.Popen([*command, f"--temp-dir={folder}"], env=known, stdout=log, stderr=log)
        try:
            yield port_for_clients, known
        finally:
            head.terminate()
            head.wait(60)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@linux
def test_rays_client_from_the_command_line(ray_head, tmp_path):
    port, known = ray_head
    table = tmp_path / "data.csv"
    rows = np.column_stack([data().x, data().y])
    np.savetxt(table, rows, delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    fit_it = [sys.executable, "-c", "from ceql.__main__ import main; main()", "fit", str(table), "--target", "y"]
    fit_it += ["--operators", "square,mul,div,log,sqrt", "--no-checkpoint", "--json", "-"]

    def answer(*options: str) -> dict:
        for _ in range(3):
            done = subprocess.run([*fit_it, *options], env=known, capture_output=True, text=True, timeout=120)
            if "Starting up Server Failed" not in done.stderr:
                break
        else:
            pytest.skip("Ray's head did not get its server for this client going, three times")
        assert done.returncode == 0, done.stderr
        return {name: value for name, value in json.loads(done.stdout).items() if name != "seconds"}

    here = answer()
    assert here["starts"] > 0
    assert answer("--cluster", f"ray://127.0.0.1:{port}") == here


def test_rays_client_names_what_it_lacks(monkeypatch):
    pytest.importorskip("ray", reason="needs ceql[ray]")
    monkeypatch.setattr("ceql.engine.cluster.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"grpcio.*pip install 'ceql\[ray\]'"), cluster("ray://localhost:1"):
        pass


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (ConnectionError, "timeout", "timeout"),
        (ConnectionError, "Failure:\nTraceback:\n  line 1\nno room.\n", "no room"),
        (ValueError, "", "ValueError"),
        (None, "no token", "no token"),
    ],
)
def test_a_ray_head_that_does_not_answer_may_want_a_token(monkeypatch, kind, text, reason):
    ray = pytest.importorskip("ray", reason="needs ceql[ray]")
    error = (kind or ray.exceptions.RayError)(text)

    def refused(*_, **__):
        raise error

    monkeypatch.setattr(ray, "init", refused)
    monkeypatch.setattr("ceql.engine.cluster.find_spec", lambda name: name)
    for address in ("ray://localhost:1", "ray://auto"):
        with pytest.raises(WorkersLostError, match=rf"No Ray head.*\({reason}\).*RAY_AUTH_TOKEN"), cluster(address):
            pass


def test_a_ray_cluster_has_a_worker_per_core_or_per_gpu():
    assert _ray_workers({"CPU": 8.0, "GPU": 2.0}, "cpu") == {"n_jobs": 8}
    assert _ray_workers({"CPU": 8.0, "GPU": 2.0}, "gpu") == {"n_jobs": 2, "ray_remote_args": {"num_gpus": 1}}
    with pytest.raises(InputError, match="--num-gpus"):
        _ray_workers({"CPU": 8.0}, "gpu")


def test_the_estimator_hands_it_on():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (64, 1))
    y = 1.5 / (x[:, 0] - 0.25) + 0.5
    ways = ((None, 1), (None, 2), (2, None), (-1, None))
    tables = [
        CEQLRegressor(operators=["mul", "div"], n_jobs=n_jobs, threads=threads).fit(x, y).equations_
        for n_jobs, threads in ways
    ]
    for table in tables[1:]:
        assert table["equation"].tolist() == tables[0]["equation"].tolist()
        assert table["loss"].tolist() == tables[0]["loss"].tolist()


@pytest.mark.parametrize(
    ("n_jobs", "threads", "expected"),
    [(None, 1, (0, 1)), (1, 3, (0, 3)), (-1, 3, (0, 3)), (2, 1, (2, 1)), (5, 2, (5, 2))],
)
def test_who_works(n_jobs, threads, expected):
    force = workforce(n_jobs, threads)
    assert (force.workers, force.threads) == expected


def test_threads_by_default_share_the_cores():
    cores = fit.default_threads()
    assert workforce(None, None).threads == cores
    assert workforce(2 * cores, None).threads == 1
    with joblib.parallel_config(n_jobs=2):
        assert workforce(None, None).workers == 2
        assert workforce(1, None).workers == 0


@pytest.mark.parametrize("settings", [{"n_jobs": 0}, {"n_jobs": 1.5}, {"threads": 0}, {"threads": "all"}])
def test_bad_numbers_are_named(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        Workers(**settings)


def work(operators_=("mul", "div"), count: int = 24) -> Work:
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, (40, 2))
    network = search_network(2, operators_)
    params = rng.normal(0, 0.7, (count, network.n_params))
    samples = fit.Samples.of(x, x[:, 0] / (x[:, 1] + 3))
    return Work(network, samples, Schedule(), draw(network, count, Stream(0)), params)


def test_work_survives_the_journey():
    (here,) = fit_on_processor([work()], 1, np.inf)
    (there,) = fit_on_processor([pickle.loads(pickle.dumps(work()))], 1, 1e6)
    assert there.params.tobytes() == here.params.tobytes()
    assert there.misfit.tobytes() == here.misfit.tobytes()


def test_an_operator_of_the_users_own_travels_along():
    x = sympy.Symbol("x")
    operators.register("t_journey", x, x / (1 + x**2))
    own = work(("mul", "t_journey"))
    with Workers(1, 1) as here, Workers(2, 1) as there:
        a, b = here.fit([own]), there.fit([own, own])
    assert a[0].params.tobytes() == b[0].params.tobytes() == b[1].params.tobytes()


def test_time_that_is_up_ends_a_chunk():
    (chunk,) = fit_on_processor([work()], 1, 0.0)
    assert chunk.misfit.shape == (1,)


class LostPool:
    """A pool whose workers fail in this way, every time."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __enter__(self) -> LostPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, tasks: object) -> None:
        raise self.error


def test_workers_that_keep_dying_are_an_error_that_says_so():
    pool = LostPool(BrokenProcessPool("gone"))
    with pytest.raises(WorkersLostError, match="4 times in a row"), Workers(2, 1, make_pool=lambda *_: pool) as workers:
        workers.fit([work()])


def test_a_fault_of_the_chunk_is_raised_at_once():
    pool = LostPool(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError), Workers(2, 1, make_pool=lambda *_: pool) as workers:
        workers.fit([work()])


class LostLater(joblib.Parallel):
    """A pool whose workers die after the first round."""

    rounds = 0

    def __call__(self, tasks):
        self.rounds += 1
        if self.rounds > 1:
            raise BrokenProcessPool("gone")
        return super().__call__(tasks)


def test_what_was_found_before_the_workers_were_lost_is_kept():
    rng = np.random.default_rng(0)
    noise = Dataset.of(rng.uniform(-1, 1, (60, 1)), rng.normal(size=60))
    settings = Settings(operators=("mul",), search=SMALL)
    pool = LostLater(n_jobs=1)
    with Workers(2, 1, make_pool=lambda *_: pool) as workers:
        found = run(Search(noise, settings, workers, Stopwatch()))
    assert found.outcome is Outcome.WORKERS_LOST
    assert found.formulas


@pytest.mark.parametrize(
    ("address", "words"),
    [("dsk://a:1", "dask://host:port"), ("dask://", "dask://host:port"), ("localhost:8786", "dask://host:port")],
)
def test_a_cluster_needs_a_name_that_is_known(address, words):
    with pytest.raises(CeqlError, match=words), cluster(address):
        pass


@pytest.mark.parametrize(("package", "extra"), [("distributed", "dask"), ("ray", "ray")])
def test_a_missing_extra_is_named(monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CeqlError, match=rf"pip install 'ceql\[{extra}\]'"), cluster(f"{extra}://localhost:1"):
        pass


def test_a_broken_pool_is_what_joblib_raises():
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    assert issubclass(TerminatedWorkerError, BrokenExecutor)


_INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit it ignored
import numpy as np
from ceql import Dataset, Settings, discover
from ceql.search.policy import ReductionPolicy, SearchPolicy
restless = SearchPolicy(reduction=ReductionPolicy(quiet=10**9, quiet_in_doubt=10**9))
rng = np.random.default_rng(0)
data = Dataset.of(rng.uniform(-1, 1, (128, 3)), rng.normal(size=128))
settings = Settings(time_limit=300, n_jobs=2, search=restless)
tell = lambda progress: progress.starts and print("fitted", flush=True)
print(discover(data, settings, tell).outcome.name, flush=True)
"""


@linux
def test_ctrl_c_keeps_what_was_found_and_leaves_no_workers():
    process = subprocess.Popen([sys.executable, "-c", _INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "fitted\n"
    workers = joblib_workers(process.pid)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert output.split()[-1] == "INTERRUPTED"
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists() and is_running(pid)]


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
