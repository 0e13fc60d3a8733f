"""Trials of rules: thresholds on the exact extremes of their regions, or within units in the
last place, each decided exactly.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import safescreen as ss
from naive import exact_optima, exact_rules
from naive.dyadic import Surd, dyadic
from naive.exact_scenes import DATA, FAMILIES, scene
from safescreen.cones import PSDCone
from safescreen.terms.differences import PairDifferences

STEPS = (-3, -1, 0, 1, 2, 5)
"""By how many units in the last place a threshold is moved past the float nearest to the exact
extreme.
"""

MANY = (*STEPS, 3, 9, 17, 33, 65, 129, 257, 513)
"""The same for single triplets and the cone, where a certificate is a difference of squares and
loses more.
"""

MOVED, ROOT = 1e-9, 1e-6
"""Moved back by this fraction of a term's scale, its threshold is to be decided; the second
where a root of roundings enters.
"""


@dataclass
class Tally:
    """How many thresholds were put next to an exact extreme, how many of them at it or past it,
    and what was said.
    """

    counts: Counter = field(default_factory=Counter)

    def judge(self, got, certain, surd=None, level=None):
        """Count decisions `got` against what is certain, exactly."""
        self.counts.update(
            cases=got.size,
            past=int(np.sum(~certain)),
            unsafe=int(np.sum(got & ~certain)),
            decided=int(np.sum(got)),
        )
        if surd is not None:
            self.counts["ties"] += int(np.sum(surd.equals(level)))

    def moved(self, got):
        self.counts.update(moved=got.size, screened=int(np.sum(got)))

    def check(self, share=0.95):
        assert self.counts["unsafe"] == 0, dict(self.counts)
        assert (
            self.counts["past"] > 0 and self.counts["screened"] >= share * self.counts["moved"]
        ), dict(self.counts)
        return self.counts


def try_rule(tally, terms, find, low, high, scale, width=0.0, rng=None, moved=MOVED):
    """Put thresholds around minima `low` of the terms and `high` of minus the terms; `find`
    screens a problem.
    """
    for side, surd in (("in_R", low), ("in_L", high)):
        sign = 1.0 if side == "in_R" else -1.0
        nearest, gap = surd.nearest(), width * (side == "in_L")

        def decide(tau, side=side):
            return getattr(
                find(ss.Problem(terms.with_threshold(tau), ss.SmoothedHinge(width))), side
            )

        for step in STEPS:
            tau = sign * (nearest + step * np.spacing(np.abs(nearest))) + gap
            level = (dyadic(tau) - gap) * sign
            tally.judge(decide(tau), surd.above(level), surd, level)
        if moved is not None:
            tally.moved(decide(sign * (nearest - moved * scale) + gap))
        if rng is not None:  # one threshold for all terms takes another way through the kernels
            tau = sign * float(nearest[rng.integers(nearest.size)]) + gap
            level = (dyadic(np.full(nearest.size, tau)) - gap) * sign
            tally.judge(decide(tau), surd.above(level))


def scenes(n, seed, names=FAMILIES, kinds=DATA):
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        name, data = names[k % len(names)], kinds[(k // len(names)) % len(kinds)]
        if data == "extreme" and name in ("kernel", "powers"):
            data = "mixed"
        yield rng, scene(name, data, rng)


def scale_of(terms, *balls):
    """A bound of ``|<a, x>|`` over the balls, for each term, and of what a pair's roundings are
    proportional to.
    """
    cone, size = terms.cone, terms.norms
    if isinstance(terms, PairDifferences):
        size = terms.same_pairs.scales[terms.same] + terms.other_pairs.scales[terms.other]
    return size * sum(cone.norm_upper(cone.check(b.center)) + b.radius for b in balls)


def ball_rule(n, seed=0, names=FAMILIES, kinds=DATA):
    tally = Tally()
    for rng, at in scenes(n, seed, names, kinds):
        terms, ball = at.family.terms, ss.Sphere(at.Q, at.r)
        q, nn = at.family.products(at.Q), at.family.squares
        low, high = (exact_rules.ball(v, nn, at.r) for v in (q, -q))
        width = float(rng.choice([0.0, 0.5, 0.3]))
        try_rule(
            tally,
            terms,
            lambda p, ball=ball: ss.rules.sphere(p, ball),
            low,
            high,
            scale_of(terms, ball) + width,
            width,
            rng,
        )
    return tally


def one_threshold(n, seed=15):
    """The ball rule with one threshold for all terms, which takes another way through the
    kernel: there where plain sums err.
    """
    tally = Tally()
    for _, at in scenes(n, seed, ("sharp",), ("mixed", "far")):
        terms, q, nn = at.family.terms, at.family.products(at.Q), at.family.squares
        values, errors = terms.inner_products(at.Q).chunk(0, len(terms))
        for side, sign in (("in_R", 1.0), ("in_L", -1.0)):
            surd = exact_rules.ball(sign * q, nn, at.r)
            nearest = surd.nearest()
            for step in (0, 1):
                level = nearest + step * np.spacing(np.abs(nearest))
                plain = sign * values - (errors + at.r * terms.norms) > level
                for t in np.flatnonzero(plain & ~surd.above(level)):
                    found = ss.rules.sphere(
                        ss.Problem(terms.with_threshold(sign * float(level[t])), ss.Hinge()),
                        ss.Sphere(at.Q, at.r),
                    )
                    tally.judge(getattr(found, side)[[t]], np.zeros(1, dtype=bool))
    return tally


def halfspace_rule(n, seed=1, names=FAMILIES):
    tally = Tally()
    for rng, at in scenes(n, seed, names):
        f, ball = at.family, ss.Sphere(at.Q, at.r)
        q, s, nn = f.products(at.Q), f.products(at.P), f.squares
        D, PP = dyadic(at.b) - f.inner(at.P, at.Q), f.inner(at.P, at.P)
        if (D > 0.0).all() and not (D * D <= PP * at.r * at.r).all():
            continue  # they do not meet
        low, high = (exact_rules.halfspace(g * q, nn, g * s, at.r, D, PP) for g in (1.0, -1.0))
        find = lambda p, at=at, ball=ball: ss.rules.halfspace(p, ball, at.P, at.b)  # noqa: E731
        try_rule(tally, f.terms, find, low, high, scale_of(f.terms, ball), rng=rng, moved=ROOT)
    return tally


def intersection_rule(n, seed=2, names=FAMILIES):
    tally = Tally()
    for rng, at in scenes(n, seed, names):
        f, balls = at.family, (ss.Sphere(at.Q, at.r), ss.Sphere(at.Q2, at.r2))
        q1, q2, nn = f.products(at.Q), f.products(at.Q2), f.squares
        Q1, Q2 = (dyadic(np.ravel(np.asarray(Q))) for Q in (at.Q, at.Q2))
        DD, r1, r2 = f.inner(Q1 - Q2, Q1 - Q2), dyadic(at.r), dyadic(at.r2)
        if not (DD > 0.0).all() or not exact_rules.two_balls_meet(DD, r1, r2):
            continue
        low, high = (exact_rules.two_balls(g * q1, g * q2, nn, DD, r1, r2) for g in (1.0, -1.0))
        find = lambda p, balls=balls: ss.rules.intersection(p, *balls)  # noqa: E731
        try_rule(tally, f.terms, find, low, high, scale_of(f.terms, *balls), rng=rng)
    return tally


def orthant_rule(n, seed=3):
    """The semidefinite rule for a diagonal metric, and the cone's half-space."""
    tally = Tally()
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        found = exact_optima.orthant_scene(rng, DATA[k % len(DATA)])
        if found is not None:
            f, ball, low, high = found
            # the half-space is larger
            rule, moved = (
                (ss.rules.RULES["halfspace"], None) if k % 4 == 3 else (ss.rules.semidefinite, ROOT)
            )
            try_rule(
                tally,
                f.terms,
                lambda p, rule=rule, ball=ball: rule(p, ball),
                low,
                high,
                scale_of(f.terms, ball),
                moved=moved,
            )
    return tally


