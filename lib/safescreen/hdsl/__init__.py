"""Sparse similarities ``x'Mx`` in very many dimensions, by Frank-Wolfe with away steps (HDSL19), and what the paper compares them with."""

from safescreen.hdsl.diagonal import DiagonalSimilarity, fit_diagonal
from safescreen.hdsl.frank_wolfe import FrankWolfe
from safescreen.hdsl.neighbors import NeighborError, neighbor_error, predict_neighbors
from safescreen.hdsl.oasis import BilinearSimilarity, Projection, fit_oasis, pca_projection, random_projection
from safescreen.hdsl.recovery import Recovery, recovery_auc
from safescreen.hdsl.similarity import SparseSimilarity
from safescreen.hdsl.svm import fit_svm
from safescreen.hdsl.synthetic import graded_links, graded_triplets, link_triplets, power_law, random_similarity, sparse_points
from safescreen.hdsl.triplets import nearest_triplets, random_triplets

__all__ = [
    "BilinearSimilarity",
    "DiagonalSimilarity",
    "FrankWolfe",
    "NeighborError",
    "Projection",
    "Recovery",
    "SparseSimilarity",
    "fit_diagonal",
    "fit_oasis",
    "fit_svm",
    "graded_links",
    "graded_triplets",
    "link_triplets",
    "nearest_triplets",
    "neighbor_error",
    "pca_projection",
    "power_law",
    "predict_neighbors",
    "random_projection",
    "random_similarity",
    "random_triplets",
    "recovery_auc",
    "sparse_points",
]
