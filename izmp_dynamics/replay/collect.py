"""Collects the evaluated spans of a log into the one value that the report is made of."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Column, Columns
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.settings import flatten
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.results.evaluation import Evaluation, Foot, Outage, SignalHealth, Track
from izmp_dynamics.results.topics import TRACKS, external_of
from izmp_dynamics.sensing.vertical import Vertical
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.signals.stream import filter_in_words

MOTION_RATE = 50.0
"""About this rate the joints are kept for pictures of the robot, if the bus is faster [Hz]."""

FORGOTTEN = 1e-2
"""What is left of a disturbance when the filter counts as settled [-]."""

_USED_AS = {
    'joints': 'joint positions',
    'imu': 'angular velocity and specific force of the root',
    'accelerometers': 'angular acceleration of the root',
    'position': 'position of the root in the world',
    'ground': 'pose of the ground',
    'feet': 'measured contact wrench',
    'foot_imus': 'inclination of the ground',
}


class Collector:
    """Gathers results span by span; `evaluation` joins them.

    Args:
        recording: what is evaluated.
        urdf: of the robot, for its looks; None: its shapes follow from the inertias.
        columns: makes those of the results; None: in memory.
    """

    def __init__(
        self, recording: Recording, urdf: Urdf | None = None, columns: Columns | None = None
    ) -> None:
        self.recording = recording
        self.urdf = urdf
        self.columns = columns or Columns()
        self._columns: defaultdict[str, Column] = defaultdict(partial(Column, self.columns))
        self._motion_step = max(1, round(recording.robot.rates.bus / MOTION_RATE))
        self._count = 0
        self._vertical = Vertical(recording.robot.gravity)

    def add(self, results: Evaluated) -> None:
        """Take the results of one span."""
        for name, values in self._of(results):
            self._columns[name].extend(values)
        self._count += len(results.stamps)

    def _of(self, results: Evaluated) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Name and rows of each column."""
        stamps, rig, root, fall = results.stamps, self.recording.rig, results.root, results.fall
        nothing = np.full((len(stamps), 6), np.nan)
        yield 'stamps', stamps
        yield 'normal', results.plane.normal
        yield 'ground_point', results.plane.point
        yield 'com', results.com
        yield 'world_p', results.world.p
        yield 'world_R', results.world.R
        for name in TRACKS:
            yield f'{name}.wrench', results.wrenches.get(name, nothing)
            yield f'{name}.point', results.points.get(name, nothing[:, :3])
            yield f'{name}.margin', results.margins.get(name, nothing[:, 0])
        external = external_of(results, rig)
        yield 'external', (nothing if external is None else external)[:, :3]
        omega, phi = root.angular_velocity, root.proper_acceleration
        yield 'up', self._vertical.push(stamps, omega, phi, results.world.R[:, 2])
        yield 'fall.probability', nothing[:, 0] if fall is None else fall.probability
        yield 'fall.alarm', np.zeros(len(stamps), np.bool_) if fall is None else fall.alarm
        some = slice(-self._count % self._motion_step, None, self._motion_step)
        known = results.joints.valid[some, None]
        yield 'motion.stamps', stamps[some]
        yield 'motion.q', np.where(known, results.joints.positions[some], np.nan)
        for k, (sole, foot) in enumerate(zip(results.soles, rig.feet, strict=True)):
            yield f'sole{k}', sole.corners
            yield f'axes{k}', sole.R
            if foot.sensor is not None:
                yield f'sensor{k}', rig.model.frame_pose(foot.sensor, results.joints.positions)[1]
            yield f'force{k}', nothing[:, 0] if sole.normal_force is None else sole.normal_force
            yield f'loaded{k}', results.loaded[:, k]

    def evaluation(
        self,
        hashes: Mapping[str, str],
        missing: Sequence[str],
        notes: Sequence[str],
        stages: Mapping[str, str],
        faults: Mapping[str, Faults],
        outages: Sequence[Outage] = (),
        damage: str | None = None,
    ) -> Evaluation:
        """Join everything; the collector is empty afterwards.

        Args:
            hashes: SHA-256 of the inputs by name.
            missing: what could not be evaluated, one sentence each.
            notes: anomalies of the inputs, one sentence each.
            stages: further parameters that the evaluation chose, by name.
            faults: signal → what could not be used, by reason.
            outages: times in which signals could not be used.
            damage: what of the bag could not be read.
        """
        model, robot, join = self.recording.model, self.recording.robot, self._join
        parts = ('wrench', 'point', 'margin')
        tracks = {
            name: Track(name, *(join(f'{name}.{part}') for part in parts)) for name in TRACKS
        }
        world_p, world_R = self._known('world_p'), self._known('world_R')
        probability, alarm = self._known('fall.probability'), join('fall.alarm')
        return Evaluation(
            robot=model.name,
            root=model.root,
            total_mass=model.total_mass,
            gravity=robot.gravity,
            stamps=join('stamps'),
            tracks={
                name: track for name, track in tracks.items() if self._any_known(track.wrench)
            },
            normal=join('normal'),
            ground_point=join('ground_point'),
            com=join('com'),
            feet=tuple(self._foot(k) for k in range(len(robot.feet))),
            external_force=self._known('external'),
            up=self._known('up'),
            fall_probability=probability,
            fall_alarm=None if probability is None else alarm,
            settle_time=filter_settle_time(robot, self.recording.groups[0].period),
            filtering=filter_in_words(robot),
            filter_bandwidth=filter_bandwidth(robot),
            motion=Motion(model, self.urdf, join('motion.stamps'), join('motion.q')),
            world_p_root=None if world_R is None else world_p,
            world_R_root=None if world_p is None else world_R,
            missing=tuple(missing),
            notes=tuple(notes),
            damage=damage or '',
            health=self._health(faults),
            outages=tuple(outages),
            parameters=flatten(robot) | dict(stages),
            hashes=dict(hashes),
            columns=self.columns,
        )

    def _foot(self, k: int) -> Foot:
        rig = self.recording.rig.feet[k]
        return Foot(
            name=rig.name,
            sole=self._join(f'sole{k}'),
            normal_force=self._join(f'force{k}'),
            loaded=self._join(f'loaded{k}'),
            axes=self._join(f'axes{k}'),
            sensor=None if rig.sensor is None else self._join(f'sensor{k}'),
            normal_only=rig.normal_only,
            only_normal_found=self._only_normal(rig.name),
            held_joints=self.recording.held_joints.get(rig.name, ()),
        )

    def _only_normal(self, foot: str) -> bool:
        use = self.recording.uses.get(f'feet[{foot}]')
        return use is not None and use.forces.only_normal

    def _join(self, column: str) -> npt.NDArray[Any]:
        return self._columns.pop(column, Column(self.columns)).rows

    def _known(self, column: str) -> Array | None:
        """The rows of a column; None if no number of them is known."""
        rows = self._join(column)
        return rows if self._any_known(rows) else None

    def _any_known(self, values: Array) -> bool:
        step = self.columns.block
        blocks = (values[first : first + step] for first in range(0, len(values), step))
        return any(np.isfinite(block).any() for block in blocks)

    def _health(self, faults: Mapping[str, Faults]) -> tuple[SignalHealth, ...]:
        return tuple(
            SignalHealth(
                topic=use.topic,
                msgtype=use.msgtype,
                used_as=_USED_AS[signal.partition('[')[0]],
                count=use.count,
                rate=use.rate,
                longest_gap=use.longest_gap,
                gated=dict(use.faults + faults.get(signal, Faults())),
            )
            for signal, use in self.recording.uses.items()
        )


def filter_settle_time(robot: RobotFile, period: float) -> float:
    """Time from an end or a gap of the signals within which values are still settling [s].

    Forwards and backwards, a low-pass starts at either end of a stretch from an invented past. The
    matched filter has no values there instead.

    Args:
        robot: whose signals are filtered.
        period: time between the samples of the joints [s].
    """
    cutoff, order = robot.low_pass.cutoff, robot.low_pass.order
    if cutoff is None or not 0.0 < 2.0 * cutoff * period < 1.0:
        return 0.0
    from izmp_dynamics.signals.low_pass import settle_time  # scipy.signal takes long to import

    return settle_time(cutoff, period, order, FORGOTTEN)


def filter_bandwidth(robot: RobotFile) -> float:
    """Bandwidth of the filter that all signals pass [Hz]; infinite without one."""
    cutoff, half_width = robot.low_pass.cutoff, robot.filter.half_width
    if half_width is not None:
        return bandwidth(half_width)
    return math.inf if cutoff is None else cutoff