def try_triplet(tally, X, ball, find, surds):
    """One triplet with a row of thresholds, for its minimum (1), for minus its maximum (-1), or
    both.
    """
    terms = ss.Triplets(X, np.tile([[0, 1, 2]], (len(MANY) + 1, 1)))
    for sign, surd in surds.items():
        nearest = surd.nearest()[0]
        level = nearest + np.array([*MANY, 0.0]) * np.spacing(abs(nearest))
        level[-1] = nearest - ROOT * scale_of(terms, ball)[0]
        found = find(ss.Problem(terms.with_threshold(sign * level), ss.Hinge()), ball)
        got = found.in_R if sign > 0 else found.in_L
        one = Surd(
            *(part.reshape(-1)[np.zeros(len(MANY), dtype=int)] for part in (surd.N, surd.W, surd.D))
        )
        tally.judge(got[:-1], one.above(level[:-1]), one, level[:-1])
        if find is ss.rules.semidefinite:
            tally.moved(got[-1:])


def semidefinite_rule(n, seed=4):
    """Both branches: all eigenpairs, and one (d >= 16 and a center in the cone); the cone's
    half-space now and then.
    """
    tally, dims = Tally(), (2, 3, 5, 2, 3, 16, 4, 20)
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        d, rule = dims[k % len(dims)], ss.rules.RULES["halfspace" if k % 9 == 8 else "semidefinite"]
        if k % 997 == 50:
            d = 92  # Lanczos steps
        if k % 3 == 0 and d < 90:
            found = exact_optima.commuting(rng, d)
            if found is not None:
                X, Q, r, low, high = found
                ball = ss.Sphere(Q, r, PSDCone(d).split(Q)[1])
                try_triplet(tally, X, ball, rule, {1: low, -1: high})
            continue
        sign = int(rng.choice([-1, 1]))
        found = exact_optima.cone_point(rng, DATA[int(rng.integers(len(DATA)))], d, sign)
        if found is not None:
            X, Q, r, surd = found
            try_triplet(tally, X, ss.Sphere(Q, r, PSDCone(d).split(Q)[1]), rule, {sign: surd})
    return tally
