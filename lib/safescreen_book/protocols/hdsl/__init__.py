"""What HDSL19 compares its method with, and the made-up data it tests it on."""

from safescreen_book.protocols.hdsl.diagonal import DiagonalSimilarity, fit_diagonal
from safescreen_book.protocols.hdsl.oasis import BilinearSimilarity, Projection, fit_oasis, pca_projection, random_projection
from safescreen_book.protocols.hdsl.recovery import Recovery, recovery_auc
from safescreen_book.protocols.hdsl.svm import fit_svm
from safescreen_book.protocols.hdsl.synthetic import (
    graded_links,
    graded_triplets,
    link_triplets,
    power_law,
    random_similarity,
    sparse_points,
)

__all__ = [
    "BilinearSimilarity",
    "DiagonalSimilarity",
    "Projection",
    "Recovery",
    "fit_diagonal",
    "fit_oasis",
    "fit_svm",
    "graded_links",
    "graded_triplets",
    "link_triplets",
    "pca_projection",
    "power_law",
    "random_projection",
    "random_similarity",
    "recovery_auc",
    "sparse_points",
]
