"""Tolerances mean the same wherever a problem is solved: `tol` is absolute, `rtol` relative to
the objective.
"""

import numpy as np
import pytest

import safescreen as ss
from instances import instance
from safescreen.rules import Screened
from safescreen.solvers import solve_screened
from safescreen.solvers.limits import Limits


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({}, (0.0, 1e-6)),
        ({"tol": 1e-3}, (1e-3, 0.0)),
        ({"rtol": 1e-3}, (0.0, 1e-3)),
        ({"tol": 1e-4, "rtol": 1e-3}, (1e-4, 1e-3)),
        ({"tol": 0.0, "rtol": 1e-3}, (0.0, 1e-3)),
        ({"tol": 1e-4, "rtol": 0}, (1e-4, 0.0)),
    ],
)
def test_a_tolerance_that_is_left_out_is_zero(monkeypatch, given, limits):
    """In every function that solves; of the objective 7 the gap is to be at most the larger of
    the two.
    """
    of, asked = instance("dense"), []
    plain = Limits.checked.__func__

    def checked(cls, *values):
        asked.append(plain(cls, *values))
        return asked[-1]

    monkeypatch.setattr(Limits, "checked", classmethod(checked))
    problem, nothing = of.problem(0.05), np.zeros(len(of.terms), dtype=bool)
    lam = of.lam(0.3)
    ss.solve(problem, lam, **given)
    solve_screened(problem, lam, Screened(nothing, nothing), **given)
    ss.path(problem, [lam], **given)
    ss.svm.path(of.terms, [1.0 / lam], loss=problem.loss, **given)
    assert len(asked) == 4
    for found in asked:
        assert (found.tol, found.rtol) == (max(limits[0], 1e-300), limits[1]) and found.goal(
            -7.0
        ) == max(limits[0], 7.0 * limits[1])


def test_paths_of_an_accuracy_are_solved_to_a_part_of_it_unless_told(monkeypatch):
    of, asked = instance("dense"), []
    monkeypatch.setattr(
        ss.svm.paths.paths,
        "path",
        lambda *args, **options: asked.append(options) or ss.Path([], [], "grid"),
    )
    for given in ({}, {"tol": 1e-5}, {"rtol": 1e-4}):
        ss.svm.eps_path(of.terms, 1e3, 0.01, **given)
    assert [(options["tol"], options["rtol"]) for options in asked] == [
        (None, 1e-5),
        (1e-5, None),
        (None, 1e-4),
    ]


def test_without_tolerances_the_scale_of_the_data_does_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    problem = ss.Problem(ss.Triplets.from_labels(X + y[:, None], y, k=3), ss.SmoothedHinge(0.05))
    weak = ss.Problem(
        ss.Triplets(X + y[:, None], problem.terms.index, weights=np.full(len(problem), 1e-9)),
        problem.loss,
    )
    lam = 0.1 * problem.lam_max()
    strong, weak = ss.solve(problem, lam, screening=()), ss.solve(weak, 1e-9 * lam, screening=())
    assert weak.converged and weak.n_iter == strong.n_iter > 2
    np.testing.assert_allclose(weak.x, strong.x, rtol=1e-6)


def test_a_relative_tolerance_is_reached_where_the_objective_is_zero():
    of = instance("full")
    none, all_of_them = np.zeros(len(of.terms), dtype=bool), np.ones(len(of.terms), dtype=bool)
    found = ss.solve(of.problem(0.05).reduce(none, all_of_them), 1.0, rtol=1e-12)
    assert found.converged and found.primal == 0.0 and found.n_iter == 0


@pytest.mark.parametrize("given", [{"tol": 0.0}, {"rtol": 0.0}, {"tol": 0.0, "rtol": 0.0}])
def test_no_tolerance_at_all_is_an_error(given):
    with pytest.raises(
        ValueError,
        match="tol and rtol must not both be 0, got tol=.* and rtol=.*; one left out counts as 0",
    ):
        ss.solve(instance("dense").problem(0.05), 1.0, **given)
