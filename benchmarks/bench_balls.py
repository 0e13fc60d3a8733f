"""Tests beside RRPB with MGB on paths: CPU seconds on one thread."""

import time

import pytest

from bench_auto import time_path

pytestmark = pytest.mark.benchmark(timer=time.process_time)

REFERENCE = "RRPB, MGB"
TESTS = {
    REFERENCE: ("RRPB", "MGB"),
    "none": (),
    "RRPB, PGB": ("RRPB", "PGB"),
    "RRPB, DGB": ("RRPB", "DGB"),
    "RRPB, BT2": ("RRPB", "BT2"),
    "RRPB, GB + half-space": ("RRPB", "GB+halfspace"),
    "RRPB, MGB + half-space": ("RRPB", "MGB+halfspace"),
    "RRPB, MGB + cone": ("RRPB", "MGB+semidefinite"),
    "RRPB & MGB": ("RRPB&MGB",),
}
PATHS = (
    "iris, absolute gap",
    "wine, relative gap",
    "wine, hinge",
    "shuttle",
    "ijcnn1",
    "breast-cancer",
)
CASES = [
    (case, test)
    for case in PATHS
    for test in TESTS
    if not (case.startswith("wine") and test == "RRPB, MGB + cone")
]
"""An eigendecomposition a triplet takes minutes over the triplets of wine; iris has it."""


@pytest.mark.parametrize(("case", "test"), CASES)
def bench_test(timed, small, case, test):
    time_path(timed, small, case, test, TESTS[test], reference=REFERENCE, group="balls")
