"""Every code name in the table of notation exists and has the shape that the table states."""

import re
from pathlib import Path

import numpy as np
import pytest

import safescreen as ss
from safescreen_book.runner.notebooks import pictures, read

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+) \| (.+) \| `(.+)` \| (.*) \| (.+) \|$", flags=re.M)


def table():
    return ROW.findall((ROOT / "docs" / "source" / "notation.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def names():
    """Objects the table speaks of, with n, d and T all different."""
    X = np.array(
        [[0.0, 0.0, 1.0], [1.0, 0.2, 0.0], [0.5, 2.0, 0.3], [1.5, 2.5, 0.1], [3.0, 1.0, 0.2]]
    )
    triplets, loss = ss.Triplets.from_labels(X, [0, 0, 1, 1, 1]), ss.SmoothedHinge(0.05)
    problem, lam = ss.Problem(triplets, loss), 2.0
    solution = ss.solve(problem, lam)
    alpha = problem.alpha(solution.x)
    ball = ss.spheres.duality_gap_bound(problem, solution.x, lam)
    return {
        "ss": ss,
        "X": X,
        "triplets": triplets,
        "loss": loss,
        "problem": problem,
        "lam": lam,
        "solution": solution,
        "M": solution.x,
        "alpha": alpha,
        "H": triplets.adjoint(alpha),
        "ball": ball,
        "found": ss.rules.sphere(problem, ball),
    }


def shape_of(code, names):
    return np.shape(eval(code, dict(names)))


def test_the_table_is_found():
    rows = table()
    assert len(rows) >= 35
    assert len({code for _, _, code, _, _ in rows}) == len(rows)


@pytest.mark.parametrize(("code", "shape"), [(row[2], row[3]) for row in table()])
def test_name_exists_and_has_its_shape(code, shape, names):
    sizes = {
        "n": len(names["X"]),
        "d": names["X"].shape[1],
        "T": len(names["problem"]),
        "number": (),
    }
    assert len(set(sizes.values())) == 4
    found = shape_of(code, names)
    assert not shape or found == eval(shape, sizes)


@pytest.mark.parametrize("code", ["ss.spheres.no_such_bound", "problem.no_such_name", "solution.y"])
def test_a_name_that_does_not_exist_is_noticed(code, names):
    with pytest.raises(AttributeError):
        shape_of(code, names)


def test_every_public_sphere_and_rule_is_in_the_table():
    codes = " ".join(code for _, _, code, _, _ in table())
    for module in (ss.spheres, ss.rules):
        for name in module.__all__:
            if name.endswith("_bound") or name in ss.rules.RULES:
                assert f"{module.__name__.replace('safescreen', 'ss')}.{name}" in codes


def test_the_figure_of_the_readme_is_modest():
    figure = ROOT / "notebooks" / "figures" / "overview.png"
    assert figure.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert figure.stat().st_size < 150_000


def test_the_figure_of_the_readme_is_the_notebooks():
    """`make notebooks` writes both."""
    figure = ROOT / "notebooks" / "figures" / "overview.png"
    assert pictures(read(ROOT / "notebooks" / "00-start-here.ipynb")) == {
        "overview": figure.read_bytes()
    }
