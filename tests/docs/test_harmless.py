"""No text of a notebook, a record, the ledger or the manifest, wherever it may stand, becomes more
than a text on a page; and no malformed record stops the pages of the others.
"""

import base64
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pandas as pd
import pytest
import yaml

from safescreen_book.protocols.conclusions import COLUMNS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DO = "alert(1)"
ATTACKS = rf"""
<script>{DO}</script>
<img src=x onerror={DO}>
<IMG SRC=x OnErRoR={DO}>
<img/src=x/onerror={DO}>
<img src="https://x.example/seen.png">
<svg onload={DO}>
<svg><script>{DO}</script></svg>
<svg><a href="javascript:{DO}"><text y="9">x</text></a></svg>
<svg><set attributeName="href" to="javascript:{DO}"/></svg>
<iframe src="javascript:{DO}"></iframe>
<iframe srcdoc="<script>{DO}</script>"></iframe>
<a href="javascript:{DO}">x</a>
<a href="&#106;avascript:{DO}">x</a>
<a href="java&#9;script:{DO}">x</a>
<a href=" &#1;javascript:{DO}">x</a>
<a href="vbscript:{DO}">x</a>
<a href="data:text/html,<script>{DO}</script>">x</a>
<style>body {{background: url(//x.example)}}</style>
<p style="position: fixed; background: url(//x.example)">x</p>
<div class="sidebar-drawer" onclick="{DO}">x</div>
<link rel="stylesheet" href="//x.example/x.css">
<meta http-equiv="refresh" content="0; url=//x.example">
<base href="//x.example/">
<form action="//x.example"><input name="q"><button formaction="javascript:{DO}">x</button></form>
<object data="//x.example/x.swf"></object><embed src="//x.example/x.swf">
<video><source onerror={DO}></video><audio src=x onerror={DO}></audio>
<details open ontoggle={DO}>x</details>
<body onload={DO}>
<noscript><p title="</noscript><img src=x onerror={DO}>"></noscript>
<template><script>{DO}</script></template>
<textarea></textarea><script>{DO}</script>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={DO}&gt;">
<math href="javascript:{DO}"><mi>x</mi></math>
<math><annotation-xml encoding="text/html"><script>{DO}</script></annotation-xml></math>
<!--><script>{DO}</script>-->
<scr<script>ipt>{DO}</script>
"><script>{DO}</script>
" onfocus="{DO}" autofocus="
' onmouseover='{DO}
</title></script><script>{DO}</script>
&lt;script&gt;{DO}&lt;/script&gt;
[x](javascript:{DO})
[x](<JaVa&#x53;cript:{DO}>)
[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)
<javascript:{DO}>
![x](x.png" onerror="{DO})
$\href{{javascript:{DO}}}{{x}}$
$\style{{position: fixed; background: url(//x.example)}}{{x}}$
$\class{{overlay}}{{x}}$ and $\cssId{{furo-main-content}}{{x}}$
$\text{{<img src=x onerror={DO}>}}$
""".strip().split("\n")
PLACES = """
## Second {}
{}
- {}
> {}
| {} | b |\n|---|---|\n| c | {} |
[{}](https://example.org "{}")
[x]({})
[x][label]\n\n[label]: {}
![{}](figures/ours.png "{}")
({})=\n### Third
``` {}\n{}\n```
x [^{}]\n\n[^{}]: {}
$${}$$
${}$ and `{}`
\\begin{{align}}{}\\end{{align}}
---\nmyst:\n  html_meta:\n    "http-equiv=refresh": "{}"\n---
""".strip().split("\n")
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0H9"/>{}</svg>'
PAGE = """# Index

```{papers}
```
```{items}
```
```{slips}
```
```{gallery}
```
```{results} paper
```
```{toctree}
:glob:

notebooks/*
claims/*
results/*
```
"""
CONF = """
from conf import *

extensions = [name for name in extensions if name.startswith(("myst", "_ext."))]
extensions = [name for name in extensions if name not in ("_ext.reference", "_ext.numbers")]
html_static_path = []
html_css_files = []
html_favicon = None
"""
MALFORMED = {
    "git": {"git": "abc"},
    "commit": {"git": {"commit": 5}},
    "versions": {"versions": []},
    "parameters": {"parameters": None},
    "nan": {"seconds": {"wall": float("nan")}},
    "seconds": {"seconds": {"wall": "long"}},
    "files": {"files": {"\0": 1}},
    "huge": {"machine": "x" * 3_000_000},
    "keys": {"parameters": ..., "versions": ...},
}
WORDLESS = {"claim": "STS19-F1", "whose": "own", "agrees": True, "n": 3, "ours": 2.0}
CONCLUSIONS = {
    "columns": "claim,verdict\nSTS19-F1,stands\n",
    "found": pd.DataFrame([dict.fromkeys(COLUMNS, "x") | WORDLESS]).to_csv(index=False),
    "long": ",".join(COLUMNS) + "\n" + "x" * 3_000_000,
}
TAGS = set(
    """a article aside b blockquote body br button circle code col colgroup dd details div dl dt em
    figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html i img input label li line
    link main math menclose meta mfrac mi mn mo mover mrow mspace mstyle msub msubsup msup mtable
    mtd mtext mtr nav ol p path polyline pre rect s script section small span strong style
    sub summary sup svg symbol table tbody td th thead title tr u ul use""".split()
)
ATTRIBUTES = set(
    """action alt charset checked class colspan columnalign content cx cy d data-content_root
    display displaystyle download fence fill for form height href id lang loading lspace
    mathvariant maxsize method minsize name notation open placeholder points r rel role rowspan
    rspace rx ry scriptlevel src start stretchy stroke stroke-linecap stroke-linejoin stroke-width
    style tabindex title type value viewbox width x x1 x2 xmlns y y1 y2""".split()
)
OURS = (  # scripts and styles that stand in pages of the theme
    r'document.body.dataset.theme = localStorage.getItem\("theme"\) \|\| "auto";',
    r"DOCUMENTATION_OPTIONS.COLLAPSE_INDEX = true",
    r"body \{\s*--color-code-background: [^()<]*@media not print [^<]*",
)


