"""Threads and processes of all kinds around a problem: same answers, none left waiting, Ctrl-C
at once.
"""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numba
import numpy as np
import pytest

import safescreen as ss
from safescreen import _numba

pytestmark = pytest.mark.slow

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 900)
X = rng.standard_normal((900, 6)) + np.eye(6)[Y]
SIGNS = np.where(Y == 1, 1.0, -1.0)
FAMILIES = {
    "triplets": lambda: ss.Triplets.from_labels(X, Y, k=3),
    "products": lambda: ss.ProductTriplets(X, Y),
    "samples": lambda: ss.Samples(X, SIGNS),
    "kernel": lambda: ss.KernelSamples.from_points(X, SIGNS, "rbf", gamma=0.1),
    "kernel rows": lambda: ss.KernelSamples.from_points(
        X, SIGNS, "rbf", gamma=0.1, max_gigabytes=0.003
    ),
}
LOSS = ss.SmoothedHinge(0.05)


def problem(family):
    """Return the problem of a family, and a lam that takes some iterations."""
    prob = ss.Problem(FAMILIES[family](), LOSS)
    return prob, 0.05 * prob.lam_max()


def values(prob, lam):
    """Return what must be equal to the last bit."""
    solution = ss.solve(prob, lam, tol=0.0, rtol=1e-4)
    return solution.primal, solution.gap, solution.n_iter


def solve_in_a_process(family):
    return values(*problem(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_share_a_problem(family):
    """The same bits for all of them."""
    prob, lam = problem(family)
    wanted = values(prob, lam)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: values(prob, lam), range(4))) == {wanted}


