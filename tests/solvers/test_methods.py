"""Solvers of samples: every method finds the optimum, with and without screening, for any loss,
weights, thresholds, linear term.
"""

import itertools
import re
import warnings
from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from instances import instance
from safescreen.rules import Screened
from safescreen.solvers import solve_screened
from safescreen.solvers.methods import HINGE, SMOOTH, set_up
from safescreen.solvers.state import Look
from safescreen_book import datasets

LOSSES = {"hinge": ss.Hinge(), "smoothed": ss.SmoothedHinge(0.3), "squared": ss.SquaredHinge(0.5)}
SAMPLES = ("dense", "csr", "kernel", "tiles")
TRIPLETS = (np.arange(24.0).reshape(12, 2) % 7.0, np.arange(12) % 2)
SIGNED = (TRIPLETS[0], 2.0 * TRIPLETS[1] - 1.0)
FAMILIES = {
    "triplets": lambda: ss.Triplets.from_labels(*TRIPLETS, k=2),
    "diagonal": lambda: ss.Triplets.from_labels(*TRIPLETS, k=2, diagonal=True),
    "products": lambda: ss.ProductTriplets(*TRIPLETS, k=2),
    "samples": lambda: ss.Samples(*SIGNED),
    "kernel": lambda: ss.KernelSamples.from_points(*SIGNED),
    "free": lambda: ss.FreeIntercept.from_points(*SIGNED),
    "free kernel": lambda: ss.FreeIntercept.from_points(*SIGNED, "rbf"),
}
FREE = [name for name, solver in SMOOTH.items() if "sweeps" in solver.needs]


def exact_points(kind="dense", n=30, d=3, weighted=False, seed=3):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.4 * y[:, None]
    weights = rng.uniform(0.2, 3.0, n) if weighted else None
    if kind in ("kernel", "tiles"):
        limit = 7.9e-9 * n * n if kind == "tiles" else 1.0
        return (
            ss.KernelSamples.from_points(X, y, "linear", weights=weights, max_gigabytes=limit),
            X,
            y,
        )
    return ss.Samples(sparse.csr_array(X) if kind == "csr" else X, y, weights=weights), X, y


def outside(X, y, loss, lam, weights, tau, c):
    """Return the optimal value by cvxpy."""
    import cvxpy as cp

    w = cp.Variable(X.shape[1])
    margins = cp.multiply(y, X @ w)
    u, g = tau - margins, loss.smoothing
    if not loss.has_linear_region:
        terms = cp.square(cp.pos(u)) / (2.0 * g)
    elif g > 0.0:
        terms = cp.huber(cp.pos(u), g) / (2.0 * g)
    else:
        terms = cp.pos(u)
    objective = cp.sum(cp.multiply(weights, terms)) - c @ w + 0.5 * lam * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(objective)).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )


@lru_cache
def posed(kind, loss, plain):
    """Return a problem, without weights, thresholds and a linear term or with all three, and its
    optima by lam.
    """
    rng = np.random.default_rng(0)
    terms, X, y = exact_points(kind, weighted=not plain)
    tau = np.ones(len(terms)) if plain else rng.uniform(0.5, 2.0, len(terms))
    a = np.zeros(len(terms)) if plain else rng.uniform(-1.0, 1.0, len(terms))
    weights = np.ones(len(terms)) if terms.weights is None else terms.weights
    terms = terms if plain else terms.with_threshold(tau)
    prob = ss.Problem(terms, LOSSES[loss], linear=None if plain else terms.adjoint(a))
    linear = (y * a * weights) @ X
    lams = (20.0, 0.5, 1e-3)
    return prob, {lam: outside(X, y, LOSSES[loss], lam, weights, tau, linear) for lam in lams}


