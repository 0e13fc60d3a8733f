"""What a result depends on: each ingredient that changes is named and asks for a new run, and nothing else does."""

import ast
import importlib
import shutil
import subprocess
from dataclasses import replace
from functools import reduce

import pytest

from safescreen_book import datasets
from safescreen_book._common import write_json
from safescreen_book.cli import main
from safescreen_book.runner import batch, fingerprint, imports, notebooks
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
        shutil.copytree(imports.ROOT / package, tmp_path / "lib" / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(imports, "ROOT", tmp_path / "lib")
    imports.closure.cache_clear()
    yield tmp_path / "lib"
    imports.closure.cache_clear()


@pytest.fixture
def finished(book, library):
    """The book with one finished result, that was not run; returns what is said of it now."""
    source = book.folder / "tiny.py"
    source.write_text(source.read_text() + CELLS)
    write(book, n=2)

    def plan():
        imports.closure.cache_clear()
        manifest = load_manifest(book.folder)
        (item,) = batch.plan(manifest, manifest.select([], "smoke"), "smoke", book.outputs)
        return item

    item = plan()
    item.folder.mkdir(parents=True)
    write_json(item.folder / "result.json", {"status": "complete", "hashes": item.hashes, "files": {}, "seconds": {}})
    assert plan().status == "complete"
    return plan


def write(book, **parameters):
    profiles = {"smoke": {"seconds": 1, "memory_mb": 1, "runs": {"a": parameters}}}
    book.write({"tiny": {"title": "t", "data": ["iris"], "profiles": profiles}})


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("# Prose.", "# Other prose.", "complete"),
        ("# a remark", "# another", "complete"),
        ('"""Say what."""', '"""Say more."""', "complete"),
        ("ss.path(prob)", "ss.path(prob, ratio=0.5)", "out of date: notebook (code cell 5)"),
        ("%matplotlib inline", "%matplotlib agg", "out of date: notebook (code cell 4)"),
        ("n = 3 ", "n = 4 ", "complete"),  # every run says n
        ('mode = "ok"', 'mode = "no"', "out of date: mode 'ok' -> 'no'"),
    ],
)
def test_the_notebook(book, finished, old, new, status):
    source = book.folder / "tiny.py"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    assert finished().status == status


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("solvers/solve.py", True),
        ("rounding.py", True),
        ("safescreen_book/protocols/path_runs.py", True),
        ("safescreen_book/protocols/hdsl/svm.py", True),  # imported inside a function
        ("safescreen_book/datasets/scaling.py", True),
        ("safescreen_book/figures/lines.py", True),
        ("safescreen_book/figures/maps.py", False),
        ("safescreen_book/protocols/pathwise.py", False),
        ("safescreen_book/datasets/cli.py", False),
        ("safescreen_book/runner/batch.py", False),
        ("safescreen_book/cli.py", False),
        ("terms/triplets.py", False),
        ("warmup.py", False),
    ],
)
def test_the_modules_that_are_imported(finished, library, file, counts):
    path = library / (file if file.startswith("safescreen_book") else f"safescreen/{file}")
    text = path.read_text()
    tree = ast.parse(text)
    path.write_text(f'"""Another text."""\n# a remark\n{text.removeprefix(ast.get_source_segment(text, tree.body[0]))}')
    assert finished().status == "complete"
    path.write_text(text + "\nADDED = 1\n")
    assert finished().status == (f"out of date: library ({file})" if counts else "complete")


@pytest.mark.parametrize(("package", "counts"), [("numpy", True), ("scikit-learn", True), ("pandas", True), ("papermill", False)])
def test_the_versions(finished, monkeypatch, package, counts):
    true = fingerprint.metadata.version
    monkeypatch.setattr(fingerprint.metadata, "version", lambda name: "99.1" if name == package else true(name))
    assert finished().status == (f"out of date: {package} {true(package)} -> 99.1" if counts else "complete")


def test_a_package_that_is_lacking_here_says_nothing_against_a_result(finished, monkeypatch):
    def version(name):
        if name == "pandas":
            raise fingerprint.metadata.PackageNotFoundError
        return "99.1" if name == "scipy" else true(name)

    true = fingerprint.metadata.version
    without, made = ({"versions": {"pandas": text}} for text in ("not installed", "2.3"))
    monkeypatch.setattr(fingerprint.metadata, "version", version)
    assert finished().status == f"out of date: scipy {true('scipy')} -> 99.1"
    assert fingerprint.changed(made, without) == "pandas 2.3 -> not installed"  # a worker without it makes other results
    for lacking in (False, True):
        assert fingerprint.changed(without, made, lacking=lacking) == "pandas not installed -> 2.3"


