"""Triplets over the workers of a cluster: the sums, the bounds and the answers of triplets in
one place.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from distributed import Client
from mpmath import mpf

import safescreen as ss
from instances import ADVERSARIAL, instance
from naive.exact import minus
from naive.extremes import exact, norm
from naive.features import flat
from safescreen.cluster import _shards, sharded
from safescreen.cluster import workers as _cluster
from safescreen.cluster.workers import ClusterError
from small_cluster import small_cluster

pytestmark = pytest.mark.slow

metrics = pytest.mark.parametrize("diagonal", [False, True])
RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = RNG.standard_normal((60, 4)) + 1.5 * np.eye(4)[Y]


@pytest.fixture(scope="module")
def here():
    """A cluster of one worker, a thread of this process."""
    with Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=":0",
        set_as_default=False,
    ) as client:
        yield client


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A cluster of three processes."""
    with small_cluster(tmp_path_factory.mktemp("workers"), 3) as cluster:
        yield cluster


def families(client, diagonal):
    """Return explicit triplets, and the same ones in shards made in three ways."""
    whole = ss.Triplets.from_labels(X, Y, k=4, diagonal=diagonal)
    make = ss.ShardedTriplets.from_labels
    return whole, [
        ss.ShardedTriplets(client, X, whole.index, 5, diagonal=diagonal),
        make(client, X, Y, 4, 3, diagonal=diagonal),
        make(client, X, Y, 4, diagonal=diagonal, products=True),
    ]


@metrics
@pytest.mark.parametrize("products", [False, True])
def test_all_pairs(here, diagonal, products):
    """Without k a worker is told the classes and which anchors are its own, in the order of the
    points.
    """
    labels = np.array([0] * 20 + [1] * 30 + [2] * 9 + [3])  # one point that is alone in its class
    whole = ss.Triplets.from_labels(X, labels, diagonal=diagonal)
    terms = ss.ShardedTriplets.from_labels(
        here, X, labels, None, 4, diagonal=diagonal, products=products
    )
    assert len(terms._shards) == 4 and np.array_equal(terms.index, whole.index)
    x = 0.02 * whole.cone.project(whole.total()[0])
    found, wanted = (t.loss_sums(x, ss.SmoothedHinge(0.05)) for t in (terms, whole))
    assert found.loss == pytest.approx(wanted.loss, rel=1e-10)
    assert np.linalg.norm(found.adjoint - wanted.adjoint) <= 2.0 * (
        found.adjoint_error + wanted.adjoint_error
    )


# ---------------------------------------------------------------------- the same terms


@metrics
def test_definition(here, diagonal):
    whole, shards = families(here, diagonal)
    x = whole.cone.project(whole.total()[0])
    x /= np.linalg.norm(x)
    weights, keep = RNG.uniform(size=len(whole)), RNG.uniform(size=len(whole)) < 0.4
    assert [len(s._shards) for s in shards] == [5, 3, 8]
    for terms in shards:
        assert len(terms) == len(whole) and np.array_equal(terms.index, whole.index)
        assert np.allclose(terms.margins(x), whole.margins(x), rtol=1e-12, atol=1e-12)
        assert np.allclose(terms.norms, whole.norms, rtol=1e-12)
        assert terms.max_inner_product(x) == pytest.approx(whole.max_inner_product(x), rel=1e-13)
        for method, argument in (
            ("weighted_sum", (weights,)),
            ("weighted_sum", (keep,)),
            ("total", ()),
        ):
            (found, error), (wanted, other) = (
                getattr(t, method)(*argument) for t in (terms, whole)
            )
            assert np.linalg.norm(found - wanted) <= error + other < 1e-10 * np.linalg.norm(wanted)
        part = terms.select(keep)
        assert len(part) == keep.sum() and np.array_equal(part.index, whole.index[keep])
        moved = terms.with_threshold(0.5).loss_sums(x, ss.SmoothedHinge(0.1))
        assert moved.loss == pytest.approx(
            whole.with_threshold(0.5).loss_sums(x, ss.SmoothedHinge(0.1)).loss, rel=1e-10
        )
        assert terms.threshold == 1.0 and not len(terms.select(np.zeros(len(terms), dtype=bool)))
    empty = shards[0].select(np.zeros(len(whole), dtype=bool))
    assert empty.max_inner_product(x) == -np.inf and not empty.total()[0].any()
    assert empty.loss_sums(x, ss.Hinge()).loss == 0.0 and empty.margins(x).shape == (0,)


