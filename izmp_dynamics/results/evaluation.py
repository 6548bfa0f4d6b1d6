"""The result of evaluating a recording: what the report shows and the bag stores.

Every array runs over the K instants at which the methods were evaluated (the bus rate). Points,
wrenches and soles are expressed in the *root frame* about its origin; NaN means that there is no
such value at that instant (flight, no ground, a gated sample), never anything else. The masks
`Track.valid` and `Foot.loaded` say at which instants there is one.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Columns
from izmp_dynamics.base.conventions import Array, Flags, Indices, Stamps, seconds
from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.faults import Fault
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.stability.support_polygon import plane_axes

if TYPE_CHECKING:
    import pandas as pd

    from izmp_dynamics.model.robot_model import RobotModel


@dataclass(frozen=True)
class Track:
    """One source of contact wrenches and the point on the ground that follows from it.

    All in the root frame, wrenches about its origin; NaN where there is no value.

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

    @property
    def valid(self) -> Flags:
        """(K,) whether there is a point at the instant; where False, `point` is NaN."""
        return np.asarray(np.isfinite(self.point.sum(axis=1)))


@dataclass(frozen=True)
class Foot:
    """One foot over time, in the root frame.

    Attributes:
        name: its name in the robot file.
        sole: (K, V, 3) corners of the sole polygon [m], in the order of the robot file.
        normal_force: (K,) measured force along the ground normal [N]; NaN without a sensor.
        loaded: (K,) whether the foot carries load and counts for the support polygon.
        axes: (K, 3, 3) root_R_sole; None where it is not known.
        sensor: (K, 3) origin of the force sensor's frame [m]; None without a sensor.
        normal_only: whether its sensor measures the normal force only, so that the CoP is known
            along the line between the sensors and not across it.
        only_normal_found: whether that sensor measured no other force and no torque throughout.
        held_joints: movable joints between root and sole without a publisher, held at zero, so
            that the position of the foot is not known.
        sign: of its force sensor in the robot file, 1 or −1.
        share: (K,) of the contact force that it carries, estimated [-]; NaN where its force is
            measured or nothing is known, None where nothing was estimated.
        frame: of the sole in the model; empty where it is not known.
        measured: whether a sensor says what it carries, or that it does.
        chance: (K,) probability that it carries, estimated likewise [-].
    """

    name: str
    sole: Array
    normal_force: Array
    loaded: Flags
    axes: Array | None = None
    sensor: Array | None = None
    normal_only: bool = False
    only_normal_found: bool = False
    held_joints: tuple[str, ...] = ()
    sign: int = 1
    share: Array | None = None
    frame: str = ''
    measured: bool = False
    chance: Array | None = None


