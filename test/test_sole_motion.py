"""The motion of the root while a sole rests."""

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.stability.sole_motion import sole_motion


def test_the_root_moves_as_a_sole_at_rest_demands(biped31):
    """A root that moves about a fixed sole: its φ and ω, differenced in the world."""
    model, random = load_model(biped31.urdf_path), np.random.default_rng(3)
    q0, qd, qdd = random.normal(size=(3, 1, model.dof))

    def positions(t):
        return q0 + t * qd + 0.5 * t**2 * qdd

    def in_sole(t):
        R, p = model.frame_pose('l_sole', positions(t)[0])
        return R.T, -R.T @ p

    motion = sole_motion(model, 'l_sole', np.ones((3, 2)), positions)
    phi, omega = motion.root_at_rest(9.81)
    step = 1e-4
    (R0, p0), (R, p), (R1, p1) = (in_sole(t) for t in (-step, 0.0, step))
    acceleration = R.T @ ((p1 - 2.0 * p + p0) / step**2)
    np.testing.assert_allclose(phi[0], acceleration + 9.81 * R.T[:, 2], atol=2e-4)
    turning = Rotation.from_matrix(R0.T @ R1).as_rotvec() / (2.0 * step)
    np.testing.assert_allclose(omega[0], turning, atol=1e-4)
