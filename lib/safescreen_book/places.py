"""Where the notebooks are and where results go."""

import os
import sysconfig
from pathlib import Path

_HERE = Path(__file__).resolve()


def checkout() -> Path | None:
    """Return the checkout this package belongs to.

    The first folder above the package, then above the working folder, that holds `pyproject.toml` and
    `notebooks/experiments.yml`.

    Returns
    -------
    Path or None
        The checkout's root; None when the package is installed without one.
    """
    for folder in (*_HERE.parents, Path.cwd(), *Path.cwd().parents):
        if (folder / "pyproject.toml").is_file() and (folder / "notebooks" / "experiments.yml").is_file():
            return folder
    return None


def notebooks_folder(folder: str | os.PathLike | None = None) -> Path:
    """Return the folder of notebooks, manifest and ledger.

    Parameters
    ----------
    folder : path, optional
        A folder named by the user; default is `notebooks/` of the checkout.

    Returns
    -------
    Path
        An existing folder, absolute.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    """
    if folder is None:
        root = checkout()
        if root is None:
            raise FileNotFoundError("no checkout found: run inside one, or name the folder with --notebooks DIR")
        return root / "notebooks"
    path = Path(folder).resolve()
    if not path.is_dir():
        raise FileNotFoundError(f"notebooks folder: {folder} is not a folder")
    return path


def outputs_folder(folder: str | os.PathLike | None = None) -> Path:
    """Return the folder below which every result is written; it need not exist.

    Parameters
    ----------
    folder : path, optional
        A folder named by the user; default is `$SAFESCREEN_OUTPUTS`, then `outputs/` of the checkout,
        then `outputs/` of the working folder.

    Returns
    -------
    Path
        The folder, absolute.
    """
    folder = folder or os.environ.get("SAFESCREEN_OUTPUTS") or (checkout() or Path.cwd()) / "outputs"
    return Path(folder).resolve()


def shown(path: str | os.PathLike) -> str:
    """Return a path as a person would type it from the working folder.

    Parameters
    ----------
    path : path
        Any path.

    Returns
    -------
    str
        The path relative to the working folder when it lies below it, else absolute.
    """
    path = Path(path).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def environment() -> dict[str, str]:
    """Return the environment of a process that is to import this very package.

    Returns
    -------
    dict of str
        This process's, with the package's folder in front of `PYTHONPATH` unless it is an installed one.
    """
    library = str(_HERE.parents[1])
    if library in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        return dict(os.environ)
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
