"""The recipes of CONTRIBUTING.md are true: the files they name exist, and what they sketch runs."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml

import safescreen as ss
from naive.exact import Exact, exact
from safescreen import _checks, rounding, rules, spheres, terms
from safescreen.cones import FreeSpace
from safescreen.solvers.methods import SMOOTH
from safescreen.solvers.point import Point
from safescreen.terms import _margin_sums, base
from safescreen_book import places
from safescreen_book.ledger import load_claims
from safescreen_book.runner.loading import load_manifest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SKETCHES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.S)
ADDED = {
    "lib/safescreen/rules/nonpositive.py",
    "lib/safescreen/solvers/accelerated.py",
    "lib/safescreen/terms/rows.py",
    "notebooks/66-toy.ipynb",
    "notebooks/66-toy.py",
    "tests/rules/test_nonpositive.py",
    "tests/terms/test_rows.py",
}
"""What the recipes add, which is not there."""


def sketch(number, *modules):
    """Run a sketch where the names of some modules are known; return what it defines."""
    names = {
        "np": np,
        "math": math,
        "dataclass": dataclass,
        "ClassVar": ClassVar,
        "Point": Point,
        "check_mask": _checks.check_mask,
        "check_points": _checks.check_points,
        "FreeSpace": FreeSpace,
    }
    for module in modules:
        names.update(vars(module))
    exec(compile(SKETCHES[number], "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_files_it_names_exist():
    named = set(re.findall(r"\b(?:lib|tests|notebooks|docs|benchmarks)/[\w./-]*\w", TEXT))
    assert {name for name in named if not (ROOT / name).exists()} == ADDED


def test_the_tests_and_names_it_points_at_exist():
    pointed = re.findall(r"`([\w/.-]+\.py)::(\w+)`", TEXT)
    assert len(pointed) > 3
    for name, function in pointed:
        path = ROOT / name if (ROOT / name).exists() else ROOT / "lib" / "safescreen" / name
        assert f"def {function}(" in path.read_text(encoding="utf-8"), (name, function)


def test_the_table_of_the_house_is_the_house():
    library = ROOT / "lib" / "safescreen"
    rows = re.findall(r"^\| (`.*?`) \| .* \|$", TEXT, flags=re.M)
    listed = [
        name for row in rows for name in re.findall(r"`([\w/]+)`", row) if name != "lib/safescreen/"
    ]
    there = {f"{p.name}/" for p in library.iterdir() if (p / "__init__.py").exists()} | {
        p.stem for p in library.glob("*.py")
    }
    assert set(listed) == there - {"__init__", "__main__", "warmup", "_progress"}


def test_the_sphere(monkeypatch):
    build = sketch(0, spheres.base, rounding)["from_evaluation_dpb"]
    monkeypatch.setitem(
        ss.SPHERES,
        "DPB",
        ss.spheres.families.SphereFamily(lambda r: build(r.evaluation), "dual point bound"),
    )
    X = np.random.default_rng(0).standard_normal((50, 3))
    problem = ss.Problem(ss.Samples(X, np.sign(X[:, 0])), ss.SmoothedHinge(0.05))
    best = ss.solve(problem, 2.0, tol=1e-12)
    for alpha in np.random.default_rng(0).uniform(size=(50, 50)):
        ball = build(problem.evaluate(best.x, 2.0, alpha))
        assert ball.contains(best.x) and not ball.contains(best.x + 3.0 * ball.radius)
    assert ss.solve(problem, 2.0, tol=1e-12, screening=("DPB",)).screening_rate > 0.0


def test_the_rule(monkeypatch):
    rule = sketch(1, rules.base, rules.ball, base)["nonpositive"]
    monkeypatch.setitem(rules.RULES, "nonpositive", rule)
    X = np.array([[0.0, 0.0], [2.0, 3.0], [1.0, 1.0]])
    problem = ss.Problem(
        ss.Triplets(X, [[0, 1, 2], [0, 2, 1]], diagonal=True), ss.SmoothedHinge(0.05)
    )
    ball = ss.Sphere(np.zeros(2), 100.0)
    assert not rules.sphere(problem, ball).rate
    assert rule(problem, ball).in_L.tolist() == [True, False]
    assert ss.screen(problem, np.zeros(2), 1.0, screening=("MGB+nonpositive",)).n_L > 0


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_the_family(gamma):
    Rows = sketch(2, rounding, base, _margin_sums)["Rows"]
    assert issubclass(Rows, terms.Terms) and not Rows.__abstractmethods__
    A = np.random.default_rng(0).standard_normal((40, 3)) + 0.5
    problem, oracle = (
        ss.Problem(Rows(A), ss.SmoothedHinge(gamma)),
        Exact([exact(row) for row in A], "free", gamma),
    )
    solution = ss.solve(problem, 5.0, tol=0.0, rtol=1e-9, screening=("RRPB", "PGB"))
    assert solution.n_L > 0 and solution.n_R > 0
    assert solution.gap >= oracle.gap(exact(solution.x), 5.0, exact(solution.alpha)) >= 0
    same = ss.solve(
        ss.Problem(ss.Samples(A, np.where(np.arange(40) % 2, 1, -1)), problem.loss), 5.0, rtol=1e-9
    )
    assert not np.allclose(same.x, solution.x)  # the rows themselves, no labels
    with pytest.raises(TypeError, match="needs .*Rows do not offer"):
        ss.solve(problem, 5.0, method="coordinate")


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_solver(monkeypatch, diagonal):
    Accelerated = sketch(3)["Accelerated"]
    monkeypatch.setitem(SMOOTH, "accelerated", Accelerated())
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    terms_ = ss.Triplets.from_labels(X, (X[:, 0] > 0).astype(int), k=3, diagonal=diagonal)
    problem = ss.Problem(terms_, ss.SmoothedHinge(0.05))
    lam = 0.01 * problem.lam_max()
    one, other = (
        ss.solve(problem, lam, rtol=1e-8, method=method, screening=("MGB",), freq=3)
        for method in ("accelerated", "gradient")
    )
    assert one.converged and one.n_L + one.n_R > 0
    assert np.linalg.norm(one.x - other.x) <= one.eps + other.eps


def test_the_mutant_is_one_of_the_list():
    (mutant,) = yaml.safe_load(EXAMPLES[1])
    listed = ROOT / "tests" / "mutation" / "mutants.yml"
    assert mutant in yaml.safe_load(listed.read_text(encoding="utf-8"))
    assert f"mutants.py -k {mutant['id']}" in TEXT


def test_the_claim_and_the_experiment(tmp_path, monkeypatch):
    claim, _, rule, experiment, replay = EXAMPLES
    (tmp_path / "conclusions.yml").write_text(rule, encoding="utf-8")
    monkeypatch.setattr(places, "notebooks_folder", lambda folder=None: tmp_path)
    experiment += replay
    (tmp_path / "claims.yml").write_text("ours:\n" + claim, encoding="utf-8")
    (found,) = load_claims(tmp_path)
    assert (ROOT / "notebooks" / f"{found.notebook}.py").exists()
    name, entry = next(iter(yaml.safe_load(experiment).items()))
    (tmp_path / "experiments.yml").write_text(experiment, encoding="utf-8")
    (tmp_path / f"{name}.py").write_text(SKETCHES[4], encoding="utf-8")
    manifest = load_manifest(tmp_path, [found.id])
    (run,) = manifest.select([], "smoke")
    folder = tmp_path / "run"
    source = re.sub(r'output_dir = ""', f"output_dir = {str(folder)!r}", SKETCHES[4])
    exec(compile(source, "CONTRIBUTING.md", "exec"), {**manifest.check_parameters(run)})
    assert all((folder / file).exists() for file in entry["outputs"])
