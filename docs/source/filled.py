"""The pages in docs/: those of docs/source/ as plain Markdown, with their numbers and tables; and
what README.md says in numbers.

A forge shows a Markdown file as it is, and knows nothing of the roles and directives of the site.

    python docs/source/filled.py        # after results, the ledger or a page have changed
"""

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

from docutils import nodes

SOURCE = Path(__file__).resolve().parent
FOLDER = SOURCE.parent
ROOT = FOLDER.parent
README = ROOT / "README.md"
sys.path[:0] = [str(SOURCE), str(ROOT / "lib")]

from _ext import claims, numbers, results  # noqa: E402
from _ext.reference import title_of  # noqa: E402
from safescreen_book import ledger  # noqa: E402
from safescreen_book.runner.loading import load_manifest  # noqa: E402

PAGES = ("article", "judged", "should-i-use-this", "coming-from", "glossary", "claims", "codecheck")
PAGES += ("results", "library", "commands", "how-to", "notation", "book/theorems")
PAGES += ("book/experiments",)
PAGES += tuple(f"how-to/{path.stem}" for path in sorted((SOURCE / "how-to").glob("*.md")))
DIRECTIVES = {
    "papers": claims.Papers,
    "items": claims.Items,
    "slips": claims.Slips,
    "changed": claims.Changed,
    "absent": claims.Absent,
    "ledger": claims.Ledger,
    "committed": numbers.Committed,
    "benchmark": numbers.Benchmark,
    "gallery": results.Gallery,
}


def main() -> None:
    """Write all pages, and remove what is no more."""
    made = pages()
    for name, text in made.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in there() - set(made):
        (FOLDER / name).unlink()
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")


def readme(text: str) -> str:
    """Return the text of the README with its generated part as it is now."""
    between = r"(<!-- gains: docs/source/filled.py -->\n).*?(<!-- end -->)"
    text, count = re.subn(between, lambda found: found[1] + _gains() + found[2], text, flags=re.S)
    assert count == 1, f"README.md has {count} parts called gains"
    return text


def _gains() -> str:
    """Return what screening gains, at one stop, for the README."""
    known = numbers.numbers()
    return (
        f"**Screening makes a path of solutions {known['screening gains least']} to "
        f"{known['screening gains most']} times faster** on {known['data sets of screening']} data "
        "sets of the papers. These paths learn metrics from listed triplets, screen with "
        "[RRPB](docs/glossary.md#ball), and stop each solve at an absolute duality "
        "[gap](docs/glossary.md#gap) of 1e-6, as the papers do ([the records]"
        "(outputs/paper/51-path-time)). Screening gains less where a "
        "solve may stop sooner, and it does not make a machine that is trained once faster: "
        "[should I use this?](docs/should-i-use-this.md) has the numbers.\n"
    )


def there() -> set[str]:
    """Return the pages that are in `docs/` now."""
    paths = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.md"))
    return {path.as_posix() for path in paths if path.parts[0] != SOURCE.name}


def pages() -> dict[str, str]:
    """Return the text of each filled page by its file in `docs/`."""
    app = _book()
    sources = {name: (SOURCE / f"{name}.md").read_text(encoding="utf-8") for name in PAGES}
    return {f"{name}.md": filled(app, name, text) for name, text in sources.items()}


def _book() -> SimpleNamespace:
    """Return what the directives ask a builder for: ledger, manifest, records, addresses."""
    manifest = load_manifest(ROOT / "notebooks")
    known = ledger.with_evidence(ledger.load_claims(manifest.folder), manifest.folder, strict=False)
    app = SimpleNamespace(
        claims={claim.id: claim for claim in known},
        judged=ledger.judged(manifest.folder),
        manifest=manifest,
        outputs=ROOT / "outputs",
        runs={},
        drawn={},
        config=SimpleNamespace(report_profile="paper"),
    )
    names = sorted(path.stem for path in manifest.folder.glob("*.ipynb"))
    app.notebooks = {
        name: json.loads((manifest.folder / f"{name}.ipynb").read_text(encoding="utf-8"))
        for name in names
    }
    found = {f"notebooks/{name}" for name in names} | set(PAGES)
    found |= {f"claims/{claim.paper}" for claim in known}  # all on the one page of claims
    found |= {f"results/paper/{experiment.name}" for experiment in manifest}
    app.env = SimpleNamespace(found_docs=found, docname="", srcdir=ROOT, app=app)
    app.builder = SimpleNamespace(get_relative_uri=_address)
    return app


