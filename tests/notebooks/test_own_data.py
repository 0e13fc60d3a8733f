"""Notebook 01 on files of other people: it needs no luck with the data, and says what is wrong
with them.
"""

import re
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from safescreen_book.runner.notebooks import read_source

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
GOOD = pd.DataFrame(RNG.normal(size=(80, 4)), columns=list("abcd")).assign(
    kind=np.repeat(["x", "y"], 40)
)
# both neighbours of each row are of the other class
MIXED = pd.DataFrame({"a": np.arange(40.0), "kind": ["x", "y"] * 20})

PENGUINS = """species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year
{}"""


def code_cells(folder):
    cells = read_source(folder, "01-your-own-data").cells
    return [cell for cell in cells if cell.cell_type == "code"]


def run(folder, table, path, cells=None, **parameters):
    """Run the first code cells of the notebook in a new namespace."""
    file = path / "own.csv"
    if isinstance(table, str):
        file.write_bytes(table.encode("cp1252"))
    elif table is not None:
        table.to_csv(file, index=False)
    names = {"file": str(file), "label": "kind", **parameters}
    code = code_cells(folder)[:cells]
    space = {}
    with matplotlib.rc_context({"backend": "agg"}):
        for cell in code:
            exec(cell.source, space)
            if "parameters" in cell.metadata.get("tags", ()):
                assert set(names) <= set(space)
                space.update(names)
    return space


READ = 4
"""Code cells until the file is read."""

COMPILED = """
import gc
from numba.core.registry import CPUDispatcher

def compiled():
    found = [d for d in gc.get_objects() if isinstance(d, CPUDispatcher)]
    return {(d.py_func.__module__, d.__name__, s) for d in found for s in d.nopython_signatures}

import numpy as np, safescreen as ss
from safescreen_book.protocols import neighbours
neighbours.warm_up()
before = compiled()
y = np.repeat(range(4), (60, 30, 12, 4))
X = np.random.default_rng(0).random((y.size, 9)) + 0.2 * y[:, None]
prob = ss.Problem(ss.Triplets.from_labels(X, y, k=5), ss.SmoothedHinge(0.05))
lams = prob.lam_max() * np.geomspace(0.9, 1e-5, 25)
ss.path(prob, lams, rtol=1e-4, screening=("RRPB", "PGB"), max_seconds=60.0)
neighbours.compare(X, y, shown=False, is_balanced=True)
print(sorted(compiled() - before))
"""


def test_what_the_clock_counts_is_compiled_before():
    """Or a first run on a machine would try but a few values of lambda."""
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_noise_and_a_constant_column(folder, tmp_path, capsys):
    table = GOOD.assign(same=1.0, number=range(80))
    space = run(folder, table, tmp_path, drop="number, ", compared=60)
    assert space["result"].found["rows"].sum() == 60
    assert space["names"] == list("abcd")
    said = capsys.readouterr().out
    assert "left out, columns with one value: same" in said
    assert "80 rows, 4 features: a, b, c, d\n" in said
    assert "60 of 80 rows are drawn; set compared to take more" in said
    assert "error on the rows set aside" in said


def test_a_table_in_the_format_of_penguins(folder, tmp_path, capsys):
    """Words, gaps as NA, a year; the numbers are made up."""
    rng = np.random.default_rng(0)
    kinds = {
        "Adelie": (39, 18, 190, 3700),
        "Chinstrap": (49, 18, 196, 3730),
        "Gentoo": (47, 15, 217, 5080),
    }
    lines = []
    for row in range(90):
        kind, island = list(kinds)[row % 3], ["Torgersen", "Biscoe", "Dream"][row % 5 % 3]
        length, depth, flipper, mass = rng.normal(kinds[kind], (2.5, 1.1, 6.5, 400)).round(1)
        numbers = f"{length},{depth},{flipper:.0f},{mass:.0f}" if row % 45 else "NA,NA,NA,NA"
        lines.append(
            f"{kind},{island},{numbers},{['male', 'female', 'NA'][row % 7 % 3]},{2007 + row % 3}"
        )
    table = PENGUINS.format("\n".join(lines) + "\n")
    with pytest.raises(
        ValueError, match=r"hold words .*: island \(3\), sex \(2\); set words .*\n.*gaps"
    ):
        run(folder, table, tmp_path, READ, label="species")
    space = run(folder, table, tmp_path, label="species", words="encode", gaps="drop", compared=60)
    assert {"island_Biscoe", "sex_female", "body_mass_g"} <= set(space["names"])
    assert space["result"].errors["TripletMetricCV"].mean() < 0.2
    said = capsys.readouterr().out
    assert "words: island (3), sex (2)" in said and "rows are left out" in said
    # the names of the columns are row 1 of the file
    for row, kind in space["counts"][["row", "class"]].to_numpy():
        assert lines[row - 2].startswith(f"{kind},")


