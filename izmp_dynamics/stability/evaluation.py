"""The result of evaluating a recording: what the report shows and the bag stores.

Every array runs over the K instants at which the methods were evaluated (the bus rate). Points,
wrenches and soles are expressed in the *root frame* about its origin; NaN means that there is no
such value at that instant (flight, no ground, a gated sample), never anything else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.stability.support_polygon import plane_axes


@dataclass(frozen=True)
class Track:
    """One source of contact wrenches and the point on the ground that follows from it.

    Attributes:
        name: 'mr_ad', 'ir_md' or 'cop' (the feet's force sensors).
        wrench: (K, 6) contact force [N] and moment about the root origin [N·m].
        point: (K, 3) IZMP (or CoP) on the ground plane [m].
        margin: (K,) signed distance from the edge of the support polygon [m], negative outside.
    """

    name: str
    wrench: Array
    point: Array
    margin: Array


@dataclass(frozen=True)
class Foot:
    """One foot over time.

    Attributes:
        name: its name in the robot file.
        sole: (K, V, 3) corners of the sole polygon [m], in the order of the robot file.
        normal_force: (K,) measured force along the ground normal [N]; NaN without a sensor.
        loaded: (K,) whether the foot carries load and counts for the support polygon.
    """

    name: str
    sole: Array
    normal_force: Array
    loaded: np.ndarray


@dataclass(frozen=True)
class SignalHealth:
    """Statistics of one input topic.

    Attributes:
        topic: topic name as recorded.
        msgtype: ROS type, e.g. 'sensor_msgs/msg/Imu'.
        used_as: what the signal is used for, e.g. 'joint positions'.
        count: messages read.
        rate: median rate of the stamps [Hz]; 0 when there are fewer than two messages.
        longest_gap: longest time between two stamps [s].
        gated: reason → number of samples that were not used (or repaired, as the reason says).
    """

    topic: str
    msgtype: str
    used_as: str
    count: int
    rate: float
    longest_gap: float
    gated: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """A recording evaluated with every method that its signals allow.

    Attributes:
        robot: name of the robot.
        root: name of the root link, whose frame all points are expressed in.
        total_mass: [kg].
        gravity: magnitude [m/s²].
        stamps: (K,) instants [ns].
        tracks: the wrench sources by name, in the order 'mr_ad', 'ir_md', 'cop' as available.
        normal: (K, 3) unit normal of the ground plane, in root axes.
        ground_point: (K, 3) a point of the ground plane [m].
        com: (K, 3) centre of mass [m].
        feet: the feet in the order of the robot file.
        world_p_root: (K, 3) position of the root in the world [m]; None without a localizer.
        world_R_root: (K, 3, 3) orientation of the root in the world; None without one.
        external_force: (K, 3) force on the robot that neither the feet nor the weight explain, in
            root axes [N]; None unless every foot measures its whole wrench.
        missing: what could not be evaluated, and why: one sentence each.
        notes: anomalies of the inputs: one sentence each.
        health: one entry per input topic.
        parameters: parameters that were used, by dotted name (for the report).
        hashes: SHA-256 of the inputs by file name.
    """

    robot: str
    root: str
    total_mass: float
    gravity: float
    stamps: Stamps
    tracks: Mapping[str, Track]
    normal: Array
    ground_point: Array
    com: Array
    feet: tuple[Foot, ...]
    world_p_root: Array | None
    world_R_root: Array | None
    external_force: Array | None = None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    health: tuple[SignalHealth, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    def nif_R_root(self) -> Array:
        """Orientation of the root in the non-inertial frame nif (paper, sect. 4.2).

        The z axis of nif is the ground normal, its x axis lies in the sagittal (x-z) plane of
        the root; its origin is the root's.

        Returns:
            (K, 3, 3) rotations that take root coordinates to nif coordinates.
        """
        return np.concatenate([plane_axes(self.normal), self.normal[:, None]], axis=1)

    def in_nif(self, points: Array) -> Array:
        """Express `points` (K, …, 3) [m] of the root frame in nif."""
        rotated: Array = np.einsum('kij,k...j->k...i', self.nif_R_root(), points)
        return rotated

    def in_world(self, points: Array) -> Array | None:
        """Express `points` (K, …, 3) [m] of the root frame in the world; None without it."""
        if self.world_p_root is None or self.world_R_root is None:
            return None
        rotated: Array = np.einsum('kij,k...j->k...i', self.world_R_root, points)
        offset = self.world_p_root.reshape((-1,) + (1,) * (points.ndim - 2) + (3,))
        return rotated + offset
