"""The wheel holds the library alone, and is all that a user of the library needs."""

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from email import message_from_string
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

USE = """
import sys
import numpy as np
import safescreen as ss

heavy = {"matplotlib", "pandas", "pooch", "yaml", "tqdm"}
heavy |= {"jupytext", "papermill", "safescreen_book"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
X[y == 1] += 2.0
prob = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
solution = ss.solve(prob, 0.1 * prob.lam_max(), screening=("RRPB", "PGB"))
assert solution.converged and solution.screened.rate > 0.0
assert ss.SafeSVC().fit(X, y).score(X, y) > 0.8
assert ss.TripletMetric(k=3).fit(X, y).score(X, y) > 0.8
assert ss.HDSL(10.0, max_iter=50).fit(np.abs(X), y).predict(np.abs(X)).shape == (30,)
print("fine", len(ss.path(prob, prob.lam_max() * 0.5 ** np.arange(3))))
"""


def needed_by(names):
    """Names of distributions, and of all that these need."""
    known, waiting = set(), set(names)
    while waiting:
        name = waiting.pop()
        known.add(name)
        lines = map(Requirement, metadata.requires(name) or [])
        waiting |= {
            line.name
            for line in lines
            if line.marker is None or line.marker.evaluate({"extra": ""})
        } - known
    return known


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (path,) = folder.glob("*.whl")
    return path


def test_it_holds_the_library_alone(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"safescreen"}
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "safescreen/py.typed" in names and wheel.stat().st_size < 500_000


@pytest.fixture(scope="module")
def page(wheel):
    """The metadata of the wheel, with the README below the headers."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        return message_from_string(archive.read(name).decode())


def test_links_of_the_package_page_are_absolute_and_lead_to_files_of_this_version(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, tag = project["urls"]["Repository"], f"v{project['version']}"
    text, readme = page.get_payload(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert page["Description-Content-Type"] == "text/markdown"
    link = r"(!?)\[([^\]]*)\]\(([^)]*)\)"
    assert re.split(link, text)[::4] == re.split(link, readme)[::4]  # what is around the links
    pairs = list(zip(re.findall(link, text), re.findall(link, readme), strict=True))
    assert len(pairs) > 20 and "!" in {picture for _, (picture, *_) in pairs}
    for (picture, title, to), (*known, written) in pairs:
        assert [picture, title] == known
        if written.startswith("https:"):
            assert to == written
            continue
        kind = "raw" if picture else "blob"
        path = f"README.md{written}" if written.startswith("#") else written
        assert to == f"{repository}/{kind}/{tag}/{path}"
        assert (ROOT / path.partition("#")[0]).exists()


def test_four_dependencies(page):
    needed = {
        line.split(">")[0] for line in page.get_all("Requires-Dist") if "extra ==" not in line
    }
    assert needed == {"joblib", "numba", "numpy", "scikit-learn", "scipy", "threadpoolctl"}


def test_it_works_with_them_alone(wheel, tmp_path):
    """An environment that holds the four and what they need, taken from this one, and the wheel,
    unpacked.
    """
    home = tmp_path / "empty"
    venv.create(home, with_pip=False)
    (site,) = (
        home.glob("lib/python*/site-packages")
        if os.name != "nt"
        else home.glob("Lib/site-packages")
    )
    for name in needed_by({"numpy", "scipy", "numba", "scikit-learn"}):
        found = metadata.distribution(name)
        for top in {
            file.parts[0] for file in found.files if file.parts[0] not in ("..", "__pycache__")
        }:
            (site / top).symlink_to(found.locate_file(top))
    zipfile.ZipFile(wheel).extractall(site)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "NUMBA_DISABLE_JIT")
    }
    done = subprocess.run(
        [python, "-c", USE], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0 and done.stdout == "fine 3\n", done.stderr
    told = subprocess.run(
        [python, "-m", "safescreen", "run"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert told.returncode == 2 and "come with its repository" in told.stderr


def test_the_command_is_that_of_the_library():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ]
    assert scripts == {"safescreen": "safescreen.__main__:main"}
