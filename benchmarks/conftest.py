"""The fixture that times, and the table of ratios: each group's reference and how many times
faster the others are, of one run.
"""

import gc
import time

import numba
import pytest
from threadpoolctl import threadpool_limits

from cases import ENOUGH


def pytest_addoption(parser):
    """Add the size of the cases."""
    parser.addoption(
        "--small",
        action="store_true",
        help="small parts of the data, one round: to see that it works, no numbers to quote",
    )
    parser.addoption(
        "--all-rows",
        action="store_true",
        help="kernels with all rows of the large sets, where LIBSVM takes hours; else 8,000 rows",
    )


@pytest.fixture(scope="session")
def small(request):
    """Whether cases are small: asked for, or nothing is timed."""
    return request.config.getoption("--small") or not request.config.getoption("--benchmark-enable")


@pytest.fixture(scope="session")
def all_rows(request, small):
    """Whether kernels get all rows of a set, which of a small one they always do."""
    return small or request.config.getoption("--all-rows")


@pytest.fixture(autouse=True)
def one_thread():
    """Compute on one thread, whatever the environment says."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with threadpool_limits(1):
        yield
    numba.set_num_threads(before)


@pytest.fixture
def timed(benchmark, small):
    """Return ``timed(group, method, work)``: time `work` in some rounds and return its result.

    Before that `warm` is called, or `work` once where nothing else is given, so that nothing is
    compiled while it is timed; where this takes more than ten seconds one round is enough. A group
    is a table, with a row a method. The method called `reference` is the one that others are
    compared with, by seconds or by what `ratio_of` names among the facts, ``timed.facts``, which
    are the table's further columns."""

    def run(group, method, work, *, reference, rounds=3, warm=None, ratio_of=None):
        benchmark.group = group
        benchmark.extra_info.update(method=method, reference=method == reference, ratio_of=ratio_of)
        start = time.process_time()
        (warm or work)()
        if small or time.process_time() - start > ENOUGH:
            rounds = 1
        return benchmark.pedantic(work, setup=_collect, rounds=rounds)

    run.facts = benchmark.extra_info
    return run


def _collect():
    gc.collect()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter, config):
    """Print a table for each group."""
    groups = {}
    for found in config._benchmarksession.benchmarks:
        if not found.has_error and "method" in found.extra_info:
            groups.setdefault(found.group, []).append(found)
    for group, members in groups.items():
        terminalreporter.section(group, sep="-")
        for row in table(members):
            terminalreporter.write_line(row.rstrip())


def table(members):
    """Yield the lines of a group: method, median and least seconds, reference/this, and the
    facts noted with it.
    """
    columns = [
        *dict.fromkeys(
            key
            for m in members
            for key in m.extra_info
            if key not in ("method", "reference", "ratio_of")
        )
    ]
    first = next((m for m in members if m.extra_info["reference"]), None)
    yield _row(["method", "seconds", "least", "ref/this", *columns])
    for m in members:
        ratio = _compared(first) / _compared(m) if first and _compared(m) else None
        facts = [m.extra_info.get(key) for key in columns]
        yield _row(
            [
                m.extra_info["method"] + " (ref)" * (m is first),
                m.stats.median,
                m.stats.min,
                ratio,
                *facts,
            ]
        )


def _compared(found):
    return found.extra_info.get(found.extra_info["ratio_of"], found.stats.median)


def _row(cells):
    texts = [
        "" if cell is None else f"{cell:.3g}" if isinstance(cell, float) else str(cell)
        for cell in cells
    ]
    return f"  {texts[0]:20}" + "".join(f" {text:>{max(9, len(text))}}" for text in texts[1:])
