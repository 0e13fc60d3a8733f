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


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("case", PATHS)
def bench_test(timed, small, case, test):
    if case.startswith("wine") and test.endswith("cone") and not small:
        pytest.skip("an eigendecomposition a triplet takes minutes here; iris has it")
    time_path(timed, small, case, test, TESTS[test], reference=REFERENCE, group="balls")
