"""Kernel samples without a kernel matrix: the same decisions as with one, and what screening
takes out is never computed.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen.kernels import checked, functions, matrices, space, working_sets
from safescreen.kernels.matrices import KernelRows


@pytest.fixture
def small(monkeypatch):
    """Tiles and working sets of a few, so that there are many of them."""
    for module, sizes in (
        (matrices, {"TILE": 16, "WIDE": 24, "LEAST_ROWS": 20}),
        (working_sets, {"WORKING_SET": 20}),
    ):
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


@pytest.fixture
def log(monkeypatch):
    """The samples of the tiles of certified sums and of the solver's rows."""
    seen, original = {"sums": set(), "rows": set(), "columns": set()}, KernelRows._fill

    def fill(made, tile, X, rows, columns, points=None):
        light = X is made._light
        seen["rows" if light else "sums"].update(rows.tolist())
        seen["columns" if light else "sums"].update(columns.tolist())
        return original(made, tile, X, rows, columns, points)

    monkeypatch.setattr(KernelRows, "_fill", fill)
    return seen


def points(n=240, d=3, apart=1.0):
    rng = np.random.default_rng(4)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.standard_normal((n, d)) + apart * y[:, None], y


def pair(kernel="rbf", form=np.asarray, **options):
    """Return the samples of a matrix, and the same without one."""
    X, y = points()
    return [
        ss.KernelSamples.from_points(form(X), y, kernel, gamma=0.3, max_gigabytes=g, **options)
        for g in (1.0, 2e-4)
    ]


LOSSES = [ss.Hinge(), ss.SmoothedHinge(0.2), ss.SquaredHinge(0.5)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(
    ("kernel", "constant"), [("rbf", 0.0), ("rbf", 1.0), ("polynomial", 0.5), ("linear", 0.0)]
)
@pytest.mark.parametrize("whole", [False, True])
def test_equal_masks_and_solutions(kernel, constant, loss, whole, small, monkeypatch):
    """Whether the cache holds a few rows of what is left, or there is room for the whole matrix."""
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 240) if constant else None
    given, rows = pair(kernel, constant=constant, weights=weights)
    if whole:
        monkeypatch.setattr(checked, "WHOLE", 200)
        rows = pair(kernel, constant=constant, weights=weights)[0]
    assert isinstance(given.cone.K, np.ndarray) and isinstance(rows.cone.K, KernelRows)
    one, other = (ss.Problem(terms, loss) for terms in (given, rows))
    lams = np.median(np.abs(given.margins(given.total()[0]))) * np.array([0.3, 0.2, 0.19])
    paths = [ss.path(p, lams, tol=0.0, rtol=1e-7, screening=("MGB", "RRPB")) for p in (one, other)]
    screened = 0
    for a, b in zip(*paths, strict=True):
        assert (
            a.converged
            and b.converged
            and abs(a.primal - b.primal) <= a.gap + b.gap + 1e-13 * a.primal
        )
        assert (
            not (a.screened.in_L & b.screened.in_R).any()
            and not (a.screened.in_R & b.screened.in_L).any()
        )
        screened += b.n_L + b.n_R
        ball = ss.spheres.midpoint_gap_bound(one, one.cone.expansion(a.x.coef), a.lam)
        same = ss.Sphere(other.cone.expansion(ball.center.coef), ball.radius)
        for name in ("in_L", "in_R"):
            assert np.array_equal(
                getattr(ss.rules.sphere(one, ball), name),
                getattr(ss.rules.sphere(other, same), name),
            )
    assert screened > 0


