"""What is done with the columns of a table, and what is said about it."""

import re
import sys

import numpy as np
import pandas as pd
import pytest

from safescreen_book.datasets.tables import drawn, prepare, split

RNG = np.random.default_rng(0)
GOOD = pd.DataFrame(RNG.normal(size=(80, 4)), columns=list("abcd")).assign(
    kind=np.repeat(["x", "y"], 40)
)
FEATURES = GOOD[list("abcd")].to_numpy()


def told(table, label="kind", text=True, sep=",", **options):
    """Prepare a table as it is read from a file; return it and its notes as one text."""
    if text:
        table = table.astype(object).where(table.notna(), "").map(str)
        table.attrs["sep"] = sep
    found = prepare(table, label, **options)
    return found, "\n".join(found.notes)


@pytest.mark.parametrize("text", [True, False])
def test_a_good_table_needs_no_words(text):
    found, notes = told(GOOD, text=text)
    np.testing.assert_array_equal(found.X, FEATURES)
    assert list(found.y) == list(GOOD["kind"]) and found.names == list("abcd") and notes == ""
    assert not found.is_uneven


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("word", ["None", "NA", "null", "nan", "N/A"])
def test_a_label_that_looks_like_a_gap_is_a_label(word):
    table = GOOD.assign(kind=[word, "mild", "severe", "mild "] * 20)
    found, notes = told(table)
    assert sorted(set(found.y)) == sorted({word, "mild", "severe"}) and len(found.y) == 80
    assert f"'{word}' (20 rows) is kept as a label" in notes and f"set missing to {word}" in notes
    assert "blanks are taken off 20 labels" in notes
    found, notes = told(table, missing=f"-999,{word}", gaps="drop")
    assert sorted(set(found.y)) == ["mild", "severe"] and len(found.y) == 60
    assert "gaps in the label: 20 of 80 rows are left out" in notes


def test_labels_of_numbers_and_capitals():
    found, _ = told(GOOD.assign(kind=["10", "9", "2.0", "2"] * 20))
    assert found.y.dtype == np.int64 and sorted(set(found.y)) == [2, 9, 10]
    assert told(GOOD.assign(kind=["1.5", "2"] * 40))[0].y[0] == "1.5"
    assert (
        "label: 'yes' and 'Yes' differ in capitals"
        in told(GOOD.assign(kind=["yes", "Yes", "no", "no"] * 20))[1]
    )


def test_labels_that_are_one_number():
    """2 and 2.0 are one class; 01 may be a code, and 1.000 a thousand."""
    assert (
        "label: '2' and '2.0' are one number and one class"
        in told(GOOD.assign(kind=["2", "2.0", "9", "9"] * 20))[1]
    )
    found, notes = told(GOOD.assign(kind=["01", "1", "02", "02"] * 20))
    assert sorted(set(found.y)) == ["01", "02", "1"]
    assert "label: '01' and '1' are one number and different classes; write them alike" in notes
    assert set(told(GOOD.assign(kind=["1.000", "2.000"] * 40))[0].y) == {"1.000", "2.000"}


def test_classes_of_one_row_are_left_out():
    found, notes = told(GOOD.assign(kind=["z"] + ["x", "y"] * 39 + ["w"]))
    assert len(found.y) == 78 and "left out, classes of one row: 'z', 'w'; join them" in notes
    np.testing.assert_array_equal(found.X, FEATURES[1:-1])
    assert list(found.rows) == list(range(1, 79))


@pytest.mark.parametrize("first", [0, 2])
def test_rows_keep_the_names_that_the_frame_gives_them(first):
    """Also those behind a row that is left out."""
    table = GOOD.set_axis(range(first, first + 80))
    table.loc[[first + 3, first + 70], ["b", "kind"]] = np.nan
    found, _ = told(table, gaps="drop")
    assert len(found.X) == 78
    np.testing.assert_array_equal(table.loc[found.rows, list("abcd")], found.X)
    assert list(table.loc[found.rows, "kind"]) == list(found.y)


def test_uneven_classes():
    assert told(GOOD.assign(kind=np.repeat(["stay", "go"], [77, 3])))[0].is_uneven


# ------------------------------------------------------------------ numbers


NUMBERS = np.round(RNG.uniform(1000.0, 99999.0, 80), 2)


