"""One renderer for book, reference, claims and results; `safescreen site` and `safescreen report`
call it.

The folder Sphinx reads is not this one but a scratch folder that `_ext.stage` fills: pages of this
folder, notebooks, generated pages."""

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "lib")]

import safescreen  # noqa: E402

project, author, copyright = "safescreen", "The safescreen authors", "the safescreen authors"
version = release = safescreen.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
extensions += [
    "sphinx.ext.viewcode",
    "_ext.mathml",
    "_ext.stage",
    "_ext.reference",
    "_ext.claims",
    "_ext.results",
    "_ext.numbers",
    "_ext.pages",
    "_ext.clean",
]

if os.environ.get("SAFESCREEN_INTERSPHINX"):  # needs a network: the workflow of the site sets it
    extensions += ["sphinx.ext.intersphinx"]
    nothing = str(HERE / "_ext" / "nothing.inv")  # where a site does not answer, nothing is linked
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3/", (None, nothing)),
        "numpy": ("https://numpy.org/doc/stable/", (None, nothing)),
        "scipy": ("https://docs.scipy.org/doc/scipy/", (None, nothing)),
        "sklearn": ("https://scikit-learn.org/stable/", (None, nothing)),
    }
    intersphinx_timeout = 30

nb_execution_mode = "off"  # notebooks are shown as they were committed
nb_ipywidgets_js = {}  # nothing from elsewhere
nb_merge_streams = True
nb_render_markdown_format = "myst"  # tables and links, as in texts
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_dmath_allow_space = False  # 5$ and 6$ are no formula
myst_heading_anchors = 3
default_role = "code"
smartquotes = False  # what is shown is what was written

autodoc_member_order = "bysource"
# types of parameters are in the docstrings, what is returned is added by _ext.reference
autodoc_typehints = "none"
python_use_unqualified_type_names = True
autosummary_generate = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for the classes that _ext.reference names

suppress_warnings = ["toc.empty_glob"]  # where nothing was run there are no results

with (ROOT / "pyproject.toml").open("rb") as file:
    repository = tomllib.load(file)["project"].get("urls", {}).get("Repository", "")
if "/OWNER/" in repository:  # nobody has said yet where the project lives
    repository = ""

html_theme = "furo"
html_title = f"safescreen {release}"
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = True  # a page leads to its source
html_sourcelink_suffix = ".txt"
html_show_search_summary = False  # needs a server
html_theme_options = {"navigation_with_keys": True, "sidebar_hide_name": False}
