"""The site is whole, linked in every direction, and needs nothing from elsewhere."""

import re

import pytest

from safescreen.site import public_names


@pytest.fixture(scope="module")
def read(site):
    return lambda path: (site / path).read_text(encoding="utf-8")


def test_no_page_has_a_fault(site, faults):
    assert list(faults(site)) == []
    assert len(list(site.rglob("*.html"))) > 100


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="nowhere.html">x</a>', "dead link"),
        ('<a href="#nowhere">x</a>', "no such place"),
        ('<img src="https://example.org/x.png">', "asset"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "asset"),
        ("<p>so $x^2$ is</p>", "raw TeX"),
        ("<p>so \\alpha is</p>", "raw TeX"),
        ('<code class="tex">x</code>', "not set"),
    ],
)
def test_the_search_for_faults_finds_them(tmp_path, faults, text, fault):
    (tmp_path / "page.html").write_text(f"<body>{text}</body>")
    (found,) = faults(tmp_path)
    assert fault in found


def test_styles_and_scripts_are_local(site):
    for name in ("site.css", "site.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|@import|url\(", text)


def test_every_public_name_has_an_entry(read):
    reference = public_names()
    index = read("api/index.html")
    assert len(reference.entries) > 150
    for entry in reference.entries.values():
        assert f'<section class="entry" id="{entry.name}">' in read(f"api/{entry.home}.html"), entry.name
        assert f'href="../{entry.link}"' in index, entry.name
        for name, _ in entry.methods():
            assert f'id="{entry.name}.{name}"' in read(f"api/{entry.home}.html"), (entry.name, name)
    for module in reference.modules:
        assert f"<code>{module}</code></h1>" in read(f"api/{module}.html")


def test_claim_notebook_and_name_link_to_each_other(read):
    claims, notebook, spheres = read("claims.html"), read("notebooks/11-gradient-bound.html"), read("api/safescreen.spheres.html")
    assert 'id="STS19-T1" data-paper="STS19" data-status="verified"' in claims
    assert 'href="notebooks/11-gradient-bound.html#STS19-T1"' in claims
    assert 'href="api/safescreen.spheres.html#safescreen.spheres.gradient_bound"' in claims
    assert re.search(r'id="cell-id=\w+"><p class="badge" id="STS19-T1"><a href="../claims.html#STS19-T1">', notebook)
    assert 'href="../api/safescreen.spheres.html#safescreen.spheres.gradient_bound"><span class="n">ss</span>' in notebook
    entry = spheres[spheres.index('id="safescreen.spheres.gradient_bound"') :].partition("</section>")[0]
    assert 'href="../claims.html#STS19-T1"' in entry and 'href="../notebooks/11-gradient-bound.html#cell-id=' in entry
    assert 'href="../source/spheres/gradient.py.html#L-' in entry and "<h5>Parameters</h5>" in entry


def test_chapters_and_turning_pages(read):
    first, second = read("notebooks/00-start-here.html"), read("notebooks/11-gradient-bound.html")
    assert "<summary>Where the solution is</summary>" in first
    assert re.search(r'<a rel="next" href="11-gradient-bound.html">', first) and 'rel="prev"' not in first
    assert re.search(r'<a rel="prev" href="00-start-here.html">', second)


def test_images_are_files(site, read):
    page = read("notebooks/11-gradient-bound.html")
    assert "data:image/png" not in page
    images = re.findall(r'<img src="(11-gradient-bound-\d+\.png)" alt="Figure \d+" width="\d+"', page)
    assert images and all((site / "notebooks" / image).read_bytes()[:4] == b"\x89PNG" for image in images)


def test_results_of_a_run_are_shown(read):
    assert 'href="smoke/tiny.html"' in read("results/index.html")
    assert "results, 1 rows" in read("results/smoke/tiny.html")
    assert "Results at the smoke size" in read("notebooks/51-tiny.html")
    run = read("results/smoke/notebooks/tiny--one.html")
    assert "tiny/one: executed notebook" in run and 'href="../../../notebooks/51-tiny.html">Tiny, with λ</a>' in run


def test_the_readme_is_the_first_page(read):
    page = read("index.html")
    assert '<a href="notebooks/00-start-here.html">it</a>' in page and "<math" in page
    assert '<a href="api/safescreen.solvers.html#safescreen.solve"><code>ss.solve</code></a>' in page