@pytest.mark.parametrize(
    ("written", "sep", "values", "note"),
    [
        ("{:,.2f}", ",", NUMBERS, "thousands: numbers have ',' between thousands"),
        ("{:,.0f}", ",", np.rint(NUMBERS), "thousands: numbers have ','"),
        ("{:.1f} %", ",", NUMBERS, "units and signs such as % are taken off: n"),
        ("{:.1f}kg", ",", NUMBERS, "units and signs such as % are taken off: n (kg)"),
        ("$ {:,.2f}", ",", NUMBERS, "units and signs such as % are taken off: n"),
        ("\u2212{:.2f}", ",", -NUMBERS, ""),
        ("({:.2f})", ",", -NUMBERS, "(12) is read as -12: n"),
        ("{:.1f} km/h", ",", NUMBERS, "units and signs such as % are taken off: n (km/h)"),
        ("{:.1f} \u00b0C", ",", NUMBERS, "units and signs such as % are taken off: n (\u00b0C)"),
        ("{:.1f} m2", ",", NUMBERS, "units and signs such as % are taken off: n (m2)"),
        ("-\u20b9{:,.2f}", ",", -NUMBERS, "units and signs such as % are taken off: n (\u20b9)"),
        (" {:.2e} ", ",", NUMBERS, ""),
    ],
)
def test_numbers_as_people_write_them(written, sep, values, note):
    found, notes = told(GOOD.assign(n=[written.format(value) for value in NUMBERS]), sep=sep)
    np.testing.assert_allclose(found.X[:, 4], values, rtol=0.01)
    assert note in notes


@pytest.mark.parametrize("between", [".", "", " ", "'", "\u202f"])
def test_numbers_of_germans_and_others(between):
    """Points between thousands are no decimal points."""
    text = [f"{value:,.2f}".translate({44: between, 46: ","}) for value in NUMBERS]
    small = [f"{value:.3f}".replace(".", ",") for value in GOOD["a"]]
    whole = [f"{round(value):,}".replace(",", between) for value in NUMBERS]
    table = GOOD[["kind"]].assign(n=text, a=small, w=whole, kg=[f"{each} kg" for each in small])
    found, notes = told(table, sep=";")
    np.testing.assert_array_equal(found.X[:, 3], found.X[:, 1])
    np.testing.assert_allclose(found.X[:, 0], NUMBERS)
    np.testing.assert_allclose(found.X[:, 1], GOOD["a"], atol=5e-4)
    np.testing.assert_array_equal(found.X[:, 2], np.rint(NUMBERS))
    assert "decimal: numbers have a decimal comma" in notes


def test_lakhs_and_millions():
    """1,00,000 is a hundred thousand, whatever stands between the values of the file."""
    lakhs = [f"{i},{50 + i},000" for i in range(1, 41)] + [f"{i},000" for i in range(1, 41)]
    values = [*(150_000 + 101_000 * np.arange(40) + 1000.0), *(1000.0 * np.arange(1, 41))]
    for sep in ",;":
        found, notes = told(GOOD.assign(n=lakhs), sep=sep)
        np.testing.assert_array_equal(found.X[:, 4], values)
        assert notes == "thousands: numbers have ',' between thousands"
    for mark in ".,":
        text = [f"{i}.500.250".replace(".", mark) for i in range(1, 81)]
        found, _ = told(GOOD[["kind"]].assign(n=text))
        np.testing.assert_array_equal(found.X[:, 0], 1e6 * np.arange(1, 81) + 500_250.0)


def test_units_that_differ_are_not_taken_off():
    mixed = GOOD.assign(n=[f"{i} {'kg' if i % 2 else 'g'}" for i in range(80)])
    found, notes = told(mixed)
    assert found.names == list("abcd")
    assert "left out, words that differ in every row: n" in notes
    houses = GOOD.assign(n=[f"{i % 20}{'A' if i % 20 == 3 else ''}" for i in range(80)])
    with pytest.raises(ValueError, match=r"n \(20, such as '3A' among numbers\); set words"):
        told(houses)


def test_three_digits_behind_a_comma():
    """51,627 is 51627 in a file with commas between its values, and else 51.627."""
    table = pd.DataFrame({"n": [f"{51 + i},627" for i in range(20)], "kind": ["x", "y"] * 10})
    assert told(table)[0].X[0] == 51627.0
    assert told(table, sep=";")[0].X[0] == 51.627
    assert told(table, sep=";", thousands=",", decimal=".")[0].X[0] == 51627.0
    assert told(table, decimal=",")[0].X[0] == 51.627
    with pytest.raises(ValueError, match="^decimal: it must differ from thousands"):
        told(table, decimal=",", thousands=",")


