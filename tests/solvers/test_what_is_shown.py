"""What callbacks and histories show holds for the problem that was posed, whatever has left it."""

import math

import numpy as np
import pytest

import safescreen as ss
from instances import points

EXACT = {"rtol": 1e-9, "max_iter": 3000, "screening": ()}
pytestmark = pytest.mark.filterwarnings("ignore::safescreen.records.ConvergenceWarning")


def tiny(seed):
    """Return a tiny problem and a lam."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    X = rng.standard_normal((n, int(rng.integers(1, 3)))).round(3)
    index = [rng.permutation(n)[:3] for _ in range(int(rng.integers(3, 9)))]
    terms = ss.Triplets(X, index, diagonal=bool(seed % 2))
    return ss.Problem(terms, ss.SmoothedHinge((0.001, 0.05, 0.5)[seed % 3])), 10 ** rng.uniform(
        -3.0, 0.0
    )


def check(prob, lam, seen, solution):
    """Compare what was shown with its definitions; return whether fewer terms had another
    objective.
    """
    best = ss.solve(prob, lam, **EXACT)
    room = best.gap + 1e-12 * best.primal
    is_lower = False
    assert len(seen) == len(solution.history)
    for shown, state in zip(seen, solution.history, strict=True):
        objective = prob.primal(shown.x, lam)
        assert shown.primal == pytest.approx(objective, rel=1e-9, abs=1e-12)
        assert shown.gap >= objective - best.primal - room
        assert state.primal - state.gap - room <= best.primal <= state.primal + room
        distance = prob.cone.norm(shown.x - best.x)
        assert distance <= math.sqrt(2.0 * state.gap / lam) * (1.0 + 1e-9) + best.eps
        is_lower = is_lower or state.primal < 0.99 * objective
    return is_lower


def test_tiny_problems():
    """Of one coordinate or two, where far steps follow on a screening."""
    n_lower = 0
    for seed in range(40):
        prob, lam = tiny(seed)
        options = {"screening": ("GB", "MGB"), "freq": 1, "method": "gradient", "max_iter": 300}
        seen = []
        n_lower += check(prob, lam, seen, ss.solve(prob, lam, callback=seen.append, **options))
    assert n_lower >= 3


X, Y = points(n=40)
SIGNS = 2 * Y - 1
FAMILIES = {
    "samples": lambda: ss.Samples(X, SIGNS),
    "kernel": lambda: ss.KernelSamples.from_points(X, SIGNS, gamma=1.0),
    "free": lambda: ss.FreeIntercept.from_points(X, SIGNS),
    "free kernel": lambda: ss.FreeIntercept.from_points(X, SIGNS, "rbf", gamma=1.0),
    "triplets": lambda: ss.Triplets.from_labels(X, Y, k=3),
    "products": lambda: ss.ProductTriplets(X, Y, k=3),
}


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(family, gamma):
    """Whether it is read at once or when the solve is over."""
    prob = ss.Problem(FAMILIES[family](), ss.SmoothedHinge(gamma))
    lam_max = prob.lam_max()
    lam = 0.2 * lam_max if lam_max < math.inf else 0.1
    screening = ("MGB",) if prob.terms.explicit else ()
    options = {"screening": screening, "freq": 2, "rtol": 1e-7}
    seen, at_once = [], []
    solution = ss.solve(prob, lam, callback=seen.append, **options)
    assert seen[-1].n_terms < len(prob) or family in ("free kernel", "products")
    check(prob, lam, seen, solution)
    for shown, state in zip(seen, solution.history, strict=True):  # the same dual point
        if shown.primal == pytest.approx(state.primal, rel=1e-13):
            assert shown.gap == pytest.approx(state.gap, rel=1e-3, abs=1e-12 * shown.primal)
    ss.solve(prob, lam, callback=lambda p: at_once.append((p.primal, p.gap)), **options)
    assert [(p.primal, p.gap) for p in seen] == at_once


def test_features_that_have_left():
    """Of a diagonal metric with an l1 penalty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12)) * (1.0 + 3.0 * (np.arange(12) < 2))
    terms = ss.Triplets.from_labels(X, np.arange(30) % 2, k=3, diagonal=True)
    prob = ss.Problem(terms, ss.SmoothedHinge(0.05), linear=np.full(12, -20.0))
    lam, seen = 10.0, []
    solution = ss.solve(prob, lam, screening=("MGB", "features"), callback=seen.append)
    assert solution.zero_features.any() and {shown.x.size for shown in seen} == {12}
    check(prob, lam, seen, solution)


