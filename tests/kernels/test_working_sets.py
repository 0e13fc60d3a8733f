"""Working sets of samples with a kernel: what balances them."""

import numpy as np

from safescreen.kernels.working_sets import balance


def test_a_level_balances_what_rises_and_what_falls():
    rng = np.random.default_rng(2)
    forces = rng.standard_normal(1000) + 3.0
    can_rise = rng.random(1000) < 0.7
    can_fall = ~can_rise | (rng.random(1000) < 0.1)
    level = balance(forces, can_rise, can_fall)
    rising = np.count_nonzero(can_rise & (forces > level))
    falling = np.count_nonzero(can_fall & (forces < level))
    assert abs(rising - falling) < 30
    assert rising > 100
