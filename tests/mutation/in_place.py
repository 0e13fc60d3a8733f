"""Run tests on many changes of one module, each in a fork of one process that has collected them.

A change of a function is put into the function itself, so a run costs little more than the tests
that it takes: those that execute the changed lines, first those that noticed a change before, then
the fastest. A change outside of functions is made where the module is imported, and its fork
imports and collects everything again.

Kernels are not compiled (`NUMBA_DISABLE_JIT`), so that a change of one takes no compiler.
"""

import ast
import functools
import gc
import importlib
import importlib.machinery
import math
import os
import resource
import select
import signal
import time
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mutants import IMPORTED
from replacement import BELOW

PASSED, FAILED, TIMEOUT = "passed", "failed", "timeout"
NOTE = "__note__"
"""What functions call, while it is found out which of their lines a test executes."""


@dataclass(frozen=True)
class Change:
    """A changed source of the module; `lines` are those of the changed statement if it stands in
    the body of a function, and empty otherwise.
    """

    id: str
    source: str
    lines: range


def lines_in_function(tree: ast.Module, node: ast.expr) -> range:
    """Return the lines of the statement, or of the header of one, that an expression stands in;
    none if that is not in the body of a function.
    """
    lines = range(0)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.stmt) and any(node is part for part in _own(inner)):
                    lines = range(inner.lineno, max(map(_last_line, _own(inner))) + 1)
    return lines


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that are in none of the statements in it."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        inner = ast.iter_child_nodes(node)
        waiting.extend(child for child in inner if not isinstance(child, ast.stmt))


def _last_line(node: ast.AST) -> int:
    """Return the last line of a node, 0 where it has none; a statement counts with its first."""
    if isinstance(node, ast.stmt):
        return node.lineno
    return getattr(node, "end_lineno", 0)


def run(
    path: Path, changes: list[Change], guards: list[str], report: Callable[[str, str, str], None]
) -> str:
    """Report ``(id of the change, outcome, test)`` for each; return what is wrong with the guards
    themselves, which first run on the module as it is.
    """
    outside = [change for change in changes if not change.lines]
    inside = [change for change in changes if change.lines]
    limit = 600.0
    session = _Session(path, inside, report)
    for name in IMPORTED:
        importlib.import_module(name)
    for change in outside:
        outcome = in_a_fork(functools.partial(_run_imported, path, change.source, guards), limit)
        report(change.id, *outcome)
    code = _pytest(guards, session)
    return f"the tests fail by themselves, exit code {code}: {session.failed}" if code else ""


def in_a_fork(work: Callable[[], str], limit: float) -> tuple[str, str]:
    """Return the outcome of a function in a fork of this process: `PASSED` if it returns nothing,
    `FAILED` with the name of the test that it returns, `TIMEOUT` after `limit` processor seconds,
    or ten times as many by the clock.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
        try:
            os.write(writing, (work() or "").encode())
        except BaseException as error:  # the change broke what runs the tests
            os.write(writing, f"{type(error).__name__}: {error}"[:500].encode())
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 10.0 * limit)
    if not ready:
        os.kill(child, signal.SIGKILL)
    name = os.read(reading, 4096).decode(errors="replace")
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if not ready or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return TIMEOUT, ""
    if status != 0:
        return FAILED, "the process ended"
    return (FAILED, name) if name else (PASSED, "")


def _pytest(guards: list[str], plugin: object) -> int:
    """Run pytest with a plugin, and with nothing on the screen; return its exit code."""
    options = "-x -p no:cacheprovider -p no:terminal -o addopts= --import-mode=importlib".split()
    options += ["-m", "not exhaustive"]
    for module in _with_kernels():  # compiled, they never warn
        options += ["-W", f"ignore::RuntimeWarning:{module}"]
    return int(pytest.main([*options, *guards], plugins=[plugin]))


def _with_kernels() -> list[str]:
    """Return the names of the library's modules that have kernels."""
    library = Path(__file__).resolve().parents[2] / "lib"
    texts = {file: file.read_text(encoding="utf-8") for file in library.glob("safescreen/**/*.py")}
    kernels = [file for file, text in texts.items() if "@njit" in text]
    return [".".join(file.relative_to(library).with_suffix("").parts) for file in kernels]


