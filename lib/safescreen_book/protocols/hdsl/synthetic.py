"""Made-up data with a known similarity: sparse points, and triplets and links that follow from it
(HDSL19 section 5.1).
"""

import numpy as np
from scipy import sparse

from safescreen._checks import check_count, check_scalar, check_vector
from safescreen.hdsl.similarity import SparseSimilarity


def random_similarity(d, n_bases=100, scale=100.0, *, features=None, n_blocks=1, random_state=0):
    """Return a random convex combination of atoms, a SparseSimilarity. Both features of an atom are
    in one block.

    The weights are drawn from a symmetric Dirichlet distribution of shape 9 (in the paper gamma
    variables, whose scale cancels).

    Parameters
    ----------
    d : int
        Number of features.
    n_bases : int
        Atoms drawn, with replacement; of equal ones the weights add up.
    scale : float > 0
        The lambda of the paper.
    features : int array, optional
        Features that may be used, all if left out; `n_blocks` equal runs of them are the blocks.
    n_blocks : int
    random_state : int or numpy.random.Generator

    Examples
    --------
    >>> truth = random_similarity(20, 6, n_blocks=2)
    >>> bool(truth.weights.sum().round(12) == 1.0)
    True
    >>> bool(((truth.atoms[:, 0] < 10) == (truth.atoms[:, 1] < 10)).all())
    True
    """
    d = check_count(d, "d")
    n_bases = check_count(n_bases, "n_bases")
    n_blocks = check_count(n_blocks, "n_blocks")
    features = np.arange(d) if features is None else np.unique(features)
    size = features.size // n_blocks
    if size < 2:
        raise ValueError(
            f"features must hold two features for each of {n_blocks} blocks, got {features.size}"
        )
    rng = np.random.default_rng(random_state)
    weights = rng.dirichlet(np.full(n_bases, 9.0))
    blocks = rng.integers(n_blocks, size=n_bases)
    first = rng.integers(size, size=n_bases)
    second = (first + rng.integers(1, size, n_bases)) % size
    ends = np.sort(np.column_stack((first, second)), axis=1) + size * blocks[:, None]
    drawn = np.column_stack((features[ends], rng.choice((-1, 1), n_bases)))
    atoms, place = np.unique(drawn, axis=0, return_inverse=True)
    return SparseSimilarity(atoms, np.bincount(place.ravel(), weights), scale, d)


def power_law(d, sparsity):
    """Return how often each of d features is present: ``min(1/2, c/j)``, with c such that the mean
    is `sparsity`, in (0, 1/2].

    >>> power_law(4, 0.25).round(2).tolist()
    [0.48, 0.24, 0.16, 0.12]
    """
    sparsity = check_scalar(sparsity, "sparsity", low=0.0, high=0.5, open_low=True)
    decay = 1.0 / np.arange(1.0, check_count(d, "d") + 1.0)
    low, high = 0.0, 0.5 / decay[-1]
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if np.minimum(0.5, middle * decay).mean() < sparsity else (low, middle)
        )
    return np.minimum(0.5, high * decay)


def sparse_points(n, frequencies, *, random_state=0):
    """Return n points, CSR: entries are present independently with the frequency of their feature,
    and then uniform on (0, 1].

    A Poisson number of rows with mean ``-n log(1 - f)``, drawn with replacement, meets each row
    with probability f, independently. Cost O(d) and the stored entries; nothing of size n d. The d
    frequencies are in [0, 1).

    >>> X = sparse_points(1000, np.array([0.5, 0.01]))
    >>> bool(abs(X.count_nonzero(axis=0)[0] - 500) < 60), bool(X.max() <= 1.0)
    (True, True)
    """
    n = check_count(n, "n")
    f = check_vector(frequencies, np.size(frequencies), "frequencies", low=0.0, high=1.0 - 1e-12)
    rng = np.random.default_rng(random_state)
    counts = rng.poisson(-n * np.log1p(-f))
    cells = np.unique(
        rng.integers(n, size=int(counts.sum())) * f.size + np.repeat(np.arange(f.size), counts)
    )
    starts = np.searchsorted(cells, np.arange(n + 1) * f.size)
    return sparse.csr_array(
        (1.0 - rng.random(cells.size), cells % f.size, starts), shape=(n, f.size)
    )