class Harm(HTMLParser):
    """What of a page could do something, in `found`."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found += [] if tag in TAGS else [tag]
        for name, value in attributes:
            if not self.is_allowed(tag, name, value or ""):
                self.found.append(f"{tag} {name}={value}")

    def handle_comment(self, data):
        self.found += [] if data.startswith(" Generated with Sphinx ") else [f"<!--{data}"]

    def is_allowed(self, tag, name, value):
        plain = re.sub(r"[\0-\x20]", "", value).lower()
        if name in ("action", "href", "src"):
            link = r"(https?:|mailto:|(?![^/?#]*:))" if tag == "a" else r"(?![^/?#]*:|//)"
            where = {"script": r"(\.\./)*(_static/|searchindex)", "img": r"(\.\./)*_images/"}
            return re.match(where.get(tag, link), plain) is not None
        if name == "style":
            return re.search(r"url|position|expression|\\", plain) is None
        if name == "class" and "sidebar-drawer" in value.split():
            return tag == "aside"
        return name in ATTRIBUTES or name.startswith("aria-")

    def handle_data(self, data):
        if self.cdata_elem and data.strip():
            if not any(re.fullmatch(ours, data.strip()) for ours in OURS):
                self.found.append(f"{self.cdata_elem}: {data}")


ElementTree.register_namespace("", "http://www.w3.org/2000/svg")


def a_notebook(attacks):
    """Return a notebook that says its attacks in every place there is."""
    title = nbformat.v4.new_markdown_cell("# " + " ".join(attacks))
    nb = nbformat.v4.new_notebook(cells=[title], metadata={"title": attacks[0]})
    nb.metadata |= {"authors": [{"name": attacks[0]}], "language_info": {"name": attacks[0]}}
    for text in attacks:
        for place in PLACES:
            said = place.replace("\\n", "\n").replace("{}", text)
            nb.cells.append(nbformat.v4.new_markdown_cell(said))
        nb.cells[-1].attachments = {text: {"text/html": text}}
        nb.cells.append(nbformat.v4.new_raw_cell(text, metadata={"format": "text/html"}))
        data = {kind: text for kind in ("text/html", "text/markdown", "text/latex", "text/plain")}
        data["image/svg+xml"] = SVG.format(text)
        outputs = [
            *(nbformat.v4.new_output("display_data", {kind: data[kind]}) for kind in data),
            nbformat.v4.new_output(
                "display_data", {"image/png": PNG}, metadata={"image/png": {"alt": text}}
            ),
            nbformat.v4.new_output("stream", text=f"{text}\x1b[31m{text}"),
            nbformat.v4.new_output("error", ename=text, evalue=text, traceback=[f"\x1b[31m{text}"]),
        ]
        tags = [f"{text} sidebar-drawer".replace(",", "")]
        nb.cells.append(nbformat.v4.new_code_cell(text, outputs=outputs, metadata={"tags": tags}))
    return nb


def a_record(folder, number, text):
    """Leave a run whose files say a text in every place there is."""
    folder.mkdir(parents=True)
    made = {"parameters": {text: text}, "versions": {text: text}, "git": {"commit": text}}
    made |= {"machine": text, "seconds": {text: 1.0}, "threads": text}
    write_result(folder, made)
    row = dict.fromkeys(COLUMNS, text) | dict.fromkeys(("paper", "ours", "low", "high"), 1.5)
    row |= {
        "claim": f"STS19-F{number}",
        "agrees": True,
        "n": 3,
        "whose": "paper",
        "found": text + " {}",
    }
    pd.DataFrame([row]).to_csv(folder / "conclusions.csv", index=False)
    table = pd.DataFrame({text: [text], "b": [text[:40]]})
    name = text.replace("/", "_")
    for file in ("comparison", f"table_{name}"):
        table.to_csv(folder / f"{file}.csv", index=False)
    (folder / "summary.json").write_text(json.dumps({"explanation": [text]}))
    (folder / "figure.svg").write_text(SVG.format(text))
    (folder / f"{name}.svg").write_text(SVG.format(""))
    (folder / f"notebook{name}.ipynb").write_text("{}")
    if number % 2:
        failure = {"cell": text, "line": text, "error": text}
        (folder / "failure.json").write_text(json.dumps(failure))


def write_result(folder, entries):
    """Write what a result.json needs, and entries; those that are `...` are left out."""
    made = {"status": "complete", "hashes": {}, "files": {}, "seconds": {"wall": 1.0}}
    made |= {"experiment": "tiny", "run": "a", "profile": "paper"}
    made |= {"started": "2026-01-01T00:00:00+00:00"}
    made |= {"parameters": {}, "versions": {}} | entries
    kept = {key: value for key, value in made.items() if value is not ...}
    (folder / "result.json").write_text(json.dumps(kept))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages of a book that is all attacks and malformed records."""
    folder = tmp_path_factory.mktemp("harmless")
    notebooks, records = folder / "notebooks", folder / "outputs" / "paper" / "tiny"
    (notebooks / "figures").mkdir(parents=True)
    (folder / "docs").mkdir()
    (folder / "docs" / "conf.py").write_text(CONF)
    (folder / "docs" / "index.md").write_text(PAGE)
    (notebooks / "figures" / "page.html").write_text(ATTACKS[0])
    (notebooks / "figures" / "page.md").write_text(f"# Page\n\n{ATTACKS[0]}\n")
    for first in range(0, len(ATTACKS), 10):
        nb = a_notebook(ATTACKS[first : first + 10])
        nb.cells.append(nbformat.v4.new_markdown_cell("[x](figures/page.html)"))
        nbformat.write(nb, notebooks / f"{50 + first}-attacks.ipynb")
    told = ("what", "evidence", "fair", "also", "sts18")
    claims = [
        {"id": f"STS19-{kind}{i}", "kind": kind, "status": "corrected", "notebook": "50-attacks"}
        | dict.fromkeys(told, text)
        | {"missing": {"elsewhere": text, "time": text}}
        for i, text in enumerate(ATTACKS)
        for kind in "FT"
    ]
    (notebooks / "claims.yml").write_text(yaml.safe_dump({"STS19": claims}))
    tiny = {"title": " ".join(ATTACKS), "notebook": "50-attacks", "profiles": {}}
    (notebooks / "experiments.yml").write_text(yaml.safe_dump({"tiny": tiny}))
    for number, text in enumerate(ATTACKS):
        a_record(records / text.replace("/", "_"), number, text)
    for name, entries in MALFORMED.items():
        (records / name).mkdir()
        write_result(records / name, entries)
    for name, text in CONCLUSIONS.items():
        (records / name).mkdir()
        write_result(records / name, {})
        (records / name / "conclusions.csv").write_text(text)
    source = folder / "outputs" / ".sphinx" / "site" / "source"
    source.mkdir(parents=True)
    command = ["-b", "html", "-q", "-c", folder / "docs", "-d", folder / "doctrees"]
    command += ["-D", f"notebooks_dir={notebooks}", "-D", f"outputs_dir={folder / 'outputs'}"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, command), source, folder / "site"],
        capture_output=True,
        text=True,
        cwd=ROOT / "docs" / "source",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "site"


