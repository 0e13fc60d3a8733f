"""The grid, the rates and the counts that experiments report are those of their definitions."""

import numpy as np
import pytest

import safescreen as ss
from safescreen_book.protocols.path_runs import (
    TimedPolicy,
    cpu_ratios,
    draw,
    dynamic_rates,
    measure,
    paper_grid,
    range_counts,
    same_optimum,
)

OPTIONS = {"tol": 0.0, "rtol": 1e-6}


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 0] += 2.0 * y
    return ss.Problem(ss.Triplets.from_labels(X, y, 4), ss.SmoothedHinge(0.05))


@pytest.fixture(scope="module")
def grid(problem):
    return paper_grid(problem, ratio=0.7, n_lams=8, **OPTIONS)


@pytest.fixture(scope="module")
def runs(problem, grid):
    methods = {"none": {"screening": ()}, "PGB": {"screening": ("PGB",)}}
    return measure(problem, methods, grid, repeats=2, freq=3, **OPTIONS)


def test_the_grid_begins_where_a_term_costs_nothing(problem, grid):
    assert len(grid.lams) == len(grid.removable) == 8
    margins = [problem.terms.margins(s.x) for s in grid.path]
    with_zero = [float(s.lam) for s, m in zip(grid.path, margins, strict=True) if m.max() > 1.0]
    assert grid.lams.tolist() == with_zero
    last = margins[-1]
    assert grid.removable[-1] == np.sum(last > 1.0) + np.sum(last < 0.95)


def test_a_path_without_a_zero_piece_is_refused(problem):
    with pytest.raises(ValueError, match="zero piece"):
        paper_grid(problem, ratio=0.999, n_lams=0, max_lams=2, **OPTIONS)


def test_a_path_that_does_not_converge_is_not_cut_in_silence(problem):
    with (
        pytest.warns(ss.ConvergenceWarning),
        pytest.raises(ValueError, match="at every lam of the paper's grid, and did not at lam="),
    ):
        paper_grid(problem, ratio=0.7, **{**OPTIONS, "max_iter": 3})


def test_rates_are_relative_to_what_can_be_removed(problem, grid, runs):
    assert (runs.frame["final_rate"] <= 1.0).all() and (runs.frame["seconds"] > 0.0).all()
    one = runs.frame.query("method == 'PGB' and repeat == 1")
    assert one["lam"].tolist() == grid.lams.tolist()
    counts = [s.history[-1].n_L + s.history[-1].n_R for s in runs.paths["PGB"]]
    np.testing.assert_allclose(one["final_rate"] * grid.removable, counts)
    assert one["final_rate"].mean() > 0.5
    assert runs.frame.query("method == 'none'")["final_rate"].max() == 0.0


def test_ratios_and_differences(runs):
    ratios = cpu_ratios(runs.frame)
    assert (
        ratios.columns.tolist() == ["PGB"]
        and (np.diff(ratios.index) < 0).all()
        and (ratios > 0).all(axis=None)
    )
    frame = runs.frame.assign(draw=0)
    assert same_optimum(frame, 1e-6, 0.0)[0] and not same_optimum(frame, 1e-12, 0.0)[0]
    broken = frame.assign(
        primal=frame["primal"].where(frame["method"] != "PGB", 1.5 * frame["primal"])
    )
    assert same_optimum(broken, 1e-6, 0.0) == (
        False,
        f"largest relative difference 5.0e-01; 0 of {len(frame)} solves did not reach the gap "
        "asked for",
    )
    # of two draws, nothing to compare
    assert same_optimum(broken.assign(draw=broken["method"] == "PGB"), 1e-6, 0.0)[0]
    short = frame.assign(converged=frame.index > 0)
    assert (
        same_optimum(short, 1e-6, 0.0)[0] is False and "; 1 of" in same_optimum(short, 1e-6, 0.0)[1]
    )


def test_a_timed_policy_screens_as_asked_and_counts_its_seconds(problem, grid):
    for asked in (("RRPB", "PGB"), ("RRPB",), "auto"):
        policy = TimedPolicy.of(asked, problem)
        timed, plain = (
            ss.path(problem, grid.lams, tol=0.0, rtol=1e-6, screening=how)
            for how in (policy, asked)
        )
        assert [s.n_iter for s in timed] == [
            s.n_iter for s in plain
        ] and timed.path_rates == plain.path_rates
        assert policy.seconds > 0.0


def test_dynamic_rates_rise_from_the_path_rate_to_the_final_one(grid, runs):
    rates = dynamic_rates(runs.paths["PGB"], grid.removable, freq=3)
    one = runs.frame.query("method == 'PGB' and repeat == 0")
    np.testing.assert_allclose(rates[0], one["path_rate"])
    last = [column[~np.isnan(column)][-1] for column in rates.T]
    np.testing.assert_allclose(last, one["final_rate"])
    assert all((np.diff(column[~np.isnan(column)]) >= 0.0).all() for column in rates.T)


def test_range_counts_are_those_of_every_lam_by_itself(problem, grid):
    s = grid.path[-3]
    ranges = ss.ranges.relaxed_path(problem, s.x, s.eps, s.lam)
    expected = [np.count_nonzero(found.in_L | found.in_R) for found in map(ranges.at, grid.lams)]
    assert range_counts(ranges, grid.lams).tolist() == expected and max(expected) > 0


def test_draw_takes_the_rows_the_paper_took():
    X, y = draw("iris", 0.9, seed=1)
    assert X.shape == (136, 4) and len(y) == 136
    assert draw("iris")[0].shape == (150, 4)
    assert draw("wine", 0.9, n_max=50)[0].shape == (50, 13)


def test_principal_components_keep_the_most_variance():
    X, _ = draw("wine", n_components=3)
    whole = draw("wine")[0]
    spectrum = np.linalg.svd(whole - whole.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), spectrum[:3])
    np.testing.assert_allclose(X.T @ X, np.diag(spectrum[:3] ** 2), atol=1e-9 * spectrum[0] ** 2)


def test_shares_and_counts_are_checked():
    with pytest.raises(ValueError, match="fraction must be at most 1, got 2"):
        draw("iris", 2.0)
    with pytest.raises(ValueError, match="fraction must be greater than 0, got 0"):
        draw("iris", 0.0)
    with pytest.raises(ValueError, match="repeats must be a positive int, got 0"):
        measure(None, {}, None, repeats=0)
