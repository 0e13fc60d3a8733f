"""The notebooks are committed executed, agree with their texts and hold nothing of a machine."""

import ast
import re
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from jupytext import TextFileContentsManager
from traitlets.config import PyFileConfigLoader

from safescreen_book import wording
from safescreen_book.runner import notebooks
from safescreen_book.runner.loading import load_manifest

EXPECTED = 74  # raised with every notebook added, so that a lost one is noticed
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
PATH = re.compile(r"(?<![\w./:<)\]])/(?:[\w.-]+/)+[\w.-]|[A-Z]:\\\w|site-packages")


@pytest.fixture(params=NAMES)
def nb(request):
    return nbformat.read(NOTEBOOKS / f"{request.param}.ipynb", as_version=4)


def outputs(nb):
    return [output for cell in nb.cells if cell.cell_type == "code" for output in cell.outputs]


def test_none_is_lost():
    assert len(NAMES) >= EXPECTED, NAMES


@pytest.mark.slow
def test_pairs_agree_and_were_executed_in_order():
    assert list(notebooks.problems(NOTEBOOKS)) == []


def test_no_orphans():
    texts = {path.stem for path in NOTEBOOKS.glob("*.py")}
    assert texts == set(NAMES)


def test_counts(nb):
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert code and [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_no_errors_and_nothing_on_stderr(nb):
    assert not [output for output in outputs(nb) if output.output_type == "error"]
    assert not [output for output in outputs(nb) if output.get("name") == "stderr"]


def outside_functions(node):
    """Yield a node and all that it runs: what it holds, but for the bodies of functions."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from outside_functions(child)


def shown(cell):
    """Whether a cell of code shows a figure."""
    if cell.cell_type != "code" or "figures.show(" not in cell.source:
        return False
    calls = [
        node for node in outside_functions(ast.parse(cell.source)) if isinstance(node, ast.Call)
    ]
    return any(ast.unparse(call.func) == "figures.show" for call in calls)


def test_no_figure_is_missing(nb):
    """A cell that shows a figure holds it."""
    for cell in filter(shown, nb.cells):
        kinds = {kind for output in cell.outputs for kind in output.get("data", ())}
        assert "image/png" in kinds, cell.source


def test_figures_have_their_alternative_texts(nb):
    """A picture has a text, and the line below it, for JupyterLab, is the same."""
    for cell in filter(shown, nb.cells):
        pictures = [output for output in cell.outputs if "image/png" in output.get("data", ())]
        captions = [output for output in cell.outputs if output.get("metadata", {}).get("caption")]
        texts = [picture.metadata["image/png"]["alt"] for picture in pictures]
        assert texts, cell.source
        assert [caption.data["text/plain"] for caption in captions] == texts
        assert all(len(text) > 40 for text in texts)


def test_no_picture_without_an_alternative_text(nb):
    """No cell shows a figure in another way than by `figures.show`."""
    for cell in nb.cells:
        assert cell.cell_type != "code" or "plt.show(" not in cell.source
        pictures = [
            output for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())
        ]
        assert all(picture.metadata.get("image/png", {}).get("alt") for picture in pictures), (
            cell.source
        )


def test_no_machine_in_the_outputs(nb):
    for output in outputs(nb):
        data = output.get("data", {})
        texts = [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
        found = [PATH.search(text) for text in texts]
        assert not any(found), found


def test_metadata_is_bare(nb):
    assert nb.metadata == notebooks.METADATA and all(
        set(cell.metadata) <= {"tags"} for cell in nb.cells
    )


def printed(nb):
    """Return the lines that the cells of a notebook have printed."""
    return [line for output in outputs(nb) for line in output.get("text", "").splitlines()]


SHOWN = {
    entry.notebook: f"{entry.name}/{entry.shown}"
    for entry in load_manifest(NOTEBOOKS)
    if entry.shown
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_experiment_shows_the_record_that_the_manifest_names(name):
    """It says which record it shows, and what the rules of now say of that record; numbers may
    differ in their last digit, because the table keeps six.
    """
    lines = printed(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4))
    assert f"show the record {SHOWN[name]}, " in " ".join(lines)
    folder = NOTEBOOKS.parent / "outputs" / "paper" / SHOWN[name]
    conclusions = pd.read_csv(folder / "conclusions.csv").to_dict("records")
    said = [re.sub(r"\d[\d.]*", "#", line) for line in wording.sentences(conclusions)]
    words = [re.sub(r"\d[\d.]*", "#", line) for line in lines]
    assert said and [line for line in words if line in said] == said


@pytest.mark.filterwarnings(
    "ignore:Overriding existing pre_save_hook"
)  # it is set twice, to the same
@pytest.mark.parametrize("opened", ["py", "ipynb"])
@pytest.mark.parametrize(
    "name", ["00-start-here", "15-relations-between-spheres", "61-svm-screening-rates"]
)
def test_a_save_in_jupyterlab_changes_nothing(tmp_path, name, opened):
    """Opened and saved as JupyterLab's server does it, with what the browser adds."""
    (tmp_path / "notebooks").mkdir()
    shutil.copyfile(NOTEBOOKS / "jupytext.toml", tmp_path / "notebooks" / "jupytext.toml")
    for end in ("py", "ipynb"):
        shutil.copyfile(NOTEBOOKS / f"{name}.{end}", tmp_path / "notebooks" / f"{name}.{end}")
    config = PyFileConfigLoader(
        "jupyter_server_config.py", path=str(NOTEBOOKS.parent / ".jupyter")
    ).load_config()
    manager = TextFileContentsManager(root_dir=str(tmp_path), config=config)
    model = manager.get(f"notebooks/{name}.{opened}", type="notebook")
    content = model["content"]
    content["metadata"]["language_info"] = {
        "name": "python",
        "version": "3.99",
        "codemirror_mode": {"name": "ipython"},
    }
    content["metadata"]["widgets"] = {}
    for cell in content["cells"]:
        cell["metadata"]["editable"] = True
    widget = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "a"},
        "text/plain": "FloatSlider()",
    }
    next(c for c in content["cells"] if c["cell_type"] == "code")["outputs"].insert(
        0, nbformat.v4.new_output("display_data", widget)
    )
    manager.save({"type": "notebook", "content": content}, f"notebooks/{name}.{opened}")
    for end in ("py", "ipynb"):
        assert (tmp_path / "notebooks" / f"{name}.{end}").read_bytes() == (
            NOTEBOOKS / f"{name}.{end}"
        ).read_bytes()


