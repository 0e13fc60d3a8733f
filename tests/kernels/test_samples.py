"""Kernel samples: against explicit features in 60 digits, and against plain samples where the
kernel is linear.
"""

from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy import sparse

import safescreen as ss
from instances import instance, points
from naive.exact import Exact, minus
from naive.extremes import dot, exact, norm
from naive.features import FEATURES, flat, size
from safescreen.kernels import checked
from safescreen.kernels.checked import default_error
from safescreen.rules import RULES
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference, PathReference
from safescreen.spheres.path import reference_accuracy

KERNELS = {
    "linear": {},
    "polynomial": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "rbf": {"gamma": 0.7},
}
LOSSES = [ss.Hinge(), ss.SmoothedHinge(0.05), ss.SmoothedHinge(1.0), ss.SquaredHinge(0.5)]
every = pytest.mark.parametrize("kernel", list(KERNELS))


def exact_kernel(rows, kernel, gamma=1.0, degree=3, coef0=1.0):
    """Return the kernel matrix of exact points, lists of lists."""
    g, c = mpf(gamma), mpf(coef0)
    functions = {
        "linear": dot,
        "polynomial": lambda p, q: (g * dot(p, q) + c) ** degree,
        "rbf": lambda p, q: mpmath.exp(-g * dot(minus(p, q), minus(p, q))),
    }
    return [[functions[kernel](p, q) for q in rows] for p in rows]


def explicit(X, y, kernel, **options):
    """Return exact elements with these inner products: monomials, or the rows of a Cholesky
    factor for the rbf kernel.
    """
    rows = [exact(x) for x in X]
    if kernel == "polynomial":  # of degree 2
        g, c = mpf(options["gamma"]), mpf(options["coef0"])
        rows = [[mpmath.sqrt(c), *(mpmath.sqrt(g) * v for v in row)] for row in rows]
        pairs = list(combinations_with_replacement(range(len(rows[0])), 2))
        rows = [
            [row[i] * row[j] * (1 if i == j else mpmath.sqrt(2)) for i, j in pairs] for row in rows
        ]
    elif kernel == "rbf":
        K = mpmath.matrix(exact_kernel(rows, kernel, **options))
        L = mpmath.cholesky(K)
        rows = [[L[i, j] for j in range(len(rows))] for i in range(len(rows))]
    return [[mpf(float(label)) * v for v in row] for row, label in zip(rows, y, strict=True)]


def made(kernel, data="normal", n=16, d=2, seed=0, **options):
    """Return kernel samples, their exact elements registered, and the points."""
    X, y = points(data, n, d, seed, offset=50.0)
    y = 2.0 * y - 1.0
    terms = ss.KernelSamples.from_points(X, y, kernel, **KERNELS[kernel], **options)
    FEATURES[terms.cone] = explicit(X, y, kernel, **KERNELS[kernel])
    return terms, X, y


def scale_of(terms, fraction=0.2):
    """Return a regularization parameter that leaves terms in all three categories."""
    return fraction * float(np.median(np.abs(terms.margins(terms.total()[0]))))


@every
def test_definition(kernel):
    terms, X, y = made(kernel)
    elements, rng = FEATURES[terms.cone], np.random.default_rng(0)
    Q = np.array([[float(dot(p, q)) for q in elements] for p in elements])
    assert len(terms) == 16 and np.allclose(terms.norms**2, np.diag(Q), rtol=1e-12)
    assert np.allclose(terms.gram(np.arange(16)), Q, rtol=1e-12, atol=1e-12)
    for weights in (rng.uniform(size=16), rng.standard_normal(16), rng.uniform(size=16) < 0.5):
        total, error = terms.weighted_sum(weights)
        assert np.array_equal(total.coef, weights) and error == 0.0
        assert np.allclose(terms.margins(total), Q @ weights, rtol=1e-12, atol=1e-11)
        assert np.array_equal(terms.margins(np.asarray(weights, dtype=float)), terms.margins(total))
    assert np.allclose(
        terms.gram_operator([2, 5, 7])(np.ones(3)), Q[np.ix_([2, 5, 7], [2, 5, 7])].sum(axis=1)
    )
    assert repr(terms) == "<16 samples with a kernel, in the span of 16>"


