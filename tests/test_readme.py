"""What README and the page of ten examples tell a newcomer to type works in a plain install, or the
sentence before says what it needs; `docs/test_examples.py` has what they print.
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

import examples
import safescreen as ss
from small_cluster import small_cluster

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [page for page in examples.pages() if page.stem in ("README", "library")]

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


def blocks_of(page):
    """Return the blocks of a page that need nothing but a plain install, and the others."""
    blocks = [code for code, _ in examples.BLOCK.findall(page.read_text(encoding="utf-8"))]
    more = [code for code in blocks if imported(code) & REFUSED]
    return [code for code in blocks if code not in more], more


def test_a_plain_install_has_four_packages_and_theirs():
    assert {"pandas", "distributed", "matplotlib", "safescreen_book"} <= REFUSED
    assert REFUSED.isdisjoint({"numpy", "scipy", "numba", "sklearn", "joblib", "safescreen"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_all_blocks_but_the_cluster_run_in_a_plain_install(page, tmp_path):
    blocks, others = blocks_of(page)
    assert len(blocks) >= 2 and all(map(examples.needs_a_cluster, others))
    checks = CHECKS.replace("X", "Z") if page.stem == "README" else CHECKS
    given = json.dumps([[*blocks, checks], sorted(REFUSED), str(ROOT / "lib")])
    command = [sys.executable, "-W", "error", "-c", PLAIN]
    run = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_block_with_a_cluster_runs(tmp_path):
    from distributed import default_client

    (block,) = [block for page in PAGES for block in blocks_of(page)[1]]
    rng = np.random.default_rng(0)
    names = {"ss": ss, "X": rng.standard_normal((130, 3)), "y": np.repeat([0, 1], 65)}
    with small_cluster(tmp_path, 1) as cluster:
        exec(compile(block.replace("tcp://host:8786", cluster.address), "library", "exec"), names)
        assert len(names["terms"]) == len(ss.Triplets.from_labels(names["X"], names["y"], k=50))
        default_client().close()


def commands():
    """Return what pages say papermill can be told."""
    found = []
    for name in ("commands.md", "how-to/own-table.md"):
        text = (examples.SOURCE / name).read_text(encoding="utf-8")
        found += re.findall(r"^(papermill notebooks/.*?) *(?:#.*)?$", text, flags=re.M)
    return sorted(set(found))


@pytest.mark.parametrize("command", commands())
def test_papermill_is_done_within_two_minutes_of_a_processor(command, tmp_path):
    """One draw and two methods, where a notebook makes more."""
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    examples.write_table(tmp_path)
    fewer = " -p draws 1 -p methods none,RRPB" if "/5" in command else ""
    words = [sys.executable, "-m", *shlex.split(command + fewer)]
    limited = f"ulimit -t 120; exec {shlex.join(words)}"  # also of the kernel
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib"), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        ["bash", "-c", limited], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert (tmp_path / "out.ipynb").is_file()
