"""Kernels: the library works where none can be kept, and loads none that is out of date."""

import os
import shutil
import subprocess
import sys
import tempfile
import types
import zipfile
from pathlib import Path

import numba
import numpy as np
import pytest

import safescreen
from safescreen import _kernel_cache

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(Path(safescreen.__file__).parents[1]),
    "PYTHONDONTWRITEBYTECODE": "1",
}
NOBODY = 12345  # has no entry in the list of users

SCREEN = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import safescreen as ss
    problem = ss.Problem(ss.Samples([[1.0], [-1.0]], [1, -1]), ss.SmoothedHinge(0.5))
    found = ss.rules.sphere(problem, ss.Sphere([2.0], 0.5))
print(found.n_R, *(f"{w.category.__name__}: {w.message}" for w in caught))
"""


@pytest.fixture
def open_folder():
    """A folder that every user may write to, also those who may not enter pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield folder


@pytest.fixture(scope="module")
def as_nobody():
    """Return the start of a command of a user without an entry, who may read everything."""
    if not shutil.which("setpriv") or os.geteuid() != 0:
        pytest.skip("only root may start a process of another user")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reads = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # root's Python
    for start in ([*user, *reads], user):
        command = [*start, sys.executable, "-c", "import safescreen_book"]
        if not subprocess.run(command, cwd="/", env=ENVIRONMENT, capture_output=True).returncode:
            return start
    pytest.skip("other users may not read this installation")


def screened(start, variables):
    """Screen a tiny problem in a process that has these variables; return what it prints."""
    return subprocess.run(
        [*start, sys.executable, "-c", SCREEN],
        cwd="/",
        env=ENVIRONMENT | variables,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "this user has no home folder"),
        ({"HOME": "/"}, "/.cache/safescreen/numba cannot be written"),
        ({"NUMBA_CACHE_DIR": "/etc"}, "/etc cannot be written"),
        ({"XDG_CACHE_HOME": "/etc"}, "/etc/safescreen/numba cannot be written"),
    ],
)
def test_a_user_without_a_folder_screens_and_is_told(as_nobody, variables, reason):
    printed = screened(as_nobody, variables)
    assert printed.startswith("2 RuntimeWarning: safescreen keeps its compiled kernels in memory")
    assert reason in printed and printed.count("Warning:") == 1
    assert "NUMBA_CACHE_DIR to a folder that can be written" in printed


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_user_without_a_home_may_name_a_folder(as_nobody, variable, open_folder):
    assert screened(as_nobody, {variable: open_folder}) == "2"
    assert list(Path(open_folder).rglob("ball.ball_kernel-*.nbc"))


SOURCES = {
    "limits": "LIMIT = 2.0",
    "inner": """
from limits import LIMIT
from safescreen._numba import njit

@njit
def inner(x):
    return LIMIT * x[0]
""",
    "outer": """
import inner
from safescreen._numba import njit

@njit
def outer(x, k=0):
    return inner.inner(x) + later(x) + x[k]

@njit
def later(x):
    return 0.5
""",
}


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """Return a function that imports three modules anew, as another process would, and returns
    their outermost kernel. Its arguments replace words of a module.
    """
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_kernel_cache, "_told", [])
    sources = dict(SOURCES)

    def load(changed="outer", old="", new=""):
        assert old in sources[changed]
        sources[changed] = sources[changed].replace(old, new, 1)
        for name, text in sources.items():
            file = tmp_path / f"{name}.py"
            file.write_text(text, encoding="utf-8")
            module = types.ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            exec(compile(text, file, "exec"), module.__dict__)
        return sys.modules["outer"].outer

    return load


X = np.ones(3)


def is_loaded(kernel):
    return bool(kernel.stats.cache_hits)


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (("limits", "2.0", "4.0"), 5.5),
        (("inner", "LIMIT * x[0]", "LIMIT + x[0]"), 4.5),
        (("inner", "@njit", "@njit(error_model='python')"), 3.5),
        (("outer", "return 0.5", "return 0.25"), 3.25),
        (("outer", "k=0", "k=1"), 3.5),
    ],
)
def test_a_kernel_is_compiled_anew_when_something_that_it_uses_has_changed(fresh, change, result):
    assert fresh()(X) == 3.5
    kernel = fresh(*change)
    assert kernel(X) == result and not is_loaded(kernel)


RECORD = """
from typing import NamedTuple
from safescreen._numba import njit

class Interval(NamedTuple):
    low: float
    high: float

@njit
def outer(pairs):
    return pairs[0].high - pairs[0].low
"""


def test_a_kernel_is_compiled_anew_when_fields_of_its_argument_have_changed_places(fresh):
    fresh("outer", SOURCES["outer"], RECORD)
    for changed in (False, True):
        if changed:
            fresh("outer", "low: float\n    high: float", "high: float\n    low: float")
        module = sys.modules["outer"]
        assert module.outer((module.Interval(low=1.0, high=3.0),)) == 2.0
        assert not is_loaded(module.outer)
    fresh()
    module = sys.modules["outer"]
    assert module.outer((module.Interval(low=1.0, high=3.0),)) == 2.0
    assert is_loaded(module.outer)