def test_a_table_in_the_format_of_wine_quality(folder, tmp_path, capsys):
    """Semicolons as in the file at UCI; and as Excel writes it in German: with decimal commas, in
    cp1252.
    """
    wine = load_wine(as_frame=True).data.iloc[:, :6]
    quality = pd.Series(5 + load_wine().target % 3, name="quality")
    table = wine.assign(quality=quality)
    space = run(folder, table.to_csv(sep=";", index=False), tmp_path, READ, label="quality")
    np.testing.assert_array_equal(space["X"], wine)
    table = table.assign(quality=quality.map({5: "mäßig", 6: "gut", 7: "süß"}))
    german = table.to_csv(sep=";", decimal=",", index=False)
    space = run(folder, german, tmp_path, label="quality", compared=30)
    np.testing.assert_array_equal(space["X"], wine)
    assert set(space["classes"]) == {"mäßig", "gut", "süß"}
    said = capsys.readouterr().out
    for line in ("read as cp1252", "have semicolons between them", "have a decimal comma"):
        assert line in said


def test_the_real_wine_of_uci_has_no_line_of_names(folder, tmp_path, capsys):
    """The file wine.data as it is there: the class first, then thirteen numbers."""
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X).astype(object)
    frame.insert(0, "kind", y + 1)
    with pytest.raises(
        ValueError, match=r"put a line of names above it, one for each of 14 values"
    ):
        run(folder, frame.to_csv(header=False, index=False), tmp_path, READ)
    space = run(folder, frame.to_csv(index=False), tmp_path, READ)
    assert np.array_equal(space["X"], X)
    assert np.array_equal(np.asarray(space["y"]).astype(int), y + 1)
    capsys.readouterr()


def test_the_real_iris_with_a_column_of_row_numbers(folder, tmp_path, capsys):
    """As many people know it: Id, four lengths in cm, and names such as Iris-setosa."""
    X, y = load_iris(return_X_y=True)
    names = ["SepalLengthCm", "SepalWidthCm", "PetalLengthCm", "PetalWidthCm"]
    frame = pd.DataFrame(X, columns=names).assign(
        Species=np.array(["Iris-setosa", "Iris-versicolor", "Iris-virginica"])[y]
    )
    frame.insert(0, "Id", np.arange(1, 151))
    space = run(folder, frame, tmp_path, READ, label="Species")
    assert space["names"] == names and np.array_equal(space["X"], X)
    assert (
        "left out, numbers of the rows: Id; name them in keep to use them"
        in capsys.readouterr().out
    )


def test_more_than_a_hundred_thousand_triplets(folder, tmp_path, capsys):
    rng = np.random.default_rng(0)
    kind = np.arange(6000) % 2
    table = pd.DataFrame({"a": rng.normal(size=6000) + kind, "b": rng.normal(size=6000)})
    space = run(folder, table.assign(kind=kind), tmp_path, most=6000, compared=30, seconds=6.0)
    assert len(space["triplets"]) == 105_000
    assert "of the triplets screened" in capsys.readouterr().out