@pytest.mark.parametrize("unit", ["", " \u20ac"])
@pytest.mark.parametrize(("mark", "sep"), [(".", ";"), (".", "\t"), (",", ";"), (",", ",")])
def test_groups_of_three_digits_beside_small_whole_numbers(mark, sep, unit):
    """All cells with a point have three digits behind it, and all others are below 1000: it stands
    between thousands, though no column has a decimal comma.
    """
    values = RNG.integers(200, 5000, 80)
    table = GOOD[["kind"]].assign(
        n=[f"{value:,}{unit}".replace(",", mark) for value in values], age=np.arange(80) // 3
    )
    found, notes = told(table, sep=sep)
    np.testing.assert_array_equal(found.X[:, 0], values)
    assert f"thousands: '{mark}' is read as the mark between thousands, as in n (" in notes
    assert f"set decimal to {mark}" in notes
    assert told(table, sep=sep, decimal=mark)[0].X[:, 0].min() < 10.0
    given, notes = told(table, sep=sep, thousands=mark)
    np.testing.assert_array_equal(given.X, found.X)
    assert "thousands" not in notes


@pytest.mark.parametrize("sep", [",", ";"])
def test_a_point_that_seems_to_stand_between_thousands_is_told(sep):
    """Where another column has decimal points, or commas stand between values."""
    table = GOOD[["kind"]].assign(n=["4.282", "396"] * 40, share=np.arange(80) / 100)
    found, notes = told(table, sep=sep)
    assert set(found.X[:, 0]) == {4.282, 396.0}
    assert "seems to stand between thousands in n (4.282, 396); if it does, set thousands" in notes
    assert told(table, sep=sep, decimal=".")[1] == ""
    every, notes = told(GOOD[["kind"]].assign(n=["4.282", "1.396"] * 40), sep=sep)
    assert set(every.X[:, 0]) == {4.282, 1.396}
    assert ("is read with a decimal point; set thousands to ." in notes) == (sep == ";")


def test_true_false_and_marks_of_gaps():
    table = GOOD.assign(t=["True", "FALSE"] * 40, n=["-999", "1.5", "2", "NA"] * 20)
    found, notes = told(table, missing="-999", gaps="drop")
    assert len(found.X) == 40 and set(found.X[:, 5]) == {1.5, 2.0}
    assert "true and false are read as 1 and 0: t" in notes
    assert set(told(table, gaps="drop")[0].X[:, 5]) == {-999.0, 1.5, 2.0}


STRAYS = {
    "tickets": (["A/5 21171", "PC 17599", "LINE"], "A/5 21171"),
    "children": (["3+"], "3+"),
    "square feet": (["2100 - 2850", "34.46 - 40"], "2100 - 2850"),
    "zip codes": (["98033-6314", "98004-1122"], "98033-6314"),
    "three marks": (["?", "none", "unknown"], "?"),
    "one word once": (["unknown"], None),
}


@pytest.mark.parametrize("name", STRAYS)
def test_strays_that_are_no_gaps_make_words(name):
    strays, first = STRAYS[name]
    numbers = [str(i % 15) for i in range(80)]
    numbers[: 2 * len(strays)] = strays * (1 if first is None else 2) + numbers[: first is None]
    table = GOOD.assign(n=numbers)
    with pytest.raises(ValueError, match="^these columns hold words") as raised:
        told(table)
    assert f"such as {strays[0]!r} among numbers" in str(raised.value)
    assert "set missing" not in str(raised.value)
    found, _ = told(table, words="encode")
    assert found.names[4:] == [f"n_{word}" for word in sorted(set(numbers))]
    assert told(table, words="drop")[0].names == list("abcd")


@pytest.mark.parametrize("marks", [["?"], ["none", "-"]])
def test_what_is_advised_for_strays_works(marks):
    numbers = np.round(FEATURES[:, 0], 3).astype(str).astype(object)
    numbers[: 3 * len(marks)] = marks * 3
    with pytest.raises(ValueError, match=f"set missing to {re.escape(','.join(marks))} if"):
        told(GOOD.assign(n=numbers))
    found, _ = told(GOOD.assign(n=numbers), missing=",".join(marks), gaps="drop")
    np.testing.assert_array_equal(found.X[:, 4], numbers[3 * len(marks) :].astype(float))


