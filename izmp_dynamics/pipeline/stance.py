"""The stance leg as an accelerometer of the root: a sole that rests feels g along its normal.

    φ_root = g n − (ω̇×p + ω×(ω×p) + 2 ω×ṗ + p̈),    ω = −(angular velocity of the sole)

p is the sole in root axes; it and its derivatives follow from the joints.

Level ground is assumed, as n is the sole's. At low frequencies the accelerometer errs most (tilt
of its mounting, bias), at high ones the twice differentiated joints do, so the two are blended:
below a cross-over frequency the difference of both is added to the accelerometer.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState, root_state
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream_filter import StreamFilter
from izmp_dynamics.stability.ground_plane import Sole, loaded_feet
from izmp_dynamics.stability.sole_motion import SoleMotion, sole_motion

ORDER = 1
"""Of the filter; the difference is slow, and a causal filter should not lag much."""

LONGEST_GAP = 0.5
"""Instants that are further apart are filtered separately; a difference is held no longer [s]."""

Instants = tuple[JointKinematics, RootState]


class StanceAcceleration:
    """Corrects the specific force of the root by the legs that stand.

    Args:
        rig: the robot.
        feet: has the samples of their sensors.
        causal: whether the filter is that of a running system; else instants are handed out
            later, as a filter without delay needs what follows.
    """

    def __init__(self, rig: Rig, feet: FeetStage, causal: bool) -> None:
        self.rig, self._feet = rig, feet
        settings = rig.robot.root_acceleration
        blended = settings.source == 'blended'
        self._crossover, self._causal = settings.crossover if blended else None, causal
        self._longest_hold = LONGEST_GAP if blended else 0.0
        self.reset()

    def reset(self) -> None:
        """Forget what is behind."""
        self._last_known = np.zeros(1, np.int64), np.full((1, 3), np.nan)
        self._filter: StreamFilter | None = None
        self._held: deque[Instants] = deque()

    @property
    def held(self) -> int:
        """Number of instants that wait for what follows."""
        return sum(len(joints) for joints, _ in self._held)

    def push(self, joints: JointKinematics, root: RootState, period: float) -> list[Instants]:
        """Take instants; return those whose specific force is known, corrected.

        Args:
            joints: at K instants.
            root: of the IMU at these instants.
            period: usual time between two of them [s].
        """
        difference = self._by_legs(joints) - root.proper_acceleration
        difference = self._held_on(joints.stamps, difference)
        if self._filter is None:
            self._filter = self._made(period)
        if self._filter is not None:
            difference = self._filter.extend(joints.stamps, difference)
        self._held.append((joints, root))
        return self._corrected(difference)

    def _made(self, period: float) -> StreamFilter | None:
        if self._crossover is None:
            return None
        from izmp_dynamics.signals.low_pass import (  # scipy.signal takes long to import
            CausalLowPass,
            ZeroPhaseLowPass,
            ZeroPhaseStream,
        )

        if self._causal:
            return CausalLowPass(self._crossover, period, ORDER, LONGEST_GAP)
        return ZeroPhaseStream(ZeroPhaseLowPass(self._crossover, period, ORDER, LONGEST_GAP), 3)

    def flush(self) -> list[Instants]:
        """Return the instants that are left, as nothing follows."""
        return [] if self._filter is None else self._corrected(self._filter.flush())

    def _held_on(self, stamps: Stamps, differences: Array) -> Array:
        """Differences (K, 3) with the last known one where there is none, for a limited time."""
        stamps = np.concatenate([self._last_known[0], stamps])
        values = np.concatenate([self._last_known[1], differences])
        known = np.isfinite(values).all(axis=1)
        last = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
        self._last_known = stamps[last[-1:]], values[last[-1:]]
        recent = stamps - stamps[last] <= nanoseconds(self._longest_hold)
        return np.where(recent[1:, None], values[last[1:]], np.nan)

    def _corrected(self, differences: Array) -> list[Instants]:
        """Add differences (K, 3) to the next instants.

        Where there is none, 'blended' leaves the accelerometer alone; 'kinematic' knows nothing.
        """
        found = []
        while len(differences):
            joints, root = self._held.popleft()
            count = min(len(joints), len(differences))
            if count < len(joints):
                rest = slice(count, None)
                self._held.appendleft((joints.select(rest), root.select(rest)))
                joints, root = joints.select(slice(count)), root.select(slice(count))
            added = differences[:count]
            if self._longest_hold > 0.0:
                added = np.nan_to_num(added)
            phi = root.proper_acceleration + added
            motion = (root.angular_velocity, root.angular_acceleration, phi)
            found.append((joints, root_state(root.stamps, *motion)))
            differences = differences[count:]
        return found

    def _by_legs(self, joints: JointKinematics) -> Array:
        """(K, 3) specific force of the root from the legs, by their load; NaN if none stands."""
        feet, model = self.rig.feet, self.rig.model
        q, qd, qdd = joints.positions, joints.velocities, joints.accelerations
        motions = [
            sole_motion(model, f.sole, f.polygon, lambda t: q + t * qd + 0.5 * t**2 * qdd)
            for f in feet
        ]
        loads = self._loads(joints, motions)
        total = np.zeros((len(joints), 3))
        for motion, load in zip(motions, loads.T, strict=True):
            phi, _ = motion.root_at_rest(self.rig.robot.gravity)
            total += np.where(load[:, None] > 0.0, load[:, None] * phi, 0.0)
        weight = loads.sum(axis=1, keepdims=True)
        known = weight > 0.0
        return np.where(known, total / np.where(known, weight, 1.0), np.nan)

    def _loads(self, joints: JointKinematics, motions: Sequence[SoleMotion]) -> Array:
        """(K, F) load of the feet that stand; one each where not all loads are known."""
        soles = []
        for foot, motion in zip(self.rig.feet, motions, strict=True):
            force = None
            if foot.sensor is not None:
                read = self._feet.sensors[foot.name].known(joints.stamps, joints.moving)[:, :3]
                turn, _ = self.rig.model.frame_pose(foot.sensor, joints.positions)
                force = np.einsum('ti,tij,tj->t', motion.R[:, :, 2], turn, read)
            soles.append(Sole(motion.R, motion.p, motion.corners, force))
        up = np.mean([sole.R[:, :, 2] for sole in soles], axis=0)
        loaded = loaded_feet(tuple(soles), up, self.rig.contact_force)
        forces = [sole.normal_force for sole in soles if sole.normal_force is not None]
        if len(forces) < len(soles):
            return loaded.astype(np.float64)
        force = np.stack(forces, axis=1)
        known = np.isfinite(force).all(axis=1, keepdims=True)
        return np.where(loaded, np.where(known, np.maximum(force, 0.0), 1.0), 0.0)
