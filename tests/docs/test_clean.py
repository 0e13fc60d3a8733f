"""A notebook is shown and no more: building its page runs nothing of it and publishes no file
that it names.
"""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from docutils import nodes

from _ext import pages

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs" / "source"
SECRET = "kept-to-ourselves"
EXECUTES = {
    "mystnb": {
        "execution_mode": "force",
        "render_markdown_format": "myst",
        "remove_code_source": True,
    },
    "myst": {
        "enable_extensions": ["substitution", "html_image", "colon_fence"],
        "substitutions": {"x": 1},
    },
    "substitutions": {"x": 1},
    "html_meta": {"refresh": "0; url=https://example.org"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"x": 1}}},
}
READS = """
```{include} FILE
```
~~~{literalinclude} FILE
~~~
```{csv-table} a title
:file: FILE
```
```{raw} html
:file: FILE
```
```{figure} PICTURE
```
```{image} PICTURE
```
```{code-cell}
:load: FILE
```
```{eval-rst}
.. include:: FILE
.. image:: PICTURE
.. |x| image:: PICTURE

|x| and :download:`FILE`
```
> ```{note}
> ```{include} FILE
> ```
> ```
- item

  ```{include} FILE
  ```

{download}`FILE` {nb-download}`FILE` {glue}`x` {eval}`x`
![picture](PICTURE) ![any](STEM.*) ![remote](https://example.org/x.png)
![attached](attachment:x.png) ![relative](../../picture.png) ![text](FILE)
<img src="PICTURE"> [one](FILE) [two](path:FILE) [three](PICTURE) [four](../../secret.txt)
{{ env.__init__.__globals__["__builtins__"]["open"]("MARKER-template", "w") }}
:::{include} FILE
:::
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the pages, what the build said, the path of a picture that may not be shown,
    and that of what must not be made.
    """
    folder = tmp_path_factory.mktemp("hostile")
    source, secret = folder / "source", folder / "secret.txt"
    (source / "notebooks" / "figures").mkdir(parents=True)
    secret.write_text(f"{SECRET},2\n{SECRET},3\n")
    picture = folder / "picture.png"
    picture.write_bytes(PNG + SECRET.encode())
    (source / "notebooks" / "linked.png").symlink_to(picture)
    (source / "notebooks" / "figures" / "ours.png").write_bytes(PNG + b"ours")
    up = "/" + os.path.relpath(folder, source)
    names = {
        "FILE": f"{up}/secret.txt",
        "PICTURE": f"{up}/picture.png",
        "STEM": f"{up}/picture",
        "MARKER": str(folder / "marker"),
    }
    text = READS
    for name, value in names.items():
        text = text.replace(name, value)
    text += "![linked](linked.png) ![ours](figures/ours.png) [other](good.ipynb) $x^2$ **bold**\n"
    nbformat.write(
        hostile(text, f"open({str(folder / 'marker-cell')!r}, 'w')"),
        source / "notebooks" / "hostile.ipynb",
    )
    nbformat.write(good(), source / "notebooks" / "good.ipynb")
    (source / "index.md").write_text(
        "# Pages\n\n```{toctree}\nnotebooks/hostile\nnotebooks/good\n```\n", encoding="utf-8"
    )
    extensions = "extensions=myst_nb,_ext.mathml,_ext.clean"
    command = [
        "sphinx",
        "-b",
        "html",
        "-c",
        DOCS,
        "-D",
        extensions,
        "-d",
        folder / "doctrees",
        source,
        folder / "pages" / "html",
    ]
    done = subprocess.run(
        [sys.executable, "-m", *map(str, command)], capture_output=True, text=True, timeout=300
    )
    return folder, done


def hostile(text, code):
    """A notebook that asks for everything that it must not get."""
    data = {"text/markdown": text, "image/png": base64.b64encode(PNG + b"output").decode()}
    settings = {
        "mystnb": {"markdown_format": "myst", "figure": {"caption": text}},
        "tags": ["shown", "raises-exception"],
    }
    cells = [
        nbformat.v4.new_markdown_cell("# Hostile\n\n" + text),
        nbformat.v4.new_code_cell(
            code,
            metadata=settings,
            outputs=[nbformat.v4.new_output("display_data", data, metadata=settings)],
        ),
        nbformat.v4.new_code_cell(
            code, outputs=[nbformat.v4.new_output("display_data", {"text/markdown": text})]
        ),
        nbformat.v4.new_raw_cell(text, metadata={"format": "text/markdown"}),
        nbformat.v4.new_raw_cell("<script>alert(1)</script>", metadata={"format": "text/html"}),
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata=EXECUTES)


