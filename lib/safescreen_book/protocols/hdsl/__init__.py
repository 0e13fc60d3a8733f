"""The methods with which HDSL19 compares its own, and the made-up data on which it tests them."""

from safescreen_book.protocols.hdsl.atoms import similarity_of, table_of
from safescreen_book.protocols.hdsl.recovery import recovery_auc
from safescreen_book.protocols.hdsl.synthetic import (
    graded_links,
    graded_triplets,
    link_triplets,
    power_law,
    random_similarity,
    sparse_points,
)

__all__ = [
    "graded_links",
    "graded_triplets",
    "link_triplets",
    "power_law",
    "random_similarity",
    "recovery_auc",
    "similarity_of",
    "sparse_points",
    "table_of",
]