# it is set twice, to the same
@pytest.mark.filterwarnings("ignore:Overriding existing pre_save_hook")
def test_a_notebook_of_somebody_else_is_saved_as_it_is(tmp_path):
    config = PyFileConfigLoader(
        "jupyter_server_config.py", path=str(NOTEBOOKS.parent / ".jupyter")
    ).load_config()
    nb = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("1", metadata={"mine": 1})], metadata={"mine": 2}
    )
    TextFileContentsManager(root_dir=str(tmp_path), config=config).save(
        {"type": "notebook", "content": nb}, "a.ipynb"
    )
    saved = nbformat.read(tmp_path / "a.ipynb", as_version=4)
    assert saved.metadata["mine"] == 2 and saved.cells[0].metadata["mine"] == 1


def test_each_begins_with_a_title(nb):
    assert nb.cells[0].cell_type == "markdown" and nb.cells[0].source.startswith("# ")


def test_the_pages_of_the_book_list_each_notebook_once():
    pages = (NOTEBOOKS.parent / "docs" / "book").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    listed = re.findall(r"\]\(\.\./\.\./notebooks/(.+)\.ipynb\)", text)
    assert sorted(listed) == sorted(name for name in NAMES if not name.startswith("0"))


def test_no_link_of_a_notebook_is_dead():
    for name in NAMES:
        cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        targets = re.findall(r"\]\(([^)\s#]+)\)", text)
        found = {target for target in targets if "://" not in target}
        assert not [target for target in found if not (NOTEBOOKS / target).is_file()], name


def test_the_first_cell_of_the_first_notebook_shows_something():
    cells = nbformat.read(NOTEBOOKS / "00-start-here.ipynb", as_version=4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    assert first.outputs and "parameters" not in first.metadata.get("tags", ())


@pytest.mark.parametrize(
    "text", ["/a/b/c", "at /a/b", "'/a/b'", "C:\\x", "lib/site-packages/numpy"]
)
def test_machine_paths_are_recognised(text):
    assert PATH.search(text)


@pytest.mark.parametrize(
    "text", ["outputs/laptop", "a/b", "1/2", "https://doi.org/a", "x /y/ z", "</b></td>"]
)
def test_other_text_is_not(text):
    assert not PATH.search(text)
