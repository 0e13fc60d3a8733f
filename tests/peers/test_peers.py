"""The list of other projects' tests that do not pass: in order, and what it is compared by."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def loaded(name):
    """Return a module of this folder, which is none of a package."""
    spec = importlib.util.spec_from_file_location(f"peers_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = loaded("run")
swap = loaded("swap")


@pytest.mark.parametrize("suite", run.SUITES)
def test_each_is_listed_once_below_a_reason(suite):
    reasons = run.listed()[suite]
    names = [name for names in reasons.values() for name in names]
    assert names and len(set(names)) == len(names)
    found = dict.fromkeys(names, "Error")
    assert not list(run.faults(found, reasons))


def test_what_is_wrong_with_a_list_is_told():
    why = "a reason that says what is the matter"
    found = {"a::passes": "", "a::fails": "ValueError: no", "a::known": "TypeError: known"}
    good = {why: ["a::fails", "a::known"]}
    assert not list(run.faults(found, good))
    told = {
        "a::fails does not pass, and is not listed: ValueError: no": {why: ["a::known"]},
        "a::passes passes, and is listed": {why: ["a::fails", "a::known", "a::passes"]},
        "a::gone is listed, and is no test that applies": {why: [*good[why], "a::gone"]},
        "a::known is listed twice": {**good, f"{why}, too": ["a::known"]},
        "'?' is no reason": {why: ["a::fails"], "?": ["a::known"]},
        "'? TypeError: known' is no reason": {
            why: ["a::fails"],
            "? TypeError: known": ["a::known"],
        },
        "'no' is no reason": {"no": good[why]},
    }
    for text, reasons in told.items():
        assert list(run.faults(found, reasons)) == [text]


def test_only_meaningless_keywords_are_left_out():
    class Ours:
        def __init__(self, C=1.0, kernel="linear"):
            self.found = C, kernel

    theirs = swap.counted(Ours, "Theirs", ("shrinking", ("penalty", "l2")), kernel="rbf", other=1)
    swap.MADE.clear()
    assert theirs(shrinking=True, penalty="l2").found == (1.0, "rbf")
    assert theirs(2.0, kernel="poly").found == (2.0, "poly")
    assert swap.MADE == ["Theirs", "Theirs"]
    for keywords in ({"penalty": "l1"}, {"nu": 0.5}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            theirs(**keywords)


@pytest.mark.slow
def test_a_test_that_applies_is_judged(tmp_path, monkeypatch):
    """Of three tests, one passes, one fails and one makes none of our objects."""
    lines = [
        "from sklearn import svm",
        "def test_ours(): assert svm.SVC(C=2.0, shrinking=False).C == 2.0",
        "def test_other(): assert svm.SVC(nu=1.0)",
        "def test_nothing(): assert False",
    ]
    file = tmp_path / "test_some.py"
    file.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setitem(run.SUITES, "scikit-learn test_svm", lambda: [file])
    found = run.outcomes("scikit-learn test_svm")
    assert found.pop("test_some::test_ours") == ""
    (failed,) = found.items()
    assert failed[0] == "test_some::test_other" and failed[1].startswith("TypeError")
    file.write_text("import nothing_of_that_name", encoding="utf-8")
    with pytest.raises(RuntimeError, match="the tests did not run"):
        run.outcomes("scikit-learn test_svm")
    assert "safescreen" in sys.modules
