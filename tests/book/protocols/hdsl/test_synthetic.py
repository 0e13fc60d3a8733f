"""Made-up similarities, points, triplets and links, and the measure of recovery."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from safescreen_book.protocols import hdsl as lab


def test_random_similarity_keeps_to_blocks_and_features():
    allowed = np.arange(10, 50)
    truth = lab.random_similarity(60, 200, 3.0, features=allowed, n_blocks=4, random_state=1)
    blocks = (truth.atoms[:, :2] - 10) // 10
    assert np.isin(truth.atoms[:, :2], allowed).all() and np.array_equal(blocks[:, 0], blocks[:, 1])
    assert np.unique(blocks).size == 4 and (truth.atoms[:, 0] < truth.atoms[:, 1]).all()
    assert len(np.unique(truth.atoms, axis=0)) == len(
        truth
    ) and truth.weights.sum() == pytest.approx(1.0)
    assert set(truth.atoms[:, 2].tolist()) == {-1, 1}
    with pytest.raises(ValueError, match="features must hold two"):
        lab.random_similarity(7, 3, n_blocks=4)


def test_triplets_come_from_the_ends_of_the_ranking():
    S = np.random.default_rng(0).standard_normal((41, 41))
    x, y, z = lab.graded_triplets(S, 3000, 0.1).T
    assert not (x == y).any() and not (x == z).any()
    np.fill_diagonal(S, np.nan)
    assert ((S[x] > S[x, y][:, None]).sum(axis=1) < 4).all() and (
        (S[x] < S[x, z][:, None]).sum(axis=1) < 4
    ).all()
    assert len({*zip(x.tolist(), y.tolist(), strict=True)}) == 41 * 4


def test_links_and_their_triplets():
    S = np.random.default_rng(3).standard_normal((60, 60))
    S += S.T
    links, signs = lab.graded_links(S, 200, 0.1)
    a, b, sign = links.T
    assert len({frozenset(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)}) == 200
    assert (
        (signs[a, b] == sign).all()
        and sign.sum() == 0
        and np.array_equal(signs, signs.T)
        and not signs.diagonal().any()
    )
    assert S[a, b][sign > 0].min() > S[a, b][sign < 0].max()
    hidden = links[:50]
    seen = signs.copy()
    seen[hidden[:, 0], hidden[:, 1]] = seen[hidden[:, 1], hidden[:, 0]] = 0
    x, y, z = lab.link_triplets(links[50:], seen, 3).T
    assert (
        len(x) <= 450
        and (signs[x, y] == 1).all()
        and (signs[x, z] == -1).all()
        and (S[x, y] > S[x, z]).all()
    )
    drawn = {
        frozenset(pair)
        for pair in [
            *zip(x.tolist(), y.tolist(), strict=True),
            *zip(x.tolist(), z.tolist(), strict=True),
        ]
    }
    assert not drawn & {frozenset(pair[:2]) for pair in hidden.tolist()}
    with pytest.raises(ValueError, match="n_links must be at most"):
        lab.graded_links(S, 10_000, 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_auc_is_that_of_scikit_learn(seed):
    truth = lab.random_similarity(12, 6, random_state=seed)
    learned = lab.random_similarity(12, 9, random_state=seed + 100)
    M, T = (np.abs(s.to_sparse().toarray()) for s in (learned, truth))
    upper = np.triu_indices(12, 1)
    active = np.isin(np.arange(12), truth.features)
    found = lab.recovery_auc(learned, truth)
    assert found.features == pytest.approx(roc_auc_score(active, M.sum(axis=1)), abs=1e-12)
    assert found.entries == pytest.approx(roc_auc_score(T[upper] != 0, M[upper]), abs=1e-12)
    with pytest.raises(ValueError, match="similarity must have"):
        lab.recovery_auc(lab.random_similarity(13, 2), truth)