@pytest.mark.slow
@pytest.mark.parametrize("method", FREE)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", SAMPLES)
def test_every_method_finds_the_optimum(kind, loss, method):
    for plain in (True, False):
        prob, optima = posed(kind, loss, plain)
        for lam, best in optima.items():
            if lam == 1e-3 and method in ("coordinate", "unshrunk"):
                continue
            for screening in ((), ("MGB",)):
                found = ss.solve(
                    prob,
                    lam,
                    tol=1e-9,
                    rtol=1e-8,
                    screening=screening,
                    method=method,
                    max_iter=200_000,
                )
                assert found.converged
                assert found.primal == pytest.approx(best, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("method", FREE)
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", SAMPLES)
def test_certificates_are_those_of_the_whole_problem(kind, gamma, method):
    of = instance(kind)
    prob = of.problem(gamma)
    for fraction in (0.5, 0.02):
        lam = of.lam(fraction)
        found = ss.solve(
            prob,
            lam,
            tol=0.0,
            rtol=1e-7,
            screening=("MGB", "BT2", "MGB&BT2"),
            method=method,
            max_iter=100_000,
        )
        assert found.converged
        assert prob.gap(found.x, lam, found.alpha) <= 1.001e-7 * found.primal
        again = ss.solve(prob, lam, tol=0.0, rtol=1e-10, screening=(), method="auto")
        assert found.primal - again.primal <= 1e-7 * found.primal


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_sweep_ends_where_it_says(kind, gamma, shrinking):
    """The projected slopes of the dual, by definition, differ by what is returned at most."""
    of = instance(kind, n=60)
    terms, loss, lam = of.terms, ss.SmoothedHinge(gamma), of.lam(0.3)
    alpha = np.random.default_rng(0).uniform(size=len(terms))
    H, spread, *_ = terms.sweep(alpha, terms.adjoint(alpha), lam, loss, 1e-6, 10_000, 1, shrinking)
    slopes = terms.margins(terms.adjoint(alpha)) / lam - 1.0 + gamma * alpha
    slopes[((alpha == 0.0) & (slopes > 0.0)) | ((alpha == 1.0) & (slopes < 0.0))] = 0.0
    assert spread <= 1e-6 and slopes.max() - slopes.min() <= spread + 1e-9
    assert terms.cone.norm(H - terms.adjoint(alpha)) <= 1e-9 * terms.cone.norm(H)


@pytest.mark.parametrize("method", ["auto", "newton"])
def test_tiny_lam(method):
    """Six or seven orders of magnitude below ``lam_max``, where coordinate descent alone takes
    millions of sweeps.
    """
    X, labels = datasets.load("breast-cancer", return_X_y=True)
    y = np.where(labels == labels.min(), -1, 1)
    for terms, last in (
        (ss.Samples(X, y), 1e-7),
        (ss.KernelSamples.from_points(X, y, "rbf"), 1e-6),
    ):
        prob = ss.Problem(terms, ss.Hinge())
        found = ss.path(
            prob,
            prob.lam_max() * np.geomspace(0.9, last, 12),
            tol=1e-300,
            rtol=1e-6,
            method=method,
            screening=("RRPB", "PGB"),
        )
        assert all(solution.converged for solution in found)


def test_a_solution_is_where_it_starts():
    of = instance("dense")
    prob, lam = of.problem(0.05), of.lam(0.1)
    first = ss.solve(prob, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB"))
    assert first.n_iter > 0
    assert (
        ss.solve(prob, lam, tol=0.0, rtol=1e-8, x0=first.x, screening=("RRPB", "PGB")).n_iter == 0
    )


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize("kind", SAMPLES)
def test_small(kind):
    terms, *_ = exact_points(kind, n=8, d=2)
    for loss in LOSSES.values():
        prob = ss.Problem(terms, loss)
        for method in FREE:
            found = ss.solve(prob, 1.0, tol=1e-7, method=method, screening=("MGB",))
            assert found.converged


def test_methods_are_named_in_errors():
    of = instance("full")
    with pytest.raises(
        ValueError,
        match="method must be 'auto' or one of gradient, semismooth, interior, .* got 'simplex'",
    ):
        ss.solve(of.problem(0.05), 1.0, method="simplex")
    with pytest.raises(
        TypeError,
        match=(
            "method='newton' needs terms over the whole space, such as Samples, which Triplets "
            "do not offer"
        ),
    ):
        ss.solve(of.problem(0.05), 1.0, method="newton", screening=("RRPB", "PGB"))
    with pytest.raises(ValueError, match="one ball and a rule, or two balls without a rule, got"):
        ss.solve(of.problem(0.05), 1.0, screening=("MGB&BT2&PGB",))
    with pytest.raises(ValueError, match="one ball and a rule, or two balls without a rule, got"):
        ss.solve(of.problem(0.05), 1.0, screening=("MGB&BT2+halfspace",))


def test_paths_ask_for_the_next_lam():
    of = instance("dense")
    prob, first = of.problem(0.05), of.lam(0.9)
    found = ss.path(
        prob,
        lambda solutions: (
            first if not solutions else 0.7 * solutions[-1].lam if len(solutions) < 4 else None
        ),
        screening=("RRPB", "PGB"),
    )
    np.testing.assert_allclose(found.lams, first * 0.7 ** np.arange(4))
    assert found.reason == "grid"
    with pytest.raises(ValueError, match="lams must be strictly decreasing, got 2 after 1"):
        ss.path(prob, lambda solutions: 1.0 + len(solutions), screening=("RRPB", "PGB"))
    static = ss.path(prob, found.lams, screening=("MGB&BT2",), dynamic=())
    for solution, rate in zip(static, static.path_rates, strict=True):
        last = solution.history[-1]
        assert (last.n_L + last.n_R) / len(prob) == rate <= solution.screening_rate


@pytest.mark.parametrize("method", ["auto", *SMOOTH])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_method_works_or_is_refused_before_the_first_step(family, loss, method):
    """What a method lacks is said with a remedy, whatever the terms and the loss."""
    terms = FAMILIES[family]()
    if not LOSSES[loss].has_linear_region and not terms.explicit:
        return
    prob = ss.Problem(terms, LOSSES[loss])
    try:
        set_up(prob, method=method)
    except TypeError as error:
        remedy = re.search(f"method={method!r}.* needs .*: take 'auto' or one of (.*)", str(error))
        assert method not in remedy[1].split(", ")
        for instead in remedy[1].split(", "):
            set_up(prob, method=instead)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.ConvergenceWarning)
        for lam in (1.0, 1e-4):
            solution = ss.solve(prob, lam, rtol=1e-12, method=method, max_iter=60)
            assert np.isfinite(solution.gap)


def test_solve_screened_needs_single_terms():
    prob = ss.Problem(
        ss.ProductTriplets(np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]), ss.SmoothedHinge(0.05)
    )
    nothing = np.zeros(len(prob), dtype=bool)
    with pytest.raises(
        TypeError,
        match=(
            "solve_screened needs single terms, a number for each, which ProductTriplets do not "
            "offer"
        ),
    ):
        solve_screened(prob, 1.0, Screened(nothing, nothing))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::safescreen.ConvergenceWarning")
