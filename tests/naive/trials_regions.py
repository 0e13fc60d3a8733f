"""Trials of what regions are made of: ranges of lam, blocks of products, domes, spheres; every
claim is checked exactly.
"""

import numpy as np

import safescreen as ss
from naive import exact_optima, exact_rules
from naive.dyadic import dot, dyadic
from naive.exact_scenes import DATA, FAMILIES, flat, pair_elements, points_of
from naive.trials_rules import ROOT, STEPS, Tally, scale_of, scenes
from safescreen.spheres import SPHERES
from safescreen.spheres.base import BallReference
from safescreen_book.protocols.block_screening import screen_blocks


def around(ends, steps=(-2, 0, 1, 5, 33, 129)):
    """Yield ends moved by units in the last place."""
    for step in steps:
        yield ends + step * np.spacing(np.abs(ends))


def try_ends(tally, ranges, holds, width):
    """Every lam next to an end of an interval that the interval contains has to be one for which
    the rule holds, exactly.
    """
    for low, high, sign in (
        (ranges.L_low, ranges.L_high, -1.0),
        (ranges.R_low, ranges.R_high, 1.0),
    ):
        for ends, outward in ((low, 1.0 - ROOT), (high, 1.0 + ROOT)):
            k = np.flatnonzero(np.isfinite(ends) & (ends > 0.0))
            if k.size:
                for lam in around(ends[k]):
                    tally.judge((low[k] < lam) & (lam < high[k]), holds(k, sign, lam))
                # no end is much nearer than it has to be
                tally.moved(~holds(k, sign, ends[k] * outward))


def path_ranges(n, seed=5, names=FAMILIES):
    tally = Tally()
    for rng, at in scenes(n, seed, names):
        f, width = at.family, float(rng.choice([0.0, 0.5, 0.3]))
        h, nn, mm = f.products(at.Q), f.squares, f.inner(at.Q, at.Q)
        length = float(np.sqrt(mm.floats()))
        eps, lam0 = (
            float(rng.choice([0.0, 1e-12, 1e-3])) * length,
            float(10.0 ** rng.uniform(-3, 3)),
        )
        size, is_R = f.terms.norms * (length or 1.0), rng.random(len(f.terms)) < 0.5
        room = size * 10.0 ** rng.uniform(-9, 0.5, size.size) + eps * f.terms.norms
        tau = h.floats() + np.where(is_R, -room, width + room)
        problem = ss.Problem(f.terms.with_threshold(tau), ss.SmoothedHinge(width))
        found = ss.ranges.relaxed_path(problem, at.Q, eps, lam0)

        def holds(k, sign, lam, f=(h, nn, mm, eps, lam0, tau, width)):
            h, nn, mm, eps, lam0, tau, width = f
            level = dyadic(tau[k]) - (width if sign < 0 else 0.0)
            return exact_rules.path_rule_holds(sign * h[k], nn[k], mm, eps, lam0, lam, sign * level)

        try_ends(tally, found, holds, width)
    return tally


