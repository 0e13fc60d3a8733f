"""The benchmark: the plain baseline solves the same problem, and the command runs end to end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import safescreen as ss
from safescreen.bench import baseline, cases, cli, plain_path, report, samples

LIBRARY = Path(ss.__file__).parents[1]


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
    plain = plain_path(X, triplets.index, lams, rtol=1e-7, screening=screening)
    assert [p.lam for p in plain] == lams.tolist()
    for p in plain:
        ours = ss.solve(prob, p.lam, tol=1e-12, rtol=1e-8)
        assert p.gap <= 1e-7 * p.primal
        assert p.primal == pytest.approx(ours.primal, rel=1e-5)
        assert np.linalg.norm(p.M - ours.x) <= np.sqrt(2.0 * (p.gap + ours.gap) / p.lam) * 1.01
    assert (plain[-1].n_screened > 0) == screening


@pytest.mark.nojit
def test_baseline_point_is_the_problem(small):
    X, triplets, lams = small
    prob = ss.Problem(triplets, ss.SmoothedHinge(0.05))
    M = 0.7 * prob.all_linear() / lams[4]
    point = baseline._Point(baseline._Terms(X, triplets.index, 0.05), M, lams[4])
    e = prob.evaluate(M, lams[4])
    assert 0.0 < e.loss and point.primal == pytest.approx(e.primal, rel=1e-12)
    assert point.primal - point.gap == pytest.approx(e.dual, rel=1e-12)
    np.testing.assert_allclose(point.gradient, e.gradient, rtol=1e-10, atol=1e-12 * np.abs(e.H).max())


@pytest.mark.nojit
def test_baseline_screens_safely(small):
    X, triplets, lams = small
    loss = ss.SmoothedHinge(0.05)
    whole = baseline._Terms(X, triplets.index, 0.05)
    last = plain_path(X, triplets.index, lams[:5], rtol=1e-7)[-1]
    lam = 0.9 * last.lam
    left = baseline._screened(whole, last, lam, 1e-7)
    margins = triplets.margins(ss.solve(ss.Problem(triplets, loss), lam, tol=1e-10).x)
    rows = {tuple(row) for row in left.index.tolist()}
    gone = np.array([tuple(row) not in rows for row in triplets.index.tolist()])
    assert gone.sum() == len(triplets) - len(left.index) > 0
    eps = np.sqrt(2e-7 * last.primal / last.lam)
    found = ss.rules.sphere(ss.Problem(triplets, loss), ss.spheres.relaxed_path_bound(last.M, eps, last.lam, lam))
    np.testing.assert_array_equal(gone, found.in_L | found.in_R)  # no margin is within rounding of its limit
    assert left.n_linear == np.count_nonzero(gone & (margins < 0.95)) > 0
    assert np.count_nonzero(gone & (margins > 1.0)) == gone.sum() - left.n_linear > 0
    expected = triplets.weighted_sum((gone & (margins < 0.95)).astype(float))[0]
    np.testing.assert_allclose(left.linear, expected, rtol=1e-10, atol=1e-10)


def test_baseline_says_when_it_fails(small):
    X, triplets, lams = small
    with pytest.raises(RuntimeError, match="after 1 steps"):
        plain_path(X, triplets.index, lams, max_iter=1)


def test_grids_end_where_they_should():
    for case in cases.CASES.values():
        assert case.lams[0] == case.start and case.lams[-1] >= case.end > case.lams[-1] * case.ratio
    assert {name: len(case.lams) for name, case in cases.CASES.items()} == {"iris": 126, "wine": 123}


def test_quick_run_end_to_end(tmp_path):
    out = tmp_path / "bench.json"
    command = [sys.executable, "-m", "safescreen.bench", "--quick", "--data", "iris", "--repeats", "1", "--json", str(out)]
    env = {**os.environ, "PYTHONPATH": str(LIBRARY), "SAFESCREEN_DATA": ""}  # embedded data only
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["quick"] and result["threads"]["paths"] == 1 and "numba" in result["versions"]
    [path] = result["paths"]
    assert [m["name"] for m in path["methods"]] == [m.name for m in cases.METHODS + cases.PLAIN]
    for m in path["methods"]:
        assert 0.0 <= m["gap"] <= 1e-6 and m["objective_off"] <= 1e-6
        assert (m["screened"] > 0.0) == (m["name"] != "none")
        assert m["seconds"] > 0.0 and m["iterations"] > 0
    assert result["summary"]["times_faster"]["triplets"] > 0.0
    assert [m["name"] for m in result["memory"]] == ["none", "RRPB", "RRPB+PGB", "RRPB ranges"]
    assert all(m["bytes_per_triplet"] > 0.0 for m in result["memory"])
    for call in result["evaluations"]["calls"]:
        assert call["primal"] > 0.0 and call["primal"] - call["dual"] >= -1e-12 * call["primal"]
    found = result["samples"][0]
    assert found["data"] == "breast-cancer" and [m["name"] for m in found["methods"]] == [*samples.PATHS, samples.OUTSIDE]
    for m in found["methods"]:
        assert m["name"] == samples.OUTSIDE or 0.0 <= m["gap"] <= 1e-6
        assert (m["screened"] > 0.0) == (m["name"] not in ("none", samples.OUTSIDE))
    assert done.stdout == report.render(result)


def test_report(capsys):
    rows = [("triplets", "none", 4.0), ("triplets", "GB", 3.0), ("triplets", "RRPB", 2.0)]
    rows += [("products", "none", 1.0), ("products", "MGB", 1.5), ("plain", "none", 50.0), ("plain", "RRPB", 20.0)]
    same = {"iterations": 7, "gap": 9e-7, "screened": 0.5, "objective_off": 1e-8, "build": 0.1}
    methods = [{"terms": t, "name": n, "seconds": s, "best": s, "runs": [s], **same} for t, n, s in rows]
    sizes = {"points": 150, "dimension": 4, "triplets": 735000}
    path = {"data": "iris", "lam_first": 1.3e7, "lam_last": 24.8, "ratio": 0.9, "lams": 126, "compile_seconds": 9.0, "methods": methods}
    paths = [{**path, **sizes}]
    summary = report.summarize(paths)
    assert summary["methods"] == {"plain": ["none"], "triplets": ["RRPB"], "products": ["none"]}
    assert summary["times_faster"] == {"triplets": 25.0, "products": 50.0}
    call = {"part": 1.0, "seconds": 0.25, "best": 0.2}
    rows = [("none", 2.0, 0), ("MGB", 0.5, 0), (samples.OUTSIDE, 4.0, 3)]
    solvers = [{"name": n, "seconds": s, "best": s, "iterations": 7, "screened": 0.5, "missed": m} for n, s, m in rows]
    result = {
        "quick": False, "cpu": "a processor", "cores": 2, "machine": "here", "versions": {"numpy": "2.4"},
        "paths": paths, "summary": summary,
        "memory": [{"data": "iris", "name": "RRPB", "bytes_per_triplet": 33.3}],
        "samples": [{"data": "rows", "samples": 1000, "dimension": 5, "Cs": 9, "methods": solvers}],
        "evaluations": {"data": "digits", **sizes, "threads": 2, "calls": [call], "growth_bytes": 150e6, "build_seconds": 0.1},
    }  # fmt: skip
    text = report.render(result)
    assert "735,000 triplets of 150 points" in text and "RRPB 33.3" in text and "150 MB" in text
    [row] = [line.split() for line in text.splitlines() if line.startswith("  triplets  RRPB ")]
    assert row == ["triplets", "RRPB", "2.00", "2.00", "2.00", "25.0", "7", "9.00e-07", "50.0%", "1.0e-08"]
    [row] = [line.split() for line in text.splitlines() if line.startswith("  MGB ") and "%" in line]
    assert row == ["MGB", "0.500", "0.500", "4.00", "8.00", "7", "50.0%"]
    assert "for 3 values of C" in text
    assert "25.0 times faster" in text and "not in this run" in text and "none 55.6, PGB 19.5, RRPB 12.5" in text


@pytest.mark.parametrize(
    "arguments, message", [(["--repeats", "0"], "at least 1, got 0"), (["--data", "mars"], "mars"), (["--json", "no/x"], "no folder")]
)
def test_bad_arguments(arguments, message, capsys):
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert message in capsys.readouterr().err
