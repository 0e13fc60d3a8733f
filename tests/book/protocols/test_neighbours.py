"""Metrics compared by their neighbours: who is compared, what an error is, and what is said."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

from safescreen_book.protocols import neighbours
from safescreen_book.protocols.neighbours import EUCLID, FREQUENT, OURS, Compared, compare, span

RNG = np.random.default_rng(0)


def found(errors, *, is_balanced=False, left_out=None, said=None):
    """Errors over ten splits, five folds twice."""
    frame = pd.DataFrame({name: np.broadcast_to(values, 10) for name, values in errors.items()})
    return Compared(
        errors=frame,
        found=pd.DataFrame({"rows": [583, 17]}, index=["stay", "go"]),
        said=said or {},
        left_out=left_out or {},
        n_folds=5,
        is_balanced=is_balanced,
    )


NOISE = 0.1 * np.tile([-1.0, 1.0], 5)


@pytest.mark.parametrize(
    ("frequent", "euclid", "ours", "words"),
    [
        (0.6, 0.3, 0.1, "The metric helps: its error is lower by 0.2000 ± 0.0000"),
        (0.6, 0.1, 0.3, "The metric harms: its error is higher by 0.2000"),
        (0.6, 0.2, 0.2 + NOISE, r"No difference can be told: [-+]0\.0000 ± 0\.1"),
        (0.6, 0.2, 0.2, "The metric makes as many errors as Euclid's distance in every split"),
        (0.03, 0.03, 0.03, "Neither Euclid's distance nor the metric .* than the answer of the"),
        (0.5, 0.5 + NOISE, 0.49, "The metric helps|No difference"),
        (0.5, 0.6, 0.55, "Neither"),
    ],
)
def test_verdicts(frequent, euclid, ours, words):
    result = found({FREQUENT: frequent, EUCLID: euclid, OURS: ours})
    assert pd.Series([result.verdict()]).str.match(words).all(), result.verdict()


RARE = "The rarest class, go, has 17 of the 600 rows here"


@pytest.mark.parametrize(
    ("nca", "lmnn", "words"),
    [
        (0.4, 0.3, "The error of LMNN is lower than without any by 0.2000 .* do tell something"),
        (0.4, 0.3 + 4 * NOISE, "The error of NCA is lower than without any by 0.1000"),
        (0.49 + 4 * NOISE, 0.5, "The error of NCA is lower than .*, which may be chance"),
        (0.6, 0.5, RARE),
    ],
)
def test_no_verdict_on_columns_that_another_method_uses(nca, lmnn, words):
    """Neither do they say little if the clock ended the search, or if a class has few rows."""
    errors = {FREQUENT: 0.5, EUCLID: 0.5, OURS: 0.5, "NCA": nca, "LMNN": lmnn}
    verdict = found(errors, said={f"{OURS}: {neighbours.ENDED}": 7}).verdict()
    assert re.search(rf"without any\. {words}", verdict) and RARE in verdict
    assert "The clock ended the search for the metric early in 7 of 10 fits" in verdict
    assert "say little" not in verdict and "clock" not in found(errors).verdict()


def test_a_verdict_names_the_clock_whatever_it_is():
    errors = {FREQUENT: 0.6, EUCLID: 0.3, OURS: 0.1}
    said = {f"{OURS}: {neighbours.ENDED}": 2}
    assert "early in 2 of 10 fits" in found(errors, said=said).verdict()


def test_what_is_left_out_is_said():
    result = found({FREQUENT: 0.5, EUCLID: 0.1}, left_out={OURS: "too small"})
    assert result.verdict() == "The metric was not learned: too small."
    assert result.remarks() == [f"left out, {OURS}: too small"]


def test_the_interval_is_widened():
    """Half of it is t(0.975, 9) sqrt(1/10 + 1/4) s, Nadeau and Bengio 2003."""
    gains = np.arange(10.0)
    gain, half = found({FREQUENT: 9.0, EUCLID: gains, OURS: 0.0}).gain(OURS)
    assert gain == 4.5
    np.testing.assert_allclose(half, 2.2621572 * np.sqrt(0.1 + 0.25) * gains.std(ddof=1), rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 60])
def test_all_methods_on_a_few_rows(d):
    """Also with more features than rows, where all are compared in the span of the rows."""
    y = np.repeat(["a", "b"], [20, 10])
    X = RNG.normal(size=(30, d)) + 4.0 * (y == "b")[:, None]
    result = compare(X, y, k=2, seconds=1000.0, shown=False)
    assert list(result.errors) == [FREQUENT, EUCLID, OURS, "NCA", "LMNN"]
    assert result.errors.shape == (10, 5) and not result.left_out
    np.testing.assert_allclose(result.errors[FREQUENT], 1 / 3)
    assert result.errors[[EUCLID, OURS, "NCA", "LMNN"]].to_numpy().max() < 0.2
    assert result.found["rows"].to_dict() == {"a": 20, "b": 10}
    assert result.found.loc["b", FREQUENT] == 0.0 and result.found.loc["a", FREQUENT] == 1.0
    assert result.table().loc[OURS, "error"] == round(result.errors[OURS].mean(), 4)


def test_lmnn_pushes_all_rows_of_other_classes():
    """Pushing a few of them only, it learns the zero matrix from so many useless features."""
    rng = np.random.default_rng(0)
    y = np.arange(420) % 7
    X = rng.normal(size=(420, 12))
    X[:, :4] += 2.0 * np.eye(7, 4)[y]
    learned, asked = np.arange(420) < 210, np.arange(420) >= 210
    predict, _ = neighbours.lmnn(neighbours.Fit(X[learned], y[learned], 5, 100.0, 0, False))
    assert np.mean(predict(X[asked]) != y[asked]) < 0.75


def test_neighbours_are_the_same_in_the_span():
    P, Q = RNG.normal(size=(20, 50)), RNG.normal(size=(7, 50))
    basis = span(P)[1]
    near = [
        np.argsort(((A[:, None] - B) ** 2).sum(axis=2), axis=1)
        for A, B in ((Q, P), (Q @ basis, P @ basis))
    ]
    np.testing.assert_array_equal(*near)


@pytest.mark.slow
def test_a_rare_class_counts_as_much_when_balanced():
    y = np.repeat(["stay", "go"], [97, 3])
    X = np.c_[RNG.normal(size=100), (y == "go") * 9.0]
    result = compare(X, y, k=2, seconds=1000.0, is_balanced=True, shown=False)
    assert result.n_folds == 3 and set(result.errors[FREQUENT]) == {0.5}
    assert result.measure == "balanced error" and result.table().columns[0] == "balanced error"


def test_small_classes():
    y = np.repeat(np.arange(8), 3)
    X = RNG.normal(size=(24, 2)) + 9.0 * y[:, None]
    result = compare(X, y, seconds=1000.0, shown=False)
    assert result.n_folds == 3 and not result.left_out
    assert result.errors[OURS].mean() < 0.2
    assert result.remarks() == [
        f"in 6 of 6 fits, {OURS}: lambda is a hundredth of the largest, as classes have too few "
        "rows to choose it by"
    ]


@pytest.mark.slow
def test_folds_that_the_clock_ends_are_told_and_take_no_more_seconds_than_asked():
    """Each lam of each fold has a limit of its own: together they took six times the seconds."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    fit = neighbours.Fit(rng.random((200, 60)), y, 5, 1.0, 0, False)
    asked = []
    search = neighbours.ss.TripletMetricCV.fit

    def look(self, X, y):
        asked.append(self.estimator.max_seconds * self.lams * self.cv)
        return search(self, X, y)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours.ss.TripletMetricCV, "fit", look)
        assert neighbours.ours(fit)[1] == neighbours.ENDED
    assert asked[0] < 2.0


def test_what_is_said_of_solves_that_fall_short():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("columns of very different sizes", stacklevel=1)
        assert neighbours._shortfall(caught) == ""
        warnings.warn("it stalled", neighbours.ss.ConvergenceWarning, stacklevel=1)
        assert neighbours._shortfall(caught) == neighbours.SHORT
        warnings.warn("max_seconds=1", neighbours.ss.ConvergenceWarning, stacklevel=1)
        assert neighbours._shortfall(caught) == neighbours.ENDED


@pytest.mark.slow
def test_the_clock_ends_fits_or_leaves_methods_out(monkeypatch):
    """A fit that is ended has a metric all the same."""
    y = np.repeat(["a", "b"], 20)
    X = RNG.normal(size=(40, 5)) + 4.0 * (y == "b")[:, None]
    result = compare(X, y, k=2, seconds=1e-9, shown=False)
    said = f"in 10 of 10 fits, {OURS}: the clock ended it early; raise seconds"
    assert said in result.remarks() and len(result.remarks()) == 3
    monkeypatch.setattr(neighbours, "EVERY", -1.0)
    result = compare(X, y, k=2, seconds=1e-9, shown=False)
    assert set(result.left_out) == {OURS, "NCA", "LMNN"} and EUCLID in result.errors