@metrics
def test_sums(here, diagonal):
    whole, shards = families(here, diagonal)
    x = 0.02 * whole.cone.project(whole.total()[0])
    alpha = RNG.uniform(size=len(whole))
    for terms in shards:
        for gamma in (0.0, 0.05, 1.0):
            loss = ss.SmoothedHinge(gamma)
            pairs = [[t.loss_sums(x, loss, a) for t in (terms, whole)] for a in (None, alpha)]
            if gamma:
                pairs.append([t.hinge_sums(x, gamma) for t in (terms, whole)])
            for found, wanted in pairs:
                assert np.linalg.norm(found.adjoint - wanted.adjoint) <= 2.0 * (
                    found.adjoint_error + wanted.adjoint_error
                )
                for name in ("loss", "alpha_sum", "alpha_square"):
                    assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-10)
                assert found.fenchel == pytest.approx(wanted.fenchel, rel=1e-6, abs=1e-9)


def test_large_elements(here):
    """Elements of more than 100 kB, which a cluster files away, are not mixed up."""
    points = RNG.standard_normal((12, 130))
    terms, whole = (
        ss.ShardedTriplets.from_labels(here, points, Y[:12], 2, 3),
        ss.Triplets.from_labels(points, Y[:12], 2),
    )
    for scale in (1e-3, 2e-3):
        x = scale * np.eye(130)
        found, wanted = (t.loss_sums(x, ss.SmoothedHinge(0.05)) for t in (terms, whole))
        assert found.loss == pytest.approx(wanted.loss, rel=1e-10)
        assert np.linalg.norm(found.adjoint - wanted.adjoint) <= 2.0 * (
            found.adjoint_error + wanted.adjoint_error
        )
        assert np.allclose(terms.margins(x), whole.margins(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("data", ["normal", *ADVERSARIAL])
@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_bounds_of_added_shards(kind, data):
    """The bounds hold for the sum over shards, against 50-digit arithmetic; the workers are not
    needed for that.
    """
    of = instance(kind, data)
    points = _shards.center(of.X, kind == "diagonal")
    cuts = np.array_split(np.arange(len(of.terms)), 7)
    shards = [_shards.from_index(of.index[cut], points) for cut in cuts]
    true, loss = of.exact(0.05), ss.SmoothedHinge(0.05)
    rng = np.random.default_rng(3)
    x = of.feasible(rng, of.lam(0.5) ** -0.5)
    for alpha in (rng.uniform(size=len(of.terms)), of.terms.alpha(x, loss)):
        parts = [
            _shards.ask(s, alpha[cut], method="loss_sums", arguments=(x, loss))
            for s, cut in zip(shards, cuts, strict=True)
        ]
        sums = sharded.add(parts, of.terms.cone)
        assert norm(minus(flat(sums.adjoint), true.adjoint(exact(alpha)))) <= mpf(
            float(sums.adjoint_error)
        )
        assert mpf(float(sums.fenchel)) >= true.fenchel(flat(x), exact(alpha))
        if data == "normal":
            assert sums.adjoint_error <= 1e-11 * float(alpha @ of.terms.norms)
            assert sums.fenchel <= float(true.fenchel(flat(x), exact(alpha))) + 1e-9 * sums.loss


def test_adding_is_covered_where_it_cancels():
    """Shards whose parts nearly cancel: the error of adding them is beyond their own bounds, and
    within the sum's.
    """
    cone, big = ss.FreeSpace(2), np.array([1e8 + 1.0 / 3.0, 1.0])
    parts = [(big, 0.0), (np.full(2, 1e-9), 0.0), (-big, 0.0)]
    total, error = sharded._add_elements(parts, cone)
    away = float(norm(minus(exact(total), exact(np.full(2, 1e-9)))))
    assert 0.0 < away <= error < 1e-6


def test_elements_that_begin_at_any_byte_of_a_message_are_aligned(monkeypatch):
    """With an array that is not aligned, OpenBLAS for some old processors ends the process."""
    element = np.zeros(17, dtype=np.uint8)[1:].view(float)
    element[:] = 3.0, 4.0
    norms = []

    def norm_upper(_, x):
        assert x.flags.aligned
        norms.append(np.linalg.norm(x))
        return norms[-1]

    monkeypatch.setattr(ss.FreeSpace, "norm_upper", norm_upper)
    total, error = sharded._add_elements([(element, 0.0)] * 2, ss.FreeSpace(2))
    assert not element.flags.aligned and np.array_equal(total, [6.0, 8.0])
    assert norms == [5.0, 5.0] and error > 0.0


# ---------------------------------------------------------------------- the same answers
@metrics
@pytest.mark.parametrize(("gamma", "screening"), [(0.0, "auto"), (0.05, ())])
def test_same_optimum(here, diagonal, gamma, screening):
    whole, shards = families(here, diagonal)
    prob = ss.Problem(whole, ss.SmoothedHinge(gamma))
    lam = 0.02 * prob.lam_max()
    known = ss.solve(prob, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB"))
    for terms in (shards[0], shards[2]) if gamma else shards[1:2]:
        found = ss.solve(ss.Problem(terms, prob.loss), lam, tol=0.0, rtol=1e-5, screening=screening)
        assert found.converged and found.n_L == found.n_R == 0
        assert np.linalg.norm(found.x - known.x) <= found.eps + known.eps
        assert found.gap <= 1e-5 * found.primal and prob.gap(found.x, lam) >= -known.gap
        assert found.primal - found.gap <= known.primal <= found.primal + known.gap
        if gamma:
            assert np.allclose(found.alpha, prob.alpha(found.x), atol=1e-9)
            assert prob.gap(found.x, lam) == pytest.approx(found.gap, rel=1e-3)


# ---------------------------------------------------------------------- the same answers everywhere


def answers(terms, callback=None):
    """Solve for one lam and along a path; return all numbers."""
    prob, out = ss.Problem(terms, ss.SmoothedHinge(0.05)), []
    lams = prob.lam_max() * np.array([0.05, 0.03])
    solutions = [
        ss.solve(prob, lams[-1], tol=0.0, rtol=1e-4, callback=callback),
        *ss.path(prob, lams, tol=0.0, rtol=1e-4),
    ]
    assert all(s.converged for s in solutions)
    for s in solutions:
        out += [s.x, s.gap, s.eps, s.n_iter]
    return [np.asarray(v) for v in out]


def test_one_worker_and_three_and_one_of_them_killed(here, three):
    """To the last bit; a worker that holds a shard is killed on the way, and its shards are
    computed again.
    """
    alone = answers(ss.ShardedTriplets.from_labels(here, X, Y, 6, 6))
    terms, killed = ss.ShardedTriplets.from_labels(three.client, X, Y, 6, 6), []
    holders = {
        address for workers in three.client.who_has(terms._shards).values() for address in workers
    }
    assert len(holders) == 3

    def kill(progress):
        if progress.iteration >= 3 and not killed:
            killed.append(three.kill_one(terms._shards[0]))

    for callback in (None, kill):
        for found, wanted in zip(answers(terms, callback), alone, strict=True):
            assert np.array_equal(found, wanted)
    assert killed and killed[0] not in three.client.scheduler_info()["workers"]


# ---------------------------------------------------------------------- nobody left
def test_a_solve_without_any_worker_ends_with_an_error_that_says_what_is_lost(tmp_path):
    """The only worker is killed in the middle of it, and none comes back."""
    with small_cluster(tmp_path, 1) as cluster:
        terms = ss.ShardedTriplets.from_labels(cluster.client, X, Y, 6, 5, patience=0.5)

        def kill(progress):
            (process,) = cluster.processes.values()
            process.kill()
            process.wait()

        lost = (
            rf"the scheduler at {cluster.address} has had no worker for 0.5 seconds: "
            r"5 shards of 2160 triplets cannot be computed; "
        )
        with pytest.raises(
            ClusterError, match=lost + f"start workers with: dask worker {cluster.address}, or"
        ):
            ss.solve(ss.Problem(terms, ss.SmoothedHinge(0.05)), 1.0, callback=kill)


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0, 1, 60]],), ValueError, "index must lie in 0..59, found 60"),
        ((np.empty((0, 3), dtype=int),), ValueError, "index must hold at least one triplet"),
        (([[0, 1, 1]],), ValueError, "same and other must be different points"),
        (([[0, 1, 2]], 0), ValueError, "n_shards must be a positive int, got 0"),
        (([[0, 1, 2]], True), TypeError, "n_shards must be a positive int, got True"),
    ],
)
def test_bad_input_is_named(here, arguments, error, message):
    with pytest.raises(error, match=message):
        ss.ShardedTriplets(here, X, *arguments)