def ball_ranges(n, seed=6, names=("space", "diagonal", "plane", "five", "wide")):
    """The ranges of GB, DGB and MGB, from references with Fenchel terms and ``<x, H_->``, and
    with an accuracy.
    """
    tally = Tally()
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        of = exact_optima.range_reference(rng, names[k % len(names)], DATA[(k // len(names)) % 4])
        x, nn, cone = flat(of.x), of.family.squares, of.problem.cone
        accuracy = float(rng.choice([0.0, 0.0, 1e-6])) * of.lam0 * float(np.linalg.norm(of.x)) ** 2
        product = (x * of.minus).sum()
        kinds = (
            ("gradient", 0.25, of.H, of.phi),
            ("midpoint_gap", 0.25, of.plus, of.phi + product),
            ("duality_gap", 1.0, of.plus, 2.0 * (of.phi + product)),
        )
        for name, kappa, W, e in kinds:
            found = getattr(ss.ranges, name)(
                of.problem, cone.check(of.x), of.lam0, accuracy, of.alpha
            )
            h, w, inner, ww, xx = (
                of.family.products(x),
                of.family.products(W),
                (x * W).sum(),
                (W * W).sum(),
                (x * x).sum(),
            )

            def holds(
                k,
                sign,
                lam,
                f=(kappa, e, h, w, inner, ww, xx),
                tau=of.problem.terms.threshold,
                width=of.problem.loss.gamma,
                accuracy=accuracy,
                nn=nn,
            ):
                kappa, e, h, w, inner, ww, xx = f
                lam, level = dyadic(lam), dyadic(tau[k]) - (width if sign < 0 else 0.0)
                center = h[k] * lam if kappa == 1.0 else (h[k] * lam + w[k]) * 0.5
                reach = (lam * lam * xx - lam * inner * 2.0 + ww) * kappa + lam * e
                return exact_rules.relaxed_ball_rule_holds(
                    sign * center, reach, lam * (2.0 * accuracy), nn[k], sign * level, lam
                )

            try_ends(tally, found, holds, of.problem.loss.gamma)
    return tally


def blocks(n, seed=7, kinds=DATA):
    """Products of lists: every triplet that leaves with its pair is decided by the ball rule,
    exactly.

    Where the same point is a repetition, ``||H|| = |x_i - x_l|^2``, and nothing is lost by taking
    pairs apart; nor in a ball of radius 0."""
    tally = Tally()
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        d, diagonal, data = int(rng.integers(2, 5)), bool(k % 3 == 2), kinds[k % len(kinds)]
        twins = bool(rng.random() < 0.6)
        X = points_of(data, rng, 9, d)[rng.permutation(9)[: 4 if twins else 8]]
        X, y = (np.vstack((X, X)), np.tile(np.arange(4), 2)) if twins else (X, np.arange(8) % 2)
        terms = ss.ProductTriplets(
            X, y, 1 if twins else (1, 2, 3, None)[rng.integers(0, 4)], diagonal=diagonal
        )
        shape, index = terms.cone.shape, terms.index
        x = dyadic(X)
        A = pair_elements(x, index[:, 0], index[:, 2], index[:, 0], index[:, 1], diagonal)
        M = rng.integers(-4, 5, shape) * 1.0 if data == "integers" else rng.normal(size=shape)
        # a center of 0 has margins without error
        M = (M if diagonal else 0.5 * (M + M.T)) * (rng.random() < 0.7)
        ball, width = (
            ss.Sphere(M, float(rng.choice([0.0, 0.5, 1e-3])) * twins),
            float(rng.choice([0.0, 0.5, 0.3])),
        )
        q, nn = A @ flat(M), dot(A, A)
        far = ROOT * float(np.median(scale_of(terms.to_triplets(), ball)))
        surds = [exact_rules.ball(g * q, nn, ball.radius) for g in (1.0, -1.0)]
        nearest = [surd.nearest() for surd in surds]
        of_term = {tuple(row): t for t, row in enumerate(index.tolist())}
        for sign, near in zip((1.0, -1.0), nearest, strict=True):
            gap = width * (sign < 0.0)
            for t in rng.integers(0, len(A), 3):
                for step in (*STEPS, None):
                    at = (
                        near[t] + step * np.spacing(abs(near[t]))
                        if step is not None
                        else near[t] - far
                    )
                    tau = float(sign * at + gap)
                    problem = ss.Problem(terms.with_threshold(tau), ss.SmoothedHinge(width))
                    found = screen_blocks(problem.terms, ball, problem.loss)
                    left = (
                        [of_term[tuple(row)] for row in found.remaining.index.tolist()]
                        if len(found.remaining)
                        else []
                    )
                    gone = np.ones(len(A), dtype=bool)
                    gone[left] = False
                    in_R, in_L = (
                        surds[0].above(dyadic(np.full(len(A), tau))),
                        surds[1].above(width - dyadic(np.full(len(A), tau))),
                    )
                    assert found.n_L + found.n_R == gone.sum()
                    right = (
                        (in_R | in_L)
                        & (found.n_L == np.sum(gone & in_L))
                        & (found.n_R == np.sum(gone & in_R))
                    )
                    close = np.abs(near - at) <= 16.0 * np.spacing(abs(at))
                    tally.counts["unsafe"] += int(np.sum(gone & ~right & ~close))
                    if step is None:
                        tally.moved(gone[[t]])
                    else:
                        tally.judge(
                            gone[close], right[close] if gone.any() else (in_R | in_L)[close]
                        )
    return tally


def domes(n, seed=8):
    """All samples linear or zero for all C of an interval, ``w = C s``, margins exactly on their
    thresholds at one of its ends.
    """
    tally = Tally()
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        d = int(rng.integers(2, 6))
        rows = rng.integers(-9, 10, (10, d)) * 1.0
        s = rows.sum(axis=0)
        if not s.any():
            continue
        rows = np.vstack(
            (rows, rng.choice([1, 2, -1, -3], (6, 1)) * s, rng.integers(-9, 10, (8, d)))
        )
        is_L = np.arange(len(rows)) % 3 > 0
        is_L[:10] = True
        s = rows[is_L].sum(axis=0)
        # along the solutions, and in R
        rows = np.vstack((rows, rng.choice([1, 2, -1, -3], (6, 1)) * s))
        is_L = np.concatenate((is_L, np.zeros(6, dtype=bool)))
        C = np.sort(rng.integers(1, 64, 2)) / 64.0
        C[1] = C[0] if rng.random() < 0.3 else C[1]
        ends = np.outer(rows @ s, C)  # exact
        tau = np.where(is_L, ends.max(axis=1), ends.min(axis=1))
        signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
        terms = ss.Samples(rows * signs[:, None], signs)
        size = float(rng.choice([0.0, 1e-15, 1e-9, 1e-3, 0.1]))
        alpha = is_L * (1.0 - size * (rng.random(len(rows)) < 0.3))
        along = rng.random() < 0.5
        near = [
            c * s * (1.0 + size * (rng.choice([-1.0, 1.0]) if along else rng.normal(size=d)))
            for c in C
        ]
        a, b = (
            ss.svm.Reference(w, is_L * 1.0 if along else alpha, c)
            for w, c in zip(near, C, strict=True)
        )
        bound = b if rng.random() < 0.7 else float(np.nextafter(np.linalg.norm(C[1] * s), np.inf))
        found = ss.svm.dome_test(terms.with_threshold(tau), a, bound)
        tally.judge(found.in_L | found.in_R, np.zeros(len(rows), dtype=bool))
        if size < 1e-8 and C[0] < C[1]:
            room = ROOT * np.linalg.norm(rows, axis=1) * np.linalg.norm(s)
            found = ss.svm.dome_test(
                terms.with_threshold(tau + np.where(is_L, room, -room)), a, bound
            )
            tally.counts["unsafe"] += int(np.sum(found.in_L & ~is_L) + np.sum(found.in_R & is_L))
            along = np.abs(rows @ s) >= 0.999999 * np.linalg.norm(rows, axis=1) * np.linalg.norm(s)
            tally.moved((found.in_L | found.in_R)[along & (rows @ s > 0.0)])
    return tally


def spheres(n, seed=9):
    """Every sphere holds the exact optimum, where that lies on its surface."""
    tally, names = Tally(), ("space", "diagonal", "plane", "five", "wide", "line")
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        kink = k % 4 == 3
        name = names[k % len(names)] if not kink else "space"
        f, problem, lam, plus = exact_optima.all_linear(
            rng, name, DATA[(k // len(names)) % 4], kink
        )
        shape = problem.cone.shape
        best = plus.floats().reshape(shape) / lam
        for factor in (0.5, 1.0, 1.3, 1.0 - 1e-9, 1.0 + 1e-3 * rng.normal(size=shape)):
            x = best * np.minimum(factor, 1.0) if kink else best * factor
            x = np.maximum(x, 0.0) if name == "diagonal" else x
            alpha = (
                rng.choice([0.0, 0.5, 1.0, float(rng.uniform())], len(f.terms))
                if kink
                else np.ones(len(f.terms))
            )
            e = problem.evaluate(x, lam, alpha)
            r = BallReference(problem, e)
            balls = [family.build(r) for family in SPHERES.values() if not family.uses_path]
            balls += [ss.spheres.constrained_duality_gap_bound(problem, alpha, lam)]
            lam0 = lam * float(rng.choice([0.4, 0.99, 1.0, 1.7]))
            before = plus.floats().reshape(shape) / lam0 * factor
            apart = plus - flat(before) * lam0
            square = dot(apart, apart)
            if not kink:  # linear for lam0 too
                eps = exact_optima.next_up(square) / lam0 * (1.0 + 4e-16)
                balls += [ss.spheres.relaxed_path_bound(before, eps, lam0, lam)]
                if not (square > 0.0).any():
                    balls += [ss.spheres.path_bound(before, lam0, lam)]
            for ball in balls:
                apart = flat(ball.center) * lam - plus
                square, reach = dot(apart, apart), dyadic(ball.radius) * lam
                holds = np.atleast_1d(square <= reach * reach)
                tally.judge(np.ones(1, dtype=bool), holds)
                tally.counts["surface"] += int((square > reach * reach * (1.0 - ROOT)).all())
    tally.counts["past"] += 1
    return tally
