"""The functions that a Dask worker applies to a shard, a part of the triplets. They are pure
functions of data and numbers, so a lost result can be computed again.

A shard is itself a family of triplets. The workers import this module, which needs no dask.

An array from a message may begin at any byte of it. For an array that is not aligned numpy computes
a product in another order, with other roundings. So arrays from messages are aligned before use,
and all workers compute the same to the last bit.
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
    """A value that is pickled in one piece. Its arrays are aligned when it is read."""

    def __reduce__(self):
        return _unpack, (type(self), pickle.dumps(self.__dict__, protocol=4))


def _unpack(kind, packed):
    record = kind.__new__(kind)
    record.__dict__.update(pickle.loads(packed))
    return record


def _aligned(value):
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


class SharedData(_Packed):
    """The points, which all shards of a worker share."""

    def __init__(self, points):
        self.points = points


class Shard(_Packed):
    """The terms of a shard, with their size in memory, which the scheduler needs. The points do not
    count, because all shards share them.
    """

    def __init__(self, terms):
        self.terms = terms

    def __sizeof__(self):
        terms = self.terms
        if terms.explicit:
            return 16 * len(terms) + 16 * (len(terms.same_pairs) + len(terms.other_pairs))
        return terms.n_bytes


def center(X, diagonal):
    """Return the centred points, which all shards share."""
    return SharedData(Points(_aligned(X), diagonal=diagonal))


def from_index(index, shared):
    """Return the shard of a part of a checked index array."""
    points = shared.points
    index = _aligned(index)
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
    triplets. If all pairs are used, the lists are class numbers.
    """
    first, size, lists = anchors
    points = shared.points
    if isinstance(lists, AnchorLists):
        lists = AnchorLists(*(_aligned(getattr(lists, field.name)) for field in fields(lists)))
    terms = ProductTriplets.of(
        products_of(points, np.arange(first, first + size, dtype=np.int32), lists)
    )
    return Shard(terms if products else terms.to_triplets())


def ask(shard, *own, method, arguments=()):
    """Return the result of a method of the terms. `own` is the shard's part of an array, and the
    last argument.
    """
    return getattr(shard.terms, method)(*map(_aligned, arguments), *map(_aligned, own))


def inner_products(shard, x):
    """Return the inner products with x and bounds of their errors."""
    return shard.terms.inner_products(_aligned(x)).chunk(0, len(shard.terms))


def part(shard, own, method):
    """Return the shard that a method makes from the terms and from a part of an array, or from a
    number.
    """
    return Shard(getattr(shard.terms, method)(_aligned(own)))
