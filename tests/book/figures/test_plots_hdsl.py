"""What the figures of the similarity notebooks draw."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from safescreen.hdsl import SparseSimilarity
from safescreen_book import figures

matplotlib.use("Agg")


def test_measured_are_dots_and_false_bounds_dashed():
    x, bounds = [1, 10, 100], {"true": ([3, 3, 3], True), "false": ([1, 1, 1], False), "too low": ([0.5, 1, 1], False)}
    ax = figures.hdsl.measured_and_bounds(x, {"measured": [1, 2, 2.5]}, bounds, title="title", xlabel="n", ylabel="value", log="x")
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert list(drawn) == ["measured", "true", "false", "too low"]
    assert drawn["measured"].get_marker() == "o"
    assert [drawn[name].get_linestyle() for name in ("true", "false", "too low")] == ["-", "--", "--"]
    assert len({line.get_color() for line in drawn.values()}) == 4
    assert np.array_equal(drawn["measured"].get_xydata(), [[1, 1], [10, 2], [100, 2.5]])
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_title(loc="left"), ax.get_xlabel()) == ("log", "linear", "title", "n")
    plt.close("all")


def test_draws_on_given_axes():
    figure, ax = plt.subplots()
    assert figures.hdsl.measured_and_bounds([1, 2], {}, {"bound": ([2, 1], True)}, ax=ax) is ax
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    plt.close(figure)


def test_sparsity_marks_entries_by_sign():
    similarity = SparseSimilarity(np.array([[0, 2, -1], [1, 2, 1]]), np.array([0.9, 0.1]), 1.0, 4)
    ax = figures.hdsl.sparsity(similarity, title="M", size=10.0)
    positive, negative = ax.collections
    assert {tuple(p) for p in positive.get_offsets().tolist()} == {(0, 0), (1, 1), (2, 2), (1, 2), (2, 1)}
    assert {tuple(p) for p in negative.get_offsets().tolist()} == {(0, 2), (2, 0)}
    assert positive.get_sizes().max() == 10.0 > negative.get_sizes().max() > positive.get_sizes().min()
    assert ax.get_title(loc="left") == "M: 7 entries" and ax.get_ylim() == (3.5, -0.5)
    plt.close("all")