@pytest.mark.parametrize("method", FREE)
def test_ends_where_numbers_overflow(method, monkeypatch):
    _, X, y = exact_points()
    for terms in (ss.Samples(1e160 * X, y), ss.Samples(X, y, weights=np.full(30, 1e160))):
        with pytest.raises(
            ValueError, match="must not differ so much in size that squares overflow"
        ):
            ss.solve(ss.Problem(terms, ss.Hinge()), 1.0, method=method)
    monkeypatch.setattr(ss.Problem, "check_reach", lambda _, lam: lam)
    for terms in (ss.Samples(1e160 * X, y), ss.Samples(X, y, weights=np.full(30, 1e160))):
        seen = itertools.count()
        solution = ss.solve(
            ss.Problem(terms, ss.Hinge()),
            1.0,
            method=method,
            max_iter=200,
            callback=lambda _, n=seen: next(n) > 999,
        )
        assert not solution.converged and solution.gap > 1.0 and next(seen) < 999


@pytest.mark.parametrize("family", FAMILIES)
def test_interior_points_are_for_terms_that_have_what_they_need(family):
    """Products have no rows for the equations of the hinge, so nothing hands over to them there."""
    for loss, solvers in ((ss.Hinge(), HINGE), (ss.SmoothedHinge(0.1), SMOOTH)):
        solver = solvers["interior"]
        prob = ss.Problem(FAMILIES[family](), loss)
        assert solver.is_able(prob) == prob.terms.offers.issuperset(solver.needs)
    assert not HINGE["interior"].is_able(ss.Problem(FAMILIES["products"](), ss.Hinge()))


def test_auto_screens_again_when_the_gap_has_fallen_and_ten_iterations_have_passed():
    problem = instance("full").problem(0.05)
    policy = set_up(problem, screening="auto").policy
    begun = Look(1.0, 3)

    def is_due(gap, n_iter, then=begun):
        return bool(policy.tests(Look(gap, n_iter), then, problem.terms))

    assert is_due(0.09, 13) and not is_due(0.11, 13) and not is_due(0.09, 12)
    assert is_due(0.09, 10, then=Look(1.0)) and not is_due(0.09, 9, then=Look(1.0))
    assert is_due(1.0, 0, then=Look())
