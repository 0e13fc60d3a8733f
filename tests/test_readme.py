"""What the README tells a newcomer to type works as it stands, or the sentence before says what
it needs.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from sklearn.datasets import load_iris

import safescreen as ss
from safescreen_book.runner.notebooks import read_source
from small_cluster import small_cluster

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BLOCKS = re.findall(r"([^\n]+(?:\n[^\n]+)*)\n\n```py(?:thon)?\n(.*?)```", TEXT, flags=re.S)
"""Each block of Python, after the paragraph in front of it."""

PLAIN = """
import json, sys

blocks, refused, path = json.load(sys.stdin)
sys.path.insert(0, path)


class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)


sys.meta_path.insert(0, Refused())
names = {"__name__": "__main__"}
for block in blocks:
    exec(compile(block, "README.md", "exec"), names)
"""
"""Runs blocks where some packages cannot be imported."""

CHECKS = """
best = ss.solve(prob, lam)
assert len(gaps) > 1 and gaps[-1][1] <= 1.01e-6 * best.primal
assert model[-1].screening_[0].rate > 0.5
assert search.best_score_ > 0.9 and search.score_bounds_.shape == (2, 5, 51)
whole = type(second)(**second.get_params()).fit(X, y)
assert not keep.all()
assert abs(whole.decision_function(X) - second.decision_function(X)).max() < 0.02
"""
"""After all blocks."""


def normalised(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_with(lines):
    """Return the names of what pip installs for some requirements, without extras."""
    found, todo = set(), [Requirement(line) for line in lines]
    while todo:
        requirement = todo.pop()
        needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if needed and normalised(requirement.name) not in found:
            found.add(normalised(requirement.name))
            todo.extend(map(Requirement, requires(requirement.name) or []))
    return found


def not_in_a_plain_install():
    """Return the names of modules that are here, but not after `pip install .`."""
    plain = installed_with(PROJECT["dependencies"]) | {PROJECT["name"]}
    found = {"safescreen_book"}
    for module, distributions in packages_distributions().items():
        if plain.isdisjoint(map(normalised, distributions)):
            found.add(module)
    return found


REFUSED = not_in_a_plain_install()


def imported(block):
    """Return the top modules that a block imports."""
    found = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found


def needs(block):
    """Return what somebody has to have beside a plain install: modules, files, addresses."""
    texts = [node.value for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Constant)]
    own = {text for text in texts if isinstance(text, str) and re.search(r"^\w+://|\.csv$", text)}
    return imported(block) & REFUSED, own


def test_a_plain_install_has_four_packages_and_theirs():
    assert {"pandas", "distributed", "matplotlib", "safescreen_book"} <= REFUSED
    assert REFUSED.isdisjoint({"numpy", "scipy", "numba", "sklearn", "joblib", "safescreen"})


def test_all_other_blocks_run_in_their_order_in_a_plain_install(tmp_path):
    blocks = [block for _, block in BLOCKS if not any(needs(block))]
    assert len(blocks) >= 5
    given = json.dumps([[*blocks, CHECKS], sorted(REFUSED), str(ROOT / "lib")])
    command = [sys.executable, "-W", "error", "-c", PLAIN]
    run = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = run.stdout.split()
    shown = " ".join(re.findall(r"^```text\n(.*?)```", TEXT, flags=re.S | re.M)).split()
    assert len(printed) == len(shown)
    for here, there in zip(printed, shown, strict=True):
        assert here == there or is_near(here, there), (here, there)


def is_near(here, there):
    """Whether two words are numbers that rounding may have moved: gaps by a factor of ten, others
    by a hundredth.
    """
    words = [word.rstrip("%,").replace(",", "") for word in (here, there)]
    if not all(re.fullmatch(r"[\d.]+(e-\d+)?", word) for word in words):
        return False
    a, b = map(float, words)
    return max(a, b) <= (10.0 if "e-" in there else 1.01) * min(a, b)


def own_table(folder):
    """Write a table as the README speaks of: a header, a column of classes, and two columns to
    leave out.
    """
    table = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
    table.assign(id=np.arange(len(table)), name="x").to_csv(folder / "my.csv", index=False)


def test_the_block_with_a_table_runs(tmp_path, monkeypatch):
    (block,) = [block for _, block in BLOCKS if "pandas" in imported(block)]
    own_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    table = names["table"]
    features = table.drop(columns=["species", "id", "name"])
    assert names["model"].score(features, table["species"]) > 0.9


def test_the_block_with_a_cluster_runs(tmp_path):
    from distributed import default_client

    (block,) = [block for _, block in BLOCKS if "distributed" in imported(block)]
    rng = np.random.default_rng(0)
    names = {"ss": ss, "X": rng.standard_normal((130, 3)), "y": np.repeat([0, 1], 65)}
    with small_cluster(tmp_path, 1) as cluster:
        exec(compile(block.replace("tcp://host:8786", cluster.address), "README.md", "exec"), names)
        assert len(names["terms"]) == len(ss.Triplets.from_labels(names["X"], names["y"], k=50))
        default_client().close()


def commands():
    """Return what README and notebook 00 say papermill can be told."""
    found = re.findall(r"^(papermill notebooks/.*?) *(?:#.*)?$", TEXT, flags=re.M)
    for cell in read_source(ROOT / "notebooks", "00-start-here").cells:
        found += re.findall(r"`(papermill notebooks/.*?)`", cell.source)
    return sorted(set(found))


@pytest.mark.parametrize("command", commands())
def test_papermill_is_done_within_two_minutes_of_a_processor(command, tmp_path):
    """One draw and two methods, where a notebook makes more."""
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    own_table(tmp_path)
    fewer = " -p draws 1 -p methods none,RRPB" if "/5" in command else ""
    words = [sys.executable, "-m", *shlex.split(command + fewer)]
    limited = f"ulimit -t 120; exec {shlex.join(words)}"  # also of the kernel
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib"), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        ["bash", "-c", limited], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert (tmp_path / "out.ipynb").is_file()
