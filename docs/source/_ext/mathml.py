"""TeX formulas as MathML, which browsers draw without help from elsewhere."""

import html
import itertools
import re
import unicodedata
from xml.etree import ElementTree

from docutils.nodes import SkipNode
from latex2mathml.converter import convert_to_element
from sphinx.util import logging

# the script letters that Unicode has elsewhere
_SCRIPT = dict(zip("BEFHILMR", "ℬℰℱℋℐℒℳℛ", strict=True))
_FENCES = {
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\{": "{",
    r"\}": "}",
    r"\|": "‖",
    r"\Vert": "‖",
    r"\vert": "|",
}
_LETTERS = "∞∂∇⊤⊥∅′"  # symbols that are operands
_LIMITS = ("min", "max", "sup", "inf", "arg min", "arg max")
_FUNCTIONS = ("sin", "cos", "tan", "log", "exp", "cosh", "det", "ln")
_PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
_OVER = {"msub": "munder", "msubsup": "munderover"}


def typeset(tex: str, display: str) -> str:
    """Return a formula as MathML.

    Parameters
    ----------
    tex : str
        LaTeX, without dollars.
    display : {"inline", "block"}

    Returns
    -------
    str
        A `math` element; `<code class="tex">` when the formula cannot be converted.
    """
    try:
        math = convert_to_element(_plain(tex), display=display)
        _mend(math, display == "block")
        text = ElementTree.tostring(math, encoding="unicode")
    except Exception:  # a parser of its own, which raises what it likes: show the TeX
        text = "\\"
    return f'<code class="tex">{html.escape(tex)}</code>' if "\\" in text else text


def _visit(translator, node) -> None:
    """Write a formula; one that cannot be converted is a warning, so that a build that allows
    none fails.
    """
    display = "block" if node.tagname == "math_block" else "inline"
    made = typeset(node.astext(), display)
    if not made.startswith("<math"):
        logging.getLogger(__name__).warning(
            "a formula that cannot be typeset: %s", node.astext(), location=node
        )
    if display == "block":
        number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
        made = f'<div class="math"{_ids(node)}>{number}{made}</div>\n'
    translator.body.append(made)
    raise SkipNode


def _ids(node) -> str:
    return f' id="{html.escape(node["ids"][0])}"' if node["ids"] else ""


def setup(app) -> dict[str, bool]:
    """Make `mathml` a value of `html_math_renderer`."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_visit, None), block_renderers=(_visit, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _plain(tex: str) -> str:
    """The formula in the commands that the converter knows."""
    plain = re.sub(
        r"\\(begin|end)\{(aligned|align|split|gather|gathered)\*?\}", r"\\\1{align*}", tex
    )
    plain = re.sub(r"\\(begin|end)\{(equation|multline)\*?\}", "", plain)
    plain = re.sub(
        r"\\mathcal\s*(?:\{\s*([A-Z])\s*\}|([A-Z]))", lambda m: _script(m[1] or m[2]), plain
    )
    plain = re.sub(r"\\arg\s*\\(min|max)(?![a-zA-Z])", r"\\operatorname*{arg\1}", plain)
    # else the size is lost
    plain = re.sub(r"(\\[bB]igg?[lrm]?\s*(?:\\[a-zA-Z]+|\\.|.))(?=\s*[\^_])", r"{\1}", plain)
    return re.sub(r"\\tag\{([^{}]*)\}", r"\\qquad\\text{(\1)}", plain)


def _script(letter: str) -> str:
    return _SCRIPT.get(letter, chr(0x1D49C + ord(letter) - ord("A")))


def _mend(element: ElementTree.Element, block: bool) -> None:
    """Mend what the converter gets wrong: relations and fences set as letters, or left in TeX
    after a size, and spacing.
    """
    before = None
    for child, after in itertools.zip_longest(list(element), list(element)[1:]):
        text = html.unescape(child.text or "")
        if text == "&":
            element.remove(child)
            continue
        if child.tag in ("mi", "mo"):
            text = _FENCES.get(text, text).replace("argm", "arg m")
            if child.tag == "mi" and _is_operator(text):
                child.tag = "mo"
        if len(child) != _PARTS.get(child.tag, len(child)):
            raise ValueError(f"{child.tag} of {len(child)} parts")
        child.text = text or None
        _space(child, text, before, after)
        _mend(child, block and not (child.tag == "mfrac" or child.get("displaystyle") == "false"))
        if block and child.tag in _OVER and child[0].text in _LIMITS:
            child.tag = _OVER[child.tag]
        before = child


def _space(child: ElementTree.Element, text: str, before, after) -> None:
    """Signs after an operator are not differences, fences grow only when told to, functions
    stand a little apart.
    """
    if text in _FUNCTIONS or text in _LIMITS:
        child.tag = "mo"
        opens = after is not None and html.unescape(after.text or "") in ("(", "[", "{")
        child.attrib.update(form="prefix", lspace="0.17em", rspace="0" if opens else "0.17em")
    elif (
        child.tag == "mo"
        and text in ("−", "+", "±", "∓")
        and (before is None or (before.tag == "mo" and not _closes(before.text)))
    ):
        child.set("form", "prefix")
    elif child.tag == "mo" and text in ("|", "‖", "/"):
        child.attrib.update(lspace="0", rspace="0")
    if (
        child.tag == "mo"
        and child.get("minsize") is None
        and (text in ("|", "‖") or (text and unicodedata.category(text[0]) in ("Ps", "Pe")))
    ):
        child.attrib.setdefault("stretchy", "false")


def _is_operator(text: str) -> bool:
    return (
        len(text) == 1
        and text not in _LETTERS
        and unicodedata.category(text) in ("Sm", "Ps", "Pe", "Po")
    )


def _closes(text: str | None) -> bool:
    return bool(text) and text in ")]}⟩|‖⊤!*⋆"
