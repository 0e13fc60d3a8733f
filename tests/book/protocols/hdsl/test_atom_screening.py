"""No atom and no feature of the optimal face is ever excluded, whatever the iterate; the optimal
faces are exact.
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse

from naive.faces import all_atoms, exact_scores, optimal_face
from naive.similarities import Dense
from safescreen.hdsl import FrankWolfe
from safescreen.hdsl.constraints import Constraints
from safescreen.losses import SmoothedHinge, SquaredHinge
from safescreen_book.protocols.hdsl.atom_screening import (
    Sizes,
    SlopeBall,
    atoms_excluded,
    features_excluded,
    slope_ball,
)


def problem(seed):
    """Integers, so that ties are many; every third has a feature twice, every fifth weights."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 6))
    X = rng.integers(-1 if seed % 2 else 0, 3, (7, d)).astype(float)
    if seed % 3 == 0:
        X[:, -1] = X[:, 0]
    triplets = np.array([rng.choice(7, 3, replace=False) for _ in range(int(rng.integers(2, 10)))])
    weights = rng.integers(1, 4, len(triplets)).astype(float) if seed % 5 == 0 else None
    settings = {
        "scale": float(rng.choice([0.05, 0.125, 0.5, 2.0])),
        "smoothing": float(rng.choice([1.0, 0.5, 2.0])),
        "loss": "squared_hinge" if seed % 4 == 3 else "smoothed_hinge",
    }
    return X, triplets, weights, settings


def screening(X, triplets, weights, settings, similarity):
    """Return constraints, sizes, the ball of a similarity, and all atoms, in places."""
    constraints = Constraints(X, triplets, weights, similarity.features)
    sizes = Sizes.of(constraints, triplets)
    atoms = similarity.atoms.copy()
    atoms[:, :2] = np.searchsorted(constraints.features, atoms[:, :2])
    kind = SquaredHinge if settings["loss"] == "squared_hinge" else SmoothedHinge
    loss = kind(settings["smoothing"])
    ball = slope_ball(constraints, sizes, loss, settings["scale"], atoms, similarity.weights)
    return constraints, sizes, ball, np.array(all_atoms(constraints.features.size))


def excluded(constraints, sizes, ball, atoms):
    """Return the excluded atoms and features, named as in X."""
    mask = atoms_excluded(constraints, ball, atoms)
    names = constraints.features
    gone = {(int(names[i]), int(names[j]), s) for i, j, s in atoms[mask].tolist()}
    return gone, names[features_excluded(constraints, sizes, ball)]


def iterates(X, triplets, weights, settings, n=40, **more):
    """Return the similarities of a training, the first and the last among them."""
    seen = []
    FrankWolfe(**settings, check_every=1, max_iter=n, **more).fit(
        X, triplets, weights=weights, callback=lambda now: seen.append(now.x)
    )
    return seen or [
        FrankWolfe(**settings, max_iter=1).fit(X, triplets, weights=weights).similarity_
    ]


SEEDS = range(60)


@lru_cache
def face_of(seed):
    """Return the optimal face of a problem, None where no exact optimum is found."""
    X, triplets, weights, settings = problem(seed)
    squared = settings["loss"] == "squared_hinge"
    return optimal_face(X, triplets, settings["scale"], settings["smoothing"], weights, squared)


@lru_cache
def last_of(seed):
    """Return the similarity that a long training of a problem ends with."""
    return iterates(*problem(seed), 300, forward="exact", variant="pairwise")[-1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.slow
def test_no_optimum_uses_what_is_excluded(seed):
    X, triplets, weights, settings = problem(seed)
    face = face_of(seed)
    if face is None:
        pytest.skip("no exact optimum of this one")
    slopes, optimal = face
    runs = iterates(X, triplets, weights, settings, forward="exact")
    runs += iterates(X, triplets, weights, settings, 10)
    runs.append(last_of(seed))
    for similarity in runs:
        constraints, sizes, ball, atoms = screening(X, triplets, weights, settings, similarity)
        gone, features = excluded(constraints, sizes, ball, atoms)
        assert not gone & optimal
        assert not {i for i, j, _ in optimal} & set(features.tolist())
        assert not {j for i, j, _ in optimal} & set(features.tolist())
        counts = np.ones(len(slopes)) if constraints.factors is None else constraints.factors
        truth = np.array([float(slopes[t]) for t in constraints.order])
        away = np.sqrt(counts @ (ball.slopes / counts - truth) ** 2)
        assert away <= ball.radius * (1.0 + 1e-12)


@pytest.mark.slow
def test_most_optimal_faces_are_known_and_much_is_excluded():
    known = gone = left = 0
    for seed in SEEDS:
        face = face_of(seed)
        known += face is not None
        posed = screening(*problem(seed), last_of(seed))
        atoms, _ = excluded(*posed)
        gone += len(atoms)
        if face is not None:
            left += len(posed[-1]) - len(face[1])
    assert known >= 45
    assert gone >= 0.8 * left


def on_the_surface(theta, scale=0.5, copies=1):
    """Return a problem whose slopes at the optimum lie on the surface of the ball.

    One triplet; the atom (0, 1, 1) has the margin 1, the optimum, (0, 1, -1) the margin 0. So the
    optimal gradient is 0 and every atom is in the face; the iterate mixes the two."""
    X = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]) / np.sqrt(2.0 * scale)
    triplets = [[0, 1, 2]] * copies
    scores = np.array(exact_scores(X, triplets[:1], scale, all_atoms(2)), dtype=float)
    similarity = FrankWolfe(scale, max_iter=1).fit(X, triplets).similarity_
    similarity = replace(
        similarity, atoms=np.array([[0, 1, 1], [0, 1, -1]]), weights=np.array([theta, 1.0 - theta])
    )
    return X, triplets, scores, similarity


