"""The site is whole, linked in every direction, and needs nothing from elsewhere."""

import html
import re

import pytest

from _ext import clean, reference

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(book):
    """The folder of the pages; they were made without a warning."""
    assert book.make("site").endswith("outputs/site/index.html\n")
    return book.outputs / "site"


@pytest.fixture(scope="module")
def read(site):
    """A page of the site."""
    return lambda path: (site / path).read_text(encoding="utf-8")


def test_no_page_has_a_fault(site, faults):
    assert faults(site) == []
    assert len(list(site.rglob("*.html"))) > 30


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="nowhere.html">x</a>', "dead link"),
        ('<a class="x" href="#nowhere">x</a>', "no such place"),
        ('<img src="https://example.org/x.png">', "asset"),
        ('<script src="//example.org/x.js"></script>', "asset"),
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


def test_styles_from_elsewhere_are_found(tmp_path, faults):
    (tmp_path / "x.css").write_text(
        'a { background: url("https://example.org/x.png") } @import "y.css";'
    )
    assert len(faults(tmp_path)) == 2


def test_every_public_name_has_one_entry(read):
    names, modules = reference.names(), reference.modules()
    assert len(names) > 80 and {"safescreen.solve", "safescreen.spheres.gradient_bound"} <= set(
        names
    )
    homes = {home for home, _ in names.values()}
    assert set(modules) - homes == {"safescreen"}
    pages = {module: read(f"reference/{module}.html") for module in homes}
    for name, (home, _) in names.items():
        assert [page for page, text in pages.items() if f'id="{name}"' in text] == [home], name
    for module, content in modules.items():
        exported = {id(getattr(content, name)) for name in content.__all__}
        assert exported <= {id(value) for _, value in names.values()} | set(
            map(id, map(_module, modules))
        ), module


def _module(name):
    return reference.modules()[name]


def test_methods_are_described_and_inherited_ones_of_others_are_not(read):
    page = read("reference/safescreen.terms.html")
    assert 'id="safescreen.Triplets.from_labels"' in page
    assert "get_params" not in read("reference/safescreen.estimators.html")


def test_names_of_types_and_roles_are_links(read):
    page = read("reference/safescreen.spheres.html")
    assert 'href="safescreen.problem.html#safescreen.Problem"' in page


def test_claim_cell_and_statement_link_to_each_other(read):
    claims, notebook = read("claims/STS19.html"), read("notebooks/11-gradient-bound.html")
    claim = claims[claims.index('id="STS19-T1"') :].partition("</section>")[0]
    assert '<span class="pill verified">verified</span>' in claim
    assert 'href="../notebooks/11-gradient-bound.html#STS19-T1"' in claim
    badge = notebook[notebook.index('<p class="badge" id="STS19-T1">') :]
    assert 'href="../claims/STS19.html#STS19-T1"' in badge.partition("</p>")[0]
    assert re.search(r'<div class="[^"]*tag_STS19-T1', badge[:600])
    assert (
        '<a class="reference internal" href="../claims/STS19.html#STS19-T1">STS19 Theorem 1</a>'
        in notebook
    )
    assert "STS19.html#STS19-T1" in read("reference/safescreen.spheres.html")
    assert 'href="claims/STS19.html"' in read("claims.html")


def test_items_and_claims_show_what_runs_have_judged(read):
    front, judged, claims = (
        read(page) for page in ("index.html", "judged.html", "claims/STS19.html")
    )
    before, _, slips = judged.partition('id="what-is-wrong')
    items = before.partition('id="changed-after')[0]
    (item,) = re.findall(
        r'<tr[^>]*>(?:(?!</tr>).)*href="claims/STS19.html#STS19-F9".*?</tr>', items, re.S
    )
    assert (
        'href="results/paper/tiny.html#run-judged">judged</a>' in item
        and "2 stand" in item
        and "pill" in item
    )
    claim = claims[claims.index('id="STS19-F9"') :].partition("</section>")[0]
    said = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", claim)))
    for words in (
        "<RRPB> pays. The paper's conclusion. stands",
        "PGB beside it pays. The paper's conclusion, at the stop of its authors' program.",
        "iris: <RRPB> pays: 2.4 (95 % interval 2.0 to 2.8, 3 draws); the paper: 6.4. "
        "The direction stands; the size was not asked. Run:",
        "Asked: does it hold that <RRPB> pays?",
    ):
        assert words in said, words
    assert "<summary>what was found, and the rule</summary>" in claim
    assert 'href="../results/paper/tiny.html#run-judged"' in claim
    (paper,) = re.findall(r"<tr[^>]*>(?:(?!</tr>).)*claims/STS19.html.*?</tr>", front, re.S)
    assert "<p>2 stand; " in paper and " do not" not in paper.partition("<p>2 stand; ")[0]
    assert (
        'pill corrected">corrected<' in slips
        and 'claims/HDSL19.html#HDSL19-C1"' in slips
        and "STS19-T1<" not in slips
    )


