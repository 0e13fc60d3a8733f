"""From the conclusions of runs to the status of a claim: count conclusions over data sets, and
derive the status.
"""

from collections.abc import Mapping
from pathlib import Path

from safescreen_book import places, wording
from safescreen_book._common import BookError, inside


def committed(folder: Path, *, strict: bool = True):
    """Return the rows of all `EXPERIMENT/RUN/conclusions.csv` in a folder, with columns
    `experiment` and `run`. A BookError names a file that cannot be read; unless `strict`, it is
    left out.
    """
    import pandas as pd

    from safescreen_book.protocols.conclusions import COLUMNS

    numbers = ("paper", "ours", "low", "high")
    rows = []
    types = dict.fromkeys(COLUMNS, str) | dict.fromkeys(numbers, float) | {"agrees": bool, "n": int}
    for path in sorted(folder.glob("[!.]*/[!.]*/conclusions.csv")):
        try:
            inside(path, folder)
            frame = pd.read_csv(
                path,
                usecols=COLUMNS,
                dtype=types,
                na_values=dict.fromkeys(numbers, ""),
                keep_default_na=False,
            )
            found = frame.assign(experiment=path.parts[-3], run=path.parts[-2]).to_dict("records")
            for row in found:  # a page has to say it
                wording.sentence(row)
                wording.question(row)
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
            if not strict:
                continue
            raise BookError(f"{places.shown(path)}: {error}") from error
        rows += found
    return pd.DataFrame(rows, columns=[*COLUMNS, "experiment", "run"])


def summarize(frame):
    """Return a row for each conclusion, over the data sets of all runs: how many agree with the
    paper, how many are decided, and the verdict.

    A data set agrees if its verdict is the one that follows from the paper's own value. A
    conclusion stands if most of its data sets agree, does not stand if most are decided otherwise,
    and is undecided in all other cases.
    """
    import pandas as pd

    rows = []
    for (claim, conclusion, whose), group in frame.groupby(
        ["claim", "conclusion", "whose"], sort=False
    ):
        words = of_the_paper(group)
        agree = int((words == "stands").sum())
        decided = int((words != "undecided").sum())
        verdict = "undecided"
        if 2 * agree > len(group):
            verdict = "stands"
        elif 2 * (decided - agree) > len(group):
            verdict = "does not"
        place, of = group["place"].iloc[0], len(group)
        rows.append((claim, conclusion, place, whose, agree, decided, of, verdict))
    names = ["claim", "conclusion", "place", "whose", "agree", "decided", "of", "verdict"]
    return pd.DataFrame(rows, columns=names)


def of_the_paper(rows):
    """Return what each row says of the paper: "stands" if its verdict is the one that follows from
    the paper's own value for its data, "does not" if it is the other, or "undecided".
    """
    theirs = rows["agrees"].map({True: "stands", False: "does not"})
    agrees = (rows["verdict"] == theirs).map({True: "stands", False: "does not"})
    return agrees.where(rows["verdict"] != "undecided", "undecided")


def headline(rows, claim: str, rules):
    """Return the row that the headline of a table or figure tells, a mapping; None if there is
    none.

    It is a row that counts, if any does, and says what all that count say together, if any does. Of
    these it is one of the run that `rules.headlines` names, if that has any, and the first.
    """
    rule = rules.headline(claim)
    if rule is None:
        return None
    found = rows[(rows["claim"] == claim) & (rows["conclusion"] == rule.asks)]
    counted = found[found["whose"] == "paper"]
    if len(counted):
        (together,) = summarize(counted)["verdict"]
        typical = counted[of_the_paper(counted) == together]
        found = typical if len(typical) else counted
    named = found[found["run"] == rules.headlines[claim].get("run", "")]
    told = (named if len(named) else found).to_dict("records")
    return told[0] if told else None


def over_sets(rows) -> dict:
    """Return what the rows of one conclusion say together: for ratios their mean over data sets,
    by logarithms, with Student's interval over data sets; how many there are, how many have each
    verdict, and how many ratios are below 1.
    """
    from safescreen_book.protocols.conclusions import interval

    counts = {word: int((rows["verdict"] == word).sum()) for word in wording.VERDICTS}
    found = {"of": len(rows), "stands": counts["stands"], "fails": counts["does not"]}
    found["undecided"] = counts["undecided"]
    if (rows["ours"] > 0.0).all():
        mean, low, high = interval(rows["ours"].to_numpy(), log=True)
        found |= {"mean": mean, "low": low, "high": high, "less": int((rows["ours"] < 1.0).sum())}
    return found


def status(frame, missing: Mapping[str, str] | None = None) -> str:
    """Return the status of a claim that follows from its rows: differs, reproduced or partial.

    It is "differs" if one of the paper's conclusions does not stand, "reproduced" if all of them
    stand and nothing is `missing`, and "partial" in all other cases.

    >>> from safescreen_book.protocols.conclusions import Conclusions
    >>> found = Conclusions("STS19-F9", "segment")
    >>> conclusion, note = "all balls give the same optimum", "largest difference 2e-7"
    >>> found.fact(True, conclusion, "section 7.2", note=note)
    'stands'
    >>> status(found.frame()), status(found.frame(), missing={"time": "satimage"})
    ('reproduced', 'partial')
    """
    verdicts = set(summarize(frame[frame["whose"] == "paper"])["verdict"])
    if "does not" in verdicts:
        return "differs"
    return "reproduced" if verdicts == {"stands"} and not missing else "partial"
