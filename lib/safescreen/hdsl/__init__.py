"""Sparse similarities ``x'Mx`` for very many features, by Frank-Wolfe with away steps (HDSL19)."""

from safescreen.hdsl.frank_wolfe import FrankWolfe
from safescreen.hdsl.neighbors import NeighborError, predict_neighbors
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.hdsl.triplets import default_scale, nearest_triplets, random_triplets

__all__ = [
    "FrankWolfe",
    "NeighborError",
    "SparseSimilarity",
    "default_scale",
    "nearest_triplets",
    "predict_neighbors",
    "random_triplets",
]
