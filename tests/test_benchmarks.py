"""The plain baseline of the benchmarks solves the same problem, and the benchmarks run end to
end on small cases.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import baseline
import safescreen as ss

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1.0, 1.0, (14, 3)), np.arange(14) % 2
    X[y == 1, 0] += 1.0
    triplets = ss.Triplets.from_labels(X, y)
    lams = ss.Problem(triplets, ss.SmoothedHinge(0.05)).lam_max() * 0.6 ** np.arange(12)
    return X, triplets, lams


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize("screening", [False, True])
def test_baseline_agrees_with_solve(small, screening):
    X, triplets, lams = small
    prob = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    plain = baseline.plain_path(X, triplets.index, lams, rtol=1e-7, screening=screening)
    assert [p.lam for p in plain] == lams.tolist()
    for p in plain:
        ours = ss.solve(prob, p.lam, tol=1e-12, rtol=1e-8)
        assert p.gap <= 1e-7 * p.primal
        assert p.primal == pytest.approx(ours.primal, rel=1e-5)
        assert np.linalg.norm(p.M - ours.x) <= np.sqrt(2.0 * (p.gap + ours.gap) / p.lam) * 1.01
    assert (plain[-1].screening_rate > 0.0) == screening


@pytest.mark.nojit
def test_baseline_point_is_the_problem(small):
    X, triplets, lams = small
    prob = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    M = 0.7 * prob.all_linear() / lams[4]
    point = baseline._Point(baseline._Terms(X, triplets.index, 0.05), M, lams[4])
    e = prob.evaluate(M, lams[4])
    assert 0.0 < e.loss and point.primal == pytest.approx(e.primal, rel=1e-12)
    assert point.primal - point.gap == pytest.approx(e.dual, rel=1e-12)
    np.testing.assert_allclose(
        point.gradient, e.gradient, rtol=1e-10, atol=1e-12 * np.abs(e.H).max()
    )


@pytest.mark.nojit
def test_baseline_screens_safely(small):
    X, triplets, lams = small
    loss = ss.SmoothedHinge(0.05)
    whole = baseline._Terms(X, triplets.index, 0.05)
    last = baseline.plain_path(X, triplets.index, lams[:5], rtol=1e-7)[-1]
    lam = 0.9 * last.lam
    left = baseline._screened(whole, last, lam, 1e-7)
    margins = triplets.margins(ss.solve(ss.Problem(triplets, loss), lam, tol=1e-10).x)
    rows = {tuple(row) for row in left.index.tolist()}
    gone = np.array([tuple(row) not in rows for row in triplets.index.tolist()])
    assert gone.sum() == len(triplets) - len(left.index) > 0
    eps = np.sqrt(2e-7 * last.primal / last.lam)
    found = ss.rules.sphere(
        ss.Problem(triplets, loss), ss.spheres.relaxed_path_bound(last.M, eps, last.lam, lam)
    )
    # no margin is within rounding of its limit
    np.testing.assert_array_equal(gone, found.in_L | found.in_R)
    assert left.n_linear == np.count_nonzero(gone & (margins < 0.95)) > 0
    assert np.count_nonzero(gone & (margins > 1.0)) == gone.sum() - left.n_linear > 0
    expected = triplets.weighted_sum((gone & (margins < 0.95)).astype(float))[0]
    np.testing.assert_allclose(left.linear, expected, rtol=1e-10, atol=1e-10)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What all benchmarks print on small cases of the embedded data."""
    options = (
        "-q",
        "--small",
        "--dist=no",
        "--benchmark-enable",
        "--benchmark-quiet",
        "-p",
        "no:cacheprovider",
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "benchmarks",
        *options,
        f"--basetemp={tmp_path_factory.mktemp('benchmarks')}",
    ]
    # it is no worker of xdist
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        command,
        env={**environment, "SAFESCREEN_DATA": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_every_benchmark_runs_or_says_what_is_missing(printed):
    passed, skipped = map(int, re.search(r"(\d+) passed, (\d+) skipped", printed).groups())
    assert passed >= 40
    known = r"no data|threads:|memory is read|could not import '(?:rehline|snapml)'"
    assert skipped == sum(map(int, re.findall(rf"SKIPPED \[(\d+)\] .*(?:{known})", printed)))


@pytest.mark.exhaustive
def test_tables_give_ratios_to_the_reference(printed):
    tables = re.split(r"^-+ (.*) -+$", printed, flags=re.M)
    found = {
        title.partition(":")[0]: text
        for title, text in zip(tables[1::2], tables[2::2], strict=True)
    }
    for data, reference, method in (
        ("iris", "plain", "products MGB"),
        ("breast-cancer", "LIBLINEAR", "IT, MGB"),
    ):
        rows = {
            name: cells.split()
            for name, cells in re.findall(r"^  (\S+(?: \S+)*) {2,}(.*)$", found[data], flags=re.M)
        }
        assert rows["method"][:3] == ["seconds", "least", "ref/this"]
        first, other = rows[f"{reference} (ref)"], rows[method]
        assert float(first[2]) == 1.0
        assert float(other[2]) == pytest.approx(float(first[0]) / float(other[0]), rel=0.02)
        assert float(other[-1]) > 0.0, "screened"
