"""Expansions in a feature space: every number that travels with them is right, or bounds what it
says, against explicit features.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

import safescreen as ss
from naive.exact import exact_samples
from naive.extremes import dot, exact, norm
from naive.features import FEATURES, flat
from safescreen.kernels import Expansion, KernelSpace
from safescreen.kernels.space import DRIFT, WORN

N = 24


def space(seed=0, n=N, d=3, integers=False, scale=1.0, repeat=False):
    """Return the space of a linear kernel, its exact elements registered."""
    rng = np.random.default_rng(seed)
    X = (
        rng.integers(-4, 5, (n, d)).astype(float)
        if integers
        else rng.standard_normal((n, d)) * scale
    )
    if repeat:
        X[n // 2 :] = X[: n - n // 2]
    y = np.where(np.arange(n) % 2, 1, -1)
    made = ss.KernelSamples.from_points(X, y, "linear").cone
    FEATURES[made] = exact_samples(X, y)
    return made


def assert_sound(x):
    """Check scale, image, error and the bounds of the norm of an expansion."""
    elements, true = FEATURES[x.space], flat(x)
    norms = [norm(z) for z in elements]
    slack = 1 + mpf(10) ** -40
    assert all(
        mpf(float(bound)) * slack >= n for bound, n in zip(x.space.norms, norms, strict=True)
    )
    assert mpf(x.scale) * slack >= mpmath.fsum(
        n * abs(c) for n, c in zip(norms, exact(x.coef), strict=True)
    )
    for value, z, n in zip(x.image, elements, norms, strict=True):
        assert abs(mpf(float(value)) - dot(z, true)) <= n * mpf(x.error) + mpf(10) ** -290
    length = norm(true)
    assert mpf(x.norm_lower()) <= length * slack and length <= mpf(x.norm_upper()) * slack
    assert x.magnitude() == x.scale and x.norm_upper() <= x.scale


def test_integers_are_exact():
    made, rng = space(integers=True), np.random.default_rng(1)
    Q = np.outer(made.signs, made.signs) * made.K
    for _ in range(5):
        a, b = rng.integers(-3, 4, (2, N)).astype(float)
        x, y = made.expansion(a), made.expansion(b)
        for got, coef in (
            (x + y, a + b),
            (x - y, a - b),
            (-x, -a),
            (4.0 * x, 4.0 * a),
            (x * 0.5, 0.5 * a),
            (x / 2, a / 2),
        ):
            assert np.array_equal(got.coef, coef) and np.array_equal(got.image, Q @ coef)
        assert made.inner(x, y) == a @ Q @ b and made.norm(x) == pytest.approx(
            np.sqrt(a @ Q @ a), rel=1e-15
        )


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize("repeat", [False, True])
def test_arithmetic_keeps_its_bounds(scale, repeat):
    made, rng = space(scale=scale, repeat=repeat), np.random.default_rng(2)
    x, y = (
        made.expansion(rng.standard_normal(N)),
        made.expansion(rng.standard_normal(N) * (rng.uniform(size=N) < 0.2)),
    )
    fresh = x.error / x.scale
    for step in range(40):
        t = float(rng.standard_normal())
        x = [x + t * y, x - y * t, x / (1.5 + abs(t)), made.split(-x)[0], 0.5 * (x + y)][step % 5]
        if step % 8 == 0:
            assert_sound(x)
            bound = made.inner_error(x, y)
            assert abs(mpf(made.inner(x, y)) - dot(flat(x), flat(y))) <= mpf(bound)
            assert bound <= 1e-11 * x.scale * y.scale
    for exponent in (-300, -30, 3, 250):
        assert_sound(made.ldexp(x, exponent) if scale == 1.0 else x)
    assert fresh < 1e-13 and x.error < 1e-10 * max(x.scale, y.scale)


def test_declared_errors_travel():
    """An image that is known to an error alone: whatever is made of it is known no better."""
    made, rng = space(), np.random.default_rng(11)
    a, b = rng.standard_normal((2, N))
    fresh, other = made.expansion(a), made.expansion(b)
    x = Expansion(made, fresh.coef, fresh.image, 1e-3, fresh.scale)
    y = Expansion(made, other.coef, other.image, 2e-3, other.scale)
    assert min((x + y).error, (x - y).error) >= 3e-3 and (-x).error == 1e-3
    assert (5.0 * x).error >= 5e-3 and (x / 0.2).error >= 5e-3 and (0.1 * x).error >= 1e-4
    assert made.inner_error(x, y) >= min(x.scale * y.error, y.scale * x.error)
    assert made.ldexp(x, 3).error >= 8e-3
    # one that is updated keeps the error of the one it comes from
    rough = Expansion(made, fresh.coef, fresh.image, 4.0 * fresh.error, fresh.scale)
    changed = a.copy()
    changed[3] += 1.0
    assert rough.error < made.updated(rough, changed).error <= DRIFT * fresh.error * 1.5
    # a kernel matrix that is known to u
    u = 1e-6
    doubtful = KernelSpace(made.K, made.signs, u)
    z = doubtful.expansion(a)
    assert z.error >= u * z.scale and np.all(doubtful.norms**2 * (1.0 - u) >= np.diagonal(made.K))


def test_a_small_difference_of_large_elements_has_a_small_norm():
    made, rng = space(), np.random.default_rng(3)
    x = made.expansion(1e3 * rng.standard_normal(N))
    step = made.expansion(1e-9 * rng.standard_normal(N))
    away = (x + step) - x
    assert_sound(away)
    assert away.scale < 1e-6 and away.norm_upper() < 1e-6
    same = x - x
    assert same.norm_upper() == same.scale == 0.0


def test_what_rounding_leaves_of_larger_elements():
    """The coefficients all but cancel, down to subnormal numbers, while the image keeps its
    rounding error.
    """
    made, rng = space(), np.random.default_rng(10)
    x, tiny = (
        made.expansion(rng.standard_normal(N)),
        made.expansion(np.where(np.arange(N) == 3, 1.0, 0.0)),
    )
    for size in (1e-318, 1e-300, 1e-200, 1e-100, 1e-40):
        rest = (x - x) + size * tiny
        assert (
            0.0 <= rest.norm_lower() <= float(norm(flat(rest))) <= rest.norm_upper() <= rest.scale
        )
        assert (
            made.largest(rest) == 0.0
            or abs(made.ldexp(rest, -int(np.frexp(rest.scale)[1])).scale - 0.75) <= 0.25
        )
        problem = ss.Problem(ss.KernelSamples(made.K, made.signs), ss.SmoothedHinge(0.05))
        ball = ss.Sphere(problem.cone.expansion(x.coef), 0.1)
        normal = problem.cone.expansion(x.coef)
        normal = (normal - normal) + size * problem.cone.expansion(tiny.coef)
        alone, both = ss.rules.sphere(problem, ball), ss.rules.halfspace(problem, ball, normal)
        assert (alone.in_L <= both.in_L).all() and (alone.in_R <= both.in_R).all()
        evaluation = problem.evaluate(normal, 1.0)
        assert evaluation.gap > 0.0 and len(ss.ranges.midpoint_gap(problem, normal, 1.0)) == N


def test_elements_that_vanish_have_a_norm_near_zero():
    """Equal samples with opposite coefficients: the coefficients are far from 0, the element is
    0.
    """
    made = space(repeat=True)  # half the samples twice, with labels that agree
    coef = np.zeros(N)
    coef[[0, N // 2]] = 1.0, -1.0
    x = made.expansion(coef)
    assert norm(flat(x)) == 0 and 0.0 < x.norm_upper() < 1e-6 and x.norm_lower() == 0.0
    assert_sound(x)


def test_numbers_of_numpy_leave_the_arithmetic_to_the_expansion():
    made = space()
    x = made.expansion(np.ones(N))
    for number in (np.float64(2.0), np.float32(2.0), np.int64(2), 2):
        for got in (number * x, x * number, x / (1.0 / number)):
            assert isinstance(got, Expansion) and np.array_equal(got.coef, 2.0 * x.coef)
    for wrong in (
        lambda: x + 1.0,
        lambda: np.ones(N) + x,
        lambda: np.ones(N) * x,
        lambda: x * x,
        lambda: x / "2",
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match="one and the same space"):
        x + space(1).expansion(np.ones(N))


def test_it_looks_like_its_coefficients():
    made = space()
    x = made.expansion(np.arange(N))
    assert (
        np.array_equal(np.asarray(x), np.arange(N))
        and len(x) == x.size == N
        and x.shape == made.shape == (N,)
    )
    assert repr(x) == "<expansion in 23 of 24 samples>" and repr(made) == "KernelSpace(24 samples)"
    assert ss.Sphere(x, 0.0).contains(x) and not ss.Sphere(x, 0.5).contains(2.0 * x)


def test_check():
    made = space()
    x = made.expansion(np.ones(N))
    assert made.check(x) is x
    assert np.array_equal(made.check(np.ones(N)).image, x.image)
    with pytest.raises(ValueError, match=r"center must have shape \(24,\), got \(3,\)"):
        made.check(np.ones(3), "center")
    with pytest.raises(ValueError, match="x must be finite, got nan"):
        made.check(np.full(N, np.nan))
    with pytest.raises(ValueError, match="x0 must be an element of this space"):
        made.check(space(1).expansion(np.ones(N)), "x0")
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="x must be finite, got coefficients of total size inf"),
    ):
        made.check(1e300 * (1e300 * x))
    with pytest.raises(
        TypeError, match="must be an array of shape .* got an Expansion of another space"
    ):
        ss.FreeSpace(N).check(x)


def test_projection_is_the_identity():
    made = space()
    x = made.expansion(np.ones(N))
    assert made.project(x) is x and made.split(x)[1].scale == 0.0
    assert (
        made.violation(x)
        == made.split_error(x)
        == made.feasible_error(x)
        == made.projection_error
        == 0.0
    )
    assert made.check_feasible(x) is x and made.norm_upper(made.zeros()) == 0.0


def test_what_steps_have_worn_out_is_computed_anew():
    made = space()
    x = made.expansion(np.random.default_rng(4).standard_normal(N))
    for _ in range(30):
        x = x + (x - 0.999 * x)
    fresh = made.expansion(x.coef)
    assert x.error > WORN * fresh.error
    assert made.project(x).error <= DRIFT * fresh.error
    assert_sound(made.project(x))


class Counting:
    """Counts the columns of K that products look at."""

    def __init__(self, monkeypatch):
        self.columns, original = 0, KernelSpace.product

        def product(made, used, values, at=None):
            self.columns += used.size
            return original(made, used, values, at)

        monkeypatch.setattr(KernelSpace, "product", product)


def test_updates_do_not_drift(monkeypatch):
    made, rng, count = space(n=60), np.random.default_rng(6), Counting(monkeypatch)
    alpha = rng.uniform(size=60)
    x = made.expansion(alpha)
    for step in range(300):
        alpha[rng.integers(60)] = rng.uniform() * 10.0 ** rng.integers(-8, 9)
        updated = made.updated(x, alpha)
        x = made.expansion(alpha) if updated is None else updated
        assert x.error <= (DRIFT + 1e-9) * made.product_error(60, x.scale)
        if step % 60 == 59:
            assert_sound(x)
    assert 300 < count.columns < 300 * 30, "some from scratch, most not"


def test_few_and_many_coefficients_agree():
    made, rng = space(n=101), np.random.default_rng(7)
    Q = np.outer(made.signs, made.signs) * made.K
    for n_used in (1, 2, 3, 4, 5, 7, 50, 51, 100, 101):
        coef = np.zeros(101)
        coef[rng.permutation(101)[:n_used]] = rng.standard_normal(n_used)
        assert np.allclose(made.expansion(coef).image, Q @ coef, rtol=1e-13, atol=1e-13)


def test_coefficients_are_copied():
    made, coef = space(), np.ones(N)
    x = made.expansion(coef)
    coef[0] = 5.0
    assert x.coef[0] == 1.0


def test_an_indefinite_matrix_gives_no_norm():
    made = KernelSpace(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, -1.0]), 0.0)
    assert np.isnan(made.expansion([1.0, 1.0]).norm_upper())


@given(
    st.lists(
        st.tuples(
            st.sampled_from("+-*/n"), st.integers(0, 3), st.sampled_from([1.0, -0.3, 1e-8, 1e5])
        ),
        max_size=12,
    )
)
@settings(max_examples=25)
def test_any_sequence_of_operations(steps):
    made = space(8, n=8)
    rng = np.random.default_rng(9)
    x, others = made.zeros(), [made.expansion(rng.standard_normal(8)) for _ in range(4)]
    for operation, k, t in steps:
        x = {"+": x + others[k], "-": x - t * others[k], "*": t * x, "/": x / t, "n": -x}[operation]
    assert_sound(x)


def test_inner_products_near_zero():
    """An element whose image is all error, with one that is not: the product is zero up to an
    error that is bounded.
    """
    made, rng, beyond = space(integers=True), np.random.default_rng(11), 0
    for size in (1e6, 1e9, 1e12):
        for _ in range(10):
            x, big = (
                made.expansion(rng.standard_normal(N)),
                made.expansion(size * rng.standard_normal(N)),
            )
            rest = (big + 1e-3 * x) - big
            for one, other in ((x, rest), (rest, rest), (rest, x)):
                off = abs(mpf(made.inner(one, other)) - dot(flat(one), flat(other)))
                assert off <= mpf(made.inner_error(one, other))
                beyond += off > mpf(10) ** -14 * abs(dot(flat(one), flat(other)))
    assert beyond >= 20


def test_the_better_image_is_taken():
    made, rng = space(), np.random.default_rng(12)
    x, big = made.expansion(rng.standard_normal(N)), made.expansion(1e9 * rng.standard_normal(N))
    worn = (big + x) - big
    for one, other in ((x, worn), (worn, x)):
        assert made.inner(one, other) == float(worn.coef @ x.image)
        assert made.inner_error(one, other) < 1e-10 < x.scale * worn.error


def test_sums_of_an_exact_matrix():
    """Of a matrix without errors the sums have some."""
    rng = np.random.default_rng(13)
    A = rng.integers(-4, 5, (N, 3)).astype(float)
    y = np.where(np.arange(N) % 2, 1, -1)
    made = ss.KernelSamples(A @ A.T, y, relative_error=0.0).cone
    FEATURES[made] = exact_samples(A, y)
    for _ in range(10):
        assert_sound(made.expansion(rng.standard_normal(N)))
    assert made.relative_error == 0.0


def test_the_scale_of_many_coefficients_is_a_bound():
    """The sum of many equal sizes is rounded down step by step; it still bounds the norm of the
    element.
    """
    n, beyond = 100_000, 0
    made = KernelSpace(SimpleNamespace(diagonal=lambda: np.ones(n)), np.ones(n), 0.0)
    for c in (0.1, 0.3, 0.7, 1.1, 1.3, 1.7):
        coef, true = np.full(n, -c), n * Fraction(c)
        assert Fraction(made.scale(coef)) >= true
        beyond += Fraction(float(made.norms @ np.abs(coef))) < true * (1 - Fraction(1, 10**14))
    assert beyond > 0
    assert made.scale(coef, np.arange(n)) == made.scale(coef) and made.scale(np.zeros(n)) == 0.0


@pytest.mark.parametrize(
    ("size", "coefficient"), [(1e-150, 1e-20), (1e100, 1e-318), (1e100, 1e-315)]
)
def test_what_underflows_is_in_the_error(size, coefficient):
    """Products of small entries, and coefficients below the smallest normal number, lose digits
    that no relative error covers.
    """
    beyond, rng = 0, np.random.default_rng(14)
    for _ in range(5):
        X = size * rng.standard_normal((N, 3))
        y = np.where(np.arange(N) % 2, 1, -1)
        made = KernelSpace(X @ X.T, 1.0 * y, 1e-13)
        FEATURES[made] = exact_samples(X, y)
        x = made.expansion(coefficient * rng.standard_normal(N))
        for got in (x, 0.3 * x, x / 3.0, made.ldexp(x, -3), x - 0.7 * x):
            true = flat(got)
            assert not got.coef.any() or got.scale > 0.0
            for value, z, bound in zip(got.image, FEATURES[made], made.norms, strict=True):
                off = abs(mpf(float(value)) - dot(z, true))
                assert off <= mpf(float(bound)) * mpf(got.error)
                beyond += off > mpf(float(bound)) * mpf(1e-12) * mpf(got.scale)
        assert made.norm_lower(x) <= float(norm(flat(x))) * (1.0 + 1e-15) and norm(flat(x)) <= mpf(
            x.norm_upper()
        )
    assert beyond > 5


@pytest.mark.parametrize("size", [1e-60, 1e-100, 1e-130, 1e-160, 1e-200, 1e-300])
def test_norms_of_small_elements_are_bounded(size):
    """Squares underflow long before elements do."""
    made, rng = space(), np.random.default_rng(15)
    x, other = made.expansion(rng.standard_normal(N)), made.expansion(rng.standard_normal(N))
    for small in (size * x, (x - x) + size * x, (other + size * x) - other):
        with mpmath.workdps(60):
            length = norm(flat(small))
            assert mpf(small.norm_lower()) <= length <= mpf(small.norm_upper()) <= mpf(small.scale)
    with np.errstate(over="ignore"):
        beyond = made.expansion(np.full(N, 1e300)) * 1e300
    assert beyond.norm_lower() == 0.0 and beyond.norm_upper() == np.inf


@pytest.mark.parametrize("size", [1.0, 2.0**300])
def test_rounded_sums_and_multiples_are_known_no_better(size):
    """Of images without an error: a sum or a multiple, whose coefficients are rounded, has one."""
    rng = np.random.default_rng(16)
    X, y = size * rng.integers(-4, 5, (N, 3)), np.where(np.arange(N) % 2, 1, -1)
    made = KernelSpace(X @ X.T, 1.0 * y, 1e-15)
    FEATURES[made] = exact_samples(X, y)
    Q = np.outer(made.signs, made.signs) * made.K

    def exact_one(coef):
        return Expansion(made, coef, Q @ coef, 0.0, made.scale(coef))

    x, y, tiny = (exact_one(unit * rng.integers(-9, 10, N)) for unit in (1.0, 2.0**-54, 2.0**-1070))
    for got in (x + y, y - x, 0.3 * x, x / 3.0, 0.3 * tiny, tiny / 3.0, made.ldexp(tiny, -5)):
        true = flat(got)
        off = [
            abs(mpf(float(v)) - dot(z, true))
            for v, z in zip(got.image, FEATURES[made], strict=True)
        ]
        assert max(off) > 0
        assert all(v <= norm(z) * mpf(got.error) for v, z in zip(off, FEATURES[made], strict=True))
        assert got.error <= 1e-15 * got.scale or np.abs(got.coef).max() < 1e-300


def test_what_is_read_of_an_element_changes_nothing_of_it():
    """A part of an image is known: products, norms and margins at all samples are read of it."""
    samples = ss.KernelSamples.from_points(np.arange(6.0)[:, None], [1, -1] * 3)
    space = samples.cone
    fresh = space.expansion(np.ones(6))
    image = np.r_[fresh.image[:2], np.full(4, np.nan)]
    x = replace(fresh, image=image, error=0.0)
    assert np.array_equal(x.known_at().image, fresh.image) and x.known_at().error == fresh.error
    assert np.array_equal(samples.margins(x), fresh.image)
    e = ss.Problem(samples, ss.Hinge()).evaluate(x, 1.0)
    assert np.array_equal(e.x.image, fresh.image), "what is computed on the way is returned"
    assert x.norm() == fresh.norm() and space.inner_error(x, x) >= fresh.scale * fresh.error
    assert np.array_equal(x.image, image, equal_nan=True) and x.error == 0.0
    assert x.known_at(np.arange(2)) is x


def test_what_is_known_keeps_its_error():
    """An image that is known roughly in one place is no better when the rest is computed."""
    space = ss.KernelSamples.from_points(np.arange(6.0)[:, None], [1, -1] * 3).cone
    fresh = space.expansion(np.ones(6))
    rough = replace(fresh, image=np.r_[fresh.image[0] + 0.1, np.full(5, np.nan)], error=1.0)
    assert rough.known_at().error == rough.known_at(np.arange(3)).error == 1.0
