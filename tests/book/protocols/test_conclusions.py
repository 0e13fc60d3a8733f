"""Verdicts: intervals over draws, the paper's own value, counts over data sets, and what follows
for the ledger.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from safescreen_book import verdicts
from safescreen_book._common import BookError
from safescreen_book.protocols import judging
from safescreen_book.protocols.conclusions import COLUMNS, Conclusions
from safescreen_book.verdicts import committed, over_sets, status, summarize

RULE = judging.Rule(
    "51-time", "a", "P-F1", "it pays", "paper", "0.1.0, 0", place="3", fact="it pays"
)


def rows(words, whose="paper", agrees=True, conclusion="it pays"):
    shared = {"claim": "P-F1", "conclusion": conclusion, "place": "3"}
    shared |= {"whose": whose, "agrees": agrees}
    rows = [{**shared, "dataset": f"set {i}", "verdict": v} for i, v in enumerate(words)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@pytest.mark.parametrize("log", [False, True])
def test_the_interval_is_that_of_student(log):
    values = np.array([1.3, 1.1, 1.9, 1.6])
    found = Conclusions("P-F1", "iris")
    found.above(1.0, values, "it pays", "3", log=log)
    row = found.frame().iloc[0]
    sample = np.log(values) if log else values
    low, high = stats.ttest_1samp(sample, 0.0).confidence_interval(0.95)
    expected = np.array([sample.mean(), low, high])
    np.testing.assert_allclose(
        [row["ours"], row["low"], row["high"]], np.exp(expected) if log else expected, rtol=1e-5
    )
    assert (row["claim"], row["dataset"], row["n"], row["whose"]) == ("P-F1", "iris", 4, "paper")


@pytest.mark.parametrize(
    ("way", "bound", "verdict"),
    [("above", 1.0, "stands"), ("above", 1.7, "undecided"), ("above", 3.0, "does not")]
    + [("below", 1.0, "does not"), ("below", 1.2, "undecided"), ("below", 3.0, "stands")],
)
def test_verdicts_follow_the_interval(way, bound, verdict):
    assert (
        getattr(Conclusions("P-F1", "iris"), way)(bound, [1.3, 1.4, 1.9, 1.6], "it pays", "3")
        == verdict
    )


@pytest.mark.parametrize("way", ["above", "below"])
def test_one_draw_decides_nothing(way):
    found = Conclusions("P-F1", "iris")
    assert getattr(found, way)(1.0, [100.0], "it pays", "3") == "undecided"
    assert found.frame()[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("theirs", "verdict"), [(3, "does not"), (6, "stands"), (196, "stands"), (199, "does not")]
)
def test_one_draw_of_a_paper_is_looked_up_among_ours(theirs, verdict):
    """Of 1 to 201 the central 95 % are 6 to 196; the interval of their mean is far narrower."""
    found = Conclusions("P-F1", "toy")
    assert found.among(theirs, np.arange(1, 202), "it pays", "3", found="{} points") == verdict
    (row,) = found.frame().to_dict("records")
    assert (row["paper"], row["ours"], row["low"], row["high"]) == (theirs, 101, 6, 196)
    assert (row["whose"], row["agrees"], row["n"]) == ("paper", True, 201)


def test_a_headline_counts_and_says_what_all_that_count_say():
    """The run that is named is passed over where it does not count, or says otherwise."""
    rules = judging.Rules((RULE,), {}, {}, {}, headlines={"P-F1": {"rule": "a", "run": "named"}})
    frame = rows(["stands", "stands", "does not", "does not", "does not"])
    frame["run"] = ["named", "named", "b", "c", "d"]
    frame["whose"] = ["own", "paper", "paper", "paper", "paper"]
    assert verdicts.headline(frame, "P-F1", rules)["dataset"] == "set 2"
    frame["agrees"] = [True, True, True, False, False]  # two of the paper's own are below too
    frame.loc[2, "verdict"] = "stands"
    frame["run"] = ["named", "b", "c", "d", "named"]
    assert verdicts.headline(frame, "P-F1", rules)["dataset"] == "set 4"
    assert verdicts.headline(frame[:1], "P-F1", rules)["dataset"] == "set 0"  # none counts


def test_fewer_than_forty_draws_have_no_central_part():
    found = Conclusions("P-F1", "toy")
    assert found.among(500, range(39), "it pays", "3") == "undecided"
    assert found.among(500, range(40), "it pays", "3") == "does not"
    assert found.frame()["low"].isna().tolist() == [True, False]


def test_the_papers_own_value_says_what_agreement_is():
    found = Conclusions("P-F1", "iris")
    found.above(1.0, [0.5, 0.6, 0.55], "it pays", "3", paper=0.9)
    found.below(1.0, [0.5, 0.6, 0.55], "it costs", "3", paper=1.2)
    assert (
        found.frame()["verdict"].tolist() == ["does not", "stands"]
        and not found.frame()["agrees"].any()
    )
    assert summarize(found.frame())["verdict"].tolist() == ["stands", "does not"]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["stands"] * 2 + ["does not"], ("stands", 2, 3, 3)),
        (["stands", "does not"], ("undecided", 1, 2, 2)),
        (["stands", "undecided", "undecided"], ("undecided", 1, 1, 3)),
        (["does not", "does not", "undecided"], ("does not", 0, 2, 3)),
    ],
)
def test_a_conclusion_stands_on_most_of_its_data(verdicts, expected):
    (row,) = summarize(rows(verdicts)).to_dict("records")
    assert (row["verdict"], row["agree"], row["decided"], row["of"]) == expected


def test_ratios_over_data_sets_have_an_interval_of_their_own():
    ratios = np.array([0.8, 0.9, 1.1, 0.7])
    found = rows(["undecided", "undecided", "stands", "does not"]).assign(ours=ratios)
    low, high = stats.ttest_1samp(np.log(ratios), 0.0).confidence_interval(0.95)
    together = over_sets(found)
    np.testing.assert_allclose(
        [together["mean"], together["low"], together["high"]],
        np.exp([np.log(ratios).mean(), low, high]),
        rtol=1e-5,
    )
    counts = [together[word] for word in ("of", "stands", "fails", "undecided", "less")]
    assert counts == [4, 1, 1, 2, 3]
    assert "mean" not in over_sets(found.assign(ours=np.nan))


def test_what_follows_for_the_ledger():
    stands, fails = rows(["stands"]), rows(["does not"], conclusion="it pays sevenfold")
    open_, own = (
        rows(["undecided"], conclusion="it pays sevenfold"),
        rows(["does not"], whose="own", conclusion="ours"),
    )
    assert status(stands) == status(pd.concat([stands, own])) == "reproduced"
    assert (
        status(stands, missing="sensit")
        == status(pd.concat([stands, open_]))
        == status(own)
        == "partial"
    )
    assert status(pd.concat([stands, fails])) == status(fails, missing="sensit") == "differs"


def test_what_is_no_number_is_refused():
    found = Conclusions("P-F1", "iris")
    for values in ([], [1.0, np.nan], [np.inf]):
        with pytest.raises(ValueError, match="ours: it pays: needs finite numbers, found"):
            found.above(1.0, values, "it pays", "3")
    with pytest.raises(ValueError, match="needs positive numbers"):
        found.below(1.0, [1.0, -1.0], "it pays", "3", log=True)
    with pytest.raises(
        ValueError, match="whose: expected 'paper', 'program' or 'own', found 'mine'"
    ):
        found.fact(True, "it pays", "3", note="-", whose="mine")


def test_rows_of_runs_are_read_as_they_were_written(tmp_path):
    assert committed(tmp_path).empty and {"claim", "experiment", "run"} <= set(committed(tmp_path))
    found = Conclusions("P-F1", "iris")
    found.above(1.0, [0.5, 0.6, 0.55], "it pays", "3", paper=0.9, note="none")
    found.fact(True, "nothing is lost", "3", note="")
    for run in ("iris", "wine", ".wine.work"):
        (tmp_path / "51-time" / run).mkdir(parents=True)
        found.frame().to_csv(tmp_path / "51-time" / run / "conclusions.csv", index=False)
    read = committed(tmp_path)
    assert (
        read[["experiment", "run"]].agg("/".join, axis=1).tolist()
        == ["51-time/iris"] * 2 + ["51-time/wine"] * 2
    )
    pd.testing.assert_frame_equal(read[list(COLUMNS)][:2], found.frame(), check_dtype=False)
    (tmp_path / "51-time" / "wine" / "conclusions.csv").write_text("claim,verdict\nP-F1,stands\n")
    with pytest.raises(BookError, match=r"wine/conclusions.csv: Usecols do not match"):
        committed(tmp_path)
    rows = found.frame().assign(found="a sentence without its number")
    rows.to_csv(tmp_path / "51-time" / "wine" / "conclusions.csv", index=False)
    with pytest.raises(BookError, match=r"wine/conclusions.csv: "):
        committed(tmp_path)
    assert committed(tmp_path, strict=False)["run"].unique().tolist() == ["iris"]
