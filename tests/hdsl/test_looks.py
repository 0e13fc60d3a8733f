"""Training that leaves excluded features out: the same optimum, a certificate over all atoms, and
looks only where counted operations say so.
"""

import numpy as np
import pytest
from scipy import sparse

from safescreen.hdsl import FrankWolfe, nearest_triplets
from safescreen.hdsl.active import ActiveSet
from safescreen.hdsl.constraints import Constraints
from safescreen.hdsl.frank_wolfe import VARIANTS
from safescreen.hdsl.training import Training
from safescreen_book import datasets


def rare(seed, d=40, n=40, T=120):
    """Features from common to rare, so that some leave."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.9 / (1.0 + np.arange(d)) ** 0.7)
    X *= np.where(np.arange(d) < d // 2, 1.0, 0.1)
    return sparse.csr_array(X), np.array([rng.choice(n, 3, replace=False) for _ in range(T)])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("loss", "seed"), [("smoothed_hinge", 0), ("squared_hinge", 1)])
@pytest.mark.slow
def test_the_optimum_stays(variant, loss, seed):
    X, triplets = rare(seed)
    weights = np.random.default_rng(seed).exponential(1.0, len(triplets)) if seed % 2 else None
    runs = {}
    for screening in ("none", "always"):
        solver = FrankWolfe(
            1.0,
            forward="exact",
            variant=variant,
            loss=loss,
            screening=screening,
            max_iter=1500 if variant != "plain" else 200,
        )
        runs[screening] = solver.fit(X, triplets, weights=weights)
    plain, screened = runs["none"], runs["always"]
    tol = max(plain.gap_, screened.gap_)
    assert abs(plain.history_[-1].objective - screened.history_[-1].objective) <= tol + 1e-12
    # the gap is over all atoms, whatever was left out
    whole = FrankWolfe(1.0, forward="exact", loss=loss, max_iter=1, screening="none")
    start = whole.fit(X, triplets, weights=weights, start=screened.similarity_)
    assert start.history_[0].gap == pytest.approx(screened.gap_, abs=1e-12)
    if variant != "plain":
        assert tol < 1e-9
        assert screened.n_features_left_ < plain.n_features_left_ == 40


@pytest.mark.parametrize("seed", range(2))
def test_looks_never_raise_the_objective_and_leave_what_the_iterate_uses(begin, seed):
    X, triplets = rare(seed)
    settings = FrankWolfe(1.0, forward="exact", variant="pairwise", screening="always")
    run, iterate = begin(settings, X, triplets)
    before = np.inf
    sizes = []
    for k in range(200):
        if k % 10 == 0:
            iterate = run.look(iterate)
        assert run.objective(iterate) <= before + 1e-14
        before = run.objective(iterate)
        similarity = run.similarity(iterate)
        assert np.allclose(similarity.margins(X, triplets)[run.constraints.order], iterate.u)
        assert set(similarity.features) <= set(iterate.constraints.features)
        assert run.exact_gap(iterate) >= -1e-15
        sizes.append(iterate.constraints.features.size)
        iterate = run.step(iterate, run.directions(iterate)).iterate
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 40


def test_restricted_constraints_are_those_of_the_features_alone():
    X, triplets = rare(5)
    whole = Constraints(X, triplets)
    places = np.array([0, 3, 4, 11, 30])
    part = whole.restricted(places)
    slopes = np.random.default_rng(0).random(len(whole))
    whole.set_slopes(slopes)
    rows = np.array([whole.row(i)[places] for i in places])
    diagonal = whole.diagonal()[places].copy()
    scores = whole.atom_scores(3, 30, -1, 2.0)
    part.set_slopes(slopes)
    assert np.allclose(part.diagonal(), diagonal, atol=1e-14)
    assert np.allclose([part.row(k).copy() for k in range(5)], rows, atol=1e-14)
    assert np.array_equal(part.atom_scores(1, 4, -1, 2.0), scores)
    assert part.features.tolist() == whole.features[places].tolist()
    assert part.costs < whole.costs and not part.is_whole
    rng = np.random.default_rng(0)
    assert {part.draw(rng) for _ in range(100)} == set(range(5))


def far_from_good(begin, X, triplets):
    """Return a training, and an iterate with weight on an atom that is far from good."""
    settings = FrankWolfe(1.0, forward="exact", variant="pairwise", screening="none")
    run, iterate = begin(settings, X, triplets)
    for _ in range(150):
        iterate = run.step(iterate, run.directions(iterate)).iterate
    atoms, weights = iterate.active.atoms, iterate.active.weights
    active = ActiveSet.of([*atoms.tolist(), [30, 35, -1]], [*(0.999 * weights), 0.001])
    return run, run.at(iterate.constraints, active)


def test_excluded_atoms_leave_with_one_line_search(begin):
    run, iterate = far_from_good(begin, *rare(1))
    looked = run.look(iterate)
    assert run.objective(looked) < run.objective(iterate)
    kept = {tuple(looked.constraints.features[a[:2]]) for a in looked.active.atoms}
    assert (30, 35) not in kept


def test_features_of_atoms_that_keep_their_weight_stay(begin, monkeypatch):
    """Where the line search moves nothing away, an excluded atom keeps its features, by name."""
    run, iterate = far_from_good(begin, *rare(1))
    monkeypatch.setattr(Training, "moved_away", lambda self, iterate, gone: iterate)
    looked = run.look(iterate)
    left = looked.constraints.features
    assert left.size < 40
    assert {30, 35} <= set(left)
    assert [30, 35] in [left[atom[:2]].tolist() for atom in looked.active.atoms]
    assert np.allclose(run.at(looked.constraints, looked.active).u, looked.u)


def test_the_heuristic_direction_and_batches_may_be_screened_too():
    X, triplets = rare(3)
    best = FrankWolfe(1.0, forward="exact", variant="pairwise", max_iter=2000).fit(X, triplets)
    for more in ({}, {"batch": 40}):
        solver = FrankWolfe(1.0, max_iter=1500, screening="always", **more).fit(X, triplets)
        value = solver.history_[-1].objective
        low = best.history_[-1].objective - best.gap_
        assert low - 1e-12 <= value <= low + solver.gap_ + 1e-9


@pytest.mark.slow
def test_auto_looks_where_iterations_are_long():
    X, y = datasets.sparse_topics(300, 4000, 80, 0, n_classes=3, n_words=40, share=0.15)
    triplets = nearest_triplets(X, y)
    settings = {"forward": "exact", "variant": "pairwise", "max_iter": 600, "tol": 1e-6}
    plain = FrankWolfe(2.0, screening="none", **settings).fit(X, triplets)
    auto = FrankWolfe(2.0, **settings).fit(X, triplets)
    assert auto.converged_ and auto.gap_ <= 1e-6
    assert auto.n_features_left_ < 0.2 * plain.n_features_left_
    assert auto.history_[-1].objective == pytest.approx(plain.history_[-1].objective, abs=1e-6)


def test_what_cannot_be_screened_is_said():
    with pytest.raises(ValueError, match="screening must be one of auto, always, none; got 'gap'"):
        FrankWolfe(1.0, screening="gap")
    with pytest.raises(ValueError, match="screening='always' needs the loss smoothed_hinge or"):
        FrankWolfe(1.0, screening="always", loss="log_loss")
