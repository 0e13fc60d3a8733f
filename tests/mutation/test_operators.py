"""What `operators.yml` says of changes that no test notices, and how they are run."""

import ast

import pytest
import yaml

import in_place
import operators
import replacement

LISTED = yaml.safe_load(operators.LIST.read_text(encoding="utf-8"))
FOLDERS = ("spheres", "rules", "ranges")
"""Folders of the library of which every module that computes is in the list."""


def source_of(file):
    return (operators.LIBRARY / file).read_text(encoding="utf-8")


def test_every_survivor_has_its_place_and_a_reason():
    lost = []
    for file, names in operators.known_survivors(LISTED).items():
        assert file in LISTED["modules"], file
        for name in names:
            within, change = name.split(": ", 1)
            change, nth = change.rsplit(" (", 1)
            try:
                address = (*change.split(" -> ", 1), within, int(nth.rstrip(")")))
                replacement.replaced(source_of(file), *address)
            except ValueError as error:
                lost.append(f"{file} {error}")
    assert not lost


def test_a_survivor_without_a_reason_or_listed_twice_is_refused():
    group = {"file": "losses.py", "why": "as fast", "changes": ["f: 1 -> 2 (1)"]}
    assert operators.known_survivors({"survivors": [group]}) == {"losses.py": {"f: 1 -> 2 (1)"}}
    for wrong in ([group, group], [group | {"why": " "}]):
        with pytest.raises(ValueError, match="no reason, or a change that is listed twice"):
            operators.known_survivors({"survivors": wrong})


def test_every_module_is_judged():
    named = list(LISTED["modules"])
    files = [path for folder in FOLDERS for path in (operators.LIBRARY / folder).glob("*.py")]
    files = [path for path in files if path.name != "__init__.py"]
    assert {path.relative_to(operators.LIBRARY).as_posix() for path in files} <= set(named)
    guards = [*LISTED["modules"].values(), LISTED["slower"]]
    assert all((operators.ROOT / test).exists() for tests in guards for test in tests)


def test_what_is_wrong_with_outcomes():
    outcomes = {"a": "passed", "b": "passed", "c": "failed", "d": "timeout"}
    assert operators.judge("m.py", outcomes, {"a", "b"}) == []
    assert operators.judge("m.py", outcomes, {"a", "c", "e"}) == [
        "survives: m.py b",
        "listed, has no place: m.py e",
        "listed, but a test notices it: m.py c",
    ]


def test_a_fork_that_computes_for_too_long_is_ended():
    def endless():
        while True:
            pass

    assert in_place.in_a_fork(endless, 1.0) == (in_place.TIMEOUT, "")
    assert in_place.in_a_fork(lambda: "a test", 1.0) == (in_place.FAILED, "a test")


def test_numbers_that_count_roundings():
    text = "f(3.0 * UNIT, (4 * n + 5) * UNIT, gamma(6), upper(7.0, 8), 9.0 / UNIT, 2.0 * x)"
    numbers = operators.counts_roundings(ast.parse(text))
    assert sorted(node.value for node in numbers) == [3.0, 4, 5, 6, 8]


@pytest.mark.slow
def test_noticed_and_not(tmp_path):
    """Of four changes of the losses, in and outside of functions, two are noticed."""
    pytest.importorskip("cosmic_ray")
    wanted = {
        "Loss.alpha: slack > 0.0 -> slack >= 0.0 (1)": "failed",
        "SmoothedHinge: 0.05 -> 1.05 (1)": "failed",
    }
    outcomes = operators.run("losses.py", quick=True, report=lambda line: None)
    assert wanted.items() <= outcomes.items()