def test_bad_arrays_are_named(here, monkeypatch):
    terms = ss.ShardedTriplets(here, X, [[0, 1, 2], [0, 1, 2], [3, 4, 5]])
    assert len(terms) == 3
    for call, message in (
        (lambda: terms.weighted_sum(np.ones(2)), "weights must have shape"),
        (
            lambda: terms.loss_sums(np.eye(4), ss.Hinge(), np.full(3, 2.0)),
            "alpha must be at most 1",
        ),
        (lambda: terms.select(np.ones(2, dtype=bool)), "keep must have shape"),
        (lambda: ss.Problem(terms, ss.Hinge()).gap(-np.eye(4), 1.0), "x must lie in the PSDCone"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="threshold must be one number"):
        terms.with_threshold(np.ones(3))
    with pytest.raises(TypeError, match="linear region"):
        ss.Problem(terms, ss.SquaredHinge())
    with pytest.raises(
        TypeError, match="which ShardedTriplets do not offer: products of lists and"
    ):
        ss.solve(ss.Problem(terms, ss.Hinge()), 1.0, screening="PGB")
    monkeypatch.setattr(sharded, "EXPLICIT_LIMIT", 100)
    with pytest.raises(ValueError, match="a shard would list 160 triplets, at most 100 are listed"):
        ss.ShardedTriplets.from_labels(here, X, Y, 4, 6)


def test_a_worker_with_other_sources_is_refused(three, monkeypatch):
    monkeypatch.setattr(_cluster, "source_hash", lambda: "other sources")
    _cluster.stamp.cache_clear()
    try:
        with pytest.raises(
            ClusterError,
            match=r"worker \S+ has source \w+ \(here other source\); "
            r"install the same on every worker",
        ):
            ss.ShardedTriplets(three.client, X, [[0, 1, 2]])
    finally:
        _cluster.stamp.cache_clear()


def test_clusters_that_cannot_be_used():
    with pytest.raises(TypeError, match="client must be a distributed.Client, got str"):
        ss.ShardedTriplets("local", X, [[0, 1, 2]])

    def cluster(answers):
        return SimpleNamespace(
            run=lambda function, on_error: answers, scheduler=SimpleNamespace(address="tcp://a:1")
        )

    with pytest.raises(
        ClusterError,
        match="the scheduler at tcp://a:1 has no workers; start some with: dask worker",
    ):
        _cluster.check_workers(cluster({}))
    with pytest.raises(
        ClusterError,
        match="worker tcp://b:2 must have safescreen as it is here, "
        "and cannot import it: No module",
    ):
        _cluster.check_workers(
            cluster({"tcp://b:2": ModuleNotFoundError("No module named 'safescreen'")})
        )
    with pytest.warns(
        UserWarning,
        match=r"worker tcp://b:2 has numpy 0.1 \(here \S+\): "
        r"results may differ in their last digits",
    ):
        _cluster.check_workers(cluster({"tcp://b:2": {**_cluster.stamp(), "numpy": "0.1"}}))
    _cluster.check_workers(cluster({"tcp://b:2": _cluster.stamp()}))