def spoil(shown, seen=None):
    """Write to all arrays and lists of a record, but not to its problem and space, which are the
    caller's; return to how many.
    """
    seen = set() if seen is None else seen
    if id(shown) in seen:
        return 0
    seen.add(id(shown))
    if isinstance(shown, np.ndarray):
        if not shown.flags.writeable:
            return 1
        shown[...] = True if shown.dtype == bool else 100
        return 1
    if isinstance(shown, ss.Problem | ss.FreeSpace) or type(shown).__name__ == "KernelSpace":
        return 0
    if isinstance(shown, list | tuple):
        n = sum(spoil(part, seen) for part in shown)
        if isinstance(shown, list):
            shown.clear()
        return n
    if type(shown).__module__.startswith("safescreen"):
        return sum(spoil(part, seen) for part in vars(shown).values())
    return 0


def said(solution):
    """Return all that is certified of a solution."""
    return (
        np.asarray(solution.x).tolist(),
        solution.alpha.tolist() if solution.problem.terms.explicit else None,
        solution.lam,
        solution.gap,
        solution.primal,
        solution.eps,
        solution.intercept,
        solution.n_iter,
        solution.reason,
        solution.packed and solution.screened.in_R.tolist(),
    )


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("family", FAMILIES)
def test_nobody_can_change_what_is_certified(family, gamma):
    """By writing to what a callback, a function of lams, or a caller receives, or has given."""
    prob = ss.Problem(FAMILIES[family](), ss.SmoothedHinge(gamma))
    lams = np.array([0.5, 0.2, 0.1]) * min(prob.lam_max(), 1e3)
    screening = ("MGB",) if prob.terms.explicit else ()
    options = {"screening": screening, "freq": 2, "rtol": 1e-7}
    plain = ss.solve(prob, lams[1], **options)
    spoiled = ss.solve(prob, lams[1], callback=lambda p: spoil(p) == 0, **options)
    assert said(spoiled) == said(plain)

    options["keep_masks"] = True
    plain = [said(s) for s in ss.path(prob, lams, **options)]
    for callback in (spoil, lambda p: spoil(p.solution)):
        shown = ss.path(prob, lams, callback=lambda p, spoil=callback: spoil(p) == 0, **options)
        assert [said(s) for s in shown] == plain

    def following(solutions):
        n = len(solutions)
        spoil(solutions)
        return lams[n] if n < lams.size else None

    assert [said(s) for s in ss.path(prob, following, **options)] == plain
    x0 = np.zeros(prob.cone.shape)
    from_x0 = ss.solve(prob, lams[1], x0=x0, callback=lambda p: spoil(x0) == 0, rtol=1e-7)
    assert from_x0.converged and np.all(x0 == 100)


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"products"}))
def test_certificates_are_not_changed(family):
    """By writing to the point or the solution that they were made from."""
    prob = ss.Problem(FAMILIES[family](), ss.SmoothedHinge(0.05))
    lam = 0.2 * min(prob.lam_max(), 1e3)
    solution = ss.solve(prob, lam)
    x = np.array(solution.x)
    found = ss.screen(prob, x, lam, screening=("DGB", "MGB"))
    ball = ss.spheres.duality_gap_bound(prob, x, lam)
    centers = [np.array(each.center) for each in (*found.balls, ball)]
    x[...] = 100.0
    for each, center in zip((*found.balls, ball), centers, strict=True):
        np.testing.assert_array_equal(each.center, center)
    held_out = ss.HeldOut(prob, prob.terms)
    held_out.keep(solution)
    before = held_out.margins(0.5 * lam, 2.0 * lam)
    assert spoil(solution) > 0
    after = held_out.margins(0.5 * lam, 2.0 * lam)
    np.testing.assert_array_equal(after.low, before.low)
    np.testing.assert_array_equal(after.high, before.high)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}])
def test_estimators_are_not_changed(options):
    """By a callback that writes to the record that it is shown."""
    model = ss.SafeSVC(**options)
    plain = model.fit(X, Y).decision_function(X)
    model.set_params(callback=lambda p: spoil(p) == 0)
    np.testing.assert_array_equal(model.fit(X, Y).decision_function(X), plain)
