"""Triplets as products of lists, which are summed by sorting and never stored one by one. They make
the problem of STS19 with all triplets of a data set possible.
"""

from safescreen.products.triplets import ProductTriplets

__all__ = ["ProductTriplets"]


def __getattr__(name):
    if name == "BlockScreening":
        raise AttributeError(f"{name} went with the screening of products: screen listed Triplets")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
