"""Triplets as products of lists, summed by sorting and never stored one by one (STS19 in full: all
triplets of a data set).
"""

from safescreen.products.triplets import BlockScreening, ProductTriplets

__all__ = ["BlockScreening", "ProductTriplets"]
