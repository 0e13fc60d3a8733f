"""The data sets of the papers: found, fetched, checked, read and scaled.

>>> from safescreen_book import datasets
>>> iris = datasets.load("iris")
>>> iris.X.shape, float(iris.X.min()), float(iris.X.max())
((150, 4), -1.0, 1.0)
"""

from safescreen_book.datasets.binary import two_classes
from safescreen_book.datasets.loading import Dataset, load, subsample
from safescreen_book.datasets.registry import FileSpec, Info, Part, info, names
from safescreen_book.datasets.store import (
    DataNotFoundError,
    advice,
    available,
    fetch,
    find,
    folders,
    verify,
)
from safescreen_book.datasets.synthetic import sparse_classification
from safescreen_book.datasets.topics import sparse_topics

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "FileSpec",
    "Info",
    "Part",
    "advice",
    "available",
    "fetch",
    "find",
    "folders",
    "info",
    "load",
    "names",
    "sparse_classification",
    "sparse_topics",
    "subsample",
    "two_classes",
    "verify",
]