def good():
    """A notebook as they are."""
    outputs = [
        nbformat.v4.new_output("stream", text="printed\n"),
        nbformat.v4.new_output(
            "display_data",
            {"image/png": base64.b64encode(PNG + b"good").decode(), "text/plain": "<Figure>"},
        ),
        nbformat.v4.new_output(
            "execute_result",
            {"text/html": "<table><tr><td>cell</td></tr></table>", "text/plain": "frame"},
        ),
        nbformat.v4.new_output("display_data", {"text/latex": "$y^3$"}),
        nbformat.v4.new_output(
            "display_data", {"text/markdown": "| a |\n|---|\n| [there](hostile.ipynb) |"}
        ),
    ]
    cells = [
        nbformat.v4.new_markdown_cell(
            "# Good\n\n[back](hostile.ipynb), ![ours](figures/ours.png)\n\n```python\nx = 1\n```"
        ),
        nbformat.v4.new_code_cell(
            "x = 2", outputs=outputs, metadata={"tags": ["a-tag"]}, execution_count=3
        ),
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_nothing_is_executed(built):
    folder, done = built
    assert (folder / "pages/html/notebooks/hostile.html").is_file(), done.stderr
    assert [path.name for path in folder.glob("marker*")] == []


def test_no_file_from_elsewhere_is_published(built):
    folder, _ = built
    published = [path for path in (folder / "pages").rglob("*") if path.is_file()]
    assert [
        str(path.relative_to(folder)) for path in published if SECRET.encode() in path.read_bytes()
    ] == []


def test_what_is_refused_is_named(built):
    """So that a build which allows no warning fails."""
    _, done = built
    directives = "include literalinclude csv-table raw figure image code-cell note".split()
    for name in directives:
        assert f"the directive '{name}' is not for notebooks" in done.stderr
    for name in ("download", "nb-download", "glue", "eval"):
        assert f"the role '{name}' is not for notebooks" in done.stderr
    for name in (
        "picture.png",
        "picture.*",
        "https://example.org/x.png",
        "attachment:x.png",
        "linked.png",
    ):
        assert re.search(rf"the picture \S*{re.escape(name)} is not one of the pages'", done.stderr)
    assert re.search(r"the file \S*secret.txt is not one of the pages'", done.stderr)


def test_a_good_notebook_is_shown_whole(built):
    folder, _ = built
    page = (folder / "pages/html/notebooks/good.html").read_text(encoding="utf-8")
    pictures = [
        folder / "pages/html/notebooks" / source
        for source in re.findall(r'<img [^>]*src="([^"]*)"', page)
    ]
    assert [path.read_bytes() for path in pictures] == [PNG + b"ours", PNG + b"good"]
    back = 'href="hostile.html"><span class="std std-doc">back</span></a>'
    there = 'href="hostile.html"><span class="std std-doc">there</span></a></p></td>'
    for shown in (back, there, "<td>cell</td>", "<msup><mi>y</mi>", "printed", "tag_a-tag"):
        assert shown in page
    assert page.count("highlight-python") == 2


def test_a_picture_has_its_alternative_text_and_no_caption():
    """What `safescreen_book.figures.show` left in a notebook."""
    sys.path.insert(0, str(DOCS))
    from _ext.clean import bare

    picture = nbformat.v4.new_output(
        "display_data", {"image/png": "aGk="}, metadata={"image/png": {"alt": "A line & more"}}
    )
    caption = nbformat.v4.new_output(
        "display_data", {"text/markdown": "*A line & more*"}, metadata={"caption": True}
    )
    odd = nbformat.v4.new_output("display_data", {"image/png": "aGk="}, metadata={"image/png": 1})
    cells = [
        nbformat.v4.new_code_cell("1", outputs=[picture, caption]),
        nbformat.v4.new_code_cell("2", outputs=[odd]),
    ]
    text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    first, second = nbformat.reads(bare(text), as_version=4).cells
    assert first.metadata["mystnb"] == {"image": {"alt": "A line & more"}}
    assert [list(output.data) for output in first.outputs] == [["image/png"]]
    assert "mystnb" not in second.metadata
    assert len(second.outputs) == 1


def test_plumbing_is_folded_in_texts_and_experiments():
    from _ext.clean import bare

    sources = ["import a\nimport b", "figures.show('x')", "f(1)\n" * 12, "n = 1"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    folded = [True, True, False, False]
    for tags in ([], ["parameters"]):
        cells[3].metadata["tags"] = tags
        folded[2] = bool(tags)
        text = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
        shown = nbformat.reads(bare(text), as_version=4).cells
        assert ["hide-input" in cell.metadata["tags"] for cell in shown] == folded


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("one sentence  of words", ["output", "sentences"]),
        ("a    b\n1    2", ["output"]),
        ("a    b\n1    " + 100 * "2", ["output", "dense"]),
        ("with 3 rows:   " + 20 * "many words", ["output", "sentences"]),
    ],
)
def test_printed_sentences_are_wrapped_and_tables_are_not(text, classes):
    block = nodes.literal_block("", text, classes=["output"])
    pages.wrap(None, nodes.container("", block))
    assert block["classes"] == classes
