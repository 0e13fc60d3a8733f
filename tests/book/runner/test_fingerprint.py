"""What a result depends on: each ingredient that changes is named, and asks for a new run of
what is no record.
"""

import ast
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from safescreen_book import datasets
from safescreen_book._common import write_json
from safescreen_book.cli import main
from safescreen_book.runner import batch, fingerprint, folders, imports
from safescreen_book.runner.loading import load_manifest

CELLS = '''
# %% [markdown]
# Prose.

# %%
%matplotlib inline
import safescreen as ss
from safescreen_book import figures
from safescreen_book.protocols import path_runs

# %%
def learn(prob):
    """Say what."""
    from safescreen_book.protocols.hdsl.svm import fit_svm

    return path_runs.measure(prob, {}, ss.path(prob)), fit_svm, figures.lines  # a remark
'''


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A copy of the sources to write to."""
    for package in ("safescreen", "safescreen_book"):
        shutil.copytree(
            imports.ROOT / package,
            tmp_path / "lib" / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    monkeypatch.setattr(imports, "ROOT", tmp_path / "lib")
    return tmp_path / "lib"


def planned(book, profile):
    fingerprint.library.cache_clear()
    manifest = load_manifest(book.folder)
    (item,) = batch.plan(manifest, manifest.select([], profile), profile, book.outputs)
    return item


@pytest.fixture(params=["smoke", "paper"])
def finished(book, library, request):
    """The book with one finished result, which was not run; returns what is said of it now. At
    the paper's size it is a record.
    """
    source = book.folder / "tiny.py"
    source.write_text(source.read_text() + CELLS)
    write(book, n=2)
    item = planned(book, request.param)
    item.folder.mkdir(parents=True)
    write_json(
        item.folder / "result.json",
        {
            "status": "complete",
            "experiment": item.run.experiment,
            "run": item.run.name,
            "profile": request.param,
            "parameters": item.parameters,
            "started": "2026-01-01T00:00:00+00:00",
            "hashes": item.hashes,
            "files": {},
            "seconds": {},
        },
    )

    def now():
        return planned(book, request.param)

    now.record = request.param == "paper"
    assert now().status == ("current" if now.record else "complete")
    return now


def write(book, **parameters):
    profile = {"seconds": 1, "memory_mb": 1, "runs": {"a": parameters}}
    book.write(
        {"tiny": {"title": "t", "data": ["iris"], "profiles": {"smoke": profile, "paper": profile}}}
    )


def expected(finished, code):
    """What is said where this part of the code has changed."""
    if not code:
        return "current" if finished.record else "complete"
    return (
        "historic: the library has changed since, and no replay was made"
        if finished.record
        else f"changed: {code}"
    )


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("# Prose.", "# Other prose.", ""),
        ("# a remark", "# another", ""),
        ('"""Say what."""', '"""Say more."""', ""),
        ("ss.path(prob)", "ss.path(prob, ratio=0.5)", "notebook"),
        ("%matplotlib inline", "%matplotlib agg", "notebook"),
        ("n = 3 ", "n = 4 ", ""),  # every run says n
    ],
)
def test_the_notebook(book, finished, old, new, code):
    source = book.folder / "tiny.py"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    assert finished().status == expected(finished, code)


@pytest.mark.parametrize(
    "file", ["safescreen/solvers/solve.py", "safescreen_book/figures/style.py"]
)
def test_the_library(finished, library, file):
    """A change of the library asks for no new record, however much of it there is."""
    path = library / file
    path.write_text(path.read_text() + "\nADDED = 1\n")
    assert finished().status == expected(finished, "library")
    assert finished().state.done == finished.record


def test_parameters_and_data(book, finished, monkeypatch):
    """They are the question: a record of another one does not answer it."""
    true = datasets.info
    for change, status in (
        ({"scaling": "none"}, "changed: data (iris)"),
        ({"title": "Iris!", "licence": "-"}, expected(finished, "")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(
                datasets, "info", lambda name, change=change: replace(true(name), **change)
            )
            assert finished().status == status
    source = book.folder / "tiny.py"
    text = source.read_text()
    source.write_text(text.replace('mode = "ok"', 'mode = "no"'))
    assert finished().status == "changed: mode 'ok' -> 'no'"
    source.write_text(text)
    write(book, n=3)
    assert finished().status == "changed: n 2 -> 3" and not finished().state.done


def test_replays_confirm_a_record_or_make_it_historic(finished, library):
    path = library / "safescreen" / "losses.py"
    path.write_text(path.read_text() + "\nADDED = 1\n")
    if not finished.record:
        return
    file = finished().folder / folders.REPLAYS
    entry = {
        "version": "0.3.0",
        "commit": "0" * 40,
        "date": "2026-11-25T01:02:03",
        "rows": 12,
        "agrees": True,
    }
    file.write_text(json.dumps(entry) + "\n")
    assert (
        finished().status == "confirmed: by a replay with 0.3.0 on 2026-11-25: 12 rows"
        and finished().state.done
    )
    with file.open("a") as lines:
        lines.write(
            json.dumps(entry | {"agrees": False, "differences": ["results.csv: objective 3 -> 4"]})
            + "\nnot a line of JSON\n"
        )
    found = finished()
    assert (
        found.status
        == "historic: a replay with 0.3.0 on 2026-11-25 differs: results.csv: objective 3 -> 4"
        and found.state.done
    )
    finished().folder.joinpath("result.json").write_text("{")
    assert finished().status == "damaged"


def test_records_are_made_from_a_committed_tree(book, monkeypatch, capsys):
    write(book, n=2)
    monkeypatch.setattr(
        batch.fingerprint, "git_state", lambda folder: {"commit": "0" * 40, "dirty": True}
    )
    monkeypatch.setattr(batch, "_executed", lambda *_: (_ for _ in ()))
    assert main(["run", "--profile", "paper", *book.options]) == 2
    assert (
        "tracked files have changes that are not committed: commit, or add --dirty"
        in capsys.readouterr().err
    )
    assert main(["run", "--profile", "paper", "--dirty", *book.options]) == 0
    assert main(["run", "--profile", "smoke", *book.options]) == 0


def test_what_rounding_depends_on_is_said(monkeypatch):
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "X86_V4")
    said = dict(line.split(maxsplit=1) for line in fingerprint.described())
    assert said["machine"] == fingerprint.machine() and said["BLAS"].endswith("(numpy)")
    assert "NPY_DISABLE_CPU_FEATURES=X86_V4" in said["given"]


@pytest.mark.parametrize(("built", "told"), [({"name": "mkl-dynamic"}, "mkl-dynamic"), ({}, "")])
def test_a_blas_that_does_not_tell_its_kernels_is_named(monkeypatch, built, told):
    """MKL and Accelerate have no such thing, and threadpoolctl does not know all libraries."""
    config = {"Build Dependencies": {"blas": built}}
    monkeypatch.setattr(fingerprint, "threadpool_info", list)
    monkeypatch.setattr(np, "show_config", lambda mode: config)
    assert fingerprint.blas() == told
    assert f"BLAS       {told or 'unknown'} (numpy)" in fingerprint.described()


def test_the_kernels_are_those_of_numpy(monkeypatch):
    """The wheels of numpy and scipy each bring an OpenBLAS, and two versions may take two kernels
    on one processor. Whether scipy is loaded, and first, must not matter.
    """
    packages = Path(np.__file__).parent.parent
    loaded = [
        {"filepath": str(packages / "scipy.libs" / "libopenblas.so"), "architecture": "SkylakeX"},
        {"filepath": str(packages / "numpy.libs" / "libopenblas.so"), "architecture": "Haswell"},
    ]
    for libraries in (loaded, loaded[::-1], loaded[1:]):
        monkeypatch.setattr(fingerprint, "threadpool_info", lambda found=libraries: found)
        assert fingerprint.blas() == "Haswell"


def test_uses_of_what_is_imported():
    code = (
        "import a.b\nimport c as d\nfrom e import f, g\nfrom h import *\ng(d.x.y, f.z)\ndef "
        "k():\n    from m import g\n    return a.b.w"
    )
    assert imports.uses(ast.parse(code)) == {"a.b", "a.b.w", "c.x.y", "e.f.z", "e.g", "m.g", "h"}


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("def f():\n    'Doc.'", True),
        ("def f():\n    pass\n# more", True),
        ("%time f()", False),
        ("a =", False),
        ("f = 1", False),
    ],
)
def test_code_is_compared_without_docstrings(code, same):
    assert (
        imports.canonical(imports.parsed(code)) == imports.canonical(imports.parsed("def f(): ..."))
    ) == same
    assert imports.canonical(imports.parsed("# only a remark")) == ""
