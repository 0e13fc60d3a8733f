"""Problems whose thresholds a test can put where it likes."""

import numpy as np
import pytest

import safescreen as ss


def at_thresholds(terms, thresholds):
    """Return the hinge problem of terms with one threshold each, so that both masks look at the
    same number.
    """
    terms.threshold = np.array(thresholds, dtype=float)
    return ss.Problem(terms, ss.Hinge())


def samples(rows):
    """Return samples whose terms are the given rows."""
    rows = np.asarray(rows, dtype=float)
    signs = np.where(np.arange(len(rows)) % 2, -1.0, 1.0)
    return ss.Samples(rows * signs[:, None], signs)


@pytest.fixture
def check_extremes():
    """Check a rule against the exact minima and maxima of its terms."""

    def check(rule, terms, lows, highs, scales, tight=1e-7):
        """Thresholds a few ulps around the exact extremes are never decided wrongly, those
        `tight` beyond are decided.
        """
        for extremes, side, outward in ((lows, "in_R", -1.0), (highs, "in_L", 1.0)):
            nearest = np.array([float(v) for v in extremes])
            for steps in range(-3, 4):
                thresholds = nearest.copy()
                for _ in range(abs(steps)):
                    thresholds = np.nextafter(thresholds, np.inf * np.sign(steps))
                decided = getattr(rule(at_thresholds(terms, thresholds)), side)
                for t in np.flatnonzero(decided):
                    assert outward * (float(thresholds[t]) - extremes[t]) > 0, (
                        side,
                        t,
                        thresholds[t],
                        extremes[t],
                    )
            inside = getattr(rule(at_thresholds(terms, nearest - outward * tight * scales)), side)
            assert not inside.any(), side
            beyond = getattr(rule(at_thresholds(terms, nearest + outward * tight * scales)), side)
            assert beyond.all(), (side, nearest[~beyond])

    return check


@pytest.fixture
def make_samples():
    return samples


@pytest.fixture
def make_problem():
    return at_thresholds