def _run_imported(path: Path, source: str, guards: list[str]) -> str:
    """Import everything with another source of one module; return the first test that fails."""
    get_code = importlib.machinery.SourceFileLoader.get_code

    def changed(loader, name):
        if Path(loader.path) == path:
            return compile(source, path, "exec")
        return get_code(loader, name)

    importlib.machinery.SourceFileLoader.get_code = changed
    first = _First()
    code = _pytest(guards, first)
    return first.failed or (f"exit code {code}" if code else "")


class _First:
    """Keeps the name of the first test that fails."""

    failed = ""

    def pytest_runtest_logreport(self, report):
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Session(_First):
    """Runs all tests once, notes which lines of the module each executes, and how long it takes;
    then runs them on each change.
    """

    def __init__(self, path, changes, report):
        self.path = str(path)
        self.changes = changes
        self.report = report
        self.seconds = {}
        self.executed = defaultdict(set)
        self.killers = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        self.functions = functions_of(self.path)
        self.caches = caches()
        source = Path(self.path).read_text(encoding="utf-8")
        put(self.functions, self.path, noting(source))
        for item in session.items:
            self._forget()
            start = time.perf_counter()
            for function in self.functions:
                function.__globals__[NOTE] = self.executed[item.nodeid].add
            self._run([item])
            self.seconds[item.nodeid] = time.perf_counter() - start
            if self.failed:
                session.testsfailed = 1
                return True
        put(self.functions, self.path, source)
        for change in self.changes:
            tests = self._tests(session.items, change.lines)
            limit = 60.0 + 10.0 * sum(self.seconds[item.nodeid] for item in tests)
            work = functools.partial(self._run_changed, change.source, tests)
            outcome, test = in_a_fork(work, limit)
            if test in self.seconds:
                self.killers = [test, *(other for other in self.killers if other != test)]
            self.report(change.id, outcome, test)
        return True

    def _tests(self, items, lines):
        """Return the tests that execute one of the lines, in the order in which they are run."""
        tests = [item for item in items if not self.executed[item.nodeid].isdisjoint(lines)]

        def order(item):
            name = item.nodeid
            known = self.killers.index(name) if name in self.killers else len(self.killers)
            return known, self.seconds[name]

        return sorted(tests, key=order)

    def _run_changed(self, source, tests):
        """Run tests on a changed source; return the first that fails."""
        put(self.functions, self.path, source)
        self._forget()
        self._run(tests)
        return self.failed

    def _forget(self):
        """Empty the caches: they hold what the library computed before it was changed."""
        for cached in self.caches:
            cached.cache_clear()

    def _run(self, items):
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break


def noting(source: str) -> ast.Module:
    """Return the tree of a module in which each statement of a function is noted by its line."""
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in [function, *_statements(function)]:
                for field in BELOW:
                    inner = getattr(node, field, None)  # an expression in a lambda
                    if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                        setattr(node, field, _noted(inner))
    return tree


def _statements(function: ast.FunctionDef) -> list[ast.AST]:
    """Return what is in a function, but neither in a function in it nor noted already."""
    waiting, found = list(function.body), []
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef):
            found.append(node)
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _noted(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements, each behind a call that notes its line."""
    noted = []
    for statement in statements:
        note = ast.parse(f"{NOTE}({statement.lineno})").body[0]
        for node in ast.walk(note):
            ast.copy_location(node, statement)
        noted += [note, statement]
    return noted


def put(functions: list[types.FunctionType], path: str, source: str | ast.Module) -> None:
    """Give functions of an imported module the code that they have in another source."""
    codes = {}
    waiting = [compile(source, path, "exec")]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
    for function in functions:
        old = function.__code__
        function.__code__ = codes[old.co_qualname, old.co_firstlineno]


def functions_of(path: str) -> list[types.FunctionType]:
    """Return the functions and methods, however decorated, that are written in a file."""
    functions = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
    return [function for function in functions if function.__code__.co_filename == path]


def caches() -> list[Callable]:
    """Return the functions of the project that keep what they returned."""
    root = Path(__file__).resolve().parents[2]
    folders = tuple(f"{root / part}{os.sep}" for part in ("lib", "tests"))
    found = []
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            code = getattr(one.__wrapped__, "__code__", None)
            if code is not None and code.co_filename.startswith(folders):
                found.append(one)
    return found