@pytest.mark.parametrize("theta", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("copies", [1, 7])
def test_a_radius_two_percent_too_small_excludes_what_is_optimal(theta, copies):
    X, triplets, scores, similarity = on_the_surface(theta, copies=copies)
    assert np.allclose(scores, [[1.0, 0.0]])
    settings = {"scale": 0.5, "smoothing": 1.0, "loss": "smoothed_hinge"}
    constraints, sizes, ball, atoms = screening(X, triplets, None, settings, similarity)
    assert ball.radius == pytest.approx(np.sqrt(copies) * (1.0 - theta), rel=1e-9)
    assert not atoms_excluded(constraints, ball, atoms).any()
    short = replace(ball, radius=0.98 * ball.radius)
    assert atoms_excluded(constraints, short, atoms).tolist() == [False, True]
    assert not features_excluded(constraints, sizes, ball).any()


@pytest.mark.parametrize("seed", range(8))
def test_atoms_are_those_of_the_definition(seed):
    """The rule by dense matrices: all but rounding is the same."""
    X, triplets, weights, settings = problem(seed)
    scale, smoothing = settings["scale"], settings["smoothing"]
    similarity = iterates(X, triplets, weights, settings, 6, forward="exact")[-1]
    constraints, sizes, ball, atoms = screening(X, triplets, weights, settings, similarity)
    slow = Dense(X, triplets, scale, smoothing, weights, settings["loss"])
    M = similarity.to_sparse().toarray()
    u = slow.margins(M)
    gap = slow.gap(M)
    cap = np.inf if settings["loss"] == "squared_hinge" else 1.0
    g = np.clip((1.0 - u) / smoothing, 0.0, cap)
    q = np.einsum("tij,kij->kt", slow.A, slow.atoms) - u
    harmful = np.where(q > 0.0, g < cap, g > 0.0) * q
    reach = np.sqrt(gap / smoothing) * np.sqrt(harmful**2 @ slow.shares)
    margin = slow.products(M) - np.sum(slow.gradient(M) * M) - reach
    assert ball.gap == pytest.approx(gap, rel=1e-6, abs=1e-9)
    mask = atoms_excluded(constraints, ball, atoms)
    keys = [(int(constraints.features[i]), int(constraints.features[j]), s) for i, j, s in atoms]
    for key, value in zip(slow.keys, margin, strict=True):
        if abs(value) > 1e-6 and key in keys:
            assert mask[keys.index(key)] == (value > 0.0)


@pytest.mark.parametrize("seed", range(12))
def test_an_excluded_feature_has_only_excluded_atoms(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((15, 8)) * (rng.random((15, 8)) < 0.5) * (10.0 ** -rng.integers(0, 3, 8))
    X *= rng.choice((-1.0, 1.0), X.shape) if seed % 2 else 1.0
    triplets = np.array([rng.choice(15, 3, replace=False) for _ in range(40)])
    weights = rng.exponential(1.0, 40) if seed % 3 == 0 else None
    settings = {"scale": 1.0, "smoothing": 1.0, "loss": "smoothed_hinge"}
    seen = iterates(X, triplets, weights, settings, 200, forward="exact")
    for similarity in (*seen[:60], seen[-1]):
        constraints, sizes, ball, atoms = screening(X, triplets, weights, settings, similarity)
        features = features_excluded(constraints, sizes, ball)
        mask = atoms_excluded(constraints, ball, atoms)
        for i in np.flatnonzero(features):
            assert mask[(atoms[:, 0] == i) | (atoms[:, 1] == i)].all()
    assert 0 < features.sum() < features.size - 1
    heavy = replace(sizes, singles=np.full(features.size, 1e9))
    assert not features_excluded(constraints, heavy, ball).any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_bounds_of_sizes_margins_and_values_hold(seed, scale):
    """In fractions: margins of atoms, values, and the norms that the feature test relies on."""
    rng = np.random.default_rng(seed)
    X = rng.random((8, 4)) * 10.0 ** rng.integers(-3, 4, (8, 4))
    X *= (rng.random((8, 4)) < 0.8) * (rng.choice((-1.0, 1.0), X.shape) if seed % 2 else 1.0)
    triplets = np.array([rng.choice(8, 3, replace=False) for _ in range(30)])
    constraints = Constraints(X, triplets, None, np.arange(4))
    sizes = Sizes.of(constraints, triplets)
    atoms = all_atoms(4)
    scores = exact_scores(X, triplets[constraints.order], scale, atoms)
    slopes = rng.random(30)
    constraints.set_slopes(slopes)
    values = constraints.atom_values(np.array(atoms), np.empty(len(atoms)))
    for k, (i, j, _) in enumerate(atoms):
        column = [row[k] / Fraction(scale) for row in scores]
        assert all(abs(p) <= Fraction(b) for p, b in zip(column, sizes.margins, strict=True))
        exact = sum(Fraction(float(g)) * p for g, p in zip(slopes, column, strict=True))
        allowance = Fraction(sizes.allowances[i]) + Fraction(sizes.allowances[j])
        assert abs(Fraction(float(values[k])) - exact) <= allowance
    points = [[Fraction(float(v)) for v in row] for row in X]
    for i in range(4):
        for j in range(4):
            total = Fraction(0)
            for x, y, z in triplets.tolist():
                v_i = points[y][i] - points[z][i]
                v_j = points[y][j] - points[z][j]
                p = points[x][i] * v_j + points[x][j] * v_i
                total += (p / 2 if i == j else p) ** 2
            bound = sizes.singles[i] if i == j else min(sizes.crosses[i], sizes.crosses[j])
            assert total <= Fraction(float(bound)) ** 2


def test_the_gap_and_the_radius_are_upper_bounds_in_fractions():
    """Of iterates near the optimum, where plain numbers cancel."""
    for seed in range(12):
        X, triplets, weights, settings = problem(seed)
        similarity = iterates(X, triplets, weights, settings, 200, forward="exact")[-1]
        constraints, _, ball, _ = screening(X, triplets, weights, settings, similarity)
        atoms = all_atoms(X.shape[1])
        scores = exact_scores(X, triplets, settings["scale"], atoms)
        total = sum(Fraction(float(w)) for w in similarity.weights)
        shares = dict(zip(map(tuple, similarity.atoms.tolist()), similarity.weights, strict=True))
        counts = [1.0] * len(triplets) if weights is None else weights.tolist()
        counts = [Fraction(c) for c in counts]
        u = [
            sum(Fraction(float(shares[a])) * row[k] for k, a in enumerate(atoms) if a in shares)
            / total
            for row in scores
        ]
        width = Fraction(settings["smoothing"])
        g = [max(Fraction(0), (1 - v) / width) for v in u]
        if settings["loss"] == "smoothed_hinge":
            g = [min(v, Fraction(1)) for v in g]
        products = [
            -sum(c * s * row[k] for c, s, row in zip(counts, g, scores, strict=True))
            for k in range(len(atoms))
        ]
        here = -sum(c * s * v for c, s, v in zip(counts, g, u, strict=True))
        gap = (here - min(products)) / sum(counts)
        assert Fraction(ball.gap) >= gap and ball.gap <= float(gap) + 1e-9
        assert Fraction(ball.radius) ** 2 >= len(triplets) * gap / width


def test_numbers_that_are_none_exclude_nothing():
    X, triplets, weights, settings = problem(1)
    similarity = iterates(X, triplets, weights, settings, 50, forward="exact")[-1]
    constraints, sizes, ball, atoms = screening(X, triplets, weights, settings, similarity)
    assert atoms_excluded(constraints, ball, atoms).any()
    for radius in (np.nan, np.inf):
        broken = replace(ball, radius=radius)
        with np.errstate(invalid="ignore"):
            assert not atoms_excluded(constraints, broken, atoms).any()
            assert not features_excluded(constraints, sizes, broken).any()


def test_sparse_points_of_many_dimensions_cost_nothing_of_length_d():
    rng = np.random.default_rng(0)
    columns = np.concatenate([rng.choice(10**6, 8, replace=False) for _ in range(50)])
    X = sparse.csr_array((np.ones(400), (np.repeat(np.arange(50), 8), columns)), (50, 10**6))
    triplets = np.array([rng.choice(50, 3, replace=False) for _ in range(100)])
    constraints = Constraints(X, triplets)
    sizes = Sizes.of(constraints, triplets)
    atoms = np.array([[0, 1, 1]])
    ball = slope_ball(constraints, sizes, SmoothedHinge(1.0), 1.0, atoms, np.ones(1))
    assert isinstance(ball, SlopeBall)
    assert features_excluded(constraints, sizes, ball).size <= 402


def test_the_distance_is_what_slopes_that_can_move_gain():
    """The largest ``sum_t c_t d_t q_t`` over changes d of slopes with ``sum_t c_t d_t^2 <= 1``:
    upwards where a slope is below its cap, downwards where it is above 0.
    """
    rng = np.random.default_rng(0)
    slopes = np.repeat([0.0, 0.4, 1.0], 20)
    counts = rng.integers(1, 4, 60).astype(float)
    q = rng.standard_normal(60)
    ball = replace(
        example()[2],
        factors=counts,
        errors=np.zeros(60),
        rises=slopes < 1.0,
        falls=slopes > 0.0,
    )
    found = ball.distance(q)
    low = np.where(slopes > 0.0, -np.inf, 0.0)
    high = np.where(slopes < 1.0, np.inf, 0.0)
    for d in (np.clip(q, low, high), *np.clip(rng.standard_normal((500, 60)) + q, low, high)):
        gained = np.sum(counts * d * q) / np.sqrt(np.sum(counts * d * d))
        assert gained <= found * (1.0 + 1e-12)
    best = np.clip(q, low, high)
    gained = np.sum(counts * best * q) / np.sqrt(np.sum(counts * best * best))
    assert gained == pytest.approx(found, rel=1e-12)


def test_points_on_opposite_sides_have_the_longest_rows():
    """An anchor has one feature, its similar and its other point the second one, with opposite
    signs: the row of both features has the length 2, and no bound is longer.
    """
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    sizes = Sizes.of(Constraints(X, [[0, 1, 2]], None, np.arange(2)), [[0, 1, 2]])
    assert 2.0 <= sizes.crosses.min() < 2.0 + 1e-6


def test_a_slope_that_rounding_hides_is_in_the_ball():
    """The margin of the only atoms that matter is ``1 - 2^-60`` and computed as 1: their slope at
    the optimum is ``2^-60``, and the computed one 0.
    """
    X = np.array([[1.0 - 2.0**-30, 0.0], [1.0 + 2.0**-30, 0.0], [0.0, 0.0]])
    constraints = Constraints(X, [[0, 1, 2]], None, np.arange(2))
    atoms = np.array([[0, 1, 1]])
    sizes = Sizes.of(constraints, [[0, 1, 2]])
    ball = slope_ball(constraints, sizes, SmoothedHinge(1.0), 1.0, atoms, np.ones(1))
    assert ball.margins.tolist() == [1.0] and ball.slopes.tolist() == [0.0]
    assert ball.radius >= 2.0**-60


def example():
    """Return the screening of a solution that excludes atoms and features."""
    rng = np.random.default_rng(3)
    X = rng.random((15, 8)) * (rng.random((15, 8)) < 0.5) * (10.0 ** -rng.integers(0, 3, 8))
    triplets = np.array([rng.choice(15, 3, replace=False) for _ in range(40)])
    settings = {"scale": 8.0, "smoothing": 0.5, "loss": "smoothed_hinge"}
    last = iterates(X, triplets, None, settings, 400, forward="exact")[-1]
    return screening(X, triplets, None, settings, last)


def test_margins_count_where_their_slopes_can_do_harm():
    """A slope of 0 cannot fall, so a positive margin of its term does not matter."""
    constraints, sizes, ball, _ = example()
    found = features_excluded(constraints, sizes, ball)
    assert 0 < found.sum() < found.size
    first = np.arange(ball.margins.size) == 0
    large = replace(ball, margins=np.where(first, 1e9, ball.margins), rises=ball.rises | first)
    assert not features_excluded(constraints, sizes, large).any()
    stuck = replace(large, falls=ball.falls & ~first)
    assert features_excluded(constraints, sizes, stuck)[found].all()


def test_errors_of_margins_are_in_every_distance():
    constraints, sizes, ball, atoms = example()
    assert atoms_excluded(constraints, ball, atoms).any()
    rough = replace(ball, errors=np.full(ball.errors.size, 1e9))
    assert not atoms_excluded(constraints, rough, atoms).any()
    assert not features_excluded(constraints, sizes, rough).any()
