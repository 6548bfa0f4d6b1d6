"""Orientation and position sensors → pose and velocity of the root in the world.

Only IR-MD, level ground ('gravity') and the views need it; MR-AD never sees any of it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.pairing import pair_rotations, same_sign
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.signals import Signals, Stream
from izmp_dynamics.rotations import from_matrices
from izmp_dynamics.sensing.localizer import Localizer


@dataclass(frozen=True)
class WorldState:
    """The root in the world at K instants.

    Attributes:
        R: (K, 3, 3) world_R_root; NaN where it is not known.
        p: (K, 3) position of the root origin [m]; NaN where it is not known.
        v: (K, 3) its velocity in world axes [m/s]; NaN where it is not known.
    """

    R: Array
    p: Array
    v: Array

    def rows(self, rows: np.ndarray) -> 'WorldState':
        """Return the instants that a mask or indices select."""
        return WorldState(self.R[rows], self.p[rows], self.v[rows])


class WorldStage:
    """Localizes the root."""

    def __init__(self, rig: Rig, conditioning: Conditioning) -> None:
        self.rig = rig
        self.conditioning = conditioning
        self.localizer = None
        if rig.position is not None:
            self.localizer = Localizer(
                rig.position.p,
                conditioning.periods['position'],
                method=rig.robot.ir_md.difference,
                max_gap=conditioning.reach('position'),
            )

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        return self.localizer.context if self.localizer else 0.0

    def evaluate(self, instants: Stamps, signals: Signals, counts: Counts) -> WorldState:
        """Give pose and velocity of the root at the instants (K,) [ns]."""
        orientation, reach = self._root_orientation(signals, counts)
        R = _rotations_at(instants, orientation, reach)
        if self.localizer is None or not len(signals.position):
            nowhere = np.full((len(instants), 3), np.nan)
            return WorldState(R, nowhere, nowhere)
        position = self.conditioning.usable('position', signals.position, counts)
        self.conditioning.at(instants, 'position', position, counts)  # counts what is missing
        R_at_fixes = _rotations_at(position.stamps, orientation, reach)
        known = np.asarray(np.isfinite(R_at_fixes).all(axis=(1, 2)))
        fixes = position.rows(known)
        located, _ = self.localizer.batch(fixes.stamps, fixes.values, R_at_fixes[known])
        motion = np.hstack([located.world_p_root, located.linear_velocity])
        silent = Counts(counts.stop, counts.stop)
        paired = self.conditioning.at(instants, 'position', Stream(located.stamps, motion), silent)
        return WorldState(R, paired.values[:, :3], paired.values[:, 3:])

    def _root_orientation(self, signals: Signals, counts: Counts) -> tuple[Stream, float]:
        """Take the orientation that comes with the position, else the IMU's.

        Returns:
            (T, 4) world_q_root, x y z w; the longest time that is interpolated across [s].
        """
        if len(signals.pose) and self.rig.position is not None:
            signal, stream, mount = 'position', signals.pose, self.rig.position
        else:
            signal, stream, mount = 'imu', signals.orientation, self.rig.imu
        silent = Counts(counts.stop, counts.stop)  # the same messages are counted elsewhere
        continuous = Stream(stream.stamps, same_sign(stream.values))
        usable = self.conditioning.usable(signal, continuous, silent)
        if not len(usable):
            return usable, 0.0
        root = Rotation.from_quat(usable.values) * from_matrices(mount.R).inv()
        return Stream(usable.stamps, root.as_quat()), self.conditioning.reach(signal)


def _rotations_at(instants: Stamps, orientation: Stream, reach: float) -> Array:
    """(K, 3, 3) rotation matrices at the instants; NaN where they are not known."""
    paired = pair_rotations(instants, orientation.stamps, orientation.values, reach)
    matrices = np.full((len(instants), 3, 3), np.nan)
    if paired.valid.any():
        known = Rotation.from_quat(paired.values[paired.valid])
        matrices[paired.valid] = known.as_matrix()
    return matrices