@pytest.mark.parametrize("data", ["normal", "duplicates", "zeros", "tiny", "offset", "outlier"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@every
def test_kernel_matrices_have_the_error_they_say(kernel, form, data):
    X, y = points(data, 12, 3, offset=50.0)
    rows = [exact(x) for x in X]
    for options in (KERNELS[kernel], {"gamma": 0.01, "degree": 5, "coef0": 0.0}):
        terms = ss.KernelSamples.from_points(form(X), 2 * y - 1, kernel, **options)
        K, u, true = terms.cone.K, terms.cone.relative_error, exact_kernel(rows, kernel, **options)
        roots = [mpmath.sqrt(true[i][i]) for i in range(12)]
        for i in range(12):
            assert mpf(float(terms.norms[i])) >= roots[i]
            for j in range(12):
                assert abs(mpf(float(K[i, j])) - true[i][j]) <= mpf(u) * roots[i] * roots[j]
        assert np.array_equal(K, K.T) and u < {"offset": 1e-10, "outlier": 1e-6}.get(data, 1e-12)


@pytest.mark.parametrize("block", [1, 5, 256])
@every
def test_kernel_matrices_do_not_depend_on_blocks(kernel, block, monkeypatch):
    expected = made(kernel)[0].cone.K
    monkeypatch.setattr(checked, "BLOCK", block)
    assert np.array_equal(made(kernel)[0].cone.K, expected)


@pytest.mark.parametrize("gamma", [0.0, 0.05, 1.0])
@pytest.mark.parametrize(("kernel", "n", "fraction"), [("polynomial", 16, 0.05), ("rbf", 14, 0.12)])
def test_safe(kernel, n, fraction, gamma, assert_safe):
    terms, X, y = made(kernel, n=n)
    problem, lam = ss.Problem(terms, ss.SmoothedHinge(gamma)), scale_of(terms, fraction)
    found = assert_safe(problem, Exact(FEATURES[terms.cone], "free", gamma), lam)
    assert found[1] > 0


@pytest.mark.parametrize("data", ["duplicates", "zeros", "collinear", "outlier"])
def test_safe_where_the_kernel_matrix_is_singular(data, assert_safe):
    terms, X, y = made("polynomial", data)
    assert (
        assert_safe(
            ss.Problem(terms, ss.SmoothedHinge(0.05)),
            Exact(FEATURES[terms.cone], "free", 0.05),
            scale_of(terms),
        ).sum()
        > 0
    )


@every
def test_gaps_and_their_errors_are_bounds(kernel):
    terms, X, y = made(kernel)
    lam, rng = scale_of(terms), np.random.default_rng(1)
    truth = Exact(FEATURES[terms.cone], "free", 0.05)
    problem = ss.Problem(terms, ss.SmoothedHinge(0.05))
    best = ss.solve(problem, lam, tol=0.0, rtol=1e-9, screening=("RRPB", "PGB"))
    which = rng.integers(0, 3, 16)
    for prob, true in (
        (problem, truth),
        (problem.reduce(which == 1, which == 2), truth.reduce(which == 1, which == 2)),
    ):
        for x in (
            best.x,
            0.5 * best.x,
            problem.cone.zeros(),
            problem.cone.expansion(rng.standard_normal(16)),
        ):
            for alpha in (prob.alpha(x), rng.uniform(size=len(prob))):
                e = prob.evaluate(x, lam, alpha)
                gap = true.gap(flat(x), lam, exact(alpha))
                assert (
                    gap
                    <= e.gap
                    <= gap * (1 + mpf(10) ** -8) + mpf(10) ** -11 * (1 + abs(mpf(e.primal)))
                )
                assert norm(minus(flat(e.H), true.H(exact(alpha)))) <= e.H_error + mpf(10) ** -55
                assert e.primal - e.dual == pytest.approx(
                    float(gap), rel=1e-9, abs=1e-9 * abs(e.primal)
                )


@every
def test_sums_with_weights_are_as_close_as_they_say(kernel):
    weights = np.random.default_rng(6).uniform(0.1, 3.0, 16)
    terms, X, y = made(kernel, weights=weights)
    for alpha in (
        np.random.default_rng(7).uniform(size=16),
        np.full(16, 0.1),
        np.ones(16, dtype=bool),
    ):
        total, error = terms.weighted_sum(alpha)
        factors = [w * a for w, a in zip(exact(weights), exact(alpha), strict=True)]
        true = [
            mpmath.fdot(factors, [z[k] for z in FEATURES[terms.cone]])
            for k in range(len(flat(total)))
        ]
        apart = norm(minus(flat(total), true))
        assert apart <= mpf(error) <= 1e-15 * total.scale and (apart > 0) == (alpha.dtype != bool)


def pair(weights=False, thresholds=False, loss=None):
    """Return the same problem as plain samples and through their products."""
    of, rng = instance("dense"), np.random.default_rng(3)
    w = rng.uniform(0.3, 3.0, 40) if weights else None
    families = (
        ss.Samples(of.X, of.y, weights=w),
        ss.KernelSamples.from_points(of.X, of.y, "linear", weights=w),
    )
    if thresholds:
        tau = rng.uniform(0.6, 1.5, 40)
        families = [terms.with_threshold(tau) for terms in families]
    plain, kernel = (ss.Problem(terms, loss or ss.SmoothedHinge(0.05)) for terms in families)
    return of, plain, kernel, of.lam(0.1)


def features(problem, x):
    """Return the vector an expansion of a linear kernel stands for."""
    return (x.space.signs * x.coef) @ instance("dense").X


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("weights", "thresholds"), [(False, False), (True, False), (True, True)])
def test_a_linear_kernel_is_plain_samples(loss, weights, thresholds):
    of, plain, kernel, lam = pair(weights, thresholds, loss)
    rng, n_found = np.random.default_rng(4), 0
    assert kernel.lam_max() == pytest.approx(plain.lam_max(), rel=1e-12)
    for shift in (1.0, 0.9):
        coef = shift * plain.alpha(0.3 * plain.all_linear() / lam) / lam
        x = kernel.cone.expansion(coef)
        z = features(kernel, x)
        for alpha in (None, rng.uniform(size=40)):
            e, k = plain.evaluate(z, lam, alpha), kernel.evaluate(x, lam, alpha)
            for name in ("primal", "dual", "gap", "loss", "distance"):
                assert getattr(k, name) == pytest.approx(getattr(e, name), rel=1e-9), name
            paths = (
                PathReference(x0=z, lam0=0.9 * lam, eps=0.1),
                PathReference(x0=x, lam0=0.9 * lam, eps=0.1),
            )
            for name, family in SPHERES.items():
                ball, other = (
                    family.build(BallReference(*args))
                    for args in ((plain, e, paths[0]), (kernel, k, paths[1]))
                )
                assert other.radius == pytest.approx(ball.radius, rel=1e-7), name
                assert np.allclose(
                    features(kernel, other.center), ball.center, rtol=1e-9, atol=1e-9
                )
                for rule in RULES.values():
                    one, two = rule(plain, ball), rule(kernel, other)
                    assert np.array_equal(one.in_L, two.in_L) and np.array_equal(one.in_R, two.in_R)
                    n_found += one.n_L + one.n_R
        assert np.allclose(kernel.alpha(x), plain.alpha(z), atol=1e-9) and kernel.gap(x, lam) >= 0.0
        for ranges in ("duality_gap", "midpoint_gap", "gradient"):
            one, two = (
                getattr(ss.ranges, ranges)(prob, at, lam, 1e-4)
                for prob, at in ((plain, z), (kernel, x))
            )
            for ends in zip(vars(one).values(), vars(two).values(), strict=True):
                assert np.allclose(*ends, rtol=1e-6, equal_nan=True)
    assert n_found > 0 or not loss.has_linear_region


@pytest.mark.parametrize("loss", LOSSES)
def test_other_regions_and_reductions_agree(loss):
    of, plain, kernel, lam = pair(True, True, loss)
    best = ss.solve(kernel, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB"))
    z, n_found = features(kernel, best.x), 0
    eps = reference_accuracy(kernel.evaluate(best.x, lam)) if loss.smoothing else best.eps
    balls = [
        [ss.spheres.relaxed_path_bound(x, eps, lam, f * lam) for f in (0.8, 1.0, 1.1)]
        for x in (z, best.x)
    ]
    others = [
        [ss.spheres.midpoint_gap_bound(p, 0.9 * x, f * lam) for f in (0.8, 1.0, 1.1)]
        for p, x in ((plain, z), (kernel, best.x))
    ]
    normals = of.X[3], kernel.cone.expansion(of.y * (np.arange(40) == 3))
    for k in range(3):
        for rule in (
            lambda prob, side, k=k: ss.rules.intersection(prob, balls[side][k], others[side][k]),
            lambda prob, side, k=k: ss.rules.halfspace(
                prob, balls[side][k], normals[side], float(of.X[3] @ z) - 1e-3
            ),
        ):
            one, two = rule(plain, 0), rule(kernel, 1)
            assert np.array_equal(one.in_L, two.in_L) and np.array_equal(one.in_R, two.in_R)
            n_found += one.n_L + one.n_R
    assert n_found > 0
    one, two = (
        ss.ranges.relaxed_path(plain, z, eps, lam),
        ss.ranges.relaxed_path(kernel, best.x, eps, lam),
    )
    for ends in zip(vars(one).values(), vars(two).values(), strict=True):
        assert np.allclose(*ends, rtol=1e-6, equal_nan=True)
    in_L = np.arange(40) % 3 == 0 if loss.has_linear_region else np.zeros(40, dtype=bool)
    for _ in range(2):  # a part of a part
        in_R = ~in_L & (np.arange(len(in_L)) % 4 == 1)
        plain, kernel = plain.reduce(in_L, in_R), kernel.reduce(in_L, in_R)
        for t in (0.9, 1.1):  # not at the solution, where margins of the hinge are thresholds
            assert kernel.primal(t * best.x, lam) == pytest.approx(
                plain.primal(t * z, lam), rel=1e-11
            )
            assert kernel.gap(t * best.x, lam) == pytest.approx(plain.gap(t * z, lam), rel=1e-9)
        in_L = in_L[: len(kernel)]
    assert "in the span of 40" in repr(kernel.terms) and kernel.terms.cone is best.x.space


@pytest.mark.parametrize("loss", LOSSES)
def test_solutions_and_paths_agree(loss):
    of, plain, kernel, lam = pair(True, True, loss)
    one, two = (
        ss.solve(problem, lam, tol=0.0, rtol=1e-9, screening=("RRPB", "PGB"))
        for problem in (plain, kernel)
    )
    assert two.converged and np.linalg.norm(features(kernel, two.x) - one.x) <= one.eps + two.eps
    assert two.primal == pytest.approx(one.primal, rel=1e-8)
    for ranges in (False, True):
        paths = [
            ss.path(
                problem,
                [2.0 * lam, lam, 0.8 * lam],
                tol=0.0,
                rtol=1e-7,
                ranges=ranges,
                screening=("RRPB", "PGB"),
            )
            for problem in (plain, kernel)
        ]
        for a, b in zip(*paths, strict=True):
            assert b.converged and np.linalg.norm(features(kernel, b.x) - a.x) <= a.eps + b.eps


def test_the_next_lam_costs_no_product(monkeypatch):
    """Along a path the sums of the last solution give balls, and decisions, for any lam: no
    column of K is looked at.
    """
    of, plain, kernel, lam = pair()
    best = ss.solve(kernel, lam, tol=0.0, rtol=1e-8, screening=("RRPB", "PGB"))
    sums = kernel.evaluate(best.x, lam).sums
    monkeypatch.setattr(type(kernel.cone), "product", None)
    for step in (0.9, 0.8, 1.2):
        e = kernel.assemble(sums, best.x, step * lam)
        near = PathReference(x0=best.x, lam0=lam, eps=best.eps)
        for name in ("GB", "PGB", "DGB", "MGB", "RRPB"):
            assert (
                ss.rules.sphere(kernel, SPHERES[name].build(BallReference(kernel, e, near))).rate
                >= 0.0
            )
        assert size(e.H) > 0.0


def test_parts_share_the_matrix():
    K, y = np.eye(6), np.array([1, -1, 1, -1, 1, -1])
    terms = ss.KernelSamples(K, y, weights=np.arange(1.0, 7.0))
    assert np.shares_memory(terms.cone.K, K)
    K = np.asfortranarray(K)
    assert np.shares_memory(ss.KernelSamples(K, y).cone.K, K)
    part = terms.with_threshold(np.arange(6.0)).select(y > 0)
    assert part.cone is terms.cone and len(part) == 3
    assert np.array_equal(part.weights, [1.0, 3.0, 5.0]) and np.array_equal(
        part.threshold, [0.0, 2.0, 4.0]
    )
    assert np.array_equal(part.adjoint(np.ones(3)).coef, [1.0, 0.0, 3.0, 0.0, 5.0, 0.0])
    assert np.array_equal(
        part.select(np.array([False, True, True])).margins(np.arange(6.0)), [2.0, 4.0]
    )


def test_given_and_computed_matrices_agree():
    terms, X, y = made("rbf")
    for K in (terms.cone.K, terms.cone.K.astype(np.float32), np.asfortranarray(terms.cone.K)):
        given = ss.KernelSamples(K, y)
        assert given.cone.relative_error == default_error(K)
        assert np.allclose(given.margins(np.ones(16)), terms.margins(np.ones(16)), atol=1e-5)
    assert ss.KernelSamples(K, y, relative_error=1e-3).cone.relative_error == 1e-3


def test_a_given_error_enters_every_bound():
    """A kernel matrix rounded to three digits: balls and decisions hold for the kernel it was
    rounded from.
    """
    terms, X, y = made("polynomial")
    rng = np.random.default_rng(5)
    noise = rng.uniform(-1.0, 1.0, (16, 16))
    K = terms.cone.K + 1e-6 * np.tril(noise) * np.outer(terms.norms, terms.norms)
    K = np.tril(K) + np.tril(K, -1).T
    rough = ss.KernelSamples(K, y, relative_error=1.01e-6)
    FEATURES[rough.cone] = FEATURES[terms.cone]
    loss, lam = ss.SmoothedHinge(0.05), scale_of(terms)
    best, other = (
        ss.solve(ss.Problem(t, loss), lam, tol=1e-4, screening=()) for t in (terms, rough)
    )
    assert other.converged and norm(minus(flat(best.x), flat(other.x))) <= best.eps + other.eps
    assert all(
        mpf(float(a)) >= norm(z) for a, z in zip(rough.norms, FEATURES[terms.cone], strict=True)
    )
    for value, z in zip(other.x.image, FEATURES[terms.cone], strict=True):
        assert abs(mpf(float(value)) - dot(z, flat(other.x))) <= norm(z) * mpf(other.x.error)


SQUARE = np.array([[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("K", "y", "options", "error", "message"),
    [
        (
            np.ones((2, 3)),
            [1, -1],
            {},
            ValueError,
            r"K must be a square matrix, got shape \(2, 3\)",
        ),
        (np.ones(2), [1, -1], {}, ValueError, r"K must be a square matrix, got shape \(2,\)"),
        (SQUARE * 1j, [1, -1], {}, TypeError, "K must hold real numbers"),
        (sparse.csr_array(SQUARE), [1, -1], {}, TypeError, "K must be a dense array"),
        (SQUARE, [1, 1], {}, ValueError, "y must hold at least two classes"),
        (SQUARE, [1, 2], {}, ValueError, r"y must hold -1 and \+1 only"),
        (SQUARE, [1, -1, 1], {}, ValueError, r"y must have shape \(2,\)"),
        (SQUARE, [1, -1], {"weights": [1.0, 0.0]}, ValueError, "weights must be positive"),
        (
            SQUARE,
            [1, -1],
            {"relative_error": 0.5},
            ValueError,
            "relative_error must be at most 0.1",
        ),
        (
            np.array([[2.0, np.nan], [1.0, 2.0]]),
            [1, -1],
            {},
            ValueError,
            r"K must be finite, got nan at index \(0, 1\)",
        ),
        (
            np.array([[2.0, 1.0], [1.1, 2.0]]),
            [1, -1],
            {},
            ValueError,
            "K must be symmetric, found 1.1.* and 1 ",
        ),
        (
            np.array([[-1.0, 0.0], [0.0, 1.0]]),
            [1, -1],
            {},
            ValueError,
            "K must have diagonal entries .*, found -1 at index 0",
        ),
        (
            np.array([[np.nan, 0.0], [0.0, 1.0]]),
            [1, -1],
            {},
            ValueError,
            "K must have diagonal entries .*, found nan at index 0",
        ),
        (
            np.array([[1e-300, 0.0], [0.0, 1.0]]),
            [1, -1],
            {},
            ValueError,
            "K must have diagonal entries .*, found 1e-300 at index 0",
        ),
        (
            np.array([[1.0, 2.0], [2.0, 1.0]]),
            [1, -1],
            {},
            ValueError,
            "K must be positive semidefinite, found 2 at index",
        ),
        (
            1.5 * np.eye(3) - 0.6,
            [1, -1, 1],
            {},
            ValueError,
            "K must be positive semidefinite, found an eigenvalue of at most -0.333",
        ),
    ],
)
def test_bad_matrices_are_named(K, y, options, error, message):
    with pytest.raises(error, match=message):
        ss.KernelSamples(K, y, **options)


def test_a_large_indefinite_matrix_is_found():
    y = np.where(np.arange(600) % 2, 1, -1)
    X = np.random.default_rng(0).standard_normal((600, 3))
    K = np.tanh(X @ X.T)  # a popular kernel that is none
    assert np.linalg.eigvalsh(K).min() < -1.0
    K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))
    with pytest.raises(ValueError, match="K must be positive semidefinite"):
        ss.KernelSamples(np.clip(K, -1.0, 1.0), y)
    assert len(ss.KernelSamples(np.exp(-((X[:, :1] - X[:, 0]) ** 2)), y)) == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be one of linear, polynomial, rbf, got 'sigmoid'"),
        ({"gamma": 0.0}, "gamma must be greater than 0"),
        ({"degree": 1.5}, "degree must be an integer, got 1.5"),
        ({"degree": 0}, "degree must be at least 1"),
        ({"coef0": -1.0}, "coef0 must be at least 0"),
        (
            {"max_gigabytes": 1e-6},
            "X holds 16 points: a cache for rows .* needs 1.15e-06 GB at least, 1e-06 GB "
            "are allowed",
        ),
        ({"gamma": 1e30}, "X must have smaller entries for this kernel"),
    ],
)
def test_bad_options_are_named(options, message):
    X, y = points("normal", 16, 2)
    with pytest.raises(ValueError, match=message):
        ss.KernelSamples.from_points(X, 2 * y - 1, **options)