@dataclass(frozen=True)
class LinkPoses:
    """The link in whose frame it is stated where pushes pass, over time.

    Attributes:
        name: of the link.
        R: (K, 3, 3) root_R_link.
        p: (K, 3) its origin in the root frame [m].
        center: (3,) centre of mass of its body, in its frame [m].
    """

    name: str
    R: Array
    p: Array
    center: Array

    @classmethod
    def of(cls, model: 'RobotModel', name: str, q: Array) -> 'LinkPoses':
        """Compute the poses for joint positions (K, n)."""
        return cls(name, *model.frame_pose(name, q), model.center_of_link(name))


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
        gated: fault → number of samples that were not used (or repaired, as its reason says);
            `fault.key` is e.g. 'joint_repaired[l_knee]'.
    """

    topic: str
    msgtype: str
    used_as: str
    count: int
    rate: float
    longest_gap: float
    gated: Mapping[Fault, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Outage:
    """A time in which a signal could not be used.

    Attributes:
        topic: topic name as recorded; with joints in brackets if it concerns only them.
        begin: [ns].
        end: [ns].
        reason: 'hangs': it repeats one value while the robot moves; 'stops': no message comes;
            'lacks': the messages have no value of these joints.
    """

    topic: str
    begin: int
    end: int
    reason: str


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
        fusion: the contact wrench by motion and feet together, see `estimation.fusion`; None
            unless every foot measures its whole wrench. No verdict is based on it.
        fusion_covariance: (K, 3, 3) of its point, in the root frame [m²].
        external_wrench: (K, 6) by the same estimate, without the biases of model and sensors,
            about the root origin in root axes [N], [N·m].
        link: where the link `fusion.link` of the robot file is; None without one.
        up: (K, 3) unit vector [-] against gravity in root axes, by the root's orientation, else by
            gyroscope and accelerometer; NaN where that is not known, None without any.
        fall_probability: (K,) that the feet cannot bring the robot to rest any more [-]; NaN where
            that is not known, None without any.
        fall_alarm: (K,) whether the fall alarm is raised; None without a probability.
        fall_assumed: (K,) whether no orientation was measured for them; None where not known.
        begins: whether the first instant is that of the recording, not of a window in it.
        filtering: the filter that all signals passed, in words; empty without one.
        filter_bandwidth: of that filter [Hz].
        motion: the robot's joints, at about 50 Hz; None where only the evaluated values are known.
        missing: what could not be evaluated, and why: one sentence each.
        notes: anomalies of the inputs: one sentence each.
        doubts: findings on robot file and signals, of which some forbid a verdict.
        damage: what of the bag could not be read, in sentences; empty if all was.
        health: one entry per input topic.
        outages: times in which a signal could not be used, as far as they are known one by one.
        parameters: parameters that were used, by dotted name (for the report).
        hashes: SHA-256 of the inputs by file name.
        columns: makes what is as long as the recording.
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
    fusion: Track | None = None
    fusion_covariance: Array | None = None
    external_wrench: Array | None = None
    link: LinkPoses | None = None
    up: Array | None = None
    fall_probability: Array | None = None
    fall_alarm: Flags | None = None
    fall_assumed: Flags | None = None
    begins: bool = True
    filtering: str = ''
    filter_bandwidth: float = math.inf
    motion: Motion | None = None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[Finding, ...] = ()
    damage: str = ''
    health: tuple[SignalHealth, ...] = ()
    outages: tuple[Outage, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    columns: Columns = field(default_factory=Columns, repr=False, compare=False)

    @property
    def time(self) -> Array:
        """(K,) time since the first instant [s]."""
        return seconds(self.stamps)

    @property
    def weight(self) -> float:
        """The robot's weight m·g [N]."""
        return self.total_mass * self.gravity

    def to_dataframe(self) -> 'pd.DataFrame':
        """Tabulate the evaluation, one row per instant.

        The index is the stamp [ns]; the units are those of the attributes. Columns:

        * `time` since the first instant [s];
        * for each track, e.g. mr_ad: `mr_ad.force.x` … [N], `mr_ad.moment.x` … [N·m],
          `mr_ad.point.x` … [m], `mr_ad.margin` [m], and the mask `mr_ad.valid`;
        * `normal.x` …, `ground_point.x` …, `com.x` … [m], and where there are such values
          `world_p_root.x` … [m] and `external_force.x` … [N];
        * the same of `fusion`, and `external.force.x` … [N], `external.moment.x` … [N·m];
        * `fall.probability` and the mask `fall.alarm`, where there are feet;
        * for each foot, e.g. left: `left.normal_force` [N] and the mask `left.loaded`.

        The corners of the soles and the orientation of the root are not in the table.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                'pandas', 'The table of an evaluation', 'pip install pandas'
            ) from error
        return pd.DataFrame(dict(self._columns()), index=pd.Index(self.stamps, name='stamp'))

    def _columns(self) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
        """Name and values (K,) of each column of the table."""
        yield 'time', self.time
        fusion = {} if self.fusion is None else {'fusion': self.fusion}
        for name, track in {**self.tracks, **fusion}.items():
            yield from _xyz(f'{name}.force', track.wrench[:, :3])
            yield from _xyz(f'{name}.moment', track.wrench[:, 3:])
            yield from _xyz(f'{name}.point', track.point)
            yield f'{name}.margin', track.margin
            yield f'{name}.valid', track.valid
        for name in ('normal', 'ground_point', 'com', 'world_p_root', 'external_force'):
            vectors = getattr(self, name)
            if vectors is not None:
                yield from _xyz(name, vectors)
        if self.external_wrench is not None:
            yield from _xyz('external.force', self.external_wrench[:, :3])
            yield from _xyz('external.moment', self.external_wrench[:, 3:])
        if self.fall_probability is not None and self.fall_alarm is not None:
            yield 'fall.probability', self.fall_probability
            yield 'fall.alarm', self.fall_alarm
        for foot in self.feet:
            yield f'{foot.name}.normal_force', foot.normal_force
            yield f'{foot.name}.loaded', foot.loaded

    def nif_R_root(self, rows: slice | Indices = slice(None)) -> Array:
        """Orientation of the root in the non-inertial frame nif (paper, sect. 4.2).

        The z axis of nif is the ground normal, its x axis lies in the sagittal (x-z) plane of
        the root; its origin is the root's.

        Args:
            rows: slice or (K,) indices of the instants [-].

        Returns:
            (K, 3, 3) rotations that take root coordinates to nif coordinates.
        """
        normal = (
            self.normal[rows] if isinstance(rows, slice) else self.columns.take(self.normal, rows)
        )
        return np.concatenate([plane_axes(normal), normal[:, None]], axis=1)

    def in_nif(self, points: Array) -> Array:
        """Express `points` (K, …, 3) [m] of the root frame in nif."""
        return np.asarray(np.einsum('kij,k...j->k...i', self.nif_R_root(), points))

    def in_world(self, points: Array) -> Array | None:
        """Express `points` (K, …, 3) [m] of the root frame in the world; None without it."""
        if self.world_p_root is None or self.world_R_root is None:
            return None
        rotated: Array = np.einsum('kij,k...j->k...i', self.world_R_root, points)
        return rotated + self.world_p_root.reshape((-1,) + (1,) * (points.ndim - 2) + (3,))


def _xyz(name: str, vectors: Array) -> Iterator[tuple[str, Array]]:
    """Name and values of the three columns of vectors (K, 3)."""
    return ((f'{name}.{axis}', vectors[:, k]) for k, axis in enumerate('xyz'))
