"""The catalogue of tests holds what the library has, and every claim about one names it."""

import inspect

import pytest

from safescreen import ranges, rules, spheres
from safescreen_book import ledger
from safescreen_book._common import BookError
from safescreen_book.catalogue import CREDIT, catalogue
from safescreen_book.places import notebooks_folder

ENTRIES = catalogue()


def test_every_public_ball_rule_and_range_is_in_it():
    for module, name in ((spheres, "spheres"), (rules, "rules"), (ranges, "ranges")):
        functions = {f"{name}.{n}" for n in module.__all__ if inspect.isfunction(vars(module)[n])}
        assert functions and functions <= set(ENTRIES)
    assert {"svm.ball_test_1", "svm.dome", "validation.ball_margins"} <= set(ENTRIES)


def test_what_decides_nothing_is_not_in_it():
    assert not {"svm.c_min", "svm.path", "spheres.Sphere", "rules.apply"} & set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_says_what_it_costs_and_how_it_holds(name):
    entry = ENTRIES[name]
    assert entry.cost and entry.rounding and entry.summary and entry.takes
    assert entry.kind in ("region", "rule", "ranges", "held-out")


def test_credits_are_of_entries_and_no_text_is_cut():
    assert set(CREDIT) <= set(ENTRIES)
    assert ENTRIES["spheres.midpoint_gap_bound"].first.startswith("very likely Tran")
    assert ENTRIES["spheres.projected_gradient_bound"].sources == ("STS19 Theorems 2 and 3",)
    whole = ENTRIES["rules.halfspace"].rounding
    assert whole.startswith("Safe in floating point") and whole.endswith("the ball alone decides")


@pytest.mark.slow
def test_every_entry_has_a_claim():
    about = [name for claim in ledger.load_claims(notebooks_folder()) for name in claim.about]
    assert not set(ENTRIES) - set(about)


def test_a_claim_about_nothing(tmp_path):
    (tmp_path / "claims.yml").write_text(
        "STS19:\n  - {id: A, kind: T, what: a ball, status: open, about: [spheres.nowhere]}\n"
    )
    with pytest.raises(BookError, match=r"claim A: about names .*spheres\.nowhere"):
        ledger.load_claims(tmp_path)
