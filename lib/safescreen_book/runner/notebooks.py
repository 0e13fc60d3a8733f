"""Percent text is the source of a notebook; the .ipynb beside it is made and executed from it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import nbformat

from safescreen_book import places

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def stems(folder: Path) -> list[str]:
    """Return the names of the notebooks of a folder, sorted.

    Parameters
    ----------
    folder : Path
        The folder of `NAME.py` and `NAME.ipynb` pairs.

    Returns
    -------
    list of str
        Every name that has either file; hidden files are left out.
    """
    files = [*folder.glob("*.py"), *folder.glob("*.ipynb")]
    return sorted({file.stem for file in files if not file.name.startswith((".", "_"))})


def read_source(folder: Path, name: str) -> nbformat.NotebookNode:
    """Return a notebook made from its text: no outputs, bare metadata, ids that depend on content only.

    Parameters
    ----------
    folder : Path
        The folder of notebooks.
    name : str
        The notebook's name, without an ending.

    Returns
    -------
    NotebookNode
        A valid notebook; from `NAME.py` when there is one, else from `NAME.ipynb`.

    Raises
    ------
    FileNotFoundError
        If there is neither.
    """
    text, notebook = folder / f"{name}.py", folder / f"{name}.ipynb"
    if text.is_file():
        import jupytext

        nb = jupytext.read(text, fmt="py:percent")
    elif notebook.is_file():
        nb = nbformat.read(notebook, as_version=4)
    else:
        raise FileNotFoundError(f"notebook {name!r}: neither {name}.py nor {name}.ipynb is in {folder.name}/")
    return _bare(nb, name)


def _bare(nb, stem: str) -> nbformat.NotebookNode:
    cells = []
    for index, cell in enumerate(nb.cells):
        new = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}.get(cell.cell_type, nbformat.v4.new_raw_cell)(
            cell.source
        )
        new.id = hashlib.sha256(f"{stem}\n{index}\n{cell.source}".encode()).hexdigest()[:16]
        if cell.metadata.get("tags"):
            new.metadata["tags"] = list(cell.metadata["tags"])
        cells.append(new)
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(_KERNEL), "language_info": {"name": "python"}})


def signature(nb) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return what must agree between the two files of a pair.

    Parameters
    ----------
    nb : NotebookNode
        Either notebook.

    Returns
    -------
    list of tuple
        (cell type, stripped source, tags), one a cell.
    """
    return [(c.cell_type, c.source.strip(), tuple(c.metadata.get("tags", ()))) for c in nb.cells]


def refresh(folder: Path, name: str, timeout: int = 600) -> Path:
    """Make a notebook from its text, execute it in its folder and write it if every cell succeeded.

    Run twice on one machine it gives the same bytes.

    Parameters
    ----------
    folder : Path
        The folder of notebooks.
    name : str
        The notebook's name, without an ending.
    timeout : int, default 600
        Seconds allowed to one cell.

    Returns
    -------
    Path
        The written .ipynb.

    Raises
    ------
    FileNotFoundError
        If the text is missing.
    nbclient.exceptions.CellExecutionError
        If a cell fails; the older .ipynb is kept.
    """
    from nbclient import NotebookClient
    from traitlets.config import Config

    if not (folder / f"{name}.py").is_file():
        raise FileNotFoundError(f"notebook {name!r}: no text {name}.py in {folder.name}/")
    nb = read_source(folder, name)
    NotebookClient(
        nb,
        timeout=timeout,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),
        resources={"metadata": {"path": str(folder)}},
    ).execute(env=places.environment())
    nb.metadata = nbformat.from_dict({"kernelspec": dict(_KERNEL), "language_info": {"name": "python"}})
    nbformat.validate(nb)
    target = folder / f"{name}.ipynb"
    partial = folder / f".{name}.ipynb.partial"
    nbformat.write(nb, partial)
    return partial.replace(target)


def problems(folder: Path, names: list[str] | None = None) -> Iterator[str]:
    """Yield what is wrong with the committed notebooks, without looking at file times and without running.

    Parameters
    ----------
    folder : Path
        The folder of notebooks.
    names : list of str, optional
        Notebooks to look at; default all.

    Yields
    ------
    str
        One sentence a problem: a missing half of a pair, cells that differ, cells that did not run in
        order, errors.
    """
    for name in stems(folder) if names is None else names:
        text, notebook = folder / f"{name}.py", folder / f"{name}.ipynb"
        absent = [file.name for file in (text, notebook) if not file.is_file()]
        if absent:
            yield f"{name}: {' and '.join(absent)} missing"
            continue
        nb = nbformat.read(notebook, as_version=4)
        ours, theirs = signature(read_source(folder, name)), signature(nb)
        if ours != theirs:
            where = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), None)
            where = min(len(ours), len(theirs)) if where is None else where
            yield f"{name}: {text.name} and {notebook.name} differ from cell {where + 1} on"
        code = [cell for cell in nb.cells if cell.cell_type == "code"]
        if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
            yield f"{name}: {notebook.name} was not executed from top to bottom"
        if any(output.output_type == "error" for cell in code for output in cell.outputs):
            yield f"{name}: {notebook.name} holds an error"
