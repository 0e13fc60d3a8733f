"""What `make lab` adds to a person's own settings: a notebook of the book is saved as it is
committed.
"""

import warnings
from pathlib import Path

from safescreen_book.runner.notebooks import METADATA

WIDGET = "application/vnd.jupyter.widget-view+json"


def bare(model, path, contents_manager, **_):
    """Leave tags and the kernel of all metadata, and of the outputs no widgets, whose state is gone
    with the kernel.
    """
    source = Path(contents_manager.root_dir, path).with_suffix(".py")
    if model["type"] != "notebook" or not source.is_file():
        return
    cells = []
    for cell in model["content"]["cells"]:  # not changed in place: the text is made of them too
        tags, outputs = cell["metadata"].get("tags"), {}
        if "outputs" in cell:
            outputs["outputs"] = [
                out for out in cell["outputs"] if WIDGET not in out.get("data", {})
            ]
        cells.append({**cell, "metadata": {"tags": tags} if tags else {}, **outputs})
    model["content"] = {**model["content"], "metadata": METADATA, "cells": cells}


# JupyterLab reads this file twice, and says so when the hook takes its own place.
warnings.filterwarnings("ignore", r"Overriding existing pre_save_hook \(bare\) with .* \(bare\)")
c.FileContentsManager.pre_save_hook = bare  # noqa: F821