@pytest.mark.parametrize(
    "change",
    [
        ("outer", "import inner", "# a line more\nimport inner"),
        ("limits", "LIMIT", "OTHER = 1.0; LIMIT"),
        ("inner", "@njit", "def other(x):\n    return x\n\n@njit"),
    ],
)
def test_a_kernel_is_loaded_when_something_else_has_changed(fresh, change):
    assert fresh()(X) == 3.5
    kernel = fresh(*change)
    assert kernel(X) == 3.5 and is_loaded(kernel)


def test_what_a_kernel_uses_and_nobody_knows_is_any_source(fresh):
    fresh("limits", "LIMIT", "import enum\nclass Kind(enum.IntEnum):\n    A = 2\nLIMIT")
    fresh("inner", "import LIMIT", "import Kind")
    assert fresh("inner", "LIMIT", "(2.0 if Kind.A == 2 else 1.0)")(X) == 3.5
    kernel = fresh()
    assert kernel(X) == 3.5 and is_loaded(kernel)
    kernel = fresh("outer", "import inner", "# a line more\nimport inner")
    assert kernel(X) == 3.5 and not is_loaded(kernel)


def test_checked_indices_are_not_those_of_a_kept_kernel(fresh, monkeypatch):
    assert fresh()(X, 0) == 3.5
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    with pytest.raises(IndexError):
        fresh()(X, 3)


def test_a_damaged_file_is_replaced(fresh, tmp_path):
    fresh()(X)
    for file in (tmp_path / "cache").rglob("*.nb?"):
        file.write_bytes(b"damaged")
    kernel = fresh()
    assert kernel(X) == 3.5 and not is_loaded(kernel)
    kernel = fresh()
    assert kernel(X) == 3.5 and is_loaded(kernel)


def test_a_folder_that_is_lost_later_is_told_once(fresh, tmp_path):
    kernel = fresh()
    assert kernel(X) == 3.5
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match="cannot be written .*NUMBA_CACHE_DIR") as caught:
        assert kernel(X.astype(np.float32)) == 3.5
        assert kernel(X.astype(np.int64)) == 3.5
        assert fresh()(X) == 3.5
    assert len(caught) == 1 and caught[0].filename == __file__


def test_a_kernel_that_has_no_file_is_compiled(fresh):
    space = {}
    exec("from safescreen._numba import njit\n@njit\ndef kernel(x):\n    return x + 1", space)
    assert space["kernel"](1) == 2


KERNEL = """
import os, sys
from safescreen import _kernel_cache
from safescreen._numba import njit
_kernel_cache.PATIENCE = float(sys.argv[1])

@njit
def kernel(x):
    return x + 1

print(kernel(1), len(kernel.stats.cache_hits))
"""


@pytest.fixture
def kernel_of_a_process(tmp_path):
    """Start processes of one kernel, by their patience, with an empty cache of their own."""
    (tmp_path / "kernel.py").write_text(KERNEL, encoding="utf-8")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def start(patience=60.0):
        command = [sys.executable, str(tmp_path / "kernel.py"), str(patience)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    return start, tmp_path / "cache" / "__main__.kernel.lock"


@pytest.mark.slow
def test_processes_wait_for_the_one_that_compiles(kernel_of_a_process):
    start, _ = kernel_of_a_process
    processes = [start() for _ in range(3)]
    printed = sorted(process.communicate()[0].split() for process in processes)
    assert printed == [["2", "0"], ["2", "1"], ["2", "1"]]


@pytest.mark.slow
def test_a_process_compiles_when_another_takes_too_long(kernel_of_a_process):
    fcntl = pytest.importorskip("fcntl")
    start, lock = kernel_of_a_process
    lock.parent.mkdir()
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert start(0.1).communicate()[0].split() == ["2", "0"]


@pytest.mark.slow
def test_a_cache_without_locks_is_used(kernel_of_a_process):
    start, lock = kernel_of_a_process
    lock.mkdir(parents=True)  # cannot be opened
    assert start().communicate()[0].split() == ["2", "0"]
    assert start().communicate()[0].split() == ["2", "1"]


@pytest.fixture
def archive(tmp_path):
    """The library in an archive, and the environment of a process that imports it from there."""
    file = tmp_path / "library.whl"
    with zipfile.ZipFile(file, "w") as whole:
        root = Path(safescreen.__file__).parent
        for path in root.rglob("*.py"):
            whole.write(path, path.relative_to(root.parent))
    folder = tmp_path / "cache"
    return ENVIRONMENT | {"PYTHONPATH": str(file), "NUMBA_CACHE_DIR": str(folder)}, folder


@pytest.mark.slow
def test_kernels_of_an_archive_are_kept(archive):
    environment, folder = archive
    command = [sys.executable, "-c", SCREEN]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "2"
    assert list(folder.rglob("ball.ball_kernel-*.nbc"))


def test_a_kernel_whose_source_cannot_be_read_is_told(fresh, monkeypatch):
    """Where not everything that it depends on is known, its source decides."""

    def unreadable(kernel):
        raise NotADirectoryError

    monkeypatch.setattr(_kernel_cache, "_fingerprint", unreadable)
    with pytest.warns(RuntimeWarning, match="in memory, because .*[.]py cannot be read"):
        assert fresh()(X) == 3.5