def run_alone(program, seconds, **variables):
    """Run a program of Python in a session of its own; whatever it has started ends with it."""
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(ss.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            assert process.wait(timeout=seconds) == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_after_kernels_have_run_on_all_threads(method):
    wanted = solve_in_a_process("products")
    assert os.environ.get("NUMBA_DISABLE_JIT") == "1" or numba.threading_layer()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(solve_in_a_process, ["products"] * 2).get(timeout=60) == [wanted] * 2


@numba.njit(parallel=True)
def all_sums(X):
    sums = np.zeros(X.shape[0])
    for i in numba.prange(X.shape[0]):
        sums[i] = X[i].sum()
    return sums


def of_two_forks(task):
    """Return what a task returns in two forks of this process, which end in any case."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map_async(task, ["products"] * 2).get(timeout=60)


FORKED = """
import warnings
warnings.simplefilter("ignore")
import test_processes as tests
tests.all_sums(tests.X)
assert tests.of_two_forks(tests.solve_in_a_process) == [tests.solve_in_a_process("products")] * 2
"""


@pytest.mark.skipif(sys.platform != "linux", reason="its OpenMP is that of GCC")
def test_forks_after_a_kernel_of_somebody_else_has_run_on_all_threads():
    run_alone(FORKED, 120, NUMBA_THREADING_LAYER="omp")


def test_a_kernel_of_another_thread_runs_alone():
    """Of two launches at the same time the second does not wait for the first."""
    prob, _ = problem("products")
    wanted = prob.evaluate(np.eye(6), 1.0)
    with ThreadPoolExecutor(1) as pool, _numba.Shared.lock:
        found = pool.submit(prob.evaluate, np.eye(6), 1.0).result(timeout=30)
    assert found.primal == wanted.primal and np.array_equal(found.gradient, wanted.gradient)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_in_joblib(backend):
    """Folds in processes inside of tasks of another pool."""
    model = ss.SafeSVCCV(ss.SafeSVC(smoothing=0.05, tol=1e-3), Cs=3, cv=2, n_jobs=2)
    wanted = model.fit(X[:200], Y[:200]).scores_
    tasks = [joblib.delayed(model.fit)(X[:200], Y[:200]) for _ in range(2)]
    for found in joblib.Parallel(2, backend=backend)(tasks):
        np.testing.assert_array_equal(found.scores_, wanted)


IN_PROCESSES = """
import warnings, joblib, numpy as np, safescreen as ss
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = rng.integers(0, 3, 300)
X = rng.standard_normal((300, 5)) + np.eye(5)[y]
machine = ss.SafeSVC(smoothing=0.05, tol=1e-3)
search = ss.SafeSVCCV(machine, Cs=3, cv=3)
metrics = ss.TripletMetricCV(ss.TripletMetric(k=1, max_iter=5), lams=2, cv=2)
fits = {{
    "coef": lambda: machine.fit(X, y).coef_,
    "values": lambda: search.fit(X, y).scores_,
    "metrics": lambda: metrics.fit(X, y).scores_,
}}
for name in {names}:
    wanted = fits[name]()
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        np.testing.assert_array_equal(fits[name](), wanted)
"""


@pytest.mark.parametrize(
    ("method", "names"), [("fork", ["coef", "values", "metrics"]), ("spawn", ["values"])]
)
def test_estimators_fit_in_processes_of_multiprocessing(method, names):
    """A process that is spawned takes seconds for its imports, so one search is enough."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    run_alone(IN_PROCESSES.format(names=names), 300, JOBLIB_START_METHOD=method)


OPENMP = """
import joblib, numpy as np
from sklearn.neighbors import KNeighborsClassifier
from safescreen.estimators._training import collect
X, y = np.random.default_rng(0).standard_normal((4000, 20)), np.arange(4000) % 3


def neighbours():
    return KNeighborsClassifier(algorithm="brute").fit(X, y).predict(X).sum(), True


kept, (wanted, _) = {}, neighbours()
with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
    assert collect([joblib.delayed(neighbours)() for _ in range(3)], kept.__setitem__)
assert kept == dict.fromkeys(range(3), wanted)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="its OpenMP is that of GCC")
def test_tasks_use_openmp_after_it_has_run_on_all_threads():
    """A search of scikit-learn would wait for ever here."""
    run_alone(OPENMP, 60, JOBLIB_START_METHOD="fork", OMP_NUM_THREADS="2")


INTERRUPTED = """
import os, signal, time, joblib
from safescreen.estimators._training import collect
signal.signal(signal.SIGINT, signal.default_int_handler)


def work(number):
    if number == 3:
        time.sleep(2)  # multiprocessing itself can hang if it is ended while a result is sent
        os.killpg(0, signal.SIGINT)
        time.sleep(60)
    return number, True


kept = {}
with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
    is_complete = collect([joblib.delayed(work)(k) for k in range(5)], kept.__setitem__)
assert not is_complete and kept == {0: 0, 1: 1}, kept
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and sends SIGINT")
def test_ctrl_c_keeps_what_processes_of_multiprocessing_have_finished():
    run_alone(INTERRUPTED, 50, JOBLIB_START_METHOD="fork")


def test_joblib_on_dask_workers():
    distributed = pytest.importorskip("distributed")
    model = ss.TripletMetricCV(ss.TripletMetric(k=2), lams=3, cv=2, n_jobs=2)
    wanted = model.fit(X[:90], Y[:90]).scores_
    cluster = distributed.LocalCluster(
        2, processes=False, threads_per_worker=2, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        with joblib.parallel_config("dask", client=client, wait_for_workers_timeout=60):
            found = model.fit(X[:90], Y[:90]).scores_
        np.testing.assert_array_equal(found, wanted)
        futures = client.map(solve_in_a_process, ["triplets", "products", "samples"], pure=False)
        assert client.gather(futures) == [
            solve_in_a_process(name) for name in ("triplets", "products", "samples")
        ]


LONG = {
    "solve": (
        "ss.solve(ss.Problem(ss.ProductTriplets(X, y), ss.SmoothedHinge(1e-4)), 1e-3, tol=0.0, "
        "rtol=1e-13, max_iter=10**6)"
    ),
    "TripletMetricCV": "ss.TripletMetricCV(ss.TripletMetric(k=20, tol=1e-10), lams=500).fit(X, y)",
    "SafeSVC": "ss.SafeSVC(C=1e6, kernel='rbf', tol=1e-12, max_iter=10**6).fit(X, y)",
    "HDSL": "ss.HDSL(max_iter=10**8, n_targets=20, n_impostors=20).fit(X, y)",
}
PROGRAM = """
import signal, time, warnings, numpy as np, safescreen as ss
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = rng.integers(0, 3, 2500)
X = rng.standard_normal((2500, 8)) + np.eye(8)[y]
few = X[:60], y[:60]  # compile: an interrupt in the middle of that is numba's
metrics = ss.TripletMetric(k=None, product=True), ss.TripletMetric()
for model in (ss.SafeSVC(kernel="rbf"), *metrics, ss.HDSL(max_iter=50)):
    model.fit(*few)
print("ready", flush=True)
try:
    {work}
except KeyboardInterrupt:
    pass
print("ended", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("work", LONG)
def test_ctrl_c_ends_the_work(work):
    """Whatever it is, it has not ended by itself; it does so soon after Ctrl-C (two seconds, and
    patience for a busy machine).
    """
    program = [sys.executable, "-c", PROGRAM.format(work=LONG[work])]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
        assert output == "ended\n"
    finally:
        process.kill()
        process.wait()
