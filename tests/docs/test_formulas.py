"""Formulas become MathML, whole."""

import re
from pathlib import Path

import nbformat
import pytest
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

import conf
from _ext.mathml import typeset

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\Big\langle a, b \Big\rangle", ">⟨</mo>"),
        (r"\big\{ a \big\}", ">{</mo>"),
        (
            r"\Big\|x\Big\|^2",
            '<msup><mrow><mo minsize="1.623em" maxsize="1.623em" lspace="0" rspace="0">'
            "‖</mo></mrow>",
        ),
        (r"A \succeq 0", "<mo>⪰</mo>"),
        (r"f(-x)", '<mo form="prefix">−</mo>'),
        (r"a - x", "<mo>−</mo>"),
        (r"\|x\| - y", "<mo>−</mo>"),
        (r"\mathcal{T}", "𝒯"),
        (r"x \tag{3}", "<mtext>(3)</mtext>"),
        (r"\begin{aligned} a &= b \end{aligned}", "<mtable"),
    ],
)
def test_what_the_converter_gets_wrong_is_mended(tex, shown):
    made = typeset(tex, "block")
    assert made.startswith("<math") and shown in made and "\\" not in made


def test_limits_are_below_in_a_display_only():
    for tex in (r"\min_{x \in K} f", r"\arg\min_x f", r"\sup_M f"):
        assert "<munder>" in typeset(tex, "block") and "<munder>" not in typeset(tex, "inline")


def test_what_cannot_be_converted_stays_as_tex():
    assert (
        typeset(r"\nosuchcommand < x", "inline")
        == '<code class="tex">\\nosuchcommand &lt; x</code>'
    )
    assert typeset(r"\frac{a", "inline").startswith('<code class="tex">')


def test_every_formula_of_the_book_is_typeset():
    settings = MdParserConfig(
        enable_extensions=set(conf.myst_enable_extensions),
        dmath_allow_space=conf.myst_dmath_allow_space,
    )
    parser, count, failed, raw = create_md_parser(settings, RendererHTML), 0, [], []
    for path in sorted(FOLDER.glob("*.ipynb")):
        for cell in (
            cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"
        ):
            blocks = parser.parse(cell.source)
            for token in [*blocks, *(inner for block in blocks for inner in block.children or ())]:
                if token.type.startswith(("math", "amsmath")):
                    count += 1
                    made = typeset(
                        token.content, "inline" if token.type.startswith("math_inline") else "block"
                    )
                    failed += [] if made.startswith("<math") else [token.content]
                elif token.type == "text" and re.search(
                    r"\\(begin|frac|lambda|langle)\b|\$", token.content
                ):
                    raw.append(f"{path.stem}: {token.content}")
    assert count > 4000
    assert not failed and not raw
