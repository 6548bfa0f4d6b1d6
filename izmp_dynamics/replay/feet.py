"""Feet: soles by forward kinematics, measured wrenches brought to the root frame."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.rig import FootRig, Rig
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.ground_plane import Sole


@dataclass(frozen=True)
class FeetState:
    """The feet at K instants, in the root frame.

    Attributes:
        soles: one per foot.
        wrench: (K,) sum of the measured contact wrenches; None unless every foot has a sensor.
    """

    soles: tuple[Sole, ...]
    wrench: ContactWrench | None


class FeetStage:
    """Evaluates all feet of a robot."""

    def __init__(self, rig: Rig, conditioning: Conditioning) -> None:
        self.rig = rig
        self.conditioning = conditioning
        self.below = tuple(MrAd(foot.below) if foot.below else None for foot in rig.feet)

    def evaluate(
        self,
        joints: JointKinematics,
        root: RootState,
        streams: tuple[Stream, ...],
        counts: Counts,
    ) -> FeetState:
        """Place the soles and add up the measured wrenches.

        Args:
            joints: at K instants.
            root: at the same instants.
            streams: (T, 6) force [N] and moment [N·m] of each foot's sensor in its frame.
            counts: takes what was gated.
        """
        measured = tuple(
            self._measured(foot, joints, stream, counts) if foot.sensor is not None else None
            for foot, stream in zip(self.rig.feet, streams, strict=True)
        )
        return self.place(joints, root, measured)

    def place(
        self, joints: JointKinematics, root: RootState, measured: tuple[Array | None, ...]
    ) -> FeetState:
        """Do as `evaluate`, from wrenches that belong to the instants already.

        Args:
            joints: at K instants.
            root: at the same instants.
            measured: (K, 6) of each foot's sensor in its frame, NaN where unknown; None without.
        """
        soles, wrenches = [], []
        for foot, below, values in zip(self.rig.feet, self.below, measured, strict=True):
            wrench = None
            if values is not None:
                wrench = self._wrench(foot, below, joints, root, values)
                wrenches.append(wrench)
            soles.append(self._sole(foot, joints.positions, wrench, values))
        complete = bool(wrenches) and len(wrenches) == len(soles)
        return FeetState(
            tuple(soles),
            ContactWrench.from_array(np.sum([w.as_array() for w in wrenches], axis=0))
            if complete
            else None,
        )

    def _measured(
        self, foot: FootRig, joints: JointKinematics, stream: Stream, counts: Counts
    ) -> Array:
        signal = f'feet[{foot.name}]'
        usable = self.conditioning.usable(signal, stream, counts)
        return self.conditioning.at(joints.stamps, signal, usable, counts).values

    def _wrench(
        self,
        foot: FootRig,
        below: MrAd | None,
        joints: JointKinematics,
        root: RootState,
        values: Array,
    ) -> ContactWrench:
        """Bring a sensor's wrench to the root frame and add what the mass below it takes."""
        wrench = self._felt(foot, joints.positions, values)
        if below is None:
            return wrench
        moving = below.model.joints_that_move_mass()  # an unknown elbow does not matter here
        taken, _ = below.batch(
            root.proper_acceleration,
            root.angular_velocity,
            root.angular_acceleration,
            np.where(moving, joints.positions, 0.0),
            np.where(moving, joints.velocities, 0.0),
            np.where(moving, joints.accelerations, 0.0),
        )
        return ContactWrench(wrench.force + taken.force, wrench.moment + taken.moment)

    def _felt(self, foot: FootRig, q: Array, values: Array) -> ContactWrench:
        """Express what the sensor feels in the root frame."""
        measured = foot.sign * values
        if foot.normal_only:
            measured = measured * np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        R, p = self.rig.model.frame_pose(foot.sensor or foot.sole, q)
        return ContactWrench.from_array(measured).transformed(R, p)

    def _sole(
        self, foot: FootRig, q: Array, wrench: ContactWrench | None, values: Array | None
    ) -> Sole:
        """Place the sole; where the mass below the sensor is in doubt, its force alone counts."""
        R, p = self.rig.model.frame_pose(foot.sole, q)
        normal_force = None
        if wrench is not None and values is not None:
            felt = self._felt(foot, q, values).force
            force = np.where(np.isfinite(wrench.force), wrench.force, felt)
            normal_force = np.einsum('tj,tj->t', R[:, :, 2], force)
        return Sole.from_polygon(R, p, foot.polygon, normal_force)
