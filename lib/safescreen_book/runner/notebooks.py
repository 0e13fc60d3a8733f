"""The two files of a notebook: the percent text is the source, and the .ipynb is made from it and
executed.

nbformat, jupytext, nbclient and Pillow take a second to import, so the functions that need them
import them.
"""

import base64
import copy
import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safescreen_book import places
from safescreen_book._common import BookError, whole
from safescreen_book.parameters import assigned

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""Of a committed notebook."""

FIGURE = "figure:"
"""A cell tagged `figure:NAME` has its picture also in figures/NAME.png, for the pages that show
it.
"""


def stems(folder: Path) -> list[str]:
    """Return the sorted names of the notebooks of a folder. One of the two files is enough; hidden
    files are left out.
    """
    files = [*folder.glob("*.py"), *folder.glob("*.ipynb")]
    return sorted({file.stem for file in files if not file.name.startswith((".", "_"))})


def read(path: Path):
    """Read an .ipynb; a BookError names a file that is no notebook."""
    import nbformat

    try:
        nb = nbformat.read(path, as_version=4)
        nbformat.validate(nb)
    except (
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
        nbformat.ValidationError,
    ) as error:
        raise BookError(
            f"{path.name}: not a notebook: {str(error).partition(chr(10))[0]}"
        ) from error
    return nb


def to_text(nb) -> str:
    """Return the text of an .ipynb."""
    import nbformat

    return nbformat.writes(nb) + "\n"


def write(nb, path: Path) -> Path:
    """Write an .ipynb, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(to_text(nb), encoding="utf-8")
    return path


def read_source(folder: Path, name: str):
    """Return a notebook made from its text, or from its .ipynb, without outputs and with bare
    metadata. The ids of its cells depend only on name, place and content.
    """
    text, notebook = folder / f"{name}.py", folder / f"{name}.ipynb"
    if text.is_file():
        return copy.deepcopy(_parsed(text.read_text(encoding="utf-8"), name))
    if notebook.is_file():
        return _bare(read(notebook), name)
    raise FileNotFoundError(
        f"notebook {name!r}: neither {name}.py nor {name}.ipynb is in {folder.name}/"
    )


@functools.lru_cache(maxsize=128)
def _parsed(text: str, name: str):
    import jupytext

    return _bare(jupytext.reads(text, fmt="py:percent"), name)


def _bare(nb, stem: str):
    from nbformat import from_dict

    cells = []
    for index, old in enumerate(nb.cells):
        tags = list(old.metadata.get("tags", ()))
        cell = {
            "cell_type": old.cell_type,
            "source": old.source,
            "metadata": {"tags": tags} if tags else {},
        }
        cell["id"] = hashlib.sha256(f"{stem}\n{index}\n{old.source}".encode()).hexdigest()[:16]
        cells.append(
            cell | ({"execution_count": None, "outputs": []} if old.cell_type == "code" else {})
        )
    return from_dict({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


def signature(nb) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the part in which the two files must agree: type, stripped source and tags of each
    cell.
    """
    return [(c.cell_type, c.source.strip(), tuple(c.metadata.get("tags", ()))) for c in nb.cells]


def parameters(nb, name: str) -> dict[str, Any]:
    """Return names and defaults from the cell tagged `parameters`, all plain numbers, booleans
    and strings; a BookError says where not.
    """
    return assigned(_parameters_cell(nb, name).source, f"notebook {name}")


def _parameters_cell(nb, name: str):
    cells = [
        c for c in nb.cells if c.cell_type == "code" and "parameters" in c.metadata.get("tags", ())
    ]
    if len(cells) != 1:
        raise BookError(f"notebook {name}: needs one cell tagged 'parameters', found {len(cells)}")
    return cells[0]


def refresh(
    folder: Path, name: str, timeout: int = 600, given: Mapping[str, Any] | None = None
) -> Path:
    """Make a notebook from its text, execute it in its folder, and write it if every cell succeeded
    within `timeout` seconds.

    Parameters `given` take effect after the cell tagged `parameters`, and are not written into the
    notebook.

    Pictures are made smaller by `small_png`. The picture of a cell tagged `figure:NAME` is written
    to figures/NAME.png too. Two executions on one machine give the same bytes. If a cell fails,
    nbclient's error is raised and the older .ipynb is kept.
    """
    from nbclient import NotebookClient
    from nbformat import from_dict, validate
    from traitlets.config import Config

    from safescreen_book.runner.png import small_png

    if not (folder / f"{name}.py").is_file():
        raise FileNotFoundError(f"notebook {name!r}: no text {name}.py in {folder.name}/")
    nb = read_source(folder, name)
    sources = [cell.source for cell in nb.cells]
    if given:
        values = "".join(f"\n{key} = {value!r}" for key, value in given.items())
        _parameters_cell(nb, name).source += values
    NotebookClient(
        nb,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),
        resources={"metadata": {"path": str(folder)}},
    ).execute(env=places.environment())
    for cell, source in zip(nb.cells, sources, strict=True):
        cell.source = source
    for data in (
        output.data
        for cell in nb.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", ())
    ):
        data["image/png"] = base64.b64encode(
            small_png(base64.b64decode(data["image/png"]))
        ).decode()
    nb.metadata = from_dict(METADATA)
    validate(nb)
    for figure, png in pictures(nb).items():
        path = folder / "figures" / f"{figure}.png"
        path.parent.mkdir(exist_ok=True)
        with whole(path) as partial:
            partial.write_bytes(png)
    return write(nb, folder / f"{name}.ipynb")


def pictures(nb) -> dict[str, bytes]:
    """Return the PNG of each cell that is tagged `figure:NAME`, by that name."""
    found = {}
    for cell in nb.cells:
        names = [
            tag.removeprefix(FIGURE)
            for tag in cell.metadata.get("tags", ())
            if tag.startswith(FIGURE)
        ]
        for output in cell.get("outputs", ()):
            png = output.get("data", {}).get("image/png")
            if names and png:
                found[names[0]] = base64.b64decode(png)
    return found


def problems(folder: Path, names: list[str] | None = None) -> Iterator[str]:
    """Yield a sentence for each mistake in committed notebooks, without running them and without
    looking at file times.
    """
    for name in stems(folder) if names is None else names:
        text, notebook = folder / f"{name}.py", folder / f"{name}.ipynb"
        absent = [file.name for file in (text, notebook) if not file.is_file()]
        if absent:
            yield f"{name}: {' and '.join(absent)} missing"
            continue
        nb = read(notebook)
        ours, theirs = signature(read_source(folder, name)), signature(nb)
        if ours != theirs:
            same = [mine == other for mine, other in zip(ours, theirs, strict=False)]
            yield (
                f"{name}: {text.name} and {notebook.name} differ from cell "
                f"{[*same, False].index(False) + 1} on"
            )
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
            yield f"{name}: {notebook.name} was not executed from top to bottom"
        if any(output.output_type == "error" for cell in code for output in cell.outputs):
            yield f"{name}: {notebook.name} holds an error"
