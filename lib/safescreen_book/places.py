"""The folders of the notebooks and of the results."""

import os
from pathlib import Path

_HERE = Path(__file__).resolve()


def checkout() -> Path | None:
    """Return the folder of the book: the first one above the package, or else above the working
    folder, that has the files of the book. None if there is no such folder.
    """
    for folder in (*_HERE.parents, Path.cwd(), *Path.cwd().parents):
        if (folder / "pyproject.toml").is_file() and (
            folder / "notebooks" / "experiments.yml"
        ).is_file():
            return folder
    return None


def notebooks_folder(folder: str | os.PathLike | None = None) -> Path:
    """Return the folder of notebooks, manifest and ledger: the given one, or `notebooks/` of the
    checkout.
    """
    if folder is None:
        root = checkout()
        if root is None:
            raise FileNotFoundError(
                "no checkout found: run inside one, or name the folder with --notebooks DIR"
            )
        return root / "notebooks"
    path = resolved(folder, "notebooks folder")
    if not path.is_dir():
        raise FileNotFoundError(f"notebooks folder: {folder} is not a folder")
    return path


def outputs_folder(folder: str | os.PathLike | None = None) -> Path:
    """Return the folder of all results, which need not exist: the given one, `$SAFESCREEN_OUTPUTS`,
    or `outputs/` of the checkout.
    """
    folder = (
        folder or os.environ.get("SAFESCREEN_OUTPUTS") or (checkout() or Path.cwd()) / "outputs"
    )
    return resolved(folder, "outputs folder")


def resolved(folder: str | os.PathLike, what: str) -> Path:
    """Return a path without links; FileNotFoundError where they lead back to each other."""
    try:
        path = Path(folder).resolve()
        if not path.is_symlink():
            return path
    except (OSError, RuntimeError):  # what it is depends on the version of Python
        pass
    raise FileNotFoundError(
        f"{what}: {folder} is a link that leads back to itself; name another folder"
    )


def shown(path: str | os.PathLike) -> str:
    """Return a path as a person would type it: relative to the working folder when it lies below
    it, else absolute.
    """
    path = Path(path).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def environment() -> dict[str, str]:
    """Return the environment of a process that is to import this very package."""
    path = os.pathsep.join(filter(None, [str(_HERE.parents[1]), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
