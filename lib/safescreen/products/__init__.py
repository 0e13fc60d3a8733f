"""Triplets as products of lists, summed by sorting and never stored one by one (STS19 in full: all
triplets of a data set).
"""

from safescreen.products.triplets import ProductTriplets

__all__ = ["ProductTriplets"]


def __getattr__(name):
    if name == "BlockScreening":
        raise AttributeError(f"{name} went with the screening of products: screen listed Triplets")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
