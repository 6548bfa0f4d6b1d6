"""The ground: height, normal, and what lies across its edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.footsteps import Ramp


def test_level_before_the_edge_and_rising_after():
    ramp = Ramp(np.radians(10.0), 0.5)
    assert ramp.height([-1.0, 0.5, 1.5]) == pytest.approx([0.0, 0.0, np.tan(np.radians(10.0))])


@given(st.floats(0.01, 0.5), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0))
def test_normal_is_across_the_surface(slope, start, x):
    ramp, step = Ramp(slope, start), 1e-3
    if abs(x - start) < 2 * step:
        return
    tangent = np.array([2 * step, 0.0, ramp.height(x + step) - ramp.height(x - step)])
    assert ramp.rotation(x)[:, 2] @ tangent == pytest.approx(0.0, abs=1e-12)
    assert ramp.rotation(x)[2, 2] > 0.0


@given(st.floats(0.0, 0.5), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0), st.floats(0.01, 0.3))
def test_rounded_height_is_near_and_never_below(slope, start, x, width):
    ramp = Ramp(slope, start)
    excess = ramp.smooth_height(x, width) - ramp.height(x)
    assert -1e-12 <= excess <= np.tan(slope) * width * np.log(2.0) + 1e-12


def test_level_ground_has_no_edge_to_straddle():
    assert not Ramp(0.0, 0.0).straddled(-0.1, 0.1)
    assert Ramp(0.1, 0.0).straddled(-0.1, 0.1)
    assert not Ramp(0.1, 0.0).straddled(0.0, 0.2)


@pytest.mark.parametrize('degrees', [-5.0, 31.0, np.nan])
def test_other_slopes_are_refused(degrees):
    with pytest.raises(MotionError, match='valid are 0° to 30°'):
        Ramp(np.radians(degrees), 0.0)
