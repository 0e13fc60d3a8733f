"""What a Dask worker does with a shard: pure functions of data and numbers, so that a lost result
is computed again from its recipe.

A shard is a family of triplets of its own. The module is imported by the workers, and needs no
dask.

Arrays that come out of a message may begin anywhere in it, and for those that are not aligned numpy
takes another way through a product, with other roundings: so what is sent is aligned before it is
used, and all workers find the same, to the last bit."""

import pickle
from dataclasses import fields, replace

import numpy as np

from safescreen.problem import Problem
from safescreen.rules import sphere
from safescreen.terms.indices import number_pairs
from safescreen.terms.neighbors import AnchorLists
from safescreen.terms.pairs import PairTable, Points
from safescreen.terms.products import ProductTriplets, products_of
from safescreen.terms.triplets import Triplets

SHRINK = 0.05
"""Screened triplets leave a shard once they are this part of it."""


class _Packed:
    """Pickled in one piece, out of which arrays come aligned."""

    def __reduce__(self):
        return _unpack, (type(self), pickle.dumps(self.__dict__, protocol=4))


def _unpack(kind, packed):
    record = kind.__new__(kind)
    record.__dict__.update(pickle.loads(packed))
    return record


def _aligned(value):
    return np.require(value, requirements="A") if isinstance(value, np.ndarray) else value


class Shared(_Packed):
    """The points that all shards of a worker have in common."""

    def __init__(self, points):
        self.points = points


class Shard(_Packed):
    """The terms of a shard, with their size in memory for the scheduler to know (the points,
    which shards share, do not count).
    """

    def __init__(self, terms):
        self.terms = terms

    def __sizeof__(self):
        terms = self.terms
        if terms.explicit:
            return 16 * len(terms) + 16 * (len(terms.same_pairs) + len(terms.other_pairs))
        return terms.n_bytes


def center(X, diagonal):
    """Return the centred points all shards share."""
    return Shared(Points(_aligned(X), diagonal=diagonal))


def from_index(index, shared):
    """Return the shard of a part of an index array, which has been checked."""
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
    """Return the shard of ``(first anchor, number of anchors, lists)``, as products or listed;
    the lists of all pairs are class numbers.
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
    """Return what a method of the terms says; `own` is the shard's part of an array, the last
    argument.
    """
    return getattr(shard.terms, method)(*map(_aligned, arguments), *map(_aligned, own))


def inner_products(shard, x):
    """Return the inner products with x, and bounds of their errors."""
    return shard.terms.inner_products(_aligned(x)).chunk(0, len(shard.terms))


def part(shard, own, method):
    """Return the shard that a method makes of its terms and a part of an array, or a number."""
    return Shard(getattr(shard.terms, method)(_aligned(own)))


def screen(shard, ball, loss):
    """Return ``(shard that is left, total, error, n_L, n_R)``: the sum of the triplets that are
    certainly linear, and the counts.

    Listed triplets are screened by the sphere rule, products of lists pair by pair.
    """
    terms = shard.terms
    ball = replace(ball, center=_aligned(ball.center))
    if not terms.explicit:
        remaining, *screened = terms.screen_blocks(ball, loss)
        return Shard(remaining), *screened
    screened = sphere(Problem(terms, loss), ball)
    if screened.n_L + screened.n_R < max(1.0, SHRINK * len(terms)):
        return shard, terms.cone.zeros(), 0.0, 0, 0
    remaining, total, error, _ = terms.partition(
        screened.in_L.view(np.int8) + 2 * screened.in_R.view(np.int8)
    )
    return Shard(remaining), total, error, screened.n_L, screened.n_R
