"""Weights of the constraints are copies of them; a start is where training begins."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from safescreen.hdsl import FrankWolfe, SparseSimilarity
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.frank_wolfe import VARIANTS


def drawn(seed, T=30, values=4):
    return np.random.default_rng(seed + 100).integers(0, values, T)


@pytest.mark.parametrize("forward", ["exact", "heuristic"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("line_search", ["exact", "bisection"])
def test_objective_gap_and_steps_are_those_of_the_definition(
    make, dense, begin, forward, variant, line_search
):
    X, triplets = make(1, signed=True)
    weights = np.random.default_rng(5).exponential(1.0, 30) * (np.arange(30) % 5 > 0)
    solver = FrankWolfe(
        3.0, forward=forward, variant=variant, line_search=line_search, smoothing=0.7
    )
    run, iterate = begin(solver, X, triplets, weights)
    problem = dense(X.toarray(), triplets, 3.0, 0.7, weights)
    assert len(run.constraints) == 24 and run.factors.mean() == pytest.approx(1.0)
    before, moved = run.similarity(iterate).to_sparse().toarray(), 0
    assert (
        abs(run.objective(iterate) - dense(X.toarray(), triplets, 3.0, 0.7).objective(before))
        > 1e-3
    )
    for _ in range(40):
        directions = run.directions(iterate)
        _, gap, _, away_gap = directions
        M, true = run.similarity(iterate), problem.gap(before)
        products, here = problem.products(before), np.sum(problem.gradient(before) * before)
        active = [problem.keys.index(tuple(a)) for a in M.atoms.tolist()]
        assert run.exact_gap(iterate) == pytest.approx(true, abs=1e-12) and gap <= true + 1e-12
        assert forward == "heuristic" or gap == pytest.approx(true, abs=1e-12)
        assert away_gap == pytest.approx(products[active].max() - here, abs=1e-12)
        iterate, name, _ = run.step(iterate, directions)
        after = run.similarity(iterate).to_sparse().toarray()
        value = problem.objective(after)
        assert (
            run.objective(iterate) == pytest.approx(value, abs=1e-13)
            and value <= problem.objective(before) + 1e-14
        )
        # not cut off at an end: nowhere on the segment is better
        if name in ("forward", "away", "pairwise"):
            moved += 1
            for factor in (0.9, 0.999, 1.001, 1.1):
                assert problem.objective(before + factor * (after - before)) >= value - 1e-12
        before = after
    assert moved > 3


# a pairwise step leaves its two atoms equally good, and rounding says which comes next
STEADY = ("away", "plain")


@pytest.mark.parametrize("variant", STEADY)
@pytest.mark.parametrize(("line_search", "accuracy"), [("exact", 1e-9), ("bisection", 1e-6)])
@pytest.mark.parametrize("seed", [0, 1])
def test_an_integer_weight_is_so_many_copies(make, variant, line_search, accuracy, seed):
    X, triplets = make(seed, signed=bool(seed))
    weights = drawn(seed)
    solver = FrankWolfe(3.0, forward="exact", variant=variant, line_search=line_search, max_iter=25)
    weighted = solver.fit(X, triplets, weights=weights)
    history, gap, M = weighted.history_, weighted.gap_, weighted.similarity_.to_sparse().toarray()
    copies = solver.fit(X, np.repeat(triplets, weights, axis=0))
    assert [row.step for row in history[:10]] == [row.step for row in copies.history_[:10]]
    np.testing.assert_allclose(
        [row.objective for row in history],
        [row.objective for row in copies.history_],
        atol=accuracy,
    )
    assert gap == pytest.approx(copies.gap_, abs=10 * accuracy)
    np.testing.assert_allclose(M, copies.similarity_.to_sparse().toarray(), atol=100 * accuracy)
    plain = solver.fit(X, triplets).similarity_.to_sparse().toarray()
    assert np.abs(M - plain).max() > 1e-3


def test_equal_weights_and_zero_weights_change_no_bit(make):
    X, triplets = make(2)
    some = np.arange(30) % 3 > 0
    for batch in (None, 7):
        solver = FrankWolfe(2.0, batch=batch, max_iter=60)

        def bits(index, solver=solver, **options):
            found = solver.fit(X, index, **options)
            return (
                found.similarity_.weights.tobytes(),
                [row[:6] for row in found.history_ if not np.isnan(row.error)],
                found.gap_,
            )

        assert bits(triplets) == bits(triplets, weights=np.full(30, 0.7))
        assert bits(triplets[some]) == bits(triplets, weights=0.7 * some) != bits(triplets)
    constraints = Constraints(X, triplets, some)
    assert (
        constraints.factors is None and sorted(constraints.order) == np.flatnonzero(some).tolist()
    )


def test_the_optimum_is_that_of_an_outside_solver(make, dense):
    X, triplets = make(3, d=5)
    weights = np.random.default_rng(1).exponential(1.0, 30)
    solver = FrankWolfe(2.0, forward="exact", smoothing=0.5, tol=1e-9, max_iter=20_000).fit(
        X, triplets, weights=weights
    )
    best = dense(X.toarray(), triplets, 2.0, 0.5, weights).optimum()
    assert solver.converged_ and solver.history_[-1].objective == pytest.approx(best, abs=1e-7)
    for row in solver.history_:
        assert row.gap >= row.objective - best - 1e-7


def test_batches_estimate_the_gradient_without_bias(make, begin):
    """The mean over all batches, one after the other, is the gradient."""
    X, triplets = make(4, T=7)
    weights = np.array([1.0, 0.0, 2.0, 5.0, 0.5, 1.0, 3.0])
    batches = itertools.combinations(range(6), 2)

    class Draws:
        def choice(self, T, size, replace, shuffle):
            assert (T, size) == (6, 2)
            return list(next(batches))

    run, iterate = begin(FrankWolfe(2.0, forward="exact", batch=2), X, triplets, weights)
    full, same = begin(FrankWolfe(2.0, forward="exact"), X, triplets, weights)
    run.rng, mean, bad = Draws(), 0.0, 0.0
    for _ in range(15):
        run.directions(iterate)
        mean = mean + run.constraints.weights / (2 * 15)
        bad = bad + (run.constraints.weights != 0.0).sum()
    full.directions(same)
    np.testing.assert_allclose(mean, full.constraints.weights / 6, atol=1e-14)
    assert 0 < bad < 15 * full.constraints.weights.size


# ------------------------------------------------------------------ start


def test_from_the_optimum_no_step_is_taken(make):
    X, triplets = make(7)
    solver = FrankWolfe(2.0, forward="exact", tol=1e-8)
    best = solver.fit(X, triplets).similarity_
    cold = solver.n_iter_
    assert (
        solver.fit(X, triplets, start=best).n_iter_ == 1
        and solver.history_[0].step == "none"
        and solver.converged_
    )
    np.testing.assert_array_equal(solver.similarity_.atoms, best.atoms)
    np.testing.assert_allclose(solver.similarity_.weights, best.weights, rtol=1e-14)
    weights = 1.0 + 0.01 * drawn(7)
    assert 1 < solver.fit(X, triplets, weights=weights, start=best).n_iter_ < cold


def test_features_without_entries_stay_in_a_start(begin):
    """Atoms of features that X has no entries of change nothing there, and are still in M for
    other points.
    """
    X = sparse.csr_array(
        np.array(
            [
                [1.0, 0, 0, 0.5, 0, 0, 0, 0],
                [1.0, 0, 0, 1.0, 0, 0, 0, 0],
                [0.0, 0, 0, 1.0, 0, 0, 0, 0],
            ]
        )
    )
    start = SparseSimilarity(
        np.array([[0, 7, -1], [4, 6, 1], [0, 7, -1], [1, 2, 1]]),
        np.array([0.25, 0.25, 0.125, 0.375]),
        2.0,
        8,
    )
    for forward in ("exact", "heuristic"):
        run, iterate = begin(FrankWolfe(2.0, forward=forward), X, [[0, 1, 2]], start=start)
        assert {0, 1, 2, 3, 4, 6, 7} <= set(run.constraints.features.tolist())
        M = run.similarity(iterate)
        assert M.atoms.tolist() == [[0, 7, -1], [1, 2, 1], [4, 6, 1]] and M.weights.tolist() == [
            0.375,
            0.375,
            0.25,
        ]
        np.testing.assert_allclose(M.to_sparse().toarray(), start.to_sparse().toarray())
        assert iterate.u == pytest.approx(M.margins(X, [[0, 1, 2]]))
        for _ in range(10):
            iterate = run.step(iterate, run.directions(iterate)).iterate
        assert run.objective(iterate) == 0.0 and run.similarity(
            iterate
        ).weights.sum() == pytest.approx(1.0)


def test_bad_weights_and_starts(make):
    X, triplets = make(0)
    solver, good = (
        FrankWolfe(1.0, max_iter=2),
        SparseSimilarity(np.array([[0, 1, 1]]), np.ones(1), 1.0, 6),
    )
    w = np.ones(30)
    cases = [
        (dict(weights=w[1:]), ValueError, r"weights must have shape \(30,\), got \(29,\)"),
        (dict(weights=-w), ValueError, "weights must be at least 0, found -1"),
        (dict(weights=0 * w), ValueError, "weights must hold a positive weight, all are 0"),
        (
            dict(weights=np.where(w.cumsum() == 4, np.nan, w)),
            ValueError,
            "weights must be finite, got nan at index 3",
        ),
        (dict(weights=["a"] * 30), TypeError, "weights must hold real numbers"),
        (dict(start=[0, 1, 1]), TypeError, "start must be a SparseSimilarity, got list"),
        (
            dict(start=replace(good, scale=2.0)),
            ValueError,
            r"start must have the scale 1, got 2: dataclasses.replace",
        ),
        (dict(start=replace(good, d=7)), ValueError, "start must have the 6 features of X, got 7"),
        (
            dict(start=replace(good, atoms=np.array([[0, 6, 1]]))),
            ValueError,
            "features i < j below 6",
        ),
        (
            dict(start=replace(good, atoms=np.array([[1, 0, 1]]))),
            ValueError,
            "features i < j below 6",
        ),
        (
            dict(start=replace(good, atoms=np.array([[0, 1, 2]]))),
            ValueError,
            "a sign s of -1 or 1, found",
        ),
        (
            dict(start=replace(good, weights=np.array([0.5]))),
            ValueError,
            "weights of sum 1, found a smallest of 0.5 and the sum 0.5",
        ),
        (dict(start=replace(good, weights=np.array([np.nan]))), ValueError, "weights of sum 1"),
        (
            dict(start=replace(good, weights=np.ones(2))),
            ValueError,
            r"k weights, got \(1, 3\) and \(2,\)",
        ),
        (
            dict(start=replace(good, atoms=np.empty((0, 3), int), weights=np.empty(0))),
            ValueError,
            r"got \(0, 3\) and \(0,\)",
        ),
    ]
    for options, error, text in cases:
        with pytest.raises(error, match=text):
            solver.fit(X, triplets, **options)
    with pytest.raises(
        ValueError,
        match=r"batch must be at most 20, the number of triplets of positive weight, got 21",
    ):
        FrankWolfe(1.0, batch=21).fit(X, triplets, weights=np.arange(30) % 3 > 0)
