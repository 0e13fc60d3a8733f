"""Notebook 01 on files of other people: it needs no luck with the data, and says what is wrong
with them.
"""

import gzip

import matplotlib
import numpy as np
import pandas as pd
import pytest

from safescreen_book.runner.notebooks import read_source

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
GOOD = pd.DataFrame(RNG.normal(size=(80, 4)), columns=list("abcd")).assign(
    kind=np.repeat(["x", "y"], 40)
)
# both neighbours of each row are of the other class
MIXED = pd.DataFrame({"a": np.arange(40.0), "kind": ["x", "y"] * 20})


def run(folder, table, path, cells=None, **parameters):
    """Run the first code cells of the notebook in a new namespace."""
    file = path / "own.csv"
    if table is not None:
        table.to_csv(file, index=False)
    names = {"file": str(file), "label": "kind", **parameters}
    code = [
        cell for cell in read_source(folder, "01-your-own-data").cells if cell.cell_type == "code"
    ][:cells]
    space = {}
    with matplotlib.rc_context({"backend": "agg"}):
        for cell in code:
            exec(cell.source, space)
            if "parameters" in cell.metadata.get("tags", ()):
                assert set(names) <= set(space)
                space.update(names)
    return space


def test_noise_and_a_constant_column(folder, tmp_path, capsys):
    space = run(folder, GOOD.assign(same=1.0, number=range(80)), tmp_path, drop="number, ", most=60)
    assert {len(set(inside) | set(outside)) for inside, outside in space["splits"]} == {60}
    assert space["names"] == ["a", "b", "c", "d", "same"]
    assert "error on the rows set aside" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        (None, {}, "file: there is no file .* give its whole path"),
        (GOOD.head(0), {}, "file: it has no rows"),
        (GOOD, {"label": "sort"}, "label: no column 'sort' in the file, it has a, b, c, d, kind$"),
        (GOOD, {"drop": "e"}, "drop: no column 'e' in the file, it has a, b, c, d, kind$"),
        (GOOD.rename(columns={"a": "a;b"})[["a;b"]], {}, "separated by commas"),
        (
            GOOD.assign(word="red"),
            {},
            "do not hold numbers; set words to 'encode', or name them in drop: word$",
        ),
        (
            GOOD.mask(GOOD["a"] > 1.0),
            {},
            "these columns have missing values; .* set gaps to 'drop' to leave the rows out: "
            "a, b, c, d, kind",
        ),
        (
            GOOD.mask(GOOD["a"] > 1.0).assign(word="red"),
            {},
            "in drop: word\nthese columns have missing values",
        ),
        (GOOD.head(40), {}, "label: 'kind' has the one class 'x', and two are needed"),
        (
            GOOD.head(41),
            {},
            "each class of 'kind' must have two rows; join these classes with others, or drop "
            "them: 'y'",
        ),
        (
            MIXED,
            {"k": 1},
            "in no direction are rows farther from other classes than from their own: try "
            "another k",
        ),
    ],
)
def test_mistakes(folder, tmp_path, table, parameters, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run(folder, table, tmp_path, 5, **parameters)


NO_TABLES = {
    "prose.csv": (
        b"One\nOne\nOne, two\n",
        "commas .*: Expected 1 fields in line 3, saw 2; its first line",
    ),
    "prose.tsv": (
        b"a\tb\n1\t2\n1\t2\t3\t4\n",
        "tabs .*: Expected 2 fields in line 3, saw 4; its first line",
    ),
    "quote.csv": (b'a,kind\n1,"x\n2,y\n', "commas .*: EOF inside string starting at row 1"),
    "empty.csv": (b"", "commas .*: No columns to parse from file"),
    "plain.csv.gz": (b"a,kind\n1,x\n", "commas .*: Not a gzipped file"),
    "cut.csv.gz": (gzip.compress(b"a,kind\n1,x\n")[:-9], "commas .*: Compressed file ended before"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_a_file_that_is_no_table(folder, tmp_path, name):
    """The message is one sentence, and not the parser's own."""
    content, message = NO_TABLES[name]
    (tmp_path / name).write_bytes(content)
    sentence = f"^file: .*{name} is no table with {message}"
    with pytest.raises(ValueError, match=sentence) as raised:
        run(folder, None, tmp_path, 5, file=str(tmp_path / name))
    assert type(raised.value) is ValueError and "\n" not in str(raised.value)


def test_a_spreadsheet_and_a_picture(folder, tmp_path):
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match="^file: .*book.xlsx is a spreadsheet; save it as CSV$"):
        run(folder, None, tmp_path, 5, file=str(tmp_path / "book.xlsx"))
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match="^file: .*picture.csv is not UTF-8 "):
        run(folder, None, tmp_path, 5, file=str(tmp_path / "picture.csv"))


def test_a_helpful_metric_is_told_from_a_useless_one(folder, tmp_path, capsys):
    """Noise in nine of ten columns: learning helps. The text goes by the interval."""
    kind = np.repeat(["x", "y"], 100)
    table = (
        pd.DataFrame(np.random.default_rng(0).normal(size=(200, 10)))
        .add_prefix("c")
        .assign(kind=kind)
    )
    space = run(folder, table.assign(c0=table["c0"] + 2.5 * (kind == "x")), tmp_path)
    assert (
        space["found"].shape == (10, 4)
        and (space["seconds"] > 0.0).all()
        and space["found"][:, 1].mean() < 0.2
    )
    assert "The metric helps" in capsys.readouterr().out
    (verdict,) = [
        cell.source
        for cell in read_source(folder, "01-your-own-data").cells
        if cell.source.startswith("gain, spread")
    ]
    for gain, text in ((0.001, "No difference can be told"), (-0.4, "The metric harms")):
        exec(verdict, {"gains": np.full((1, 4), gain), "half": np.full(4, 0.1)})
        assert text in capsys.readouterr().out


def test_words_are_encoded(folder, tmp_path, capsys):
    table = GOOD.assign(
        word=np.where(GOOD["a"] > 0.0, "red", "blue"), size=["S", "M", "L", None] * 20
    )
    space = run(folder, table, tmp_path, 5, words="encode", gaps="drop")
    assert (
        space["names"] == [*"abcd", "word_blue", "word_red", "size_L", "size_M", "size_S"]
        and len(space["X"]) == 60
    )
    np.testing.assert_array_equal(space["X"][:, 5], space["X"][:, 0] > 0.0)
    assert "words: word (2), size (3)" in capsys.readouterr().out


def test_gaps_row_numbers_and_other_formats(folder, tmp_path, capsys):
    table = GOOD.mask(GOOD["a"] > 1.5).assign(kind=GOOD["kind"])
    GOOD.to_csv(tmp_path / "numbered.tsv", sep="\t")
    space = run(folder, table, tmp_path, 5, gaps="drop")
    assert len(space["X"]) == len(table.dropna()) < 80
    space = run(folder, None, tmp_path, 5, file=str(tmp_path / "numbered.tsv"))
    assert space["names"] == list("abcd") and "Unnamed: 0" in capsys.readouterr().out
    # as R writes it
    GOOD.set_index(np.arange(1, 81)).drop(index=7).to_csv(tmp_path / "numbered.csv")
    assert run(folder, None, tmp_path, 5, file=str(tmp_path / "numbered.csv"))["names"] == list(
        "abcd"
    )
    (tmp_path / "latin.csv").write_bytes("a,kind\n1,\xe9t\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin.csv is not UTF-8 .* encoding="):
        run(folder, None, tmp_path, 5, file=str(tmp_path / "latin.csv"))