def graded_triplets(products, n_triplets, share, *, random_state=0):
    """Return triplets (x, y, z), rows of an int array. x is any point, y one of the `share` of the
    others that are most similar to x, and z one of the least similar.

    Parameters
    ----------
    products : array of shape (n, n)
        Similarities that judge.
    n_triplets : int
    share : float in (0, 0.5]
        The alpha of HDSL19 section 5.1.1. The larger it is, the less a triplet says.
    random_state : int or numpy.random.Generator

    Examples
    --------
    >>> similarities = np.array([[9, 3, 2], [3, 9, 1], [2, 1, 9]])
    >>> sorted({tuple(t) for t in graded_triplets(similarities, 50, 0.5).tolist()})
    [(0, 1, 2), (1, 0, 2), (2, 0, 1)]
    """
    rng = np.random.default_rng(random_state)
    n_triplets = check_count(n_triplets, "n_triplets")
    low, high = _extremes(products, share, rng)
    x, y, z = (
        rng.integers(size, size=n_triplets) for size in (len(low), high.shape[1], low.shape[1])
    )
    return np.column_stack((x, high[x, y], low[x, z]))


def graded_links(products, n_links, share, *, random_state=0):
    """Return `n_links` signed links, rows (x1, x2, sign), half +1 and half -1, and the signs of all
    pairs (HDSL19 section 5.1.2).

    A pair can be a positive link if one of its points is among the `share` of points most similar
    to the other, and a negative link if one is among the least similar. A pair for which both hold
    is no link, and its sign is 0.

    Parameters
    ----------
    products : array of shape (n, n)
        Similarities that judge.
    n_links : int
        Even; the links are all different, in random order.
    share : float in (0, 0.5]
    random_state : int or numpy.random.Generator

    Examples
    --------
    >>> similarities = np.array([[9, 4, 2, 1], [4, 9, 1, 3], [2, 1, 9, 5], [1, 3, 5, 9]])
    >>> links, signs = graded_links(similarities, 4, 0.34)
    >>> sorted(tuple(sorted(l[:2])) + (l[2],) for l in links.tolist()), signs[0].tolist()
    ([(0, 1, 1), (0, 3, -1), (1, 2, -1), (2, 3, 1)], [0, 1, 0, -1])
    """
    rng = np.random.default_rng(random_state)
    n_links = check_count(n_links, "n_links")
    n = len(products)
    ends = _extremes(products, share, rng)
    low, high = np.zeros((2, n, n), dtype=bool)
    for chosen, partners in zip((low, high), ends, strict=True):
        chosen[np.arange(n)[:, None], partners] = True
        chosen |= chosen.T
    signs = high.astype(np.int8) - low
    drawn = []
    for sign in (1, -1):
        pairs = np.argwhere(np.triu(signs == sign, 1))
        if 2 * len(pairs) < n_links:
            raise ValueError(
                f"n_links must be at most {2 * len(pairs)} for these points and share, got "
                f"{n_links}"
            )
        pairs = rng.permuted(pairs[rng.choice(len(pairs), n_links // 2, replace=False)], axis=1)
        drawn.append(np.column_stack((pairs, np.full(len(pairs), sign))))
    return rng.permutation(np.concatenate(drawn)), signs


def link_triplets(links, signs, n_per_link=1, *, random_state=0):
    """Return triplets of signed links. A link (x1, x2, +1) gets a random x3 that is dissimilar to
    x1, a link (x1, x2, -1) one that is similar.

    Links whose x1 has no such partner are left out.

    Parameters
    ----------
    links : int array of shape (N, 3)
        Rows (x1, x2, sign).
    signs : int array of shape (n, n)
        The signs of pairs: ``signs[x1, x3]`` must be opposite to the sign of the link. Pairs that
        must not be used, such as test links, have the sign 0.
    n_per_link : int
        Drawn with replacement.
    random_state : int or numpy.random.Generator

    Examples
    --------
    >>> signs = np.array([[0, 1, -1], [1, 0, 0], [-1, 0, 0]])
    >>> link_triplets([[0, 1, 1], [1, 0, 1]], signs, 2).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    rng = np.random.default_rng(random_state)
    n_per_link = check_count(n_per_link, "n_per_link")
    found = []
    for a, b, sign in np.asarray(links):
        others = np.flatnonzero(signs[a] == -sign)
        for c in rng.choice(others, n_per_link) if others.size else ():
            found.append((a, b, c) if sign > 0 else (a, c, b))
    return np.array(found).reshape(-1, 3)


def _extremes(products, share, rng):
    """The least and the most similar `share` of the others for each point, two arrays of shape
    (n, size); ties at random.
    """
    S = np.array(products, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or len(S) < 3:
        raise ValueError(f"products must have shape (n, n) with n at least 3, got {S.shape}")
    share = check_scalar(share, "share", low=0.0, high=0.5, open_low=True)
    n = len(S)
    size = max(1, int(share * (n - 1)))
    S += 1e-12 * (np.abs(S).max() or 1.0) * rng.random(S.shape)
    np.fill_diagonal(S, np.inf)
    order = np.argpartition(S, (size - 1, n - 1 - size, n - 1), axis=1)
    return order[:, :size], order[:, n - 1 - size : n - 1]
