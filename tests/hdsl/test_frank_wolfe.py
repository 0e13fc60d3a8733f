"""Iterates are feasible, objective and gap are what the definitions say, the optimum is reached."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import safescreen as ss
from safescreen.hdsl import FrankWolfe
from safescreen.hdsl.frank_wolfe import VARIANTS


@pytest.mark.parametrize("forward", ["exact", "heuristic"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_every_iterate_is_feasible_and_never_worse(make, dense, begin, forward, variant, seed):
    X, triplets = make(seed, signed=bool(seed % 2))
    run, iterate = begin(
        FrankWolfe(3.0, forward=forward, variant=variant, smoothing=0.7), X, triplets
    )
    problem = dense(X.toarray(), triplets, 3.0, 0.7)
    before = np.inf
    for k in range(60):
        M = run.similarity(iterate)
        full = M.to_sparse().toarray()
        assert M.weights.min() > 0.0 and M.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert (
            np.all(M.atoms[:, 0] < M.atoms[:, 1])
            and len(set(map(tuple, M.atoms))) == len(M) <= k + 1
        )
        assert np.linalg.eigvalsh(full).min() >= -1e-13
        assert np.count_nonzero(full) <= 4 * (
            k + 1
        ) and M.features.size == iterate.active.n_features <= 2 * (k + 1)
        assert np.allclose(M.margins(X, triplets)[run.constraints.order], iterate.u, atol=1e-12)
        assert np.allclose(problem.margins(full), M.margins(X, triplets), atol=1e-12)
        assert run.objective(iterate) == pytest.approx(problem.objective(full), abs=1e-13)
        assert run.objective(iterate) <= before + 1e-14
        before = run.objective(iterate)
        _, gap, _, away_gap = run.directions(iterate)
        products = problem.products(full)
        active = [problem.keys.index(tuple(a)) for a in M.atoms.tolist()]
        here = np.sum(problem.gradient(full) * full)
        assert len(iterate.active) == len(M) and away_gap == pytest.approx(
            products[active].max() - here, abs=1e-12
        )
        true = problem.gap(full)
        assert gap <= true + 1e-12 and run.exact_gap(iterate) == pytest.approx(true, abs=1e-12)
        if forward == "exact":
            assert gap == pytest.approx(true, abs=1e-12)
        iterate = run.step(iterate, run.directions(iterate)).iterate


@pytest.mark.parametrize("variant", ["away", "pairwise"])
@pytest.mark.parametrize("gamma", [1.0, 0.3])
def test_the_optimum_is_that_of_an_outside_solver(make, dense, variant, gamma):
    X, triplets = make(3, d=5)
    problem = dense(X.toarray(), triplets, 2.0, gamma)
    solver = FrankWolfe(
        2.0, forward="exact", variant=variant, smoothing=gamma, tol=1e-9, max_iter=20_000
    ).fit(X, triplets)
    best = problem.optimum()
    assert solver.converged_ and solver.gap_ <= 1e-9
    assert solver.history_[-1].objective == pytest.approx(best, abs=1e-7)
    for row in solver.history_:  # the gap is a certificate at every iterate
        assert row.gap >= row.objective - best - 1e-7


def test_away_steps_drop_atoms(make):
    X, triplets = make(1, T=60, signed=True)
    history = FrankWolfe(10.0, forward="exact", max_iter=300).fit(X, triplets).history_
    drops = [k for k, row in enumerate(history[:-1]) if row.step == "drop"]
    assert drops
    assert all(history[k + 1].n_atoms == history[k].n_atoms - 1 for k in drops)
    plain = (
        FrankWolfe(10.0, forward="exact", variant="plain", max_iter=300).fit(X, triplets).history_
    )
    assert {row.step for row in plain} <= {"forward", "none"}
    assert history[-1].gap < 1e-6 < plain[-1].gap


@pytest.mark.parametrize("dense_input", [True, False])
def test_deterministic_and_dense_equals_sparse(make, dense_input):
    X, triplets = make(9)
    a = FrankWolfe(2.0, max_iter=100, random_state=3).fit(X, triplets)
    b = FrankWolfe(2.0, max_iter=100, random_state=3).fit(
        X.toarray() if dense_input else X, triplets
    )
    assert a.similarity_.atoms.tolist() == b.similarity_.atoms.tolist()
    assert a.similarity_.weights.tolist() == b.similarity_.weights.tolist()
    other = FrankWolfe(2.0, max_iter=3, random_state=4).fit(X, triplets)
    assert other.history_[0].objective != a.history_[0].objective


def test_patience_and_the_best_similarity(make):
    X, triplets = make(10)
    errors = iter([0.5, 0.3, 0.3, 0.4, 0.3, 0.1])
    seen = []

    def monitor(similarity):
        seen.append(similarity)
        return next(errors)

    solver = FrankWolfe(2.0, max_iter=100, check_every=5, patience=3).fit(X, triplets, monitor)
    assert len(seen) == 5
    np.testing.assert_array_equal(solver.similarity_.weights, seen[1].weights)
    assert [row.error for row in solver.history_ if not np.isnan(row.error)] == [0.5, 0.3, 0.3, 0.4]


def test_a_monitor_changes_nothing(make):
    """Nor does a callback, by writing to the similarity that it is shown."""
    X, triplets = make(11)

    def spoil(similarity):
        similarity.atoms[...] = 0
        similarity.weights[...] = 100.0
        return 0.5

    def show(progress):
        spoil(progress.x)

    options = {"max_iter": 20, "check_every": 5}
    plain = FrankWolfe(2.0, **options).fit(X, triplets, lambda similarity: 0.5).similarity_
    spoiled = FrankWolfe(2.0, **options).fit(X, triplets, spoil, callback=show).similarity_
    np.testing.assert_array_equal(spoiled.weights, plain.weights)
    np.testing.assert_array_equal(spoiled.atoms, plain.atoms)


def test_interrupting_leaves_a_model(make):
    X, triplets = make(11)

    def monitor(similarity):
        if monitor.calls == 2:
            raise KeyboardInterrupt
        monitor.calls += 1
        return 1.0 / monitor.calls

    monitor.calls = 0
    with pytest.warns(
        RuntimeWarning,
        match="^Frank-Wolfe was interrupted: the result of 15 iterations is returned$",
    ):
        solver = FrankWolfe(2.0, check_every=5).fit(X, triplets, monitor)
    assert solver.n_iter_ == 15 and not solver.converged_ and np.isnan(solver.gap_)
    assert solver.similarity_.weights.sum() == pytest.approx(1.0)


def test_not_converging_warns_with_the_gap(make):
    X, triplets = make(12)
    with pytest.warns(
        ss.ConvergenceWarning, match=r"gap [\d.e-]+ above tol=1e-12 after 3 iterations"
    ) as caught:
        FrankWolfe(2.0, tol=1e-12, max_iter=3).fit(X, triplets)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FrankWolfe(2.0, max_iter=3).fit(X, triplets)


def test_margins_do_not_drift(make, begin):
    run, iterate = begin(FrankWolfe(3.0), *make(1, signed=True))
    for _ in range(499):
        iterate = run.step(iterate, run.directions(iterate)).iterate
    anew = run.at(iterate.active)
    assert np.allclose(iterate.u, anew.u, atol=1e-12)


def test_points_without_entries_and_a_million_features():
    """Nothing to learn, and nothing of length d: atoms of features without entries, a gap of
    zero.
    """
    X = sparse.csr_array((3, 1_000_000))
    solver = FrankWolfe(1.0, forward="exact", max_iter=5).fit(X, [[0, 1, 2]])
    assert solver.gap_ == 0.0 and solver.converged_ and solver.history_[-1].objective == 0.5


def test_memory_is_independent_of_the_dimension(begin):
    """No array of the compiled constraints or of the run is longer than what is stored: T,
    nnz(X), pairs, n.
    """
    rng = np.random.default_rng(0)
    n, s, d, T = 50, 8, 1_000_000, 200
    columns = np.concatenate([rng.choice(d, s, replace=False) for _ in range(n)])
    X = sparse.csr_array((np.ones(n * s), (np.repeat(np.arange(n), s), columns)), shape=(n, d))
    triplets = np.array([rng.choice(n, 3, replace=False) for _ in range(T)])
    run, iterate = begin(FrankWolfe(10.0), X, triplets)
    for _ in range(30):
        iterate = run.step(iterate, run.directions(iterate)).iterate
    limit = 8 * (T + n * s)

    def arrays(thing):
        for value in vars(thing).values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    yield part

    things = (run, run.constraints, iterate.active)
    sizes = [a.size for thing in things for a in arrays(thing)] + [iterate.u.size]
    assert len(sizes) > 20 and max(sizes) <= limit < d
    assert run.similarity(iterate).factor().shape == (len(iterate.active), d)


BAD = [
    (dict(scale=0.0), ValueError, "scale must be greater than 0"),
    (dict(scale=-1.0), ValueError, "scale"),
    (dict(scale=np.nan), ValueError, "scale must be finite"),
    (dict(scale="1"), TypeError, "scale must be a real number"),
    (dict(smoothing=0.0), ValueError, "smoothing must be greater than 0"),
    (dict(forward="best"), ValueError, "forward must be one of exact, heuristic"),
    (dict(variant="fast"), ValueError, "variant must be one of"),
    (dict(line_search="none"), ValueError, "line_search must be one of"),
    (dict(batch=0), ValueError, "batch must be a positive int"),
    (dict(max_iter=0), ValueError, "max_iter"),
    (dict(max_iter=2.5), TypeError, "max_iter must be a positive int"),
    (dict(tol=-1.0), ValueError, "tol must be at least 0"),
    (dict(patience=0), ValueError, "patience"),
    (dict(check_every=True), TypeError, "check_every"),
]


@pytest.mark.parametrize(("settings", "error", "text"), BAD)
def test_bad_settings(settings, error, text):
    with pytest.raises(error, match=text):
        FrankWolfe(**{"scale": 1.0, **settings})


def test_what_is_gone_says_what_to_write_instead(make):
    with pytest.raises(TypeError, match="no 'screening' of atoms since 0.5: leave it out"):
        FrankWolfe(1.0, screening="always")
    with pytest.raises(TypeError, match="unexpected keyword argument 'screen'"):
        FrankWolfe(1.0, screen=False)
    solver = FrankWolfe(1.0, max_iter=2).fit(*make(0))
    with pytest.raises(AttributeError, match="similarity_.features are those in use"):
        _ = solver.n_features_left_
    with pytest.raises(AttributeError, match="no attribute 'n_features_'$"):
        _ = solver.n_features_


def test_bad_data(make):
    X, triplets = make(0)
    solver = FrankWolfe(1.0, max_iter=2)
    broken = X.toarray()
    broken[1, 2] = np.nan
    cases = [
        (broken, triplets, ValueError, "X must be finite, got nan at index"),
        (X.toarray()[0], triplets, ValueError, "X must have two dimensions"),
        (X[:, :1], triplets, ValueError, "X must have at least two features"),
        (X.toarray().astype(object), triplets, TypeError, "X must hold real numbers"),
        (X, np.empty((0, 3), int), ValueError, "triplets must hold at least one triplet"),
        (X, [[0, 1]], ValueError, r"triplets must have shape \(T, 3\)"),
        (X, [[0, 1, 12]], ValueError, "triplets must lie in 0..11, found 12"),
        (X, [[0, -1, 2]], ValueError, "triplets must lie in"),
        (X, [[0.0, 1.0, 2.0]], TypeError, "triplets must hold integers"),
        (X, [[0, 1, 1]], ValueError, "closer and farther must be different"),
        (X, [[1, 1, 2]], ValueError, "anchor and closer must be different"),
    ]
    for data, index, error, text in cases:
        with pytest.raises(error, match=text):
            solver.fit(data, index)
    with pytest.raises(ValueError, match="batch must be at most 30, the number of triplets"):
        FrankWolfe(1.0, batch=31).fit(X, triplets)


@pytest.mark.parametrize("kind", ["csc_array", "coo_array", "csr_matrix", "lil_array"])
def test_any_sparse_type(make, kind):
    X, triplets = make(2)
    a = FrankWolfe(2.0, max_iter=20).fit(X, triplets)
    b = FrankWolfe(2.0, max_iter=20).fit(getattr(sparse, kind)(X), triplets)
    assert a.similarity_.weights.tolist() == b.similarity_.weights.tolist()


def test_stops_where_nothing_is_left_to_gain():
    """A domain that is large enough has similarities of loss 0; an approximate direction says so
    only once the exact one agrees.
    """
    X = np.random.default_rng(0).standard_normal((12, 5))
    for forward in ("heuristic", "exact"):
        solver = FrankWolfe(1e3, forward=forward, max_iter=2000).fit(X, TRIPLETS_OF_EASE)
        assert (
            solver.converged_
            and solver.n_iter_ < 1000
            and solver.gap_ == 0.0 == solver.history_[-1].objective
        )
    small = FrankWolfe(1e-3, forward="heuristic", max_iter=300).fit(X, TRIPLETS_OF_EASE)
    assert small.converged_ == (small.gap_ == 0.0)


TRIPLETS_OF_EASE = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
