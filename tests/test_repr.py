"""Records with arrays are shown on a few lines, whatever their size."""

import numpy as np
import pytest
from sklearn.svm import SVC

import safescreen as ss
from instances import instance


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 30)), np.where(np.arange(200) % 2, 1, -1)
    X[:, 0] += y
    problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.05))
    metric = ss.Problem(ss.Triplets.from_labels(X, y, k=3), ss.SmoothedHinge(0.05))
    lam, seen = 0.1 * metric.lam_max(), []
    path = ss.path(metric, lam * 0.9 ** np.arange(10), callback=seen.append)
    machine, reference = ss.solve(problem, 1.0), ss.svm.reference(ss.solve(problem, 2.0))
    found = ss.screen(metric, path[-1].x, path[-1].lam)
    last = path[-1]
    classifier = SVC(kernel="linear").fit(X, y)
    return [
        path,
        last,
        seen[-1],
        found,
        found.balls[0],
        machine,
        machine.screened,
        reference,
        ss.svm.dome(problem.terms, reference, machine),
        ss.ranges.relaxed_path(metric, last.x, last.eps, last.lam),
        metric.evaluate(last.x, last.lam),
        ss.screen_fitted(classifier, X, y),
    ]


def test_records_are_short(records):
    for record in records:
        text = repr(record)
        assert (
            text.startswith(f"{type(record).__name__}(") and text.endswith(")") and "\n" not in text
        )
        assert len(text) <= 800 and "array([" not in text and "..." not in text, text


def test_what_is_shown(records):
    path, last, found, ball = (records[number] for number in (0, 1, 3, 4))
    assert repr(path).startswith("Path(10 solutions, lam ")
    assert f"Solution(x=<array (30, 30)>, lam={last.lam:.6g}, gap={last.gap:.6g}" in repr(last)
    assert repr(last).endswith(f", relative_gap={last.gap / last.primal:.2g})")
    assert repr(found).startswith(
        f"Certificate(in_L=<{found.n_L} of 1800>, in_R=<{found.n_R} of 1800>, lam={found.lam:.6g}"
    )
    assert repr(ball) == f"Sphere(center=<array (30, 30)>, radius={ball.radius:.6g}, name='MGB')"


def test_an_element_of_a_kernel_space_says_itself():
    text = repr(ss.solve(instance("kernel").problem(0.05), 1.0))
    assert text.startswith("Solution(x=<expansion in ") and len(text) < 300