@pytest.mark.parametrize(("n", "n_classes", "d"), [(42, 3, 300), (30, 10, 2)])
def test_wide_tables_and_small_classes(folder, tmp_path, capsys, n, n_classes, d):
    """The metric of a wide table is sought in the span of the rows. Ten classes have three rows."""
    kind = np.arange(n) % n_classes
    X = np.random.default_rng(0).normal(size=(n, d))
    X[:, 0] += 3.0 * kind
    table = pd.DataFrame(X).add_prefix("f").assign(kind=kind)
    space = run(folder, table, tmp_path, seconds=3.0)
    assert space["L"].shape[1] == d and space["prob"].cone.d == min(d, len(space["A"]))
    said = capsys.readouterr().out
    assert space["result"].verdict() in said
    if d == 2:
        assert re.search("weights, the largest first: f[01], f[01]\n", said)
        assert "the 8 validation rows of the 8 largest of 10 classes" in said


def test_an_estimator_that_the_clock_ends_is_told_from_the_metric(folder, tmp_path, capsys):
    """It has another metric, and solutions that are less accurate than asked."""
    codes = [cell.source for cell in code_cells(folder)]
    (number,) = [i for i, source in enumerate(codes) if "sklearn.pipeline" in source]
    space = run(folder, GOOD, tmp_path, number, seconds=10.0)
    exec(codes[number], space)
    assert "another metric" not in capsys.readouterr().out
    space["seconds"] = 0.0
    exec(codes[number], space)
    said = capsys.readouterr().out
    assert f"before the chosen {space['chosen'].lam:.3g}; raise seconds" in said
    assert "less accurate than asked: 1 of 1 solutions" in said


def test_two_rows_of_a_class(folder, tmp_path, capsys):
    space = run(folder, GOOD.assign(kind=["x"] * 78 + ["y"] * 2), tmp_path, seconds=4.0)
    assert space["result"].n_folds == 2 and space["result"].is_balanced
    said = capsys.readouterr().out
    assert "as classes have too few rows" in said and "rows to choose by cross-validation" in said


def test_a_rare_class(folder, tmp_path, capsys):
    """Who always answers 'stay' errs in 3 % of the rows; nobody has learned anything."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3))).add_prefix("f")
    table["kind"] = np.where(np.arange(300) % 33 == 0, "leave", "stay")
    space = run(folder, table, tmp_path, seconds=6.0)
    assert space["result"].is_balanced and set(space["result"].errors["most frequent class"]) == {
        0.5
    }
    said = capsys.readouterr().out
    assert "balanced validation error" in said and "Neither Euclid's distance" in said
    assert "The rarest class, leave, has 10 of the 300 rows here" in said


@pytest.mark.parametrize(
    ("table", "parameters", "cells", "message"),
    [
        (None, {}, READ, "file: there is no file .* give its whole path"),
        (GOOD, {"label": "sort"}, READ, "label: no column 'sort' in the file"),
        (GOOD.head(40), {}, READ, "label: 'kind' has the one class 'x'; two classes"),
        (GOOD, {"validation": 2.0}, READ, "validation: it must be between 0 and 1"),
        (MIXED, {"k": 1, "keep": "a"}, READ + 1, "k: in no direction are rows farther"),
    ],
)
def test_mistakes(folder, tmp_path, table, parameters, cells, message):
    with pytest.raises((ValueError, FileNotFoundError), match=f"^{message}"):
        run(folder, table, tmp_path, cells, **parameters)


def test_a_helpful_metric_is_told_from_a_useless_one(folder, tmp_path, capsys):
    """Noise in nine of ten columns: learning helps."""
    kind = np.repeat(["x", "y"], 100)
    table = (
        pd.DataFrame(np.random.default_rng(0).normal(size=(200, 10)))
        .add_prefix("c")
        .assign(kind=kind)
    )
    space = run(folder, table.assign(c0=table["c0"] + 2.5 * (kind == "x")), tmp_path)
    errors = space["result"].errors
    assert errors.shape == (10, 5) and errors["TripletMetricCV"].mean() < 0.2
    assert "The metric helps" in capsys.readouterr().out
