"""The system of an interior-point step against a dense one: what is left out of its factorization,
and how many products that takes.
"""

import numpy as np
import pytest

from safescreen.cones import NonNegativeCone
from safescreen.solvers import _heavy_terms
from safescreen.solvers._heavy_terms import FEWEST, LESS, RAISES, HeavyTerms, _cholesky
from safescreen.solvers._scalings import scaling_of

LAM = 0.3


class Dense:
    """Terms that are the rows of a matrix; notes which weights are written out, and counts
    products.
    """

    work = 1e3

    def __init__(self, A):
        self.A = A
        self.width = A.shape[1]
        self.written = []
        self.n_products = 0

    def squares(self, root):
        return ((self.A * root) ** 2).sum(axis=1)

    def products(self, x):
        self.n_products += 1
        return self.A @ x

    def sums(self, values):
        return values @ self.A

    def rows(self, weights, root):
        self.written.append(weights)
        kept = np.flatnonzero(weights)
        B = np.sqrt(weights[kept])[:, None] * self.A[kept] * root
        return len(kept), (B[k : k + 3].copy() for k in range(0, len(kept), 3))


class Scene:
    def __init__(self, n, width, budget, sizes=None, seed=0, kind=HeavyTerms):
        rng = np.random.default_rng(seed)
        self.system = Dense(rng.standard_normal((n, width)))
        cone = NonNegativeCone(width)
        inside = [rng.uniform(0.5, 2.0, width) for _ in range(2)]
        self.scaling = scaling_of(cone, *inside)
        squares = self.system.squares(self.scaling.root)
        self.sizes = np.ones(n) if sizes is None else np.array(sizes, dtype=float)
        self.scales = self.sizes / squares
        self.heavy = kind(self.system, self.scaling, LAM, self.scales, budget)
        self.b = rng.standard_normal(width)
        B = self.system.A * self.scaling.root
        self.M = np.diag(self.scaling.ridge(LAM)) + (B.T * self.scales) @ B

    def check(self, precision):
        """Solve to a precision; return how many products that took."""
        self.system.n_products = 0
        change = self.heavy.solve(self.b, precision)
        y = change.x / self.scaling.root
        assert np.linalg.norm(self.M @ y - self.b) <= precision * (1.0 + 1e-6) + 1e-12
        np.testing.assert_allclose(change.margins, self.system.A @ change.x, atol=1e-9)
        sums = (self.scales * change.margins) @ self.system.A
        np.testing.assert_allclose(change.sums, sums, atol=1e-9)
        return self.system.n_products


SHAPES = [(4, 9), (9, 9), (40, 9), (1, 9), (7, 1)]


@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_a_factorization_of_all_terms_solves_at_once(n, width):
    """In both forms, whatever comes in which block."""
    scene = Scene(n, width, 0.0)
    np.testing.assert_array_equal(scene.system.written[0], scene.scales)
    assert scene.check(1e-9) == 1 and scene.heavy.products == 0


@pytest.mark.parametrize(("n", "width"), SHAPES)
@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_each_term_that_is_left_out_takes_a_product(n, width, left_out):
    """Conjugate gradients end after as many as the matrices differ in rank, and one more."""
    left_out = min(left_out, n)
    sizes = np.where(np.arange(n) < left_out, 2.5, 50.0)
    scene = Scene(n, width, 2.6 * left_out, sizes)
    expected = np.where(np.arange(n) < left_out, 0.0, scene.scales)
    np.testing.assert_array_equal(scene.system.written[0], expected)
    n_products = scene.check(1e-9)
    assert n_products == min(left_out + 1, width) == scene.heavy.products + 1
    assert len(scene.system.written) == 1


def test_products_of_several_solves_add_up():
    scene = Scene(40, 9, 7.6, np.where(np.arange(40) < 3, 2.5, 50.0))
    assert [scene.check(1e-9) for _ in range(2)] == [4, 4] and scene.heavy.products == 6


def test_no_more_products_than_the_precision_asks_for():
    scene = Scene(40, 9, 7.6, np.where(np.arange(40) < 3, 2.5, 50.0))
    rough = np.linalg.norm(scene.b)
    counts = [scene.check(rough * 10.0**-k) for k in range(10)]
    assert counts == sorted(counts) and counts[0] < 3 and counts[-1] == 4