def _address(page: str, target: str) -> str:
    """Return the address of one page in another; a notebook is itself, a result its folder."""
    file = FOLDER / f"{re.sub(r'^claims/.*', 'claims', target)}.md"
    if target.startswith("notebooks/"):
        file = ROOT / f"{target}.ipynb"
    elif target.startswith("results/"):
        file = ROOT / "outputs" / target.removeprefix("results/")
    return Path(os.path.relpath(file, (FOLDER / page).parent)).as_posix()


def filled(app, name: str, text: str) -> str:
    """Return a page with everything that the site would put into it."""
    app.env.docname = name
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.M)
    text = re.sub(
        r"^```\{(\w+)\} *(.*)\n((?:.*\n)*?)```$", lambda m: _directive(app, m), text, flags=re.M
    )
    text = re.sub(r"\{number\}`([^`]*)`", lambda m: numbers.numbers()[m[1]], text)
    text = re.sub(r"\{term\}`([^`]*)`", lambda m: _term(app, m[1]), text)
    text = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)", lambda m: _linked(app, m), text)
    source = (SOURCE / f"{name}.md").relative_to(ROOT).as_posix()
    return f"{text.strip()}\n\n<!-- {source}, filled by docs/source/filled.py -->\n"


def _directive(app, found) -> str:
    """Return what a directive stands for."""
    word, argument, body = found.groups()
    if word == "toctree":
        return _contents(app, body)
    if word == "glossary":
        return re.sub(r"(?m)^(\S.*)\n((?:  .*\n?)+)", _entry, body)
    options = dict(re.findall(r"^:(\w+): *(.*)$", body, flags=re.M))
    directive = DIRECTIVES[word].__new__(DIRECTIVES[word])
    settings = SimpleNamespace(env=app.env)
    directive.state = SimpleNamespace(document=SimpleNamespace(settings=settings))
    directive.options = options
    is_one = directive.final_argument_whitespace
    directive.arguments = [argument.strip()] if is_one else argument.split()
    made = [_markdown(node, 2) for node in directive.run()]
    if word == "ledger":
        made += _claims(app)
    return "\n\n".join(filter(None, made))


def _claims(app):
    """Yield a table of the claims of each paper, which the site has on pages of their own."""
    for paper in dict.fromkeys(claim.paper for claim in app.claims.values()):
        yield f"## {claims.PAPERS.get(paper, 'Beyond the papers')}"
        lines = ["| claim | what it says | verdict | checked in |", "| --- | --- | --- | --- |"]
        for claim in app.claims.values():
            if claim.paper == paper:
                what = claim.what.replace("|", "\\|")
                where = _inline(claims.link_cell(app, claim)) if claim.notebook else ""
                name = f'<a name="{claim.id}"></a>{claim.id}'
                lines.append(f"| {name} | {what} | **{claim.status}** | {where} |")
        yield "\n".join(lines)


def _entry(found) -> str:
    lines = [line.strip() for line in found[2].strip().splitlines()]
    return f"### {found[1]}\n\n" + "\n".join(lines) + "\n\n"


