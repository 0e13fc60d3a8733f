"""Tables of other people: whatever stands between their values, they are read, or a sentence says
why not.
"""

import gzip
import io
import re
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_wine

from safescreen_book.datasets.readers import read_any
from safescreen_book.datasets.tables import prepare

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


def test_titles_filled_up_with_separators(tmp_path):
    """As a spreadsheet writes them."""
    text = WINE.to_csv(sep=";", decimal=",", index=False)
    fill = ";" * (WINE.shape[1] - 1)
    frame, notes = read(tmp_path, f"Wines of 1991{fill}\n{fill}\nAll of them{fill}\n{text}")
    assert list(frame) == list(WINE) and len(frame) == 178
    assert "left out, 2 lines above the one that names the columns" in notes
    assert list(read(tmp_path, ";kind\n1,5;x\n2,5;y\n")[0])[1] == "kind"


@pytest.mark.parametrize("sep", [";", "blanks"])
def test_rows_are_numbered_as_in_a_spreadsheet(tmp_path, sep):
    """Blank lines count, and a line break within a value does not."""
    mark = " " if sep == "blanks" else sep
    value = "1" if sep == "blanks" else '"1\n2"'
    lines = ["title", "", "a b kind", f"{value} 2 x", "", "3 4 y"]
    frame, _ = read(tmp_path, "\n".join(line.replace(" ", mark) for line in lines), sep=sep)
    assert list(frame.index) == [4, 6] and list(frame["kind"]) == ["x", "y"]
    with pytest.raises(ValueError, match="row 6 has 4 values"):
        read(tmp_path, "\n".join([*lines[:-1], "3 4 y z"]).replace(" ", mark), sep=sep)


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


@pytest.mark.parametrize("last", ["", ","])
def test_a_row_of_names_that_ends_in_a_comma(tmp_path, last):
    """As that of breast cancer in Wisconsin, with rows that do and rows that do not."""
    rows = "".join(f"{842302 + i},{'MB'[i % 2]},{i}.5{last}\n" for i in range(20))
    frame, _ = read(tmp_path, "id,diagnosis,radius,\n" + rows)
    assert list(frame)[:3] == ["id", "diagnosis", "radius"] and len(frame) == 20
    assert frame.iloc[0, :3].tolist() == ["842302", "M", "0.5"]


HEADLESS = {
    "iris": "5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa\n7.0,3.2,Iris-versicolor\n" * 9,
    "adult": "39, State-gov, <=50K\n50, Private, <=50K\n38, Private, >50K\n" * 9,
    "mushroom": "p,x,s,n\ne,x,s,y\ne,b,s,w\n" * 9,
    "a rare word": "u,x,s,n\n" + "e,x,s,y\ne,b,s,n\n" * 9,
    "a line too long": "a,b,kind,more\n" + "1,2,x\n3,4,y\n" * 9,
}


@pytest.mark.parametrize("name", HEADLESS)
def test_a_row_is_not_taken_for_names(tmp_path, name):
    with pytest.raises(ValueError, match="looks like the rows below .* put a line of names above"):
        read(tmp_path, HEADLESS[name])


@pytest.mark.parametrize("names", ["city,2019,2020,kind", "who,a,x,kind", "sex,cap,odor,class"])
def test_names_that_may_be_values_are_names(tmp_path, names):
    body = "".join(f"place {i},{i}.5,{'xy'[i % 2]},{'pe'[i % 2]}\n" for i in range(20))
    frame, notes = read(tmp_path, f"{names}\n{body}")
    assert list(frame) == names.split(",") and len(frame) == 20
    assert any("put a line of names above it" in note for note in notes) == (
        "2019" in names or ",x," in names
    )


@pytest.mark.parametrize(
    ("encoding", "word"), [("gbk", "鸢尾花"), ("shift_jis", "アヤメ"), ("cp1251", "Ирис")]
)
def test_an_encoding_that_is_guessed_is_told(tmp_path, encoding, word):
    """In the notes, and in every error; with the right one all is well."""
    content = f"a,{word}\n" + f"1.5,{word}!\n2.5,x\n" * 9
    note = "encoding: the file is read as (cp1252|latin-1); if words look odd, set encoding"
    frame, notes = read(tmp_path, content.encode(encoding))
    assert len(notes) == 1 and re.match(note, notes[0])
    with pytest.raises(ValueError, match=f"^label: no column {word!r} .*; {note}"):
        prepare(frame, word)
    with pytest.raises(ValueError, match=f"row 20 has 3 values.*; {note}"):
        read(tmp_path, (content + "1,2,3\n").encode(encoding))
    frame, notes = read(tmp_path, content.encode(encoding), encoding=encoding)
    assert sorted(set(prepare(frame, word).y)) == sorted(["x", f"{word}!"]) and not notes


def packed(**files):
    """Return a zip archive of files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_zip_of_one_table(tmp_path):
    content = packed(**{"folder/": "", "folder/own.csv": "a,kind\n1,x\n", "__MACOSX/._own": "?"})
    frame, notes = read(tmp_path, content, "own.ZIP")
    assert list(frame) == ["a", "kind"] and frame.to_numpy().tolist() == [["1", "x"]] and not notes


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
    "two.zip": (packed(a="a,kind\n1,x\n", b="a,kind\n2,x\n"), "holds 2 files in place of one"),
    "cut.zip": (packed(a="a,kind\n1,x\n")[:-9], "not a readable .zip file"),
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