def test_margins_with_a_given_error():
    """Margins by a kernel matrix in single precision, or rounded to three digits, are off by no
    more than they say.
    """
    terms, X, y = made("polynomial")
    single = terms.cone.K.astype(np.float32)
    digits = np.array([[float(f"{v:.3g}") for v in row] for row in terms.cone.K])
    digits[np.diag_indices(16)] = np.diag(terms.cone.K)
    share = float(np.max(np.abs(digits - terms.cone.K) / np.outer(terms.norms, terms.norms)))
    for K, options in ((single, {}), (digits, {"relative_error": 1.01 * share})):
        rough, beyond = ss.KernelSamples(K, y, **options), 0
        FEATURES[rough.cone] = FEATURES[terms.cone]
        several = [np.ones(16), np.random.default_rng(8).uniform(size=16)]
        several.append(np.where(np.arange(16) == 3, 1e3, several[1]))  # made from the one before
        known = ()
        for alpha in several:
            w = rough.sum_near(alpha, known)[0]
            known = (w,)
            values, errors = rough.inner_products(w).chunk(0, 16)
            for value, error, z in zip(values, errors, FEATURES[terms.cone], strict=True):
                off = abs(mpf(float(value)) - dot(z, flat(w)))
                assert off <= mpf(float(error))
                beyond += off > mpf(10) ** -12 * abs(mpf(float(value)))
        assert beyond > 16


