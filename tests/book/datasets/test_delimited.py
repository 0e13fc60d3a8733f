"""Tables of other people: whatever stands between their values, they are read, or a sentence says
why not.
"""

import gzip

import numpy as np
import pytest
from sklearn.datasets import load_wine

from safescreen_book.datasets.readers import read_any

WINE = load_wine(as_frame=True).data.assign(kind=["süß", "herb"] * 89)


def read(folder, content, name="own.csv", **options):
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_any(file, **options)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("sep", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", "."), (" ", ",")]
)
def test_what_stands_between_values_is_found_out(tmp_path, sep, decimal, encoding):
    text = WINE.to_csv(sep=sep, decimal=decimal, index=False)
    frame, notes = read(tmp_path, text.encode(encoding))
    assert list(frame) == list(WINE) and list(frame["kind"]) == list(WINE["kind"])
    values = frame["alcohol"].str.replace(decimal, ".").astype(float)
    np.testing.assert_array_equal(values, WINE["alcohol"])
    assert any("sep: the values have" in note for note in notes) == (sep != ",")
    assert any("encoding: the file is read as" in note for note in notes) == (
        encoding in ("utf-16", "cp1252")
    )


def test_a_title_above_the_names_and_a_line_of_excel(tmp_path):
    text = WINE.to_csv(sep=";", decimal=",", index=False)
    frame, notes = read(tmp_path, "Wines, of 1991\n\n" + text)
    assert list(frame) == list(WINE) and len(frame) == 178
    assert "left out, 1 line above the one that names the columns" in notes
    assert list(read(tmp_path, "sep=;\n" + text)[0]) == list(WINE)


def test_blanks_in_values_stand_between_none(tmp_path):
    frame, _ = read(tmp_path, "the name,kind of,wine made\n" + "red one,a b,in May\n" * 9)
    assert list(frame) == ["the name", "kind of", "wine made"] and frame.iloc[0, 1] == "a b"


@pytest.mark.parametrize(
    ("sep", "text"), [("tab", "a\tb\n1,5\t2\n"), ("!", "a!b\n1,5!2\n"), ("blanks", "a  b\n1,5 2\n")]
)
def test_given_separators(tmp_path, sep, text):
    frame, _ = read(tmp_path, text, sep=sep)
    assert list(frame) == ["a", "b"] and frame.iloc[0].tolist() == ["1,5", "2"]


def test_names_of_rows_and_separators_at_the_end(tmp_path):
    """R writes no name for the names of rows; other programs end each line with a separator."""
    frame, _ = read(tmp_path, 'a,kind\n"1",2.5,x\n"2",3.5,y\n')
    assert list(frame) == ["Unnamed: 0", "a", "kind"] and list(frame["a"]) == ["2.5", "3.5"]
    frame, _ = read(tmp_path, "a,kind\n2.5,x,\n3.5,y,\n")
    assert list(frame)[:2] == ["a", "kind"] and list(frame["a"]) == ["2.5", "3.5"]


def test_values_in_quotation_marks_and_lines_that_are_too_short(tmp_path):
    frame, notes = read(tmp_path, 'a, b,kind\n"1,5", "x, y",p\n2\n3,z,q\n')
    assert frame.to_numpy().tolist() == [["1,5", "x, y", "p"], ["2", "", ""], ["3", "z", "q"]]
    assert notes == ["1 row with too few values, filled up with gaps"]


NO_TABLES = {
    "prose.csv": (b"One\nOne\nOne, two\n", "has the one column 'One', .* set sep to"),
    "long.csv": (b"a,b\n1,2\n1,2\n1,2,3,4\n", "row 4 has 4 values and the row of names has 2; .*"),
    "quote.csv": (b'a,kind\n1,"x\n2,y\n', "a quotation mark opens a value and none closes it; .*"),
    "behind.csv": (b'a,kind\n1,"x"z\n2,y\n', "a value goes on behind its closing .*"),
    "empty.csv": (b"", "empty.csv is empty$"),
    "blank.csv": (b" \n\n", "blank.csv is empty$"),
    "one.csv": (b"kind\nx\ny\n", "has the one column 'kind', .* set sep to"),
    "numbers.csv": (
        b"1,2\n3,4\n5,6\n",
        r"looks like the rows below it \(1, 2\): put a line of names",
    ),
    "plain.csv.gz": (b"a,kind\n1,x\n", "not a readable .gz file .* or give the unpacked file"),
    "cut.csv.gz": (gzip.compress(b"a,kind\n1,x\n")[:-9], "not a readable .gz file"),
    "book.xlsx": (b"PK\x03\x04", "book.xlsx is a spreadsheet; save it as CSV$"),
    "renamed.csv": (b"PK\x03\x04\0\0", "renamed.csv is no text; save the table as CSV$"),
    "picture.csv": (b"\x89PNG\r\n", "is no text"),
    "page.csv": (b"<!DOCTYPE html><p>Please, log in", "is a web page or XML, not a table"),
    "data.csv": (b'[{"a": 1, "b": 2}]', "is JSON, not a table; save it as CSV"),
    "weka.csv": (b"% by, x\n@relation w\n", "is ARFF, not a table"),
    "table.parquet": (b"no", "pip install pyarrow|is no readable Parquet file"),
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_a_file_that_is_no_table(tmp_path, name):
    """The message is one sentence, and not the parser's own."""
    content, message = NO_TABLES[name]
    with pytest.raises(ValueError, match=f"^file: .*{message}") as raised:
        read(tmp_path, content, name)
    assert type(raised.value) is ValueError and "\n" not in str(raised.value)


def test_parameters_that_do_not_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="^file: there is no file .* give its whole path"):
        read_any(tmp_path / "none.csv")
    for options, message in (
        ({"sep": ";;"}, "sep: it must be one character, 'tab' or 'blanks', found ';;'"),
        ({"encoding": "klingon"}, "encoding: no encoding is called 'klingon'; usual ones are"),
        ({"encoding": "ascii"}, "encoding: own.csv is not ascii .* leave encoding out"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            read(tmp_path, "ä,b\n1,2\n", **options)