@pytest.mark.parametrize(
    ("budget", "left_out"), [(0.0, 0), (0.5, 0), (1.0, 1), (3.0, 2), (6.9, 2), (7.0, 3), (99.0, 4)]
)
def test_what_is_left_out_sums_to_the_budget_at_most(budget, left_out):
    """Of sizes that are powers of two, too."""
    scene = Scene(4, 9, budget, [1.0, 2.0, 4.0, 8.0])
    # the scales are rounded; these sizes are exact
    exact = scene.heavy
    exact._sizes = scene.sizes
    exact._factorize(budget)
    weights = scene.system.written[-1]
    np.testing.assert_array_equal(weights == 0.0, np.arange(4) < left_out)
    assert exact._complete == (left_out == 0)
    scene.check(1e-9)


@pytest.mark.parametrize(("n", "small"), [(1, True), (8, True), (10, False), (40, False)])
def test_the_smaller_form_is_factorized(n, small):
    scene = Scene(n, 9, 0.0)
    size = n if small else 9
    assert scene.heavy._small == small and scene.heavy._factor.shape == (size, size)


# ------------------------------------------------------------------------------ counts of the work


class Counted(HeavyTerms):
    """Of which a factorization costs as much as so many products, and is of no use."""

    ratio = 0.0

    def _precondition(self, r):
        return r

    def _operations(self, n, width):
        return self.ratio * (self._system.work + 500.0), 500.0


class Dear(Counted):
    ratio = 200.0  # 0.3 times that are 60 products


@pytest.mark.parametrize(("kind", "most"), [(Counted, FEWEST), (Dear, 60)])
def test_a_precision_out_of_reach_costs_two_factorizations_at_most(kind, most):
    """With a smaller budget, then with all terms; each after as many products as are worth it."""
    n = 400
    sizes = 10.0 ** np.linspace(-3, 4, n)
    sizes[0] = 0.0  # a term that counts for nothing is in no matrix
    scene = Scene(n, 300, 1e9, sizes, kind=kind)
    heavy = scene.heavy
    scene.heavy._budget = 3e3
    heavy._factorize(3e3)
    scene.system.written.clear()
    scene.system.n_products = 0
    heavy.solve(scene.b, 1e-12)
    assert heavy.refactored == 2
    one, two = scene.system.written
    assert 3e1 < scene.sizes[one == 0.0].sum() <= LESS * 3e3 and np.all(two[1:] > 0.0)
    assert scene.system.n_products == 3 * (most + 1) == heavy.products


def test_a_complete_factorization_is_not_repeated():
    scene = Scene(400, 300, 0.0, 10.0 ** np.linspace(-3, 4, 400), kind=Counted)
    scene.heavy.solve(scene.b, 1e-12)
    assert scene.heavy.refactored == 0 and len(scene.system.written) == 1
    assert scene.system.n_products == FEWEST + 1


class Useful(Counted):
    """Of which a factorization is of use."""

    def _precondition(self, r):
        return HeavyTerms._precondition(self, r)


def test_a_smaller_budget_is_enough():
    """Where the products that are allowed do not do, those with fewer terms left out do."""
    sizes = np.repeat([1.0, 1.5e4, 1e6], [3, 250, 147])
    scene = Scene(400, 300, 5e6, sizes, kind=Useful)
    assert np.count_nonzero(scene.system.written[0]) == 147
    scene.check(1e-6)
    assert np.count_nonzero(scene.system.written[1]) == 397
    assert scene.heavy.refactored == 1
    assert scene.heavy.next_budget == pytest.approx(LESS * 5e6)


@pytest.mark.parametrize(
    ("assembly", "product", "products", "factor"),
    [
        (1e6, 1e3, 1000, 1.0 / 1.02),
        (1e6, 1e3, 500, 1.0 / 0.52),
        (1e6, 1e3, 5000, 0.5),
        (1e6, 1e3, 30, 20.0),
        (1e9, 1e3, 0, 30.0),
        (1.0, 1e3, 0, 1.0 / 1.02),
    ],
)
def test_the_next_budget_balances_products_and_factorization(assembly, product, products, factor):
    """Between half and thirty times this one."""
    heavy = Scene(4, 9, 5.0).heavy
    heavy._assembly, heavy._product, heavy.products = assembly, product, products
    assert heavy.next_budget == pytest.approx(5.0 * factor, rel=3e-5)
    heavy.refactored = 1
    assert heavy.next_budget == 5.0


