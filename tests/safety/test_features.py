"""Features and terms at once, on problems whose optima are known in 50 digits: no feature leaves
that is not 0, no term that is misplaced.
"""

import warnings

import numpy as np
import pytest

import safescreen as ss
from naive.exact import Exact, exact_triplets, minus
from naive.exact_zeros import certified
from naive.extremes import exact, norm
from naive.harness import certify
from safescreen.rules.features import features

KINDS = ("normal", "ties", "zero columns", "scaled columns", "equal columns", "tiny", "huge")
BOTH = ("MGB", "features")


def points(kind, rng, n, d):
    X = rng.standard_normal((n, d))
    X[: n // 2, 0] += 2.0
    if kind == "ties":
        X = np.round(X)
    elif kind == "zero columns":
        X[:, rng.integers(1, d, 2)] = 0.0
    elif kind == "scaled columns":
        X *= 10.0 ** rng.integers(-5, 5, d)
    elif kind == "equal columns":
        X[:, d // 2 :] = X[:, : d - d // 2]
    elif kind == "tiny":
        X *= 1e-8
    elif kind == "huge":
        X *= 1e8
    return X, np.arange(n) >= n // 2


class Case:
    """A random problem with a penalty, its exact twin, and what is certain of its optimum."""

    def __init__(self, kind, seed):
        self.rng = rng = np.random.default_rng(seed)
        X, y = points(kind, rng, n=7, d=int(rng.integers(3, 7)))
        index = ss.Triplets.from_labels(X, y, k=2).index
        times = rng.integers(1, 4, len(index)) if seed % 2 else np.ones(len(index), dtype=int)
        weights = times.astype(float) if seed % 2 else None
        terms = ss.Triplets(X, index, diagonal=True, weights=weights)
        gamma = (0.05, 0.5, 1.5)[seed % 3]
        top = float(terms.total()[0].max())
        penalty = max(top, 0.0) * rng.choice([0.0, 0.1, 0.5, 0.9])
        linear = np.full(X.shape[1], -penalty)
        self.prob = ss.Problem(terms, ss.SmoothedHinge(gamma), linear=linear)
        start = self.prob.lam_max()
        start = start if 0.0 < start < np.inf else max(top, 1e-20)
        self.lam = float(start * 10.0 ** rng.uniform(-3.0, -0.3))
        elements = exact_triplets(X, np.repeat(index, times, axis=0), diagonal=True)
        self.exact = Exact(elements, "nonneg", gamma, linear=linear)
        self.last = np.cumsum(times) - 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.ConvergenceWarning)
            limits = {"tol": 0.0, "rtol": 1e-15, "max_iter": 3000, "method": "gradient"}
            self.solution = ss.solve(self.prob, self.lam, screening=(), **limits)
        self.x, self.may_be_zero = certified(self.exact, exact(self.solution.x), self.lam)
        known = certify(self.exact, self.x, self.lam)
        self.eps = known.eps
        self.may_L = known.may_L[self.last]
        self.may_R = known.may_R[self.last]

    def references(self):
        """Yield points of the cone, from far away to the solution itself."""
        x = self.solution.x
        yield np.zeros(x.size)
        yield x
        length = np.linalg.norm(x) or 1.0
        for part in (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0):
            step = self.rng.standard_normal(x.size) * np.maximum(x, 1e-3 * length)
            yield np.maximum(x + part * step, 0.0)

    def right(self, screened, zero):
        wrong = (screened.in_L & ~self.may_L) | (screened.in_R & ~self.may_R)
        return not wrong.any() and not (zero & ~self.may_be_zero).any()

    def is_sharp(self):
        """Whether all features but those at a tie are known."""
        return float(self.eps) < 1e-12 * (1e-300 + float(norm(self.x)))


def check(kind, seed, paths=False):
    """Check one case; return how many features were left out, and how many there were."""
    case = Case(kind, seed)
    prob, lam = case.prob, case.lam
    n_zero = n_features = 0
    for x in case.references():
        zero = features(prob, x, lam)
        found = ss.screen(prob, x, lam, screening=BOTH)
        alpha = case.rng.uniform(size=len(prob))
        rough = ss.screen(prob, x, lam, alpha, screening=BOTH)
        assert case.right(found, zero)
        assert case.right(found, found.zero_features)
        assert case.right(rough, rough.zero_features)
        n_zero += np.count_nonzero(found.zero_features)
        n_features += zero.size
    for screening in (BOTH, ("features",), "auto"):
        method = ("gradient", "interior", "auto", "semismooth")[seed % 4]
        options = {"screening": screening, "freq": 2, "rtol": 1e-8, "max_iter": 500}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ss.ConvergenceWarning)
            solution = ss.solve(prob, lam, method=method, **options)
        asked = solution.zero_features is not None
        zero = solution.zero_features if asked else np.zeros(prob.cone.d, dtype=bool)
        assert case.right(solution.screened, zero)
        assert float(norm(minus(exact(solution.x), case.x))) <= solution.eps + float(case.eps)
        point = exact(solution.x)
        assert case.exact.gap(point, lam, case.exact.alpha(point)) <= solution.gap
    return n_zero, n_features, case.is_sharp()


def check_all(kind, seeds):
    """Check cases: twelve in a row have all losses, methods and kinds of weights."""
    seen = np.sum([check(kind, seed) for seed in seeds], axis=0)
    assert seen[0] > 0.1 * seen[1]
    assert seen[2] >= 0.75 * len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_feature_and_no_term_is_misplaced(kind):
    check_all(kind, range(12))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_nor_in_many_cases(kind):
    check_all(kind, range(12, 120))
