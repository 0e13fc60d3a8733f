"""Made-up documents of several topics."""

import numpy as np
import scipy.sparse as sp

from safescreen._checks import check_count, check_scalar


def sparse_topics(
    n: int,
    d: int,
    length: float = 60.0,
    seed: int = 0,
    *,
    n_classes: int = 2,
    n_words: int = 40,
    share: float = 0.1,
):
    """Draw documents as bags of words. Most words are drawn from all words by Zipf's law, a few
    from the words of the document's topic.

    A document has a Poisson number of words, `length` on average. Each is with probability `share`
    one of the `n_words` words of its topic, uniformly, and else word j of all with probability
    ``log((j+2)/(j+1)) / log(d+1)``. Topics share no words. Entries are counts divided by the
    largest count of their column, so they lie in [0, 1].

    Parameters
    ----------
    n, d : int
        Documents and words.
    length : float > 0
    seed : int
        Of everything.
    n_classes, n_words : int
        Topics, and words of each; together no more than d.
    share : float in [0, 1]

    Returns
    -------
    X : csr_array of shape (n, d), float64
    y : ndarray of shape (n,), int64
        Topics 0, 1, ..., as equally frequent as n allows.

    Examples
    --------
    >>> X, y = sparse_topics(200, 3000, seed=1, n_classes=4)
    >>> X.shape, float(X.max()), np.bincount(y).tolist()
    ((200, 3000), 1.0, [50, 50, 50, 50])
    """
    n, d, n_classes, n_words = map(
        check_count, (n, d, n_classes, n_words), ("n", "d", "n_classes", "n_words")
    )
    if n_classes < 2 or n_classes * n_words > d:
        raise ValueError(
            f"n_classes must be at least 2 and n_classes * n_words at most d = {d}, got "
            f"{n_classes} and {n_words}"
        )
    length = check_scalar(length, "length", low=0.0, open_low=True)
    share = check_scalar(share, "share", low=0.0, high=1.0)
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    topics = rng.permutation(d)[: n_classes * n_words].reshape(n_classes, n_words)
    sizes = np.maximum(rng.poisson(length, n), 1)
    rows = np.repeat(np.arange(n), sizes)
    words = np.minimum((d + 1.0) ** rng.random(rows.size) - 1.0, d - 1.0).astype(np.int64)
    special = rng.random(rows.size) < share
    words[special] = topics[y[rows[special]], rng.integers(n_words, size=int(special.sum()))]
    X = sp.csr_array(sp.coo_array((np.ones(rows.size), (rows, words)), shape=(n, d)))
    top = X.max(axis=0).toarray().ravel()
    X.data /= top[X.indices]
    return X, y
