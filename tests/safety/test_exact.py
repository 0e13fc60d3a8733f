"""Every rule at thresholds on the exact extremes of its region: at or past one, "undecided" is the
only right answer.

Everything is decided in exact arithmetic (:mod:`naive.dyadic`). The first tests run some tens of
thousands of cases, with each family of terms each kind of data; `make exhaustive` runs the same
functions until they have had millions."""

import pytest

from naive import trials_regions as regions
from naive import trials_rules as rules

RULES = {  # and how many rounds `make exhaustive` runs
    "ball": (rules.ball_rule, 2400),
    "halfspace": (rules.halfspace_rule, 2400),
    "intersection": (rules.intersection_rule, 2400),
    "orthant": (rules.orthant_rule, 1200),
    "semidefinite": (rules.semidefinite_rule, 4000),
    "path ranges": (regions.path_ranges, 800),
    "ball ranges": (regions.ball_ranges, 600),
    "blocks": (regions.blocks, 600),
    "domes": (regions.domes, 4000),
    "spheres": (regions.spheres, 2400),
}


def test_ball():
    rules.ball_rule(60).check()


@pytest.mark.slow
def test_halfspace():
    rules.halfspace_rule(60).check(0.9)


@pytest.mark.slow
def test_intersection():
    rules.intersection_rule(60).check()


@pytest.mark.slow
def test_pair_terms():
    for rule in (rules.ball_rule, rules.halfspace_rule):
        rule(100, 10, ("triplets", "diagonal", "quadruplets", "pairs")).check(0.9)


@pytest.mark.slow
def test_kernels():
    for rule in (rules.ball_rule, rules.halfspace_rule, rules.intersection_rule):
        rule(40, 11, ("kernel", "powers")).check(0.9)
    # where an image has few right digits
    rules.ball_rule(20, 11, ("kernel",), ("cancelling",)).check(0.8)


@pytest.mark.parametrize(
    "rule", [rules.ball_rule, rules.halfspace_rule, rules.intersection_rule, regions.path_ranges]
)
@pytest.mark.slow
def test_the_allowance_of_the_rule_itself(rule):
    """The bounds that come with the terms are as good as they can be, and cover nothing else."""
    rule(40, 12, ("sharp",)).check(0.8)


def test_one_threshold_for_all_terms():
    assert rules.one_threshold(150).check()["past"] >= 5


def test_orthant():
    rules.orthant_rule(40).check()


@pytest.mark.slow
def test_semidefinite():
    rules.semidefinite_rule(100).check()


def test_path_ranges():
    regions.path_ranges(60).check(0.8)


@pytest.mark.slow
def test_ball_ranges():
    regions.ball_ranges(20).check(0.9)
    assert regions.ball_ranges(12, 13, ("diagonal",)).counts["unsafe"] == 0


@pytest.mark.slow
def test_blocks():
    regions.blocks(20).check(0.9)
    regions.blocks(30, 14, ("cancelling",)).check(0.8)  # sizes of pairs that nearly are points


def test_domes():
    regions.domes(150).check(0.7)


def test_spheres():
    assert regions.spheres(60).check()["surface"] > 100


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", list(RULES))
def test_exhaustively(name, part, record_property):
    rule, rounds = RULES[name]
    counts = rule(rounds // 4, 100 + part).check(0.7)
    record_property(name, dict(counts))
