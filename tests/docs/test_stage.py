"""The folder that Sphinx reads holds the book's own pages, and what is removed from it is nobody
else's.
"""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from sphinx.errors import ExtensionError

from _ext import stage
from safescreen_book._common import BookError

pytestmark = pytest.mark.slow


def application(folder: Path, source: Path):
    """What `stage` needs of Sphinx, for a book in a folder."""
    for name in ("notebooks", "docs", "outputs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "notebooks/experiments.yml").write_text("{}", encoding="utf-8")
    nbformat.write(nbformat.v4.new_notebook(), folder / "notebooks/10-a.ipynb")
    (folder / "docs/index.md").write_text("# Index", encoding="utf-8")
    source.mkdir(parents=True, exist_ok=True)
    config = SimpleNamespace(
        outputs_dir=str(folder / "outputs"),
        notebooks_dir=str(folder / "notebooks"),
        report_profile="",
    )
    return SimpleNamespace(
        srcdir=source.resolve(),
        outdir=folder / "outputs/site",
        confdir=str(folder / "docs"),
        config=config,
    )


def test_only_what_is_staged_is_left(tmp_path):
    source = tmp_path / "outputs/.sphinx/site/source"
    app = application(tmp_path, source)
    (source / "older.md").touch()
    stage._read(app)
    stage._write(app)
    assert sorted(path.name for path in source.rglob("*.*")) == ["10-a.ipynb", "index.md"]


def test_a_scratch_folder_that_is_a_link_is_refused(tmp_path):
    """Otherwise what it leads to would be emptied."""
    others = tmp_path / "others"
    others.mkdir()
    (others / "letter.txt").write_text("mine")
    (tmp_path / "outputs/.sphinx/site").mkdir(parents=True)
    (tmp_path / "outputs/.sphinx/site/source").symlink_to(others)
    app = application(tmp_path, tmp_path / "outputs/.sphinx/site/source")
    with pytest.raises(
        ExtensionError, match=r"scratch folder in \S+/outputs/.sphinx, and that leads to \S+/others"
    ):
        stage._read(app)
    assert (others / "letter.txt").read_text() == "mine"


def test_links_in_the_scratch_folder_go_and_what_they_lead_to_stays(tmp_path):
    source, others = tmp_path / "outputs/.sphinx/site/source", tmp_path / "others"
    others.mkdir()
    (others / "letter.md").write_text("mine")
    app = application(tmp_path, source)
    (source / "index.md").symlink_to(others / "letter.md")
    (source / "all").symlink_to(others)
    stage._read(app)
    stage._write(app)
    assert (source / "index.md").read_text() == "# Index" and not (source / "all").exists()
    assert (others / "letter.md").read_text() == "mine"


def test_a_notebook_whose_name_is_more_than_a_name_is_refused(tmp_path):
    """The reference writes it into a page."""
    app = application(tmp_path, tmp_path / "outputs/.sphinx/site/source")
    name = "10-a\n\n.. raw:: html\n\n   <script>.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "notebooks" / name)
    with pytest.raises(BookError, match=r"the name of the notebook '10-a.n.n.. raw"):
        stage._read(app)


@pytest.mark.parametrize(
    "name", ["notebooks/11-b.ipynb", "notebooks/figures/a.png", "docs/page.md"]
)
def test_a_page_that_lies_elsewhere_is_refused(tmp_path, name):
    app = application(tmp_path, tmp_path / "outputs/.sphinx/site/source")
    (tmp_path / "elsewhere").write_text("{}", encoding="utf-8")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(
        BookError, match=f"{Path(name).name} leads out of (notebooks|docs)/ by a symbolic link"
    ):
        stage._read(app)
