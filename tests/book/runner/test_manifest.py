"""The manifest says plainly what is wrong with it."""

import copy

import pytest

from safescreen_book._common import BookError
from safescreen_book.places import notebooks_folder
from safescreen_book.runner.loading import load_manifest
from safescreen_book.runner.manifest import PROFILES
from safescreen_book.runner.notebooks import parameters, read_source

GOOD = {
    "tiny": {
        "title": "A tiny one",
        "claims": ["STS19-F9"],
        "data": ["iris", "wine"],
        "outputs": ["results.csv"],
        "profiles": {
            "smoke": {"seconds": 1, "memory_mb": 100, "runs": {"a": {"n": 2}}},
            "laptop": {
                "seconds": 2,
                "memory_mb": 100,
                "runs": {"b": {"dataset": "wine"}, "c": None},
            },
        },
    }
}


def changed(path, value):
    manifest = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    node = manifest
    for key in parents:
        node = node[key]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return manifest


def test_good_manifest(book):
    book.write(GOOD)
    manifest = load_manifest(book.folder, {"STS19-F9"})
    experiment = manifest.experiments["tiny"]
    assert experiment.notebook == "tiny"
    b, c = experiment.profiles["laptop"].runs
    assert (str(b), experiment.data_of(b), experiment.data_of(c)) == (
        "tiny/b",
        ("wine",),
        ("iris", "wine"),
    )
    assert manifest.select(["tiny/c"], "laptop") == [c]
    assert manifest.select([], "laptop") == manifest.select(["tiny", "tiny/b"], "laptop") == [b, c]
    assert manifest.select([], "paper") == []
    assert manifest.select(["tiny/c/"], "laptop") == [c]
    assert manifest.select(["tiny/"], "laptop") == [b, c]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tiny.titel", "x", r"experiment tiny: unknown key 'titel'; did you mean title\?"),
        ("tiny.title", None, "experiment tiny: key 'title' is missing"),
        ("tiny.notebook", "tony", "there is no notebook tony"),
        ("tiny.claims", ["STS19-F99"], r"unknown claim 'STS19-F99'; did you mean STS19-F9\?"),
        ("tiny.claims", "STS19-F9", "expected a list of strings"),
        ("tiny.data", ["iris"], "run tiny/b: data set 'wine' is not in the experiment's data"),
        ("tiny.profiles.labtop", {}, r"unknown profile 'labtop'; did you mean laptop\?"),
        ("tiny.profiles.smoke.seconds", 0, "seconds must be a positive number, found 0"),
        ("tiny.profiles.smoke.memory_mb", None, "key 'memory_mb' is missing"),
        ("tiny.shown", "c", "experiment tiny: shown: unknown run 'c'"),
        ("tiny.profiles.smoke.seconds_of", {"b": 1}, "smoke: seconds_of: unknown run 'b'"),
        ("tiny.profiles.smoke.seconds_of", {"a": 3}, "leaves -2 of 1 seconds for 0 other runs"),
        ("tiny.profiles.smoke.seconds_of", {"a": 0.5}, "leaves 0.5 of 1 seconds for 0 other runs"),
        ("tiny.profiles.smoke.runs", ["a"], "runs: expected a mapping, found list"),
        ("tiny.profiles.smoke.runs.a", {"n": [1]}, "n: expected a number, boolean or string"),
        ("tiny.profiles.smoke.runs.a/b", {}, "run 'a/b' cannot be a folder's name"),
        (
            "tiny.profiles.smoke.runs." + "a" * 201,
            {},
            "cannot be a folder's name: it must have at most 200 characters, of",
        ),
        ("tiny.profiles.smoke.runs.a", {3: 1}, "run a: the key 3 is not a string"),
        (
            "tiny.profiles.smoke.memory_mb",
            float("inf"),
            "memory_mb must be a positive number, found inf",
        ),
        ("tiny.outputs", ["../x"], r"experiment tiny: '../x' cannot be a folder's name"),
        ("tiny.notebook", "../tiny", r"experiment tiny: '../tiny' cannot be a folder's name"),
    ],
)
def test_what_is_wrong_is_named(book, path, value, message):
    book.write(changed(path, value))
    with pytest.raises(BookError, match=message):
        load_manifest(book.folder, {"STS19-F9"})


@pytest.mark.parametrize(
    ("text", "message"), [("a: [", "not valid YAML"), ("- a", "expected a mapping, found list")]
)
def test_not_a_manifest(book, text, message):
    book.write(text)
    with pytest.raises(BookError, match=message):
        load_manifest(book.folder)


def test_no_manifest(tmp_path):
    with pytest.raises(BookError, match="no experiments.yml in"):
        load_manifest(tmp_path)


@pytest.mark.parametrize(
    ("names", "profile", "message"),
    [
        (["tinny"], "smoke", r"unknown experiment 'tinny'; did you mean tiny\? Known: tiny"),
        (
            ["tiny/z"],
            "smoke",
            r"unknown run at profile smoke 'tiny/z'; did you mean tiny/a\? Known: tiny/a",
        ),
        (["tiny"], "paper", "experiment 'tiny' has no runs at profile 'paper'"),
        ([], "huge", "profile: 'huge' is not one of smoke, laptop, paper"),
    ],
)
def test_request_that_makes_no_sense(book, names, profile, message):
    book.write(GOOD)
    with pytest.raises(BookError, match=message):
        load_manifest(book.folder).select(names, profile)


def test_parameters_are_laid_over_the_notebooks(book):
    book.write(GOOD)
    manifest = load_manifest(book.folder)
    (run,) = manifest.select([], "smoke")
    assert manifest.check_parameters(run) == {"output_dir": "", "n": 2, "mode": "ok", "marker": ""}
    other = run.override({"n": 5, "marker": "a/b c"})
    assert other.name == "a,n=5,marker=a_b_c"
    assert manifest.check_parameters(other)["n"] == 5
    with pytest.raises(BookError, match="output_dir is set by the runner"):
        manifest.check_parameters(run.override({"output_dir": "x"}))
    for wrong in ({"n": "1e5"}, {"n": True}, {"n": 2.0}, {"mode": 3}):
        with pytest.raises(
            BookError, match=r"is of another type than the notebook's (n = 3|mode = 'ok')"
        ):
            manifest.check_parameters(run.override(wrong))
    with pytest.raises(BookError, match="run tiny/a,marker=x+ cannot be a folder's name"):
        run.override({"marker": "x" * 200})


@pytest.mark.slow
def test_every_run_of_the_book_has_the_parameters_of_its_notebook():
    manifest = load_manifest(notebooks_folder())
    runs = [run for profile in PROFILES for run in manifest.select([], profile)]
    assert len(runs) > 100 and all(manifest.check_parameters(run) for run in runs)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ('# %%\noutput_dir = ""\n', "needs one cell tagged 'parameters', found 0"),
        ('# %% tags=["parameters"]\nn = (\n', "its parameters cell is not Python"),
        ('# %% tags=["parameters"]\nn = [1, 2]\n', r"parameter n = \[1, 2\] is not a plain"),
        ('# %% tags=["parameters"]\nn = 2 * m\n', r"parameter n = 2 \* m is not a plain"),
        ('# %% tags=["parameters"]\nimport os\n', "must hold `name = value` lines only"),
    ],
)
def test_parameters_cell_is_plain(book, cell, message):
    (book.folder / "odd.py").write_text(cell)
    with pytest.raises(BookError, match=message):
        parameters(read_source(book.folder, "odd"), "odd")
