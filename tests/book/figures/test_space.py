"""Figures in space: the coordinates keep distances and show the cone upright; sliders fall back
to the figure.
"""

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import safescreen as ss
from safescreen_book import figures, places


def symmetric(rng):
    H = rng.standard_normal((2, 2))
    return H + H.T


def test_coordinates_keep_distances_and_the_cone():
    rng = np.random.default_rng(0)
    for _ in range(100):
        A, B = symmetric(rng), symmetric(rng)
        assert np.linalg.norm(figures.coordinates(A) - figures.coordinates(B)) == pytest.approx(
            np.linalg.norm(A - B)
        )
        x, y, z = figures.coordinates(A)
        assert (np.linalg.eigvalsh(A)[0] >= 0.0) == (z >= np.hypot(x, y))


def test_a_scene_shows_every_ball_and_point():
    spheres = {"GB": ss.Sphere(np.eye(2), 0.5), "DGB": ss.Sphere(np.diag([1.0, 0.0]), 1.0)}
    ax = figures.scenes(1, 1, 4.6, 4.2)[1][0]
    figures.cone_scene(
        spheres, {"optimum": np.eye(2), "x": np.diag([1.0, 0.0])}, ax=ax, normal=np.diag([0.0, 1.0])
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["GB", "DGB"]
    assert {"optimum", "x"} <= {text.get_text() for text in ax.texts}
    low, high = ax.get_zlim()
    # the lowest and the highest point of a ball
    assert low <= np.sqrt(0.5) - 1.0 + 1e-9 and high >= np.sqrt(2.0) + 0.5 - 1e-9


def test_sliders_survive_a_missing_ipywidgets(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ipywidgets", None)
    monkeypatch.setenv("JPY_SESSION_NAME", "here")
    drawn = []
    figures.sliders(lambda a: drawn.append(a), a=(0.0, 1.0, 0.5))
    assert drawn == [0.5]


@pytest.mark.slow
def test_sliders_redraw_the_figure_in_its_place(monkeypatch):
    """In a kernel: the output is a picture, so that a saved notebook has it, and moving a slider
    changes that very output; whether the function shows the figure or leaves it open.
    """
    monkeypatch.setenv("JPY_SESSION_NAME", "here")
    use = (
        "from matplotlib import pyplot as plt\nfrom safescreen_book import figures\n"
        "def draw(a):\n    plt.plot([0, a])\n    {}\n"
        "figures.sliders(draw, a=(0.0, 1.0, 0.5))"
    )
    move = (
        "import gc, ipywidgets\nfor w in gc.get_objects():\n"
        "    if type(w) is ipywidgets.FloatSlider:\n        w.value = 0.9"
    )
    cells = [use.format("plt.show()"), use.format("pass"), move, use.format("pass")]
    nb = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    NotebookClient(nb, kernel_name="python3").execute(env=places.environment())
    pictures = []
    for cell in (nb.cells[0], nb.cells[1], nb.cells[3]):
        slider, figure, result = cell.outputs
        assert "application/vnd.jupyter.widget-view+json" in slider.data
        assert result.data["text/plain"] == "{'a': 0.5}"
        pictures.append(figure.data["image/png"])
    assert pictures[0] == pictures[1] != pictures[2]
