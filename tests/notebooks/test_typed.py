"""No caption and no table of a notebook holds a number that somebody typed.

What a caption says of a picture is computed from what is drawn. What a table says of results comes
from a record, and a cell prints it.
"""

import ast
import re
from pathlib import Path

import pytest

from safescreen_book.runner import notebooks

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = notebooks.stems(NOTEBOOKS)

GIVEN = re.compile(
    r"(?:[Bb]all(?: test)?|Algorithm|Theorem|Figure|Table) \d+"  # names
    r"|\b[01]\b(?![.,]\d)"  # thresholds, ends of shares and slopes, the origin
    r"|half-(?:space|line)s?|half (?:moon|width)s?|quarter plane"
)
"""What a definition gives, and no picture."""
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,/]\d+)*(?:e[-+]?\d+)?")
WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven"
    r"|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|hundreds?|thousands?"
    r"|millions?|twice|thrice|doubled?|hal(?:f|ves)|quarters?|thirds?|fifths?|tenths?"
    r"|\w+dths?|\w+fold)\b",
    re.IGNORECASE,
)
MEASURED = re.compile(r"\d[.,]\d|\d *%|\de[-+]?\d|(?:^|\s)\d{2,}(?:\s|$)")
"""A number of a table that is no place, step or count of a definition."""
ASIDE = re.compile(r"\$[^$]*\$|`[^`]*`|\]\([^)]*\)|(?:sec\.|eq\.|Theorem) [\d.]+")
"""A formula, code, the address of a link, a place in a paper."""


def typed(text):
    """Return the numbers, in digits and in words, that are typed in a caption."""
    rest = GIVEN.sub("", text)
    return NUMBER.findall(rest) + WORD.findall(rest)


def literals(node):
    """Return the text of an expression that somebody typed; a blank stands for what is computed."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else " "
    if isinstance(node, ast.JoinedStr):
        return "".join(map(literals, node.values))
    if isinstance(node, ast.BinOp):
        return literals(node.left) + literals(node.right)
    texts = [each for each in ast.walk(node) if isinstance(each, ast.JoinedStr)]
    return " " + " ".join(map(literals, texts)) + " "


def shows(source):
    """Return the expressions that the code of a notebook shows as captions, also through a function
    that hands on its argument; a ValueError names a caption that cannot be read.
    """
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    found = [call.args[0] for call in calls if ast.unparse(call.func) == "figures.show"]
    handed = {each.id for each in found if isinstance(each, ast.Name)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        names = [each.arg for each in function.args.args]
        for place in [names.index(name) for name in handed if name in names]:
            users = [call for call in calls if ast.unparse(call.func) == function.name]
            found += [call.args[place] for call in users]
            handed -= {names[place]} if users else set()
    if handed:
        raise ValueError(f"captions that cannot be read: {handed}")
    return [each for each in found if not isinstance(each, ast.Name)]


def cells_of(markdown):
    """Return the cells of the tables in a text, without formulas, code, links and places in papers.
    A table of parameters has the heading `name`, and its cells are definitions.
    """
    found = []
    is_given = False
    before = ""
    for line in markdown.splitlines():
        row = [cell.strip() for cell in line.strip("| ").split("|")] if line[:1] == "|" else []
        if row and not before.startswith("|"):
            is_given = row[0] == "name"
        elif row and not is_given:
            found += row
        before = line
    return [ASIDE.sub("", cell) for cell in found]


def parts(name):
    cells = notebooks.read_source(NOTEBOOKS, name).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return code, [cell.source for cell in cells if cell.cell_type == "markdown"]


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_a_caption_is_typed(name):
    code, _ = parts(name)
    captions = [literals(each) for each in shows(code)]
    assert not {caption: typed(caption) for caption in captions if typed(caption)}


@pytest.mark.parametrize("name", NAMES)
def test_no_result_in_a_table_is_typed(name):
    _, texts = parts(name)
    assert not [cell for text in texts for cell in cells_of(text) if MEASURED.search(cell)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("GB falls from 0.95 to 0.5", ["0.95", "0.5"]),
        ("it ends at 1e-28 and 41 percent", ["1e-28", "41"]),
        ("larger near 90 and 330 degrees", ["90", "330"]),
        ("seven hundred times lower", ["seven", "hundred"]),
        (
            "half as wide, a hundredth, threefold, twice",
            ["half", "hundredth", "threefold", "twice"],
        ),
        ("Two planes and forty points", ["Two", "forty"]),
        ("1.5 or 0,5", ["1.5", "0,5"]),
    ],
)
def test_typed_numbers_are_found(text, numbers):
    assert sorted(typed(text)) == sorted(numbers)


@pytest.mark.parametrize(
    "text",
    [
        "1 below 1, 0 above, and BT2 of Algorithm 2 in the half-space",
        "ball 1 and ball test 2 touch x1",
        "the quarter plane and half moons; someone often weights a lens",
    ],
)
def test_what_is_given_is_not(text):
    assert typed(text) == []


def test_captions_are_read_wherever_they_stand():
    code = """
figures.show("plain two")
figures.show(f"mean {x:.2f} of three; {', '.join(f'{n} in four' for n in found)}")
figures.show("five " + (f"{n}" if n else ""))
def draw(table, text):
    figures.show(text)
draw(table, f"six of {n}")
"""
    texts = [literals(each) for each in shows(code)]
    assert [typed(text) for text in texts] == [["two"], ["three", "four"], ["five"], ["six"]]


def test_a_caption_that_cannot_be_read_is_told():
    with pytest.raises(ValueError, match="captions that cannot be read: {'text'}"):
        shows("text = 'two'\nfigures.show(text)")


def test_results_in_tables_are_found():
    table = (
        "| data | rate |\n| --- | --- |\n| iris | 0.80 |\n| wine, $1.5$ | 41 % |\n| `2.5` | 127 |"
    )
    assert [cell for cell in cells_of(table) if MEASURED.search(cell)] == ["0.80", "41 %", "127"]
    given = "| name | meaning |\n| --- | --- |\n| `tol` | gap, 0.5 |\n\ntext 0.5"
    steps = "| assumption | used in step |\n| --- | --- |\n| convex | 1, 3 |"
    assert not [cell for text in (given, steps) for cell in cells_of(text) if MEASURED.search(cell)]