def test_python_data_and_parameters(book, finished, monkeypatch):
    true = datasets.info
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint.platform, "python_version", lambda: "4.0.1")
        assert "out of date: python 3." in finished().status and finished().status.endswith(" -> 4.0")
    for change, status in ({"scaling": "none"}, "out of date: data (iris)"), ({"title": "Iris!", "licence": "-"}, "complete"):
        with monkeypatch.context() as patch:
            patch.setattr(datasets, "info", lambda name, change=change: replace(true(name), **change))
            assert finished().status == status
    write(book, n=3)
    assert finished().status == "out of date: n 2 -> 3"


def test_what_has_changed_is_said_and_a_result_of_another_kind_is_out_of_date(book, finished, monkeypatch, capsys):
    write(book, n=3)
    assert main(["list", *book.options]) == 0 and "tiny/a  out of date: n 2 -> 3\n" in capsys.readouterr().out
    monkeypatch.setattr(batch, "_execute", lambda *_: (_ for _ in ()))
    main(["run", "--profile", "smoke", *book.options])
    assert "tiny/a: out of date: n 2 -> 3\n" in capsys.readouterr().out
    made = {"library": "0" * 64, "parameters": {"n": 2}}
    write_json(finished().folder / "result.json", {"status": "complete", "hashes": made, "files": {}, "seconds": {}})
    assert finished().status.startswith("out of date: notebook (code cell 1, code cell 2, code cell 3 and ")


def test_uses_of_what_is_imported():
    code = "import a.b\nimport c as d\nfrom e import f, g\nfrom h import *\ng(d.x.y, f.z)\ndef k():\n    from m import g\n    return a.b.w"
    assert imports.uses(ast.parse(code)) == {"a.b", "a.b.w", "c.x.y", "e.f.z", "e.g", "m.g", "h"}


@pytest.mark.parametrize(
    ("code", "same"),
    [("def f():\n    'Doc.'", True), ("def f():\n    pass\n# more", True), ("%time f()", False), ("a =", False), ("f = 1", False)],
)
def test_code_is_compared_without_docstrings(code, same):
    assert (imports.canonical(imports.parsed(code)) == imports.canonical(imports.parsed("def f(): ..."))) == same
    assert imports.canonical(imports.parsed("# only a remark")) == ""


def test_what_a_path_leads_to_is_where_python_finds_it():
    """Of everything that any module of the library or the book uses, the module that defines it counts."""
    modules = {path.relative_to(imports.ROOT).with_suffix("").as_posix().replace("/", "."): path for path in imports.ROOT.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items() if not name.endswith("__main__")}
    checked = 0
    for path in {path for file in modules.values() for path in imports.uses(ast.parse(file.read_text(encoding="utf-8")))}:
        parts = path.split(".")
        prefixes = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        if module := next((prefix for prefix in prefixes if prefix in modules), None):
            value = reduce(lambda value, part: getattr(value, part, None), parts[module.count(".") + 1 :], importlib.import_module(module))
            if (home := getattr(value, "__module__", None)) in modules:
                file = modules[home].relative_to(imports.ROOT).as_posix().removeprefix("safescreen/")
                assert {file, "__init__.py"} & imports.closure(frozenset([path]))[0].keys(), (path, file)
                checked += 1
    assert checked > 500


def test_protocols_count_in_the_experiments_that_follow_them():
    folder = imports.ROOT.parent / "notebooks"
    for name, file in (
        ("51-path-time", "path_runs.py"),
        ("65-svm-pathwise-s-form", "pathwise.py"),
        ("72-sparse-text", "hdsl/selection.py"),
    ):
        files = fingerprint.hashes(notebooks.read_source(folder, name), {}, {})["library"]
        assert f"safescreen_book/protocols/{file}" in files and "losses.py" in files
        assert not [file for file in files if file.startswith(("safescreen_book/runner/", "safescreen_book/cli"))]


def test_git_state(tmp_path):
    def git(*arguments):
        return subprocess.run(["git", "-C", str(tmp_path), *arguments], capture_output=True, text=True, check=True).stdout.strip()

    assert fingerprint.git_state(tmp_path) is None
    for name in ("lib.py", "outputs/paper/result.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    git("init", "--quiet")
    git("add", ".")
    git("-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--message", "first")
    clean = {"commit": git("rev-parse", "HEAD"), "dirty": False}
    assert fingerprint.git_state(tmp_path) == clean
    (tmp_path / "new.py").write_text("not tracked")
    (tmp_path / "outputs" / "paper" / "result.json").write_text("after")
    assert fingerprint.git_state(tmp_path) == clean
    (tmp_path / "lib.py").write_text("after")
    assert fingerprint.git_state(tmp_path) == clean | {"dirty": True}
