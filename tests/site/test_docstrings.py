"""Docstrings are shown as they were written."""

import html
import inspect
import re

import pytest

from safescreen.site import docstrings, public_names

DOC = """Return a thing.

Uses ``loss(<a_t, x>)``, `plain`, :func:`~safescreen.solve` and :class:`the problem <Problem>`.

Parameters
----------
x : array of shape (d,), optional
    A point, ``x*`` say; *any*.
**others : Problem or {"a|b", None}
    Given on.

Returns
-------
dict of str to Problem

See Also
--------
solve : another.

Examples
--------
>>> 1 + 1
2
"""
KNOWN = {"safescreen.solve": "#solve", "Problem": "#problem", "solve": "#solve"}


@pytest.fixture(scope="module")
def page():
    return docstrings.render(DOC, KNOWN.get)


@pytest.mark.parametrize(
    "shown",
    [
        "<code>loss(&lt;a_t, x&gt;)</code>",
        "<code>plain</code>",
        '<a href="#solve"><code>solve</code></a>',
        '<a href="#problem"><code>the problem</code></a>',
        '<dt><code>x</code> <span class="kind">array of shape (d,), optional</span></dt>',
        '<code>**others</code> <span class="kind"><a href="#problem">Problem</a> or {"a|b", None}</span>',
        '<span class="kind">dict of str to <a href="#problem">Problem</a></span>',
        "<h5>See Also</h5>",
        '<span class="gp">&gt;&gt;&gt; </span>',
        "<em>any</em>",
    ],
)
def test_each_part_is_shown(page, shown):
    assert shown in page


def test_summary_is_the_first_paragraph():
    assert docstrings.summary(DOC, KNOWN.get) == "Return a thing."


def test_what_docutils_objects_to_is_an_error():
    from docutils.utils import SystemMessage

    with pytest.raises(SystemMessage):
        docstrings.render("A ``literal that does not end.", KNOWN.get)


def test_code_of_every_docstring_is_kept():
    count = 0
    for entry in public_names().entries.values():
        doc = inspect.getdoc(entry.value) if entry.kind != "data" else ""
        page = docstrings.render(doc, {}.get)
        for code in re.findall(r"``(\S|\S.*?\S)``(?!`)", (doc or "").partition("Examples\n---")[0], flags=re.DOTALL):
            if "\n" not in code:
                assert f"<code>{html.escape(code, quote=False)}</code>" in page, (entry.name, code)
                count += 1
    assert count > 200
