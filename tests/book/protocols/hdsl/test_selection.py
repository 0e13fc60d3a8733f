"""Held-out errors: folds, checkpoints, baselines and projections."""

import numpy as np
import pytest

from safescreen import hdsl
from safescreen_book import datasets
from safescreen_book.protocols.hdsl import selection
from safescreen_book.protocols.hdsl.oasis import (
    Projection,
    fit_oasis,
    pca_projection,
    random_projection,
)
from safescreen_book.protocols.hdsl.svm import fit_svm


@pytest.fixture(scope="module")
def fold():
    X, y = datasets.sparse_topics(120, 300, 30, n_classes=3, n_words=15, share=0.4)
    return selection.Split(X[:80], y[:80], X[80:], y[80:], hdsl.nearest_triplets(X[:80], y[:80]))


def test_either_half_chooses_for_the_other(fold):
    first, second = fold.halves()
    assert (fold.y_new[first].size, fold.y_new[second].size) == (20, 20)
    whole = hdsl.NeighborError(*fold[:4])(None)
    assert fold.neighbor_error()(None).mean() == pytest.approx(whole) and 0.0 < whole < 1.0
    assert fold.neighbor_error()(None)[1] == hdsl.NeighborError(
        fold.X, fold.y, fold.X_new[second], fold.y_new[second]
    )(None)
    grid = np.array([[[0.5, 0.2], [0.1, 0.3]], [[0.1, 0.0], [0.4, 0.1]]])
    best, errors = selection.choose(grid)
    assert best.tolist() == [1, 2] and errors.tolist() == [0.3, 0.1]


@pytest.mark.slow
def test_iterates_are_those_of_shorter_trainings(fold):
    found, solver = selection.iterates(fold, 50.0, 60, 20, random_state=3)
    assert [point.iteration for point in found] == [20, 40, 60] and solver.n_iter_ == 60
    short = (
        hdsl.FrankWolfe(50.0, max_iter=40, random_state=3).fit(fold.X, fold.triplets).similarity_
    )
    assert found[1].n_atoms == len(short) and found[1].n_features == short.features.size
    assert np.array_equal(found[1].error, fold.neighbor_error()(short))


def test_baselines(fold):
    dot = selection.baseline("dot", fold, None)
    assert np.array_equal(dot.error, fold.neighbor_error()(None)) and dot.n_features == 300
    sparse, dense = (selection.baseline(name, fold, 1e-3) for name in ("diag-l1", "diag-l2"))
    assert sparse.n_features < dense.n_features <= 300 and max(*sparse.error, *dense.error) < 2 / 3
    machine = selection.baseline("linear-l1", fold, 1.0)
    assert machine.n_features < 300 == selection.baseline("poly-2", fold, 1.0).n_features
    wrong = fit_svm(fold.X, fold.y, "linear-l1", 1.0).predict(fold.X_new) != fold.y_new
    assert machine.error.tolist() == [wrong[:20].mean(), wrong[20:].mean()]
    with pytest.raises(ValueError, match="name must be dot"):
        selection.baseline("diagonal", fold, 1.0)


@pytest.mark.parametrize("kind", ["rp", "pca"])
def test_projections(fold, kind):
    errors = selection.projected(kind, fold, [5, 60], [0.1, 1.0], passes=2)
    assert errors.shape == (2, 3, 2) and (errors >= 0.0).all() and (errors <= 1.0).all()
    for row, r in enumerate((5, 60)):
        whole = pca_projection(fold.X, 60) if kind == "pca" else random_projection(300, 60)
        part = Projection(whole.R[:, :r] * (np.sqrt(60 / r) if kind == "rp" else 1.0), whole.mean)
        judge = fold._replace(X=part(fold.X), X_new=part(fold.X_new)).neighbor_error()
        assert np.array_equal(errors[row, 0], judge(None))
        assert np.array_equal(
            errors[row, 1],
            judge(fit_oasis(part(fold.X), fold.triplets, 0.1, 2 * len(fold.triplets))),
        )


def test_topics_tell_the_class():
    X, y = datasets.sparse_topics(600, 2000, 50, seed=2, n_classes=3, n_words=20, share=0.5)
    means = np.stack([np.asarray(X[y == c].mean(axis=0)).ravel() for c in range(3)])
    own = np.argsort(-(means - means.mean(axis=0)), axis=1)[:, :15]
    assert len({*own.ravel().tolist()}) == 45
    assert X.min() >= 0.0 and X.max() == 1.0 and np.bincount(y).tolist() == [200, 200, 200]
    nothing, _ = datasets.sparse_topics(50, 100, share=0.0)
    assert nothing.shape == (50, 100)
    for bad, named in (
        ({"n_classes": 1}, "n_classes"),
        ({"n_words": 2000}, "n_words"),
        ({"share": 2.0}, "share"),
    ):
        with pytest.raises(ValueError, match=named):
            datasets.sparse_topics(50, 100, **bad)
