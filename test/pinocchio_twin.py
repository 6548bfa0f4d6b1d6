"""The same robot in Pinocchio: an independent engine to check against."""

from pathlib import Path

import numpy as np
import pinocchio as pin

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.robot_model import RobotModel

ROBOTS = {
    'icub': 'icub_description/robots/icub.urdf',
    'talos': 'talos_data/robots/talos_full_v2.urdf',  # mimic joints
    'g1': 'g1_description/urdf/g1_29dof_rev_1_0.urdf',
    'romeo': 'romeo_description/urdf/romeo.urdf',  # mimic joints
    'anymal_c': 'anymal_c_simple_description/urdf/anymal.urdf',
    'solo12': 'solo_description/robots/solo12.urdf',
}


def robot_path(name: str) -> Path:
    """Path of a robot by name: biped31, or one of example-robot-data."""
    if name == 'biped31':
        return Path(__file__).parents[1] / 'robots' / 'biped31' / 'biped31.urdf'
    for folder in map(Path, __import__('sys').path):
        path = folder / 'cmeel.prefix/share/example-robot-data/robots' / ROBOTS[name]
        if path.is_file():
            return path
    raise MissingDependencyError('example-robot-data', name, 'pip install example-robot-data')


class PinocchioTwin:
    """A Pinocchio model whose states are set from ours; it must have the URDF's own root."""

    def __init__(self, urdf: Path, model: RobotModel) -> None:
        self.ours = model
        self.model = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
        self.model.gravity.setZero()
        self.data = self.model.createData()

    def state(self, phi, w, wd, q, qd, qdd):
        """Map a state of ours (root at the world's origin) to Pinocchio's q, v, a.

        Pinocchio's base acceleration is spatial; with zero linear velocity it is φ itself.
        """
        pq, pv, pa = pin.neutral(self.model), np.zeros(self.model.nv), np.zeros(self.model.nv)
        pv[3:6], pa[:3], pa[3:6] = w, phi, wd
        for segment in self.ours.tree.segments:
            if segment.kind == 'fixed':
                continue
            k = self.ours.joint_names.index(segment.driver)
            joint = self.model.getJointId(segment.joint)
            position = segment.multiplier * q[k] + segment.offset
            iq, iv = self.model.idx_qs[joint], self.model.idx_vs[joint]
            if self.model.nqs[joint] == 2:
                pq[iq : iq + 2] = np.cos(position), np.sin(position)
            else:
                pq[iq] = position
            pv[iv] = segment.multiplier * qd[k]
            pa[iv] = segment.multiplier * qdd[k]
        return pq, pv, pa

    def contact_wrench(self, *state):
        """(6,) contact wrench about the root origin in root axes."""
        return pin.rnea(self.model, self.data, *self.state(*state))[:6].copy()

    def com(self, q):
        """(3,) centre of mass in the root frame."""
        zero = np.zeros(3)
        still = np.zeros_like(q)
        pq, _, _ = self.state(zero, zero, zero, q, still, still)
        return pin.centerOfMass(self.model, self.data, pq).copy()


def random_state(rng, n):
    """A moving, accelerating root and random joints: φ, ω, ω̇, q, q̇, q̈."""
    phi, w, wd = rng.normal(0.0, 3.0, (3, 3))
    phi[2] += 9.81
    q, qd, qdd = rng.uniform(-1.2, 1.2, n), rng.normal(0, 3.0, n), rng.normal(0, 20.0, n)
    return phi, w, wd, q, qd, qdd
