"""Imports go up the list of floors and never down, also inside functions; the core imports no wing,
and the library never imports the book.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import safescreen

ROOT = Path(safescreen.__file__).parent
CORE = [
    {"_blocks", "_checks", "_cholesky", "_kernel_cache", "_numba", "_progress", "_repr", "_threads"}
    | {"_warnings"}
    | {"memory", "records", "rounding"},
    {"losses", "cones"},
    {"terms"},
    {"problem"},
    {"spheres", "rules", "ranges"},
    {"solvers"},
    {"paths", "screening", "validation"},
]
WINGS = [
    {"interior", "kernels", "products"},
    {"svm", "hdsl"},
    {"cluster", "estimators"},
]
FLOORS = [*CORE, *WINGS, {"__init__", "__main__", "warmup"}]
SWITCHBOARD = {"solvers/methods.py": {"interior"}}
"""The one module of the core that names wings: it chooses solvers."""

HARD = {
    "numpy",
    "scipy",
    "numba",
    "sklearn",
    "joblib",
    "threadpoolctl",
}  # the last two are scikit-learn's
ELSEWHERE = {
    "dask": {"cluster/sharded.py"},
    "distributed": {"cluster/workers.py"},
    "tqdm": {"_progress.py"},
    "pandas": {"paths.py", "estimators/_data.py"},
}
LATE = {"__init__.py", "estimators/__init__.py", "warmup.py"}
"""What is imported on first use."""
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def floor_of(part):
    (found,) = (number for number, parts in enumerate(FLOORS) if part in parts)
    return found


def imports(source):
    """Yield ``(module, whether it is at the top)`` of every import."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor"
            names = [node.module]
            if node.module == "safescreen":
                names = [f"safescreen.{alias.name}" for alias in node.names]
        for name in names:
            yield name, node in tree.body


def faults(name, source):
    own = floor_of(name.split("/")[0].removesuffix(".py"))
    for module, at_the_top in imports(source):
        package, *parts = module.split(".")
        if package == "safescreen":
            part = parts[0] if parts else "__init__"
            if floor_of(part) > own and part not in SWITCHBOARD.get(name, ()):
                yield f"{name} imports {module} from a floor above"
            if not at_the_top and name not in LATE:
                yield f"{name} imports {module} inside a function"
        elif package == "safescreen_book":
            yield f"{name} imports the book"
        elif package not in HARD and package in ELSEWHERE:
            if at_the_top or name not in ELSEWHERE[package]:
                yield f"{name} needs {package}"
        elif package not in HARD and package not in __import__("sys").stdlib_module_names:
            yield f"{name} needs {package}, which is not installed with the library"


@pytest.mark.parametrize("name", FILES)
def test_imports_go_up(name):
    assert list(faults(name, (ROOT / name).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "from safescreen.problem import Problem",
        "from safescreen.kernels import KernelSamples",
        "def f():\n    from safescreen.rules import sphere",
        "import safescreen_book",
        "def f():\n    from safescreen_book import datasets",
        "import pandas",
        "import matplotlib.pyplot as plt",
        "from safescreen import hdsl",
        "from safescreen.interior.pair_system import PairSystem",
    ],
)
def test_a_wrong_import_is_found(line):
    assert list(faults("terms/base.py", line))


def test_the_core_imports_no_wing_but_the_solvers_that_are_chosen_by_name():
    core = set.union(*CORE)
    wings = set.union(*WINGS)
    found = {}
    for name in FILES:
        if name.split("/")[0].removesuffix(".py") in core:
            modules = imports((ROOT / name).read_text(encoding="utf-8"))
            parts = {(module.split(".") + [""])[1] for module, _ in modules}
            if parts & wings:
                found[name] = parts & wings
    assert found == SWITCHBOARD


def test_every_folder_and_module_has_a_floor():
    assert {name.split("/")[0].removesuffix(".py") for name in FILES} == set().union(*FLOORS)


def methods_of(source, name):
    """Return the public methods and properties of a class."""
    (found,) = (n for n in ast.parse(source).body if getattr(n, "name", "") == name)
    return {n.name for n in found.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"}


def hooks_of_a_wing(methods, sources):
    """Return the methods that nobody uses but the modules of one wing."""
    users = {method: set() for method in methods}
    for name, source in sources.items():
        used = {n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)}
        for method in methods & used:
            users[method].add(name.split("/")[0])
    wings = set.union(*WINGS)
    return {method for method, parts in users.items() if len(parts) == 1 and parts <= wings}


def test_the_base_of_the_terms_has_no_hook_of_a_wing():
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}
    methods = methods_of(sources["terms/base.py"], "Terms")
    assert methods >= {"loss_sums", "partition"}
    assert hooks_of_a_wing(methods, sources) == set()
    more = sources | {"interior/new.py": "def f(terms):\n    return terms.new()"}
    assert hooks_of_a_wing({*methods, "new"}, more) == {"new"}


def test_import_leaves_out_what_few_need():
    """All names are listed, and scikit-learn, the optimizers of scipy and what is optional are
    not imported for that.
    """
    code = (
        "import sys, safescreen; print(set(safescreen.__all__) <= set(dir(safescreen)), "
        "*sorted(sys.modules))"
    )
    listed, *modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert listed == "True" and not {"sklearn", "scipy.optimize", "joblib", *ELSEWHERE} & set(
        modules
    )