@pytest.mark.parametrize("text", [True, False])
def test_ids_that_floating_point_does_not_tell_apart(text):
    ids = 2**53 + np.arange(80) // 2
    found, notes = told(GOOD.assign(who=ids), text=text)
    assert found.names == list("abcd") and "left out, names of rows: who; name" in notes
    found, _ = told(GOOD.assign(kind=2**53 + np.arange(80) % 2), text=text)
    assert sorted(set(found.y)) == ["9007199254740992", "9007199254740993"]
    assert told(GOOD.assign(big=[f"{i}e18" for i in range(80)]))[0].names[4] == "big"


def test_many_classes_that_are_numbers_are_told():
    table = GOOD.assign(kind=np.arange(80) % 40)
    assert "has 40 classes, all of them numbers; if it is a quantity, cut it" in told(table)[1]
    assert "quantity" not in told(GOOD.assign(kind=np.arange(80) % 10))[1]
    prices = GOOD.assign(kind=["3.000,00 \u20ac", "500,00 \u20ac"] * 40)
    assert "holds numbers such as '3.000,00 \u20ac', and each of its 2 values" in told(prices)[1]


def test_a_wide_table_costs_no_more_than_its_values():
    """Another column takes some two hundred calls of functions. With calls of pandas it took
    thousands, and thirty times as long as reading the file.
    """

    def calls(n_columns):
        values = np.round(RNG.normal(size=(40, n_columns)), 3)
        text = pd.DataFrame(values.astype(str).astype(object)).assign(kind=["x", "y"] * 20)
        n_calls = 0

        def count(frame, event, argument):
            nonlocal n_calls
            n_calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            found = prepare(text, "kind")
        finally:
            sys.setprofile(None)
        np.testing.assert_array_equal(found.X, values)
        return n_calls

    per_column = (calls(600) - calls(300)) / 300
    assert per_column < 500


# ------------------------------------------------------------------ other columns


def test_columns_that_tell_the_label_or_are_equal():
    codes = (GOOD["kind"] == "y").astype(int)
    table = GOOD.assign(code=codes, again=GOOD["kind"], copied=GOOD["b"], word=["p", "q"] * 40)
    _, notes = told(table, words="encode")
    assert "same label in these columns: code, again; if they are copies" in notes
    assert "these columns are equal: b = copied; name all but one of them in drop" in notes
    assert told(GOOD.assign(code=np.where(np.arange(80) == 5, 1, codes)))[1] == ""


def test_whole_numbers_that_may_be_names():
    """Customer numbers in any order or with gaps between them, and postal codes."""
    numbers = {"KdNr": RNG.permutation(80) + 10_001, "order": np.cumsum(np.arange(80) % 3 + 1)}
    table = GOOD.assign(**numbers, zip=["01067", "99998"] * 40, age=np.arange(80) % 40)
    found, notes = told(table)
    assert found.names == [*"abcd", "KdNr", "order", "zip", "age"]
    assert "are used as quantities: KdNr, order, zip; if they are names or codes, name" in notes
    assert told(table, keep="KdNr,order,zip")[1] == ""
    assert found.size == "80 rows, 8 features: a, b, c, d, KdNr, order, zip, age"


def test_names_with_commas():
    table = GOOD.set_axis(["net, gross", "net", "c", "x, y,z", "kind"], axis=1)
    assert told(table, drop="net, gross")[0].names == ["net", "c", "x, y,z"]
    assert told(table, drop="c,x, y,z,net, gross")[0].names == ["net"]
    assert told(table, drop="net")[0].names == ["net, gross", "c", "x, y,z"]
    same = table.assign(**{"net, gross": 7})
    assert told(same, keep="net, gross")[0].names[0] == "net, gross"


def test_what_is_no_feature_is_left_out_and_kept_when_asked():
    days = pd.date_range("2024-01-01", periods=80)
    table = GOOD.assign(
        nr=range(1, 81),
        patient_id=RNG.permutation(80) + 1000,
        when=days.strftime("%d.%m.%Y"),
        stamp=days.strftime("%Y-%m-%dT00:00:00"),
        date=days.strftime("%Y%m%d"),
        who=[f"person {i}" for i in range(80)],
        empty="",
        same=7.5,
    )
    found, notes = told(table)
    assert found.names == list("abcd")
    for line in (
        "left out, numbers of the rows: nr; name them in keep",
        "left out, names of rows: patient_id; name them in keep",
        "left out, dates: when, stamp, date; name them in keep to use them as days",
        "left out, words that differ in every row: who; name them in keep",
        "left out, columns without a value: empty",
        "left out, columns with one value: same",
    ):
        assert line in notes
    found, notes = told(table, keep="nr, when, stamp, date, same")
    assert found.names == ["a", "b", "c", "d", "nr", "when", "stamp", "date", "same"]
    for column in (5, 6, 7):
        np.testing.assert_array_equal(found.X[:, column], np.arange(80))
    assert "dates are read as days since the first: when, stamp, date" in notes


