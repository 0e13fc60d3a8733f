"""The same results, to the last bit, for any chunk size; the same for any number of threads."""

import numba
import numpy as np
import pytest

import safescreen as ss
from instances import KINDS, instance
from safescreen.rules import RULES
from safescreen.terms import base


def everything(of, gamma):
    """Return all numbers a problem can be asked for, as one list of arrays."""
    prob, lam = of.problem(gamma), of.lam(0.3)
    x = prob.cone.project(prob.all_linear() / (2.0 * lam))
    ball = ss.spheres.midpoint_gap_bound(prob, x, lam)
    wide = ss.Sphere(ball.center, 0.2 * ball.radius, ball.normal)
    out = [
        prob.terms.margins(x),
        prob.terms.norms,
        prob.alpha(x),
        prob.lam_max(),
        prob.gap(x, lam),
        ball.radius,
    ]
    for rule in RULES.values():
        out += [rule(prob, wide).in_L, rule(prob, wide).in_R]
    out += [
        ss.rules.intersection(prob, wide, ball).in_R,
        *vars(ss.ranges.relaxed_path(prob, x, 1e-3, lam)).values(),
    ]
    path = ss.path(
        prob,
        [lam, 0.8 * lam, 0.6 * lam],
        tol=0.0,
        rtol=1e-7,
        active_set=True,
        screening=("RRPB", "PGB"),
    )
    for solution in path:
        out += [
            solution.x,
            solution.gap,
            solution.n_iter,
            solution.screened.in_L,
            solution.screened.in_R,
        ]
    return [np.asarray(v) for v in out]


@pytest.mark.parametrize("gamma", [0.0, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_chunks(kind, gamma, monkeypatch):
    of = instance(kind)
    expected = everything(of, gamma)
    assert any(v.dtype == bool and v.any() for v in expected)
    for chunk in (1, 7, 1000):
        monkeypatch.setattr(base, "CHUNK", chunk)
        for found, wanted in zip(everything(of, gamma), expected, strict=True):
            assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f")


@pytest.mark.parametrize("kind", KINDS)
def test_threads(kind):
    of, before = instance(kind), numba.get_num_threads()
    try:
        found = []
        for n in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(n)
            found.append(everything(of, 0.05))
    finally:
        numba.set_num_threads(before)
    for one, many in zip(*found, strict=True):
        assert np.array_equal(one, many, equal_nan=one.dtype.kind == "f")
