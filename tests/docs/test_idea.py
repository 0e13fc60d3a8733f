"""The picture of the README shows what is true: what is left out needs no look, and the line is the
same."""

import numpy as np
import pytest
from PIL import Image

import idea

ANIMATED, STILL = idea.FOLDER / "idea.webp", idea.FOLDER / "idea.png"


@pytest.fixture(scope="module")
def frames():
    return idea.frames()


def test_both_problems_have_one_optimum_within_their_gaps(frames):
    for frame in frames:
        distance = np.linalg.norm(frame.whole.x - frame.rest.x)
        bound = np.sqrt(2.0 * frame.whole.gap / frame.lam) + np.sqrt(
            2.0 * frame.rest.gap / frame.lam
        )
        assert distance <= bound < 1e-3 * np.linalg.norm(frame.whole.x)


def test_what_is_left_out_has_no_loss_or_a_linear_one(frames):
    X, y = idea.data()
    for frame in frames:
        margins = y * (X @ frame.whole.x)
        error = np.sqrt(2.0 * frame.whole.gap / frame.lam) * np.linalg.norm(X, axis=1)
        assert (margins + error)[frame.in_R].min(initial=np.inf) >= 1.0
        assert (margins - error)[frame.in_L].max(initial=-np.inf) <= 0.95
        assert 0.6 < 1.0 - frame.is_left.mean()


def test_the_pictures_are_light_and_move_once_for_every_second_lam(frames):
    assert ANIMATED.stat().st_size < 400_000 and STILL.stat().st_size < 150_000
    with Image.open(ANIMATED) as image:
        assert image.n_frames == len(frames[1 :: idea.EVERY])
