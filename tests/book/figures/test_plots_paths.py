"""Path figures show the numbers they are given, from large lam to small."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from safescreen_book.figures.paths import BALLS, dynamic_map, path_lines, range_map, style_of

LAMS = np.array([8.0, 4.0, 2.0, 1.0])


@pytest.fixture(autouse=True)
def closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["GB", "GB+halfspace", "GB+semidefinite"])
def test_the_ball_has_the_colour_and_the_rule_the_dashes(name):
    assert style_of(name)["color"] == BALLS["GB"]
    assert len({str(style_of(other)["linestyle"]) for other in ("GB", "GB+halfspace", "GB+semidefinite")}) == 3


def test_two_balls_are_a_method_of_their_own_and_unknown_ones_have_no_colour():
    assert style_of("RRPB+PGB")["color"] == BALLS["RRPB+PGB"] != BALLS["RRPB"]
    assert "color" not in style_of("something")


def test_lines_run_from_large_to_small_and_are_smoothed_by_medians():
    ax = path_lines({"GB": (LAMS, [1.0, 9.0, 2.0, 3.0])}, smooth=3, one=True)
    assert ax.lines[0].get_ydata().tolist() == [1.0, 2.0, 3.0, 3.0]
    left, right = ax.get_xlim()
    assert left > right and ax.get_yscale() == "log"


def test_an_enlargement_shows_its_span():
    ax = path_lines({"GB": (LAMS, np.ones(4))}, span=(2.0, 4.0), limits=(0.5, 1.0))
    assert ax.get_xlim() == (4.0, 2.0) and ax.get_ylim() == (0.5, 1.0)


def test_maps_have_one_cell_a_number():
    rates = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, np.nan, np.nan, 0.6]])
    mesh = dynamic_map(rates, LAMS, rounds=5).collections[0]
    np.testing.assert_array_equal(np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(2, 4), rates)
    mesh = range_map(np.full((4, 2), 0.5), LAMS[:2], LAMS).collections[0]
    assert mesh.get_array().size == 8
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], 4.0 * 2.0 ** np.array([1.5, 0.5, -0.5]))


def test_one_lam_is_a_cell_too():
    assert dynamic_map(np.ones((2, 1)), [3.0], colorbar=True).collections[0].get_array().size == 2
