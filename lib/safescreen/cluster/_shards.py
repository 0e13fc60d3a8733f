"""The functions that a Dask worker applies to a shard, which holds some of the triplets. The
functions are pure, so a lost result can be computed again.

A shard is itself a family of triplets. The workers import this module, which does not import dask.

An array in a message may begin at any byte of the message. If an array is not aligned, numpy
computes a product in another order, with other rounding errors, and OpenBLAS for some old
processors ends the process. So arrays from messages are aligned before use, and all workers compute
the same result to the last bit.
"""

import pickle
from dataclasses import fields

import numpy as np

from safescreen.products.triplets import ProductTriplets, products_of
from safescreen.terms.indices import number_pairs
from safescreen.terms.neighbors import AnchorLists
from safescreen.terms.pairs import PairTable, Points
from safescreen.terms.triplets import Triplets


class _Packed:
    """A value that is pickled in one piece. Unpickling aligns its arrays."""

    def __reduce__(self):
        return _unpack, (type(self), pickle.dumps(self.__dict__, protocol=4))


def _unpack(kind, packed):
    record = kind.__new__(kind)
    record.__dict__.update(pickle.loads(packed))
    return record


def aligned(value):
    """Return a value from a message, with its data aligned if it is an array."""
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


class SharedData(_Packed):
    """The points that all shards of a worker share."""

    def __init__(self, points):
        self.points = points


class Shard(_Packed):
    """The terms of a shard. ``__sizeof__`` tells the scheduler their size in memory without the
    points, which all shards share.
    """

    def __init__(self, terms):
        self.terms = terms

    def __sizeof__(self):
        terms = self.terms
        if terms.explicit:
            return 16 * len(terms) + 16 * (len(terms.same_pairs) + len(terms.other_pairs))
        return terms.n_bytes


def center(X, diagonal):
    """Return the centred points that all shards share."""
    return SharedData(Points(aligned(X), diagonal=diagonal))


def from_index(index, shared):
    """Return the shard whose triplets are some rows of a checked index array."""
    points = shared.points
    index = aligned(index)
    n = points.n
    same_pairs, same = number_pairs(index[:, :2], n)
    other_pairs, other = number_pairs(index[:, ::2], n)
    return Shard(
        Triplets.of(
            points, PairTable(points, same_pairs), PairTable(points, other_pairs), same, other
        )
    )


def from_lists(anchors, shared, products):
    """Return the shard of ``(first anchor, number of anchors, lists)``, as products or as a list of
    triplets. If the triplets use all pairs, the class numbers of the points take the place of the
    lists.
    """
    first, size, lists = anchors
    points = shared.points
    if isinstance(lists, AnchorLists):
        lists = AnchorLists(*(aligned(getattr(lists, field.name)) for field in fields(lists)))
    terms = ProductTriplets.of(
        products_of(points, np.arange(first, first + size, dtype=np.int32), lists)
    )
    return Shard(terms if products else terms.to_triplets())


def ask(shard, *own, method, arguments=()):
    """Return the result of a method of the terms. The last argument of the method is `own`, the
    entries of an array that belong to this shard.
    """
    return getattr(shard.terms, method)(*map(aligned, arguments), *map(aligned, own))


def inner_products(shard, x):
    """Return the inner products with x and bounds of their errors."""
    return shard.terms.inner_products(aligned(x)).chunk(0, len(shard.terms))


def part(shard, own, method):
    """Return the shard of the terms that a method makes. The argument `own` of the method is a
    number, or the entries of an array that belong to this shard.
    """
    return Shard(getattr(shard.terms, method)(aligned(own)))