def test_sparse_points(small, monkeypatch):
    solutions = []
    for sparser in (32, 0):
        monkeypatch.setattr(functions, "SPARSER", sparser)
        prob = ss.Problem(pair(form=sparse.csr_array)[1], ss.Hinge())
        assert sparse.issparse(prob.cone.K.X) == (sparser == 0)
        solutions.append(ss.solve(prob, 0.5, tol=0.0, rtol=1e-7))
    assert abs(solutions[0].primal - solutions[1].primal) <= solutions[0].gap + solutions[1].gap


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_what_is_screened_is_never_computed(loss, small, log, monkeypatch):
    """But for the sum of L: neither as rows or columns of the solver, nor in the sums of the
    samples that are left, worn out or not.
    """
    monkeypatch.setattr(space, "WORN", 0.5)
    prob = ss.Problem(pair()[1], loss)
    lam = 0.5
    best = ss.solve(prob, lam, tol=0.0, rtol=1e-9)
    margins = prob.terms.margins(best.x)
    in_R = margins > 1.1
    in_L = (margins < 0.2) & loss.has_linear_region
    assert in_R.sum() > 25 and (in_L.sum() > 5 or not loss.has_linear_region)
    for seen in log.values():
        seen.clear()
    left = prob.reduce(in_L, in_R)
    again = ss.solve(left, lam, tol=0.0, rtol=1e-7, screening=())
    assert (
        again.converged
        and abs(again.primal - best.primal) <= again.gap + best.gap + 1e-13 * best.primal
    )
    zero, linear = set(np.flatnonzero(in_R).tolist()), set(np.flatnonzero(in_L).tolist())
    assert not zero & (log["sums"] | log["rows"] | log["columns"]) and not linear & (
        log["rows"] | log["columns"]
    )
    assert log["rows"] and log["columns"]
    # they are computed when somebody asks
    assert np.allclose(prob.terms.margins(again.x), margins, atol=0.05) and zero <= log["sums"]


def test_margins_far_from_the_working_sets_are_right(small):
    """Products of what was left out, of rows in single precision and of sums drift; what a sweep
    returns does not.
    """
    given, rows = pair()
    for shrinking in (True, False):
        alpha = np.zeros(240)
        H, spread, n_sweeps, _ = rows.sweep(
            alpha, rows.cone.zeros(), 0.05, ss.Hinge(), 1e-9, 1000, 0, shrinking
        )
        exact = given.adjoint(alpha)
        assert spread <= 1e-9 and n_sweeps > 1 and np.array_equal(H.coef, alpha)
        assert np.all(
            np.abs(H.known_at().image - exact.image) <= rows.norms * (H.error + exact.error)
        )
        slopes = exact.image / 0.05 - 1.0
        slopes[((alpha == 0.0) & (slopes > 0.0)) | ((alpha == 1.0) & (slopes < 0.0))] = 0.0
        assert slopes.max() - slopes.min() <= 2e-9


def test_a_sweep_ends_at_its_goal(small):
    """The gap it sees is that of its dual point."""
    rows = pair()[1]
    prob, alpha = ss.Problem(rows, ss.Hinge()), np.zeros(240)
    before = np.inf
    for goal in ((1.0, 0.0), (0.0, 1e-3), (1e-7, 1e-9)):
        H = rows.sweep(alpha, rows.adjoint(alpha), 0.05, ss.Hinge(), 1e-12, 1000, 0, True, goal)[0]
        e = prob.evaluate(H / 0.05, 0.05, alpha)
        assert e.gap <= 1.001 * max(goal[0], goal[1] * e.primal) and e.gap < before
        before = e.gap
    assert e.gap > 1e-10


def test_a_sweep_asks_no_more_where_hardly_any_loss_is_left(small):
    """Its goal is relative to the objective: with classes that a narrow kernel separates nearly all
    of that is the norm.
    """
    X, y = points()
    terms = ss.KernelSamples.from_points(X, y, "rbf", gamma=30.0)
    prob, lam = ss.Problem(terms, ss.Hinge()), 1e-3
    done = []
    for goal in ((0.0, 0.1), (0.05 * ss.solve(prob, lam).primal, 0.0)):
        alpha = np.zeros(240)
        H, *_ = terms.sweep(alpha, terms.cone.zeros(), lam, ss.Hinge(), 1e-9, 1000, 0, False, goal)
        e = prob.evaluate(H / lam, lam, alpha)
        done.append(e.gap / e.primal)
    assert 0.1 >= done[0] >= done[1] > 0.0


