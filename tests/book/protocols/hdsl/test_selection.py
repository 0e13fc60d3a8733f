"""Held-out errors: folds, checkpoints, baselines and projections."""

import numpy as np
import pytest

from safescreen import hdsl
from safescreen_book import datasets
from safescreen_book.protocols.hdsl import selection
from safescreen_book.protocols.hdsl.oasis import pca_projection


@pytest.fixture(scope="module")
def fold():
    X, y = datasets.sparse_topics(120, 300, 30, n_classes=3, n_words=15, share=0.4)
    return selection.Fold(X[:80], y[:80], X[80:], y[80:], hdsl.nearest_triplets(X[:80], y[:80]))


def test_folds_split_the_points_and_their_triplets(fold):
    folds = selection.cross_validation(fold.X, fold.y, lambda X, y, seed: hdsl.random_triplets(y, 2, seed), 4, 2, 5)
    assert len(folds) == 8
    for part in folds:
        assert part.X.shape[0] + part.X_new.shape[0] == 80 and part.triplets.max() < part.X.shape[0]
    assert sum(part.X_new.shape[0] for part in folds[:4]) == 80
    assert not np.array_equal(folds[0].y_new, folds[4].y_new) or (folds[0].X_new != folds[4].X_new).nnz


def test_iterates_are_those_of_shorter_trainings(fold):
    found, solver = selection.iterates(fold, 50.0, 60, 20, random_state=3)
    assert [point.iteration for point in found] == [20, 40, 60] and solver.n_iter_ == 60
    short = hdsl.FrankWolfe(50.0, max_iter=40, random_state=3).fit(fold.X, fold.triplets).similarity_
    assert found[1].n_atoms == len(short) and found[1].n_features == short.features.size
    assert found[1].error == hdsl.NeighborError(fold.X, fold.y, fold.X_new, fold.y_new)(short)


def test_baselines(fold):
    error = selection.baseline("dot", fold, None)
    assert error == (hdsl.NeighborError(*fold[:4])(None), 300)
    sparse, dense = (selection.baseline(name, fold, 1e-3) for name in ("diag-l1", "diag-l2"))
    assert sparse.n_features < dense.n_features <= 300 and max(sparse.error, dense.error) < 2 / 3
    assert selection.baseline("linear-l1", fold, 1.0).n_features < 300 == selection.baseline("poly-2", fold, 1.0).n_features
    with pytest.raises(ValueError, match="name must be dot"):
        selection.baseline("diagonal", fold, 1.0)


@pytest.mark.parametrize("kind", ["rp", "pca"])
def test_projections(fold, kind):
    errors = selection.projected(kind, fold, [5, 200], [0.1, 1.0])
    assert errors.shape == (2, 3) and (errors >= 0.0).all() and (errors <= 1.0).all()
    if kind == "pca":
        Z, Z_new = (pca_projection(fold.X, 5)(points) for points in (fold.X, fold.X_new))
        assert errors[0, 0] == hdsl.NeighborError(Z, fold.y, Z_new, fold.y_new)(None)


def test_topics_tell_the_class():
    X, y = datasets.sparse_topics(600, 2000, 50, seed=2, n_classes=3, n_words=20, share=0.5)
    means = np.stack([np.asarray(X[y == c].mean(axis=0)).ravel() for c in range(3)])
    own = np.argsort(-(means - means.mean(axis=0)), axis=1)[:, :15]
    assert len({*own.ravel().tolist()}) == 45
    assert X.min() >= 0.0 and X.max() == 1.0 and np.bincount(y).tolist() == [200, 200, 200]
    nothing, _ = datasets.sparse_topics(50, 100, share=0.0)
    assert nothing.shape == (50, 100)
    for bad, named in (({"n_classes": 1}, "n_classes"), ({"n_words": 2000}, "n_words"), ({"share": 2.0}, "share")):
        with pytest.raises(ValueError, match=named):
            datasets.sparse_topics(50, 100, **bad)
