"""Names of other libraries are links where a network is asked for, and nobody waits for one."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from _ext import reference

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CONF = ROOT / "docs" / "source" / "conf.py"
ASKS = "SAFESCREEN_INTERSPHINX"
OBJECTS = {
    "python": {"ValueError": "exception", "TypeError": "exception"},
    "numpy": {"numpy.ndarray": "class", "numpy.random.Generator": "class"},
    "scipy": {"scipy.sparse.csr_array": "class"},
    "sklearn": {"sklearn.model_selection.GridSearchCV": "class"},
}


@pytest.fixture
def settings(monkeypatch):
    """Return the settings of the site, with the variable or without."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def read(asks):
        monkeypatch.setenv(ASKS, asks)
        return runpy.run_path(str(CONF))

    return read


def test_the_site_asks_no_network_unless_it_is_told_to(settings):
    found = settings("")
    assert "sphinx.ext.intersphinx" not in found["extensions"]
    assert "intersphinx_mapping" not in found
    found = settings("1")
    assert "sphinx.ext.intersphinx" in found["extensions"]
    assert set(found["intersphinx_mapping"]) == set(OBJECTS)
    workflow = (ROOT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8")
    assert f'{ASKS}: "1"' in workflow


@pytest.mark.parametrize("answers", [True, False])
def test_names_of_others_are_links_if_their_sites_answer(tmp_path, settings, answers):
    mapping = {}
    for name, (uri, (_, nothing)) in settings("1")["intersphinx_mapping"].items():
        first = "http://127.0.0.1:9/objects.inv"  # nobody answers there
        if answers:
            first = tmp_path / f"{name}.inv"
            lines = ["# Sphinx inventory version 1", f"# Project: {name}", "# Version: 1"]
            lines += [f"{entry} {kind} {entry}.html" for entry, kind in OBJECTS[name].items()]
            first.write_text("\n".join(lines) + "\n", encoding="utf-8")
        mapping[name] = (uri, (str(first), nothing))
    texts = [*reference.ELSEWHERE.values(), ":class:`sklearn.model_selection.GridSearchCV`"]
    (tmp_path / "index.rst").write_text("T\n=\n\n" + ", ".join(texts) + "\n", encoding="utf-8")
    conf = f"extensions = ['sphinx.ext.intersphinx']\nintersphinx_mapping = {mapping!r}\n"
    (tmp_path / "conf.py").write_text(conf, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        env={**os.environ, "no_proxy": "*"},
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'href="(https://[^"#]*\.html)', page)
    found = [uri + entry for name, (uri, _) in mapping.items() for entry in OBJECTS[name]]
    assert sorted(links) == (sorted(f"{one}.html" for one in found) if answers else [])
