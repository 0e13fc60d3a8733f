"""HDSL19 Remark 1: every convex, continuously differentiable loss will do; each against the
definitions.
"""

import mpmath
import numpy as np
import pytest

import safescreen as ss
from naive.similarities import smooth_loss
from safescreen import losses
from safescreen.hdsl import FrankWolfe, nearest_triplets
from safescreen.hdsl.frank_wolfe import VARIANTS
from safescreen.hdsl.line_search import _slopes
from safescreen.hdsl.losses import LOSSES, MarginLoss
from safescreen_book import datasets

OTHERS = tuple(LOSSES)[1:]


def of_kernel(u, loss):
    """Minus the slope, and the curvature, as the line search computes them."""
    first, second = _slopes(np.array([u]), np.ones(1), np.ones(1), 0.0, *loss.code)
    return -first, second


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_values_slopes_and_curvatures(name, gamma):
    loss, u = MarginLoss(name, gamma), np.linspace(-4.0, 4.0, 161) + 0.003
    value, slope, bend = smooth_loss(name, u, gamma)
    np.testing.assert_allclose(loss.value(u), value, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(loss.alpha(u), -slope, rtol=1e-13, atol=1e-15)
    kernel = np.array([of_kernel(v, loss) for v in u])
    np.testing.assert_allclose(kernel, np.column_stack((-slope, bend)), rtol=1e-13, atol=1e-15)
    h = 1e-6
    np.testing.assert_allclose(
        (loss.value(u + h) - loss.value(u - h)) / (2 * h), slope, atol=1e-8, rtol=1e-8
    )
    inside = (
        np.abs(u - 1) > h
        if name == "squared_hinge"
        else (np.abs(u - 1) > h) & (np.abs(u - 1 + gamma) > h)
    )
    np.testing.assert_allclose(
        ((loss.alpha(u - h) - loss.alpha(u + h)) / (2 * h))[inside],
        bend[inside],
        atol=1e-8,
        rtol=1e-8,
    )
    for low in (-3.0, -0.5, 0.0, 0.5):
        highest = smooth_loss(name, np.append(np.linspace(low, 4.0, 2001), max(low, 0.0)), gamma)[
            2
        ].max()
        assert loss.curvature(low) == pytest.approx(highest, rel=1e-12)


def test_far_margins_neither_overflow_nor_vanish():
    for u in (-1e300, -1e6, -800.0, -40.0, 40.0, 700.0):
        loss, x = MarginLoss("log_loss"), mpmath.mpf(u)
        with mpmath.workdps(400):
            value, slope = mpmath.log1p(mpmath.exp(-x)) if u > -1e5 else -x, 1 / (1 + mpmath.exp(x))
        assert float(loss.value(u)) == pytest.approx(float(value), rel=1e-14)
        assert (
            float(loss.alpha(u))
            == pytest.approx(float(slope), rel=1e-14)
            == pytest.approx(of_kernel(u, loss)[0], rel=1e-14)
        )
        assert np.isfinite(of_kernel(u, loss)[1])
    assert MarginLoss("exponential").value(-1e6) == np.inf and MarginLoss("exponential").curvature(
        -2.0
    ) == pytest.approx(np.exp(2.0))


@pytest.mark.parametrize("name", LOSSES)
def test_only_hinges_may_be_screened(name):
    """No :class:`~safescreen.losses.Loss` of the library has a slope that is never 0."""
    assert not isinstance(MarginLoss(name), losses.Loss)
    assert (MarginLoss(name).alpha(np.array([1.0, 30.0])) > 0.0).all() == (
        name in ("log_loss", "exponential")
    )


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("line_search", ["exact", "bisection"])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_gap_and_steps_are_those_of_the_definition(
    make, dense, begin, name, variant, line_search, weighted
):
    X, triplets = make(1, signed=True)
    weights = np.random.default_rng(5).exponential(1.0, 30) if weighted else None
    solver = FrankWolfe(
        3.0, loss=name, forward="exact", variant=variant, line_search=line_search, smoothing=0.7
    )
    run, iterate = begin(solver, X, triplets, weights)
    problem = dense(X.toarray(), triplets, 3.0, 0.7, weights, name)
    before, moved = run.similarity(iterate).to_sparse().toarray(), 0
    for _ in range(40):
        M, true = run.similarity(iterate), problem.gap(before)
        assert run.objective(iterate) == pytest.approx(problem.objective(before), rel=1e-12)
        directions = run.directions(iterate)
        _, gap, _, away_gap = directions
        products, here = problem.products(before), np.sum(problem.gradient(before) * before)
        active = [problem.keys.index(tuple(a)) for a in M.atoms.tolist()]
        assert (
            gap
            == pytest.approx(true, rel=1e-9, abs=1e-12)
            == pytest.approx(run.exact_gap(iterate), rel=1e-9, abs=1e-12)
        )
        assert away_gap == pytest.approx(products[active].max() - here, rel=1e-9, abs=1e-12)
        iterate, step, _ = run.step(iterate, directions)
        after = run.similarity(iterate).to_sparse().toarray()
        value = problem.objective(after)
        assert value <= problem.objective(before) * (1.0 + 1e-13)
        if step in ("forward", "away", "pairwise"):
            moved += 1
            for factor in (0.9, 0.999, 1.001, 1.1):
                assert problem.objective(before + factor * (after - before)) >= value - 1e-12 * (
                    1.0 + value
                )
        before = after
    assert moved > 3


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_the_optimum_is_that_of_an_outside_solver(make, dense, name, variant):
    X, triplets = make(3, d=5)
    best = dense(X.toarray(), triplets, 2.0, 1.0, None, name).optimum()
    solver = FrankWolfe(
        2.0, loss=name, forward="exact", variant=variant, tol=1e-9, max_iter=20_000
    ).fit(X, triplets)
    assert solver.converged_ and solver.gap_ <= 1e-9
    assert solver.history_[-1].objective == pytest.approx(best, abs=1e-6)
    for row in solver.history_:
        assert row.gap >= row.objective - best - 1e-6


def test_a_start_beyond_all_floats_is_refused(make):
    X, triplets = make(1, signed=True)
    with pytest.raises(
        ValueError,
        match=r"loss 'exponential' overflows at the first iterate, which has the margin -\d+",
    ):
        FrankWolfe(1e5, loss="exponential").fit(X, triplets)
    solver = FrankWolfe(1e5, loss="log_loss", forward="exact", max_iter=200).fit(X, triplets)
    values = [row.objective for row in solver.history_]
    assert np.isfinite(values).all() and np.isfinite(solver.gap_) and values[-1] < values[0]
    steep = FrankWolfe(300.0, loss="exponential", forward="exact", max_iter=500).fit(X, triplets)
    values = [row.objective for row in steep.history_]
    assert values[0] > 1e200 > 1e100 > values[-1] and all(
        b <= a * (1 + 1e-12) for a, b in zip(values, values[1:], strict=False)
    )


@pytest.mark.parametrize("name", OTHERS)
def test_the_estimator_takes_them(name):
    X, y = datasets.load("digits", return_X_y=True)
    X = 0.5 * (X[:300] + 1.0)
    model = ss.HDSL(1.0, loss=name, max_iter=150).fit(X[:200], y[:200])
    other = FrankWolfe(
        1.0, loss=name, max_iter=150, random_state=np.random.RandomState(0).randint(2**31 - 1)
    )
    other.fit(X[:200], nearest_triplets(X[:200], y[:200]))
    np.testing.assert_array_equal(model.similarity_.weights, other.similarity_.weights)
    assert model.score(X[200:], y[200:300]) > 0.3  # of ten classes
    with pytest.raises(
        ValueError,
        match=(
            "loss must be one of smoothed_hinge, squared_hinge, log_loss, exponential; got 'hinge'"
        ),
    ):
        ss.HDSL(loss="hinge").fit(X, y[:300])
