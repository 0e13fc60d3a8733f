"""Names in code and statements in text are found, and only they."""

from safescreen.site import links, public_names


def test_statements_outside_of_code_and_links_only():
    page = '<p title="STS19 Theorem 1">STS19 Theorem 1, STS19 Theorem 99 <code>STS19 Theorem 1</code> <a href="#">STS19 Theorem 1</a></p>'
    made = links.link_statements(page, ["STS19-T1"], "../")
    assert made.count("claims.html") == 1
    assert '>STS19 Theorem 1</a>, STS19 Theorem 99' in made  # fmt: skip


def test_names_are_followed_through_imports():
    sources = [
        "import safescreen as ss\nfrom safescreen import svm\nfrom safescreen.terms import Triplets as T",
        "%matplotlib inline\nx = 1",
    ]
    names = links.imported(sources)
    assert names == {"ss": "safescreen", "svm": "safescreen.svm", "T": "safescreen.terms.Triplets"}
    found = links.used("svm.path(ss.Problem(T.from_labels(X, y), ss.Hinge()))\nother.solve()", names, public_names())
    assert sorted(found) == ["safescreen.Hinge", "safescreen.Problem", "safescreen.Triplets", "safescreen.svm.path"]


def test_a_name_that_is_assigned_to_is_not_the_library():
    assert links.imported(["from safescreen import path", "path = 3"]) == {}


def test_one_name_of_several_paths():
    reference = public_names()
    for path in ("ss.Triplets", "safescreen.terms.Triplets", "safescreen.terms.triplets.Triplets"):
        assert reference.resolve(path) == "api/safescreen.terms.html#safescreen.Triplets"
    assert reference.resolve("dual", "safescreen.problem.Problem") == "api/safescreen.problem.html#safescreen.Problem.dual"
    assert reference.resolve("numpy.array") is None
    assert reference.resolve("LossSums", "safescreen.problem") == "api/safescreen.terms.html#safescreen.terms.LossSums"
    assert reference.resolve("Reference", "safescreen.rounding") is None  # there are several
