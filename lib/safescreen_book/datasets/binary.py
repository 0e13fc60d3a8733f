"""Two classes out of several."""

import numpy as np

from safescreen._checks import check_vector


def two_classes(y):
    """Return labels -1 and +1. Of two classes the first becomes -1; of more classes the odd numbers
    become +1 and the even ones -1.

    SSS14 uses satimage (six classes), dna (three) and shuttle (seven) as two-class problems and
    does not say how. Odd against even needs no choice, and both sides get a good number of rows.

    Parameters
    ----------
    y : array of shape (n,)
        Class numbers, integers if there are more than two.

    Returns
    -------
    ndarray of shape (n,), int64

    Raises
    ------
    ValueError
        One class only, more than two that are not integers, or all of them odd or even.

    Examples
    --------
    >>> two_classes([0, 1, 1]).tolist(), two_classes([1, 2, 3, 7]).tolist()
    ([-1, 1, 1], [1, -1, 1, 1])
    """
    y = check_vector(y, np.size(y), "y")
    classes = np.unique(y)
    if classes.size < 2:
        raise ValueError(f"y must hold two classes or more, found {classes.tolist()}")
    if classes.size == 2:
        return np.where(y == classes[0], -1, 1)
    if (classes != np.rint(classes)).any():
        raise ValueError(
            "y must hold integers where there are more than two classes, found "
            f"{classes[classes != np.rint(classes)][0]:g}"
        )
    odd = y % 2 == 1
    if odd.all() or not odd.any():
        raise ValueError(
            "y must hold odd and even numbers where there are more than two classes, found "
            f"{classes.tolist()}"
        )
    return np.where(odd, 1, -1)