def test_dates_of_pandas_and_true_values():
    table = GOOD.assign(when=pd.date_range("2024-01-01", periods=80), flag=[True, False] * 40)
    found, notes = told(table, text=False, keep="when")
    np.testing.assert_array_equal(found.X[:, 4:], np.c_[np.arange(80), [1.0, 0.0] * 40])
    assert "true and false are read as 1 and 0: flag" in notes
    assert len(told(table.assign(a=-9), text=False, missing="-9", words="drop")[0].names) == 4
    np.testing.assert_array_equal(told(table.drop(columns="when"))[0].X[:, 4], [1.0, 0.0] * 40)


def test_words_are_encoded_if_they_are_few():
    table = GOOD.assign(
        word=np.where(GOOD["a"] > 0.0, "red", "blue"),
        size=["S", "M", "L", None] * 20,
        city=[f"c{i % 40}" for i in range(80)],
    )
    found, notes = told(table, words="encode", gaps="drop")
    assert found.names == [*"abcd", "word_blue", "word_red", "size_L", "size_M", "size_S"]
    assert len(found.X) == 60
    np.testing.assert_array_equal(found.X[:, 5], found.X[:, 0] > 0.0)
    assert "words: word (2), size (3)" in notes
    assert "left out, columns with more than 30 words: city (40); join words" in notes
    assert told(table, words="encode", gaps="drop", keep="city")[0].X.shape[1] > 30
    found, notes = told(table, words="drop")
    assert found.names == list("abcd") and "columns of words: word, size, city" in notes


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("first", [0, 1, 2, 10_000])
def test_numbers_that_count_up_from_any_start(first, text):
    """A consecutive customer number says where a row stands, and sorted rows tell their class."""
    table = GOOD.assign(customer=first + np.arange(80), visits=first + np.arange(80) // 2)
    found, notes = told(table, text=text)
    assert found.names == [*"abcd", "visits"]
    assert "left out, numbers of the rows: customer; name them in keep" in notes
    assert told(table, text=text, keep="customer")[0].names == [*"abcd", "customer", "visits"]


def test_row_numbers_with_some_missing():
    """As R writes them."""
    table = GOOD.drop(index=7)
    table.insert(0, "Unnamed: 0", np.arange(1, 81)[GOOD.index != 7])
    assert told(table)[0].names == list("abcd")


def test_columns_with_one_name():
    table = GOOD.set_axis(["a", "a", "c", "a", "kind"], axis=1)
    found, notes = told(table)
    assert found.names == ["a", "a.1", "c", "a.2"]
    assert "columns with the name of another one are now called: a.1, a.2" in notes
    twice = GOOD[["a", "kind", "b"]].set_axis(["a", "kind", "kind"], axis=1)
    assert told(twice, drop="kind.1")[0].names == ["a"]


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        (GOOD.head(0), {}, "file: it has no rows"),
        (GOOD, {"label": "sort"}, "label: no column 'sort' in the file, it has a, b, c, d, kind$"),
        (GOOD, {"label": "Kind"}, "label: no column 'Kind' .*; did you mean 'kind'"),
        (GOOD, {"drop": "e"}, "drop: no column 'e' in the file, it has a, b, c, d, kind$"),
        (GOOD, {"drop": "kind"}, "drop: 'kind' is the label"),
        (GOOD, {"words": "yes"}, "words: it must be one of refuse, encode, drop, found 'yes'"),
        (GOOD, {"gaps": "fill"}, "gaps: it must be one of refuse, drop, found 'fill'"),
        (
            GOOD.set_axis(["a", "b", "c", "kind", "kind"], axis=1),
            {},
            "label: 2 columns are called 'kind': .* set drop to kind.1",
        ),
        (
            GOOD.assign(word=["red", "blue"] * 40, city=[f"c{i % 40}" for i in range(80)]),
            {},
            r"hold words .*: word \(2\), city \(40\); set words to 'encode' .* name them in drop",
        ),
        (
            GOOD.mask(GOOD["a"] > 1.0),
            {},
            r"missing values .*: a \(13\), .* the label \(13\); .* use the 67 of 80 rows",
        ),
        (
            GOOD.mask(GOOD["a"] > 1.0).assign(word=["red", "blue"] * 40),
            {},
            "name them in drop\nthese columns have missing values",
        ),
        (
            GOOD.assign(a=["?", "1"] * 4 + ["2"] * 72),
            {},
            r"a holds .* '\?' in 4 .*set missing to \?",
        ),
        (
            GOOD.assign(**{f"n{i}": ["?"] + ["1"] * 79 for i in range(9)}),
            {},
            "n4 holds .*\nso do 4 more columns$",
        ),
        (
            GOOD.assign(a=["1.5"] * 70 + ["1,5"] * 10),
            {},
            r"a \(2, such as '1,5' among numbers\); set words",
        ),
        (GOOD.assign(a=[np.inf] + [1.5] * 79), {}, "a holds inf in 1 row: .* set missing to inf"),
        (GOOD.assign(a=[1e200] + [1.5] * 79), {}, r"a holds 1e\+200 in 1 row:"),
        (
            GOOD.assign(a=["", "1"] * 40, b=["1", ""] * 40),
            {"gaps": "drop"},
            r"gaps: every row has one; .* such as a \(40 of 80 rows\)",
        ),
        (GOOD.head(40), {}, "label: 'kind' has the one class 'x'; two classes"),
        (GOOD.head(41), {}, "label: 'kind' has the one class 'x', and with a single row 'y'"),
        (
            GOOD.assign(kind=FEATURES[:, 0]),
            {},
            "label: 'kind' has 80 values in 80 rows, so it is a",
        ),
        (
            GOOD.assign(kind=[*range(30)] * 2 + [*range(100, 120)], a=["x", "y"] * 40, b=""),
            {},
            "label: 'kind' has 50 values in 80 rows, so it is a quantity",
        ),
        (
            GOOD.assign(kind=np.arange(80) % 40 + 0.5, a=["x", "y"] * 40),
            {},
            "label: 'kind' has 40 values in 80 rows, so it is a quantity",
        ),
        (
            GOOD.assign(kind=[f"{i % 40},5 \u20ac" for i in range(80)]),
            {},
            "label: 'kind' has 40 values in 80 rows, so it is a quantity",
        ),
        (GOOD[["kind"]], {}, "file: beside the label 'kind' it has no column to learn from$"),
        (GOOD[["kind"]].assign(e=""), {}, "no column to learn from; left out, columns without a"),
    ],
)
def test_mistakes(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        told(table, **parameters)


# ------------------------------------------------------------------ rows


@pytest.mark.parametrize(
    ("n_classes", "each", "share"), [(3, 50, 0.3), (40, 3, 0.3), (2, 20, 0.001)]
)
def test_each_class_is_on_both_sides(n_classes, each, share):
    y = np.repeat(np.arange(n_classes), each)
    train, test, _ = split(y, share)
    assert sorted([*train, *test]) == list(range(len(y)))
    assert len(set(y[train])) == len(set(y[test])) == n_classes


@pytest.mark.parametrize("seed", range(5))
def test_two_rows_of_a_rare_class_are_parted(seed):
    y = np.repeat(["a", "b"], [98, 2])
    train, test, notes = split(y, 0.3, seed)
    assert (y[train] == "b").sum() == (y[test] == "b").sum() == 1
    assert len(test) == 30 and not notes


@pytest.mark.parametrize(
    ("y", "share", "message"),
    [
        (np.arange(60) % 3, 1.5, "validation: it must be between 0 and 1, found 1.5"),
        (np.arange(60) % 3, 0.0, "validation: it must be between 0 and 1"),
        (np.arange(20) % 10, 0.5, "label: no class has two rows to learn from"),
    ],
)
def test_splits_that_cannot_be(y, share, message):
    with pytest.raises(ValueError, match=message):
        split(y, share)


def test_of_many_rows_some_are_drawn():
    y = np.repeat(["a", "b", "c"], [900, 97, 3])
    part, notes = drawn(y, 100)
    assert notes == ["101 of 1,000 rows are drawn; set most to take more"]
    assert [np.sum(y[part] == each) for each in "abc"] == [90, 9, 2]
    assert len(drawn(y, 0)[0]) == len(drawn(y, 1000)[0]) == 1000
