"""What the figures of the similarity notebooks draw."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from safescreen import plots_hdsl

matplotlib.use("Agg")


def test_measured_are_dots_and_false_bounds_dashed():
    x, bounds = [1, 10, 100], {"true": ([3, 3, 3], True), "false": ([1, 1, 1], False), "too low": ([0.5, 1, 1], False)}
    ax = plots_hdsl.measured_and_bounds(x, {"measured": [1, 2, 2.5]}, bounds, title="title", xlabel="n", ylabel="value", log="x")
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
    assert plots_hdsl.measured_and_bounds([1, 2], {}, {"bound": ([2, 1], True)}, ax=ax) is ax
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    plt.close(figure)
