"""Notebooks as pages of the site."""

import base64
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safescreen.experiments import claims as ledger
from safescreen.experiments import pages
from safescreen.experiments.notebooks import stems
from safescreen.site import links
from safescreen.site.chapters import Chapter, chapters
from safescreen.site.names import Reference

_CELL = re.compile(r'<div class="cell[^"]*" id="cell-id=([\w-]+)">')
_IMAGE = re.compile(r'<img([^>]*?)src="data:image/png;base64,([^"]+)"([^>]*)>')


@dataclass
class Book:
    """The notebooks of a folder, and what they are linked with.

    Attributes
    ----------
    notebooks : dict of str to NotebookNode
        The executed ones, by name.
    titles : dict of str to str
    chapters : list of Chapter
    claims : tuple of Claim
        The ledger; empty without one.
    cells : dict of str to str
        By claim, the id of the cell that checks it.
    uses : dict of str to dict of str to str
        By public name, then by notebook: the id of the first cell that uses it.
    reference : Reference
    """

    notebooks: dict[str, Any]
    reference: Reference
    claims: tuple[ledger.Claim, ...] = ()
    titles: dict[str, str] = field(init=False)
    chapters: list[Chapter] = field(init=False)
    cells: dict[str, str] = field(init=False)
    uses: dict[str, dict[str, str]] = field(init=False)

    def __post_init__(self):
        self.titles = {name: pages.title(nb, name) for name, nb in self.notebooks.items()}
        first = next(iter(self.notebooks.values()), None)
        contents = "\n".join(cell.source for cell in first.cells if cell.cell_type == "markdown") if first else ""
        self.chapters = chapters(contents, list(self.notebooks))
        found = ((claim, self.notebooks.get(claim.notebook)) for claim in self.claims)
        cells = {claim.id: ledger.find_cell(nb, claim.cell) for claim, nb in found if nb}
        self.cells = {claim: cell.id for claim, cell in cells.items() if cell}
        self.uses = {}
        for name, nb in self.notebooks.items():
            imported = links.imported(_code(nb))
            for cell in nb.cells:
                for entry in links.used(cell.source, imported, self.reference) if cell.cell_type == "code" else ():
                    self.uses.setdefault(entry, {}).setdefault(name, cell.id)

    def link(self, claim: ledger.Claim) -> str | None:
        """Return where a claim is checked.

        Parameters
        ----------
        claim : Claim

        Returns
        -------
        str or None
            Address below the site's root: the cell, else the notebook.
        """
        if claim.notebook not in self.notebooks:
            return None
        return f"notebooks/{claim.notebook}.html" + (f"#{claim.id}" if claim.id in self.cells else "")

    def names_in_cell(self, claim: ledger.Claim) -> list[str]:
        """Return the public names that the cell of a claim uses.

        Parameters
        ----------
        claim : Claim

        Returns
        -------
        list of str
        """
        nb = self.notebooks.get(claim.notebook)
        cell = ledger.find_cell(nb, claim.cell) if nb else None
        return links.used(cell.source, links.imported(_code(nb)), self.reference) if cell else []

    def neighbours(self, name: str) -> tuple[str | None, str | None]:
        """Return the notebooks before and after one, in the order of the chapters.

        Parameters
        ----------
        name : str

        Returns
        -------
        tuple of (str or None, str or None)
        """
        order = [None, *(name for chapter in self.chapters for name in chapter.notebooks), None]
        place = order.index(name)
        return order[place - 1], order[place + 1]

    def claims_of(self, name: str) -> list[ledger.Claim]:
        """Return the claims that a notebook checks.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of Claim
        """
        return [claim for claim in self.claims if claim.notebook == name and claim.status != "open"]

    def body(self, nb, name: str, folder: Path, root: str, badge=None) -> str:
        """Return a notebook as HTML, linked with claims, other notebooks and the reference.

        Parameters
        ----------
        nb : NotebookNode
        name : str
            Its images are written to `folder` under this name.
        folder : Path
            The folder of the page.
        root : str
            The site's root as seen from there.
        badge : callable, optional
            From a claim to what stands above its cell.

        Returns
        -------
        str
        """
        page = pages.body(nb)
        if badge:
            above = {}
            for claim in self.claims_of(name):
                above.setdefault(self.cells.get(claim.id), []).append(claim)
            page = _CELL.sub(lambda cell: cell[0] + "".join(map(badge, above.get(cell[1], ()))), page)
        return self.linked(page, name, folder, root, name)

    def linked(self, page: str, name: str, folder: Path, root: str, notebook: str) -> str:
        """Return the body of a notebook with its links, after taking its images out.

        Parameters
        ----------
        page : str
            HTML.
        name : str
            Images are written to `folder` under this name.
        folder : Path
            The folder of the page.
        root : str
            The site's root as seen from there.
        notebook : str
            The notebook of the book that it is a run of.

        Returns
        -------
        str
        """
        page = _take_out_images(page, folder, name)
        names = links.imported(_code(self.notebooks[notebook])) if notebook in self.notebooks else {}
        page = links.link_code(page, names, self.reference, root)
        page = links.link_notebooks(page, self.titles, f"{root}notebooks/")
        return links.link_statements(page, {claim.id for claim in self.claims}, root)


def read_book(folder: Path, reference: Reference) -> Book:
    """Return the book of a folder.

    Parameters
    ----------
    folder : Path
        The folder of notebooks and ledger.
    reference : Reference

    Returns
    -------
    Book
        Of the notebooks that have an .ipynb.
    """
    names = [name for name in stems(folder) if (folder / f"{name}.ipynb").is_file()]
    claims = ledger.load_claims(folder) if (folder / "claims.yml").is_file() else ()
    return Book({name: pages.read(folder / f"{name}.ipynb") for name in names}, reference, claims)


def _code(nb) -> list[str]:
    return [cell.source for cell in nb.cells if cell.cell_type == "code"]


def _take_out_images(page: str, folder: Path, name: str) -> str:
    """Write embedded images to files of their own, three quarters of the size."""
    count = 0

    def write(match: re.Match) -> str:
        nonlocal count
        count += 1
        content = base64.b64decode(match[2])
        (folder / f"{name}-{count}.png").write_bytes(content)
        width, height = struct.unpack(">II", content[16:24])
        return f'<img src="{name}-{count}.png" alt="Figure {count}" width="{width}" height="{height}" loading="lazy">'

    return _IMAGE.sub(write, page)
