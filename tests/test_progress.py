"""Bars, and what takes their place where tqdm is not installed."""

import builtins
import io
import re
import sys

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from safescreen import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def without_tqdm(monkeypatch):
    """Let tqdm not be installed."""
    plain = builtins.__import__

    def refuse(name, *args, **options):
        if name.partition(".")[0] == "tqdm":
            raise ModuleNotFoundError("No module named 'tqdm'", name="tqdm")
        return plain(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.fixture
def on_a_terminal(monkeypatch, without_tqdm):
    """Make standard error a terminal; to be called in the test, as pytest sets its own before
    each.
    """

    def begin():
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        return terminal

    return begin


def test_lines_say_how_far_the_work_is(on_a_terminal, monkeypatch):
    terminal = on_a_terminal()
    # at the start, two updates and a line, another update, the end
    clock = iter([0.0, 1.0, 6.0, 6.0, 7.0, 9.4])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with _progress.progress_bar(True, "path", total=8, unit="lam") as bar:
        bar.update()
        bar.set_postfix(gap="1e-03", terms=5)
        bar.update(2)
        bar.update()
        assert bar.n == 4
    assert (
        terminal.getvalue()
        == "path: 3 of 8 lam, 6 s, gap=1e-03, terms=5\npath: 4 of 8 lam, 9 s, gap=1e-03, terms=5\n"
    )


def test_everything_with_a_bar_works_without_tqdm(on_a_terminal):
    of, terminal = instance("full"), on_a_terminal()
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30) % 2
    ss.path(of.problem(0.05), of.lam(1.0) * 0.6 ** np.arange(3), progress=True)
    ss.SafeSVC(verbose=True).fit(X, y)
    ss.TripletMetric(verbose=True).fit(X, y)
    ss.SafeSVCCV(ss.SafeSVC(), Cs=3, cv=2, verbose=True).fit(X, y)
    ss.hdsl.FrankWolfe(1.0, max_iter=5, progress=True).fit(X, [[0, 2, 1], [1, 3, 2]])
    lines = terminal.getvalue().splitlines()
    assert [re.sub(r"\d+ s.*", "", line) for line in lines if line.startswith("path")] == [
        "path: 3 of 3 lam, "
    ]
    assert {line.partition(":")[0] for line in lines} == {
        "path",
        "SafeSVC",
        "TripletMetric",
        "SafeSVCCV",
        "Frank-Wolfe",
    }


def test_nothing_is_shown_where_there_is_no_terminal_or_nobody_asks(on_a_terminal, monkeypatch):
    terminal = on_a_terminal()
    with _progress.progress_bar(False, "path") as bar:
        bar.update()
    assert terminal.getvalue() == ""
    for other in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", other)
        with _progress.progress_bar(True, "path") as bar:
            bar.update()
        assert other is None or other.getvalue() == ""
