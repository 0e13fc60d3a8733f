"""Sparse text: LIBSVM, and the sparse matrices of the NIPS 2003 challenge."""

import io

import numpy as np
import scipy.sparse as sp

from safescreen_book.datasets.readers.tokens import feature_index, label, lines, number


def _sparse_rows(raw: bytes, where: str, n_features: int | None, labelled: bool):
    """Parse ``[label] index:value ...`` rows token by token; ``index`` alone means value 1.

    Without labels a blank line is a row of zeros.
    """
    labels, data, indices, indptr = [], [], [], [0]
    rows = lines(raw) if labelled else enumerate(map(bytes.split, raw.splitlines()), start=1)
    for line, tokens in rows:
        if labelled:
            labels.append(label(tokens[0], where, line))
        last = -1
        for token in tokens[labelled:]:
            index, colon, value = token.partition(b":")
            if labelled and not colon:
                raise ValueError(f"{where}, line {line}: {token.decode('ascii', 'replace')!r} is not index:value")
            last = feature_index(index, n_features, last, where, line)
            indices.append(last)
            data.append(number(value, where, line) if colon else 1.0)
        indptr.append(len(indices))
    if len(indptr) == 1:
        raise ValueError(f"{where}: no rows")
    d = max(indices, default=-1) + 1 if n_features is None else n_features
    X = sp.csr_array((np.asarray(data, dtype=np.float64), indices, indptr), shape=(len(indptr) - 1, d))
    return X, np.asarray(labels, dtype=np.int64)


def read_libsvm(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read LIBSVM text, ``label index:value ...`` with indices from 1 and increasing, as CSR in float64 and int64 labels.

    `n_features` is the largest index found if left out. The first line that is not as it should be is named, with its token.

    >>> X, y = read_libsvm(b"+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1, -1]))
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(io.BytesIO(raw), n_features=n_features, zero_based=False)
    except (ValueError, OverflowError, IndexError):
        X = None
    if X is None or not len(y) or not np.isfinite(X.data).all() or not (y == np.rint(y)).all():
        return _sparse_rows(raw, where, n_features, labelled=True)  # slower, and names the line
    return sp.csr_array(X), y.astype(np.int64)


def read_nips_sparse(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read a NIPS 2003 sparse matrix as CSR: ``index:value ...`` or, for 0/1 data, ``index ...``, from 1; a blank line is a row of zeros.

    >>> read_nips_sparse(b"1 3 \\n2 \\n").toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    return _sparse_rows(raw, where, n_features, labelled=False)[0]
