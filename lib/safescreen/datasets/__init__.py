"""The data sets of the papers: found, fetched, checked, read and scaled.

>>> from safescreen import datasets
>>> iris = datasets.load("iris")
>>> iris.X.shape, float(iris.X.min()), float(iris.X.max())
((150, 4), -1.0, 1.0)
"""

from safescreen.datasets.binary import two_classes
from safescreen.datasets.loading import Dataset, load, subsample
from safescreen.datasets.registry import FileSpec, Info, Part, info, names
from safescreen.datasets.store import DataNotFoundError, available, fetch, find, folders, verify
from safescreen.datasets.synthetic import sparse_classification
from safescreen.datasets.topics import sparse_topics

__all__ = [
    "DataNotFoundError",
    "Dataset",
    "FileSpec",
    "Info",
    "Part",
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
