"""Collects the evaluated spans of a log into the one value that the report is made of."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.base.store import Column, Store
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


class Collector:
    """Gathers results span by span; `evaluation` joins them.

    Args:
        recording: what is evaluated.
        urdf: of the robot, for its looks; None: its shapes follow from the inertias.
        store: keeps the results; None: in memory.
    """

    def __init__(
        self, recording: Recording, urdf: Urdf | None = None, store: Store | None = None
    ) -> None:
        self.recording = recording
        self.urdf = urdf
        self.store = store or Store()
        self._columns: defaultdict[str, Column] = defaultdict(self.store.column)
        self._motion_step = max(1, round(recording.robot.rates.bus / MOTION_RATE))
        self._count = 0
        self._vertical = Vertical(recording.robot.gravity)

    def add(self, results: Evaluated) -> None:
        """Take the results of one span."""
        count = len(results.stamps)
        put = self._columns
        put['stamps'].extend(results.stamps)
        put['normal'].extend(results.plane.normal)
        put['ground_point'].extend(results.plane.point)
        put['com'].extend(results.com)
        put['world_p'].extend(results.world.p)
        put['world_R'].extend(results.world.R)
        for name in TRACKS:
            put[f'{name}.wrench'].extend(results.wrenches.get(name, _nothing(count, 6)))
            put[f'{name}.point'].extend(results.points.get(name, _nothing(count, 3)))
            put[f'{name}.margin'].extend(results.margins.get(name, _nothing(count)))
        external = external_of(results, self.recording.rig)
        put['external'].extend(_nothing(count, 3) if external is None else external[:, :3])
        root = results.root
        omega, phi = root.angular_velocity, root.proper_acceleration
        put['up'].extend(self._vertical.push(results.stamps, omega, phi, results.world.R[:, 2]))
        fall = results.fall
        put['fall.probability'].extend(_nothing(count) if fall is None else fall.probability)
        put['fall.alarm'].extend(np.zeros(count, np.bool_) if fall is None else fall.alarm)
        some = slice(-self._count % self._motion_step, None, self._motion_step)
        known = results.joints.valid[some, None]
        put['motion.stamps'].extend(results.stamps[some])
        put['motion.q'].extend(np.where(known, results.joints.positions[some], np.nan))
        self._count += count
        rig = self.recording.rig
        for k, (sole, foot) in enumerate(zip(results.soles, rig.feet, strict=True)):
            force = sole.normal_force
            put[f'sole{k}'].extend(sole.corners)
            put[f'axes{k}'].extend(sole.R)
            if foot.sensor is not None:
                sensor = rig.model.frame_pose(foot.sensor, results.joints.positions)[1]
                put[f'sensor{k}'].extend(sensor)
            put[f'force{k}'].extend(_nothing(count) if force is None else force)
            put[f'loaded{k}'].extend(results.loaded[:, k])

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
        model, robot = self.recording.model, self.recording.robot
        tracks = {
            name: Track(
                name, *(self._join(f'{name}.{part}') for part in ('wrench', 'point', 'margin'))
            )
            for name in TRACKS
        }
        world_p, world_R = self._join('world_p'), self._join('world_R')
        external, up = self._join('external'), self._join('up')
        probability, alarm = self._join('fall.probability'), self._join('fall.alarm')
        known = self.store.has_numbers
        located = known(world_p) and known(world_R)
        judged = known(probability)
        return Evaluation(
            robot=model.name,
            root=model.root,
            total_mass=model.total_mass,
            gravity=robot.gravity,
            stamps=self._join('stamps'),
            tracks={name: track for name, track in tracks.items() if known(track.wrench)},
            normal=self._join('normal'),
            ground_point=self._join('ground_point'),
            com=self._join('com'),
            feet=tuple(self._foot(k) for k in range(len(robot.feet))),
            external_force=external if known(external) else None,
            up=up if known(up) else None,
            fall_probability=probability if judged else None,
            fall_alarm=alarm if judged else None,
            settle_time=filter_settle_time(robot, self.recording.groups[0].period),
            filtering=filter_in_words(robot),
            filter_bandwidth=filter_bandwidth(robot),
            motion=Motion(model, self.urdf, self._join('motion.stamps'), self._join('motion.q')),
            world_p_root=world_p if located else None,
            world_R_root=world_R if located else None,
            missing=tuple(missing),
            notes=tuple(notes),
            damage=damage or '',
            health=self._health(faults),
            outages=tuple(outages),
            parameters=flatten(robot) | dict(stages),
            hashes=dict(hashes),
            store=self.store,
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

    def _join(self, column: str) -> np.ndarray:
        return self._columns.pop(column, Column()).rows

    def _health(self, faults: Mapping[str, Faults]) -> tuple[SignalHealth, ...]:
        used_as = {signal.name: signal.used_as for signal in self.recording.robot.signals()}
        return tuple(
            SignalHealth(
                topic=use.topic,
                msgtype=use.msgtype,
                used_as=used_as[signal],
                count=use.count,
                rate=use.rate,
                longest_gap=use.longest_gap,
                gated=dict(use.faults + faults.get(signal, Faults())),
            )
            for signal, use in self.recording.uses.items()
        )


def _nothing(count: int, width: int | None = None) -> Array:
    return np.full(count if width is None else (count, width), np.nan)


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