def test_there_are_fifty_attacks():
    assert len(set(ATTACKS)) >= 50


def test_no_page_holds_what_could_do_something(site):
    found = {
        path.name: Harm(path.read_text(encoding="utf-8")).found for path in site.rglob("*.html")
    }
    assert found.pop("search.html") == ["noscript"]  # the theme's
    assert {name: harm[:9] for name, harm in found.items() if harm} == {}
    assert len(found) > 8


@pytest.mark.parametrize("text", [text for text in ATTACKS if re.search("<|on[a-z]+=", text)])
def test_the_search_for_harm_finds_it(text):
    assert Harm(f"<p>{text}</p><p title=\"{text}\"><p title='{text}'></p>").found


def test_no_other_file_can_do_something(site):
    kinds = {
        path.suffix for folder in ("_images", "_downloads") for path in (site / folder).rglob("*.*")
    }
    assert kinds <= {".csv", ".ipynb", ".png", ".svg"}
    for path in (site / "_images").rglob("*.svg"):
        drawn = ElementTree.tostring(ElementTree.parse(path).getroot(), encoding="unicode")
        assert Harm(drawn).found == []
    assert not (site / "notebooks" / "figures").exists()


def test_no_text_of_the_search_begins_a_tag(site):
    assert (
        re.findall("<[a-zA-Z/!?].{9}", (site / "searchindex.js").read_text(encoding="utf-8")) == []
    )


def test_texts_are_shown(site):
    """They are said and not left out."""
    page = (site / "results" / "paper" / "tiny.html").read_text(encoding="utf-8")
    assert page.count("&lt;img/src=x/onerror=alert(1)&gt;") > 10


@pytest.mark.parametrize("name", [*MALFORMED, *CONCLUSIONS])
def test_a_malformed_record_is_named(site, name):
    page = (site / "results" / "paper" / "tiny.html").read_text(encoding="utf-8")
    section = page.partition(f'<section id="run-{name}">')[2].partition("</section>")[0]
    file = "conclusions.csv" if name in CONCLUSIONS else "result.json"
    assert "annot be read" in section and file in section