def test_lanczos_finds_the_smallest():
    """In ten dimensions a dozen steps are all there are; in more the value found is one the
    matrix has, or above its smallest.
    """
    rng = np.random.default_rng(9)
    for n in (4, 10, 60):
        A = rng.standard_normal((n, n))
        A = A + A.T
        lowest, found = np.linalg.eigvalsh(A)[0], checked._lanczos(lambda v, A=A: A @ v, n)
        assert lowest - 1e-9 <= found <= 0.5 * lowest
        if n <= 10:
            assert found == pytest.approx(lowest, rel=1e-6)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 17.0)])
def test_a_sweep_returns_the_sum_of_its_dual_point(weights):
    """Of all samples and of a part, whose fixed rest stays in the sum."""
    terms, X, y = made("rbf", weights=weights)
    lam, loss, keep = scale_of(terms), ss.SmoothedHinge(0.1), np.arange(16) % 4 != 0
    for part, rest in ((terms, np.zeros(16)), (terms.select(keep), np.where(keep, 0.0, 1.0))):
        alpha, start = np.zeros(len(part)), terms.adjoint(rest)
        H = part.sweep(alpha, start, lam, loss, 0.0, 3, 0)[0]
        whole = rest.copy()
        whole[keep if len(part) < 16 else slice(None)] = alpha
        assert alpha.any() and np.allclose(
            H.coef, whole * (1.0 if weights is None else weights), rtol=1e-14
        )
        before, after = (ss.Problem(part, loss).dual(a, lam) for a in (np.zeros(len(part)), alpha))
        assert after > before or len(part) < 16


@pytest.mark.parametrize("max_seconds", [None, 60.0])
@pytest.mark.parametrize("labels", [0, 3])
def test_kernel_values_beyond_all_accuracy_end_a_fit(labels, max_seconds):
    """Of about 1e33: slopes of the squared hinge cannot be known, and steps of the intercept, which
    are as many times as large as they are wrong, would grow without bound.
    """
    X = 1e5 * np.random.default_rng(3).standard_normal((20, 4))
    y = np.sign(np.random.default_rng(labels).standard_normal(20))
    model = ss.SafeSVC(
        C=1.0,
        kernel="poly",
        gamma=1.0,
        loss="squared_hinge",
        max_seconds=max_seconds,
        keep_problem=True,
    )
    with pytest.warns(ss.ConvergenceWarning, match="stalled"):
        model.fit(X, y)
    assert 0.0 < model.solutions_[0].gap < 25.0
    assert np.isfinite(model.dual_coef_).all() and np.isfinite(model.intercept_).all()