def test_a_coordinate_with_no_way_to_go_stops_no_other(small):
    """Its slope is by far the widest, and its dual variable next to its bound."""
    X, y = points()
    X[7] = 1e4 * y[7]
    terms, alpha = ss.KernelSamples.from_points(X, y, "linear"), np.zeros(240)
    alpha[[0, 1, 7]] = 1.0, 1.0, 1e-13
    H, _, done, _ = terms.sweep(
        alpha, terms.adjoint(alpha), 1.0, ss.Hinge(), 1e-9, 100, 0, True, (1e-4, 0.0)
    )
    assert done > 0 and ss.Problem(terms, ss.Hinge()).evaluate(H, 1.0, alpha).gap < 1e-3


def test_images_are_completed_where_they_are_wanted(small):
    given, rows = pair()
    rng, ids = np.random.default_rng(6), np.arange(0, 240, 5)
    coef = np.where(np.arange(240) % 5 == 0, rng.standard_normal(240), 0.0)
    x, exact = rows.cone.expansion(coef, ids), given.cone.expansion(coef)
    assert np.isnan(x.image).sum() == 240 - ids.size
    assert (
        x.norm() == pytest.approx(exact.norm(), rel=1e-12)
        and x.norm_lower() <= exact.norm() <= x.norm_upper()
    )
    assert np.isnan(x.image).sum() == 240 - ids.size  # coefficients that are 0 need no image
    far = rows.cone.expansion(np.roll(coef, 1), ids)
    both = x + 2.0 * far
    for one, other in ((x, far), (far, x), (both, x), (both, both)):
        value = given.cone.inner(given.cone.expansion(one.coef), given.cone.expansion(other.coef))
        error = rows.cone.inner_error(one, other)
        assert abs(rows.cone.inner(one, other) - value) <= 2.0 * error <= 1e-8
    known = both.known_at()
    assert np.all(
        np.abs(known.image - given.cone.expansion(both.coef).image)
        <= 1.1 * rows.norms * known.error
    )
    assert known.error >= rows.cone.product_error(2 * ids.size, both.scale)


def test_a_completed_image_has_an_error_of_its_own(small):
    rows = pair()[1]
    x = replace(rows.cone.expansion(np.ones(240), np.arange(3)), error=0.0)
    assert x.known_at(np.arange(3)).error == 0.0
    assert x.known_at(np.arange(5)).error == rows.cone.product_error(240, x.scale) > 0.0


def test_the_better_image_is_taken_after_it_is_completed(small):
    """An inner product and the bound of its error are of the same image, whichever is known
    better in the end.
    """
    rows, rng = pair()[1], np.random.default_rng(7)
    for _ in range(5):
        x, y = (rows.cone.expansion(rng.standard_normal(240), np.arange(9)) for _ in range(2))
        x = replace(x, error=1e-3 * x.error)  # known better, before the rest of it is
        value, error = rows.cone.inner(x, y), rows.cone.inner_error(x, y)
        one, other = rows.cone._ordered(x.known_at(), y.known_at())
        assert value == pytest.approx(float(one.coef @ other.image), rel=1e-12)
        assert error >= one.scale * other.error


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_safe_svc_chooses_by_size(kernel, small):
    X, y = points()
    models = [
        ss.SafeSVC(kernel=kernel, C=3.0, tol=1e-7, max_gigabytes=g, keep_problem=True).fit(X, y)
        for g in (4.0, 4e-4)
    ]
    kinds = [type(model.solutions_[0].problem.cone.K) for model in models]
    assert kinds == [np.ndarray, KernelRows]
    one, other = (model.decision_function(X) for model in models)
    assert np.allclose(one, other, atol=0.05) and models[1].dual_gap_ < 1e-3
    assert np.array_equal(one > 0.0, other > 0.0)
    with pytest.raises(ValueError, match="a cache for rows of their kernel matrix needs"):
        ss.SafeSVC(kernel=kernel, max_gigabytes=1e-6).fit(X, y)