def _contents(app, body: str) -> str:
    """Return a list of the notebooks that a table of contents names; others are in the text."""
    caption = re.search(r":caption: (.*)", body)
    lines = [f"## {caption[1]}\n"] if caption else []
    for pattern in re.findall(r"^/notebooks/(.*)$", body, flags=re.M):
        for path in sorted((ROOT / "notebooks").glob(f"{pattern}.ipynb")):
            address = _address(app.env.docname, f"notebooks/{path.stem}")
            lines.append(
                f"* [{path.stem.partition('-')[0]} {title_of(app.notebooks[path.stem])}]({address})"
            )
    return "\n".join(lines)


def _term(app, text: str) -> str:
    """Return a word that leads to its entry in the glossary."""
    shown, _, word = text.partition(" <")
    word = word.rstrip(">") or shown
    entries = re.findall(r"(?m)^(\S.*)\n  \S", (SOURCE / "glossary.md").read_text(encoding="utf-8"))
    entry = next((each for each in entries if word.lower() in each.lower().split(", ")), None)
    assert entry, f"{app.env.docname}: the glossary has no {word!r}"
    anchor = re.sub(r"[^\w -]", "", entry.lower()).replace(" ", "-")
    return f"[{shown}]({_address(app.env.docname, 'glossary')}#{anchor})"


def _linked(app, found) -> str:
    """Return a link as it has to be here: to a filled page, to a file of the checkout, or none."""
    text, target, anchor = found[1], found[2], found[3] or ""
    here = (FOLDER / app.env.docname).parent
    if (here / target).resolve().is_file() or target.startswith("http"):
        return found[0]
    page = Path(os.path.relpath((SOURCE / app.env.docname).parent / target, SOURCE)).as_posix()
    if page.removesuffix(".md") in app.env.found_docs:
        return f"[{text}]({_address(app.env.docname, page.removesuffix('.md'))}{anchor})"
    for file in (SOURCE / page, ROOT / page):
        if file.exists() and file.suffix != ".md":
            return f"[{text}]({Path(os.path.relpath(file, here)).as_posix()}{anchor})"
    stem = page.removesuffix(".ipynb").removesuffix(".md")
    if stem in app.env.found_docs:
        return f"[{text}]({_address(app.env.docname, stem)}{anchor})"
    return found[0] if (here / target).resolve().exists() else text


def _markdown(node, level: int) -> str:
    """Return a node of a page as Markdown."""
    if isinstance(node, nodes.section):
        title = f"{'#' * level} {_inline(node[0])}"
        return "\n\n".join([title, *(_markdown(each, level + 1) for each in node[1:])])
    if isinstance(node, nodes.table):
        return _table(node)
    if isinstance(node, nodes.container):
        inside = [_markdown(each, level) for each in node]
        rule = ["---"] if "card" in node["classes"] else []
        return "\n\n".join(filter(None, [*rule, *inside]))
    if isinstance(node, nodes.figure):
        return _inline(node[0])
    if isinstance(node, nodes.raw):
        return node.astext()
    return _inline(node)


def _table(node) -> str:
    rows = [
        [_inline(entry).replace("|", "\\|").replace("\n", " ") for entry in row]
        for row in node.findall(nodes.row)
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _inline(node) -> str:
    """Return the text of a node with its links, marks and pictures."""
    if isinstance(node, nodes.Text):
        return node.astext().replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
    if isinstance(node, nodes.image):
        address = Path(os.path.relpath(ROOT / node["uri"].lstrip("/"), FOLDER)).as_posix()
        return f"![{node['alt']}]({address})"
    if isinstance(node, nodes.literal):
        return f"`{node.astext()}`"
    inside = "".join(_inline(each) for each in node.children)
    if isinstance(node, nodes.reference):
        address, _, anchor = node["refuri"].partition("#")
        kept = f"#{anchor}" if anchor and address == "claims.md" else ""
        return f"[{inside}]({address}{kept})"
    if isinstance(node, nodes.inline) and "pill" in node["classes"]:
        return f"**{inside}**"
    return f"*{inside}*" if isinstance(node, nodes.emphasis) else inside


if __name__ == "__main__":
    main()
