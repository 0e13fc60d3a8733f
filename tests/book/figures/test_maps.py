"""Maps have one cell a number; matrices and atoms are drawn where they are."""

import numpy as np

from safescreen.hdsl import SparseSimilarity
from safescreen_book import figures

LAMS = np.array([8.0, 4.0, 2.0, 1.0])


def test_maps_have_one_cell_a_number():
    rates = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, np.nan, np.nan, 0.6]])
    ax = figures.rate_map(rates, LAMS, rounds=5, colorbar=True)
    mesh = ax.collections[0]
    np.testing.assert_array_equal(
        np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(2, 4), rates
    )
    assert ax.get_ylim() == (-0.5, 4.5) and ax.get_xlim()[0] > ax.get_xlim()[1]
    mesh = figures.rate_map(np.full((4, 2), 0.5), LAMS[:2], LAMS).collections[0]
    assert mesh.get_array().size == 8
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], 4.0 * 2.0 ** np.array([1.5, 0.5, -0.5]))


def test_sparsity_marks_entries_by_sign():
    similarity = SparseSimilarity(np.array([[0, 2, -1], [1, 2, 1]]), np.array([0.9, 0.1]), 1.0, 4)
    ax = figures.sparsity(similarity, title="M", size=10.0)
    positive, negative = ax.collections
    assert {tuple(p) for p in positive.get_offsets().tolist()} == {
        (0, 0),
        (1, 1),
        (2, 2),
        (1, 2),
        (2, 1),
    }
    assert {tuple(p) for p in negative.get_offsets().tolist()} == {(0, 2), (2, 0)}
    assert (
        positive.get_sizes().max() == 10.0 > negative.get_sizes().max() > positive.get_sizes().min()
    )
    assert ax.get_title(loc="left") == "M: 7 entries" and ax.get_ylim() == (3.5, -0.5)