@pytest.mark.parametrize("small", [False, True])
def test_counted_operations_are_those_of_the_matrices(small):
    """``min(n, width)^2`` times the other for the product, a third of the cube for the factor, and
    a pass over the rows: a multiplication takes a small part of a nanosecond.
    """
    heavy = Scene(4, 9, 0.0).heavy
    heavy._small = small

    def operations(few, many):
        return heavy._operations(few, many) if small else heavy._operations(many, few)

    n = 10**6
    assembly, solve = operations(n, n)
    factor, solve_alone = operations(n, 0)
    assert 0.005 < factor / (n**3 / 3.0) < 0.1
    assert assembly == pytest.approx(4.0 * factor, rel=1e-2)
    assert operations(2 * n, 2 * n)[0] == pytest.approx(8.0 * assembly, rel=1e-2)
    # of a small one a pass over the rows is what counts
    assert 1.0 < operations(2, n)[0] / (2 * n) < 6.0
    # a solve: triangles of the factor, and for rows a product with them and back
    assert 0.2 < solve_alone / n**2 < 2.0
    assert (solve - solve_alone) / n**2 == pytest.approx(0.8 if small else 0.0, abs=0.5 * small)
    for few, many in ((n, 0), (n, n), (100, n)):
        assert operations(2 * few, 2 * many)[1] == pytest.approx(4.0 * operations(few, many)[1])


def test_a_product_costs_what_the_terms_and_the_factor_do():
    scene = Scene(4, 9, 0.0)
    heavy = scene.heavy
    assembly, solve = heavy._operations(4, 9)
    assert heavy._assembly == assembly and heavy._product == 1e3 + solve


# ---------------------------------------------------------------------------- numbers at their end


def test_numbers_that_overflow_end_the_solve():
    scene = Scene(4, 9, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        change = scene.heavy.solve(1e200 * scene.b, 1e-9)
        np.testing.assert_array_equal(change.x, np.zeros(9))
        with pytest.raises(np.linalg.LinAlgError, match="underflow or overflow"):
            scene.heavy.solve(np.full(9, np.nan), 1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="underflow or overflow"):
        scene.heavy.solve(np.zeros(9), 1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_matrix_is_raised_as_little_as_makes_it_definite(size):
    assert _cholesky(np.empty((0, 0))).shape == (0, 0) and RAISES[0] == 0.0
    A = size * np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
    factor = np.tril(_cholesky(np.asfortranarray(A)))
    np.testing.assert_allclose(factor @ factor.T, A, atol=1e-15 * size)
    for lowest, shift in ((-2e-15, 1e-14), (-1e-12, 1e-11), (-1e-9, 1e-8)):
        A = np.diag(np.array([1.0, lowest, 0.5]) * size)
        factor = np.tril(_cholesky(np.asfortranarray(A)))
        raised = np.diag(factor @ factor.T - A) / size
        np.testing.assert_allclose(raised, shift, rtol=1e-3, atol=3e-16)
    with pytest.raises(np.linalg.LinAlgError, match="not definite"):
        _cholesky(np.asfortranarray(np.diag([1.0, -1e-3]) * size))


def test_half_of_the_matrix_is_read():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((5, 5))
    A = A @ A.T + np.eye(5)
    factor = np.tril(_cholesky(np.asfortranarray(np.tril(A))))
    np.testing.assert_allclose(factor @ factor.T, A, atol=1e-12)
    assert _heavy_terms.LESS < 0.1 and 10 <= FEWEST <= 100


def test_a_direction_that_lowers_nothing_ends_the_solve():
    """As where rounding takes away all digits of what the factor makes of a residual."""
    scene = Scene(6, 3, 0.0)
    scene.heavy._precondition = lambda r: np.array([-r[1], r[0], 0.0])
    with pytest.raises(np.linalg.LinAlgError, match="squares underflow or overflow"):
        scene.heavy.solve(np.array([1.0, 2.0, 0.0]), 1e-9)