def test_names_say_which_notebooks_use_them(read):
    page = read("reference/safescreen.spheres.html")
    entry = page[page.index('id="safescreen.spheres.gradient_bound"') :].partition('<dl class="py')[
        0
    ]
    assert re.search(
        r'<p class="soft">Used in <a [^>]*href="../notebooks/11-gradient-bound.html"', entry
    )
    assert (
        "Used in"
        not in page[page.index('id="safescreen.spheres.path_bound"') :].partition('<dl class="py')[
            0
        ]
    )


def test_names_are_followed_through_imports():
    code = (
        "%matplotlib inline\nimport safescreen as ss\nfrom safescreen import svm\nfrom "
        "safescreen.terms import Triplets as T\n"
    )
    code += (
        "svm.path(ss.Problem(T.from_labels(X, y), ss.Hinge()).x)\nother.solve()\nss.no_such_name"
    )
    assert reference.used(code) == {
        "safescreen.Hinge",
        "safescreen.Problem",
        "safescreen.Triplets",
        "safescreen.svm.path",
    }


def test_formulas_are_typeset_and_code_is_not(read):
    page = read("notebooks/51-tiny.html")
    assert "𝒯" in page and 'display="block"' in page
    assert "$y$" in page and "$z$" in page and "5$ and 6$" in page
    assert re.search(r"<title>Tiny, with λ\b", page)


def test_what_a_notebook_brings_runs_nothing(read):
    page = read("notebooks/51-tiny.html")
    body = page[page.index("<article") : page.index("</article>")]
    tags = re.findall(r"<[^>]*>", body)
    assert not [
        tag
        for tag in tags
        if re.search(r"<(script|svg|style|iframe)\b|\son\w+=|javascript:|alert", tag)
        and "furo" not in tag
    ]
    assert (
        "<details>\n<summary><b>More</b></summary>" in body
        and "&lt;img src=x onerror=alert(1)&gt;" in body
    )
    assert (
        '<table class="dataframe">' in body
        and "<td>kept</td>" in body
        and "gone" in body
        and "p {}" not in body
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<details>\n<summary><b>More</b></summary>", "<details>\n<summary><b>More</b></summary>"),
        ("</details>", "</details>"),
        ("a <b class=x>", "a &lt;b class=x&gt;"),
        ("<b/onclick=a()>", "&lt;b/onclick=a()&gt;"),
        ("<br><!-- a -->", "&lt;br&gt;&lt;!-- a --&gt;"),
        ("<b\n<i>", "&lt;b\n&lt;i&gt;"),
        ("<i<i>>", "&lt;i&lt;i&gt;&gt;"),
    ],
)
def test_of_the_html_in_a_text_only_plain_tags_stay(text, shown):
    assert clean.fragment(text) == shown


def test_a_script_without_an_end_takes_all_that_follows():
    """As in a browser; the many that begin are read once."""
    assert (
        clean.output(
            "a <script>b</script  > c<STYLE>d</style> e <script>f </style>" + "<script " * 200_000
        )
        == "a  c e "
    )


def test_it_can_be_searched_from_a_disk(site, read):
    assert re.search(r'<script src="searchindex.js"', read("search.html"))
    index = read("searchindex.js")
    assert (
        index.startswith("Search.setIndex(")
        and "notebooks/11-gradient-bound" in index
        and "gradient_bound" in index
    )


def test_every_figure_of_a_paper_has_a_card(read):
    page = read("results.html")
    card = page[: page.index(">STS19-F9<")].rpartition('class="card')[2]
    assert 'href="results/paper/tiny.html#run-judged"' in card and 'loading="lazy"' in card
    assert 'alt="judged: seconds"' in card
    figures = re.findall(r">([A-Z]+\d+-[FB]\d+\w?)</a>", page)
    assert page.count('class="card ') == len(set(figures)) == len(figures) > 40
    order = [page.index(f'id="figures-{name}"') for name in ("sts19", "sss13", "hdsl19", "beyond")]
    assert order == sorted(order)


def test_a_page_says_its_version_and_leads_to_its_source(read):
    import safescreen

    page = read("how-to/certificate.html")
    assert f"safescreen {safescreen.__version__}" in page and "favicon.svg" in page
    assert 'href="../_sources/how-to/certificate.md.txt"' in page
    assert "_sources" not in read("claims/STS19.html")
    entry = read("reference/safescreen.paths.html")
    assert 'href="../_modules/safescreen/paths.html#path"' in entry


def test_words_lead_to_the_glossary(read):
    assert 'href="glossary.html#term-ball"' in read("article.html")
    assert read("glossary.html").count("<dt id=") > 25


def test_the_reference_begins_with_estimators(read):
    page = read("reference.html")
    article = page[page.index("<article") :]
    places = [article.index(f"#safescreen.{name}") for name in ("SafeSVC", "solve", "Problem")]
    assert places == sorted(places)
    assert 'id="safescreen.Triplets.loss_sums"' not in read("reference/safescreen.terms.html")


def test_results_are_part_of_it(read):
    assert 'href="smoke/tiny.html"' in read(
        "results/smoke.html"
    ) and 'href="results/smoke.html"' in read("results.html")
    page = read("results/smoke/tiny.html")
    assert (
        'href="../../notebooks/51-tiny.html"' in page
        and 'href="../../claims/STS19.html#STS19-F9"' in page
    )
