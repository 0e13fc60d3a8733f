"""Formulas become MathML, whole."""

import pytest

from _ext.mathml import typeset


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\Big\langle a, b \Big\rangle", ">⟨</mo>"),
        (r"\big\{ a \big\}", ">{</mo>"),
        (r"\Big\|x\Big\|^2", '<msup><mrow><mo minsize="1.623em" maxsize="1.623em" lspace="0" rspace="0">‖</mo></mrow>'),
        (r"A \succeq 0", "<mo>⪰</mo>"),
        (r"f(-x)", '<mo form="prefix">−</mo>'),
        (r"a - x", "<mo>−</mo>"),
        (r"\|x\| - y", '<mo>−</mo>'),
        (r"\mathcal{T}", "𝒯"),
        (r"x \tag{3}", "<mtext>(3)</mtext>"),
        (r"\begin{aligned} a &= b \end{aligned}", "<mtable"),
    ],
)  # fmt: skip
def test_what_the_converter_gets_wrong_is_mended(tex, shown):
    made = typeset(tex, "block")
    assert made.startswith("<math") and shown in made and "\\" not in made


def test_limits_are_below_in_a_display_only():
    for tex in (r"\min_{x \in K} f", r"\arg\min_x f", r"\sup_M f"):
        assert "<munder>" in typeset(tex, "block") and "<munder>" not in typeset(tex, "inline")


def test_what_cannot_be_converted_stays_as_tex():
    assert typeset(r"\nosuchcommand < x", "inline") == '<code class="tex">\\nosuchcommand &lt; x</code>'
    assert typeset(r"\frac{a", "inline").startswith('<code class="tex">')
