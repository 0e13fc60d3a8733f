"""Sparse text: LIBSVM, and the sparse matrices of the NIPS 2003 challenge."""

from array import array

import numpy as np
import scipy.sparse as sp

from safescreen_book.datasets.readers.tokens import (
    feature_indices,
    lines,
    numbers,
    shown,
    whole_numbers,
)


def csr(data, indices, indptr, shape) -> sp.csr_array:
    """CSR of float64, its parts checked against each other; indices have 32 bits, which
    LIBLINEAR asks for, where they fit.
    """
    indices, indptr = np.asarray(indices), np.asarray(indptr)
    # check_format lets 0, 9, 0 pass
    if indptr.ndim != 1 or indptr[-1:] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"its row pointers do not rise to {len(indices)}")
    X = sp.csr_array((np.asarray(data, dtype=np.float64), indices, indptr), shape=shape)
    X.check_format(full_check=True)
    if max(X.nnz, *X.shape) < 2**31:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _sparse_rows(raw: bytes, where: str, n_features: int | None, labelled: bool):
    """Parse ``[label] index:value ...`` rows token by token; ``index`` alone means value 1.

    Without labels a blank line is a row of zeros, and there are no comments.
    """
    labels, places, data, indices, indptr = (
        array("d"),
        array("q"),
        array("d"),
        array("q"),
        array("q", [0]),
    )
    for line, text in lines(raw, where):
        tokens = (text.partition(b"#")[0] if labelled else text).split()
        if labelled and not tokens:
            continue
        if labelled:
            labels.extend(numbers(tokens[:1], where, line))
            places.append(line)
        entries = [token.partition(b":") for token in tokens[labelled:]]
        for index, colon, _ in entries if labelled else ():
            if not colon:
                raise ValueError(f"{where}, line {line}: {shown(index)} is not index:value")
        indices.extend(feature_indices([index for index, _, _ in entries], n_features, where, line))
        data.extend(numbers([value if colon else b"1" for _, colon, value in entries], where, line))
        indptr.append(len(indices))
    if len(indptr) == 1:
        raise ValueError(f"{where}: no rows")
    d = int(np.max(indices, initial=-1)) + 1 if n_features is None else n_features
    return csr(data, indices, indptr, (len(indptr) - 1, d)), whole_numbers(labels, where, places)


def read_libsvm(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read LIBSVM text, ``label index:value ...`` with indices from 1 and increasing, as CSR in
    float64 and int64 labels.

    `n_features` is the largest index found if left out. The first line that is not as it should be
    is named, with its token.

    >>> X, y = read_libsvm(b"+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1, -1]))
    """
    return _sparse_rows(raw, where, n_features, labelled=True)


def read_nips_sparse(raw: bytes, where: str = "data", n_features: int | None = None):
    """Read a NIPS 2003 sparse matrix as CSR: ``index:value ...`` or, for 0/1 data, ``index ...``,
    from 1; a blank line is a row of zeros.

    >>> read_nips_sparse(b"1 3 \\n2 \\n").toarray()
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    return _sparse_rows(raw, where, n_features, labelled=False)[0]
