"""A recording through the pipeline, in large chunks, and what came out as one value."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.columns import Column, Columns
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.settings import flatten
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import unit_rates
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.results.evaluation import (
    Evaluation,
    Foot,
    LinkPoses,
    Outage,
    SignalHealth,
    Track,
)
from izmp_dynamics.results.topics import TRACKS, external_of
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.signals.stream import filter_in_words

CHUNK = 5.0
"""Time that is read at once [s]."""

SLOW_BUS = 250.0
"""Up to this rate of the bus two chunks are evaluated at once, which takes less time [Hz]."""

LATE = 1.0
"""A message may arrive so much later than the joints' messages of its time [s]."""

MOTION_RATE = 50.0
"""About this rate the joints are kept for pictures of the robot, if the bus is faster [Hz]."""

Progress = Callable[[float], None]
"""Called with the fraction that is done."""


def make_evaluator(recording: Recording, half_width: float | None = None) -> Evaluator:
    """Make the evaluator of a recording.

    Args:
        recording: the recording.
        half_width: of a matched filter in place of the filter that its robot file states [s].

    Raises:
        SensingError: if the sensors do not suffice; the message says what is missing.
    """
    rig = recording.rig
    if half_width is not None:
        robot = replace(rig.robot, filter=Filter(half_width=half_width))
        rig = replace(rig, robot=robot)
    return Evaluator(
        rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        patience=LATE,
        only_ir_md=recording.only_ir_md,
    )


def evaluate_recording(
    recording: Recording, evaluator: Evaluator, progress: Progress = lambda fraction: None
) -> Iterator[Evaluated]:
    """Evaluate a recording piece by piece, in the order of time.

    If the clock was set back in the recording, what repeats a time that is evaluated already is
    left out and counted.
    """
    begin, end = recording.bag.start or 0, recording.bag.end or 1
    newest = 0
    for results, received in _pieces(recording, evaluator):
        later = results.stamps > newest
        if not later.all():
            repeated = int(np.count_nonzero(~later))
            recording.uses['joints'].faults[Fault(Reason.TIME_REPEATED)] += repeated
        if later.any():
            piece = results if later.all() else results.select(np.asarray(later))
            if not newest:
                recording.origin = int(piece.stamps[0])
            newest = int(piece.stamps[-1])
            yield piece
        progress(min(1.0, (received - begin) / max(end - begin, 1)))
    recording.restored = {
        signal: clock.latest for signal, clock in evaluator.stages.clocks.items()
    }


def _pieces(recording: Recording, evaluator: Evaluator) -> Iterator[tuple[Evaluated, int]]:
    together = 2 if recording.rig.robot.rates.bus <= SLOW_BUS else 1
    for number, (signals, received) in enumerate(recording.spans(CHUNK), start=1):
        evaluator.take(signals)
        del signals  # what is read next takes its place in memory
        if number % together == 0 or evaluator.is_set_back:
            for results in evaluator.advance():
                yield results, received
    for results in evaluator.flush():
        yield results, recording.bag.end or 1


class Collector:
    """Gathers results span by span; `evaluation` joins them.

    Args:
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

    def add(self, results: Evaluated) -> None:
        """Take the results of one span."""
        for name, values in self._of(results):
            self._columns[name].extend(values)
        self._count += len(results.stamps)

    def _of(self, results: Evaluated) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Rows of what `Evaluation`, its tracks, feet and motion have, each by its name there."""
        stamps, rig, fall = results.stamps, self.recording.rig, results.fall
        nothing = np.full((len(stamps), 6), np.nan)
        yield 'stamps', stamps
        yield 'normal', results.ground.plane.normal
        yield 'ground_point', results.ground.plane.point
        yield 'com', results.com
        yield 'world_p_root', results.world.p
        yield 'world_R_root', results.world.R
        external = external_of(results, rig)
        yield 'external_force', (nothing if external is None else external)[:, :3]
        yield 'up', results.up
        yield 'fall_probability', nothing[:, 0] if fall is None else fall.probability
        for name in ('alarm', 'assumed'):
            none = np.zeros(len(stamps), np.bool_)
            yield f'fall_{name}', none if fall is None else getattr(fall, name)
        fused = results.fused
        if fused is not None and fused.point_covariance is not None:
            yield 'fusion_covariance', fused.point_covariance
            yield 'external_wrench', fused.external
        if (link := rig.robot.fusion.link) is not None:
            R, p = rig.model.frame_pose(link, results.joints.positions)
            yield 'link.R', R
            yield 'link.p', p
        for name in (*TRACKS, 'fusion'):
            yield f'{name}.wrench', results.wrenches.get(name, nothing)
            yield f'{name}.point', results.points.get(name, nothing[:, :3])
            yield f'{name}.margin', results.margins.get(name, nothing[:, 0])
        some = slice(-self._count % self._motion_step, None, self._motion_step)
        known = results.joints.valid[some, None]
        yield 'motion.stamps', stamps[some]
        yield 'motion.q', np.where(known, results.joints.positions[some], np.nan)
        if results.units is not None:
            moving = results.joints.positions, results.joints.velocities
            measured = results.root.angular_velocity, results.units
            yield 'unit_rates', unit_rates(rig, *(each[some] for each in (*moving, *measured)))
        for k, (sole, foot) in enumerate(zip(results.ground.soles, rig.feet, strict=True)):
            yield f'{k}.sole', sole.corners
            yield f'{k}.axes', sole.R
            if foot.sensor is not None:
                yield f'{k}.sensor', rig.model.frame_pose(foot.sensor, results.joints.positions)[1]
            yield (
                f'{k}.normal_force',
                nothing[:, 0] if sole.normal_force is None else sole.normal_force,
            )
            yield f'{k}.loaded', results.ground.feet.loaded[:, k]
            yield f'{k}.share', results.ground.feet.shares[:, k]
            yield f'{k}.chance', results.ground.feet.chances[:, k]

    @property
    def unit_rates(self) -> tuple[tuple[str, ...], Array, Array]:
        """As `diagnosis.units.unit_findings` takes them."""
        rates = self._join('unit_rates')
        rates = rates if len(rates) else np.empty((0, 2, 0, 3))
        return tuple(self.recording.rig.units), rates[:, 0], rates[:, 1]

    def evaluation(
        self,
        evaluator: Evaluator,
        *,
        notes: Sequence[str] = (),
        doubts: Sequence[Finding] = (),
        stages: Mapping[str, str] | None = None,
        outages: Sequence[Outage] = (),
    ) -> Evaluation:
        """Join everything; the collector is empty afterwards.

        Args:
            evaluator: evaluated the recording.
            notes: anomalies of the inputs, one sentence each.
            doubts: findings on robot file and signals.
            stages: further parameters that the evaluation chose, by name.
            outages: times in which signals could not be used.
        """
        recording, model, robot = self.recording, self.recording.model, self.recording.robot
        *tracks, fusion = (
            Track(name, *(self._join(f'{name}.{part}') for part in ('wrench', 'point', 'margin')))
            for name in (*TRACKS, 'fusion')
        )
        alarm, assumed = self._join('fall_alarm'), self._join('fall_assumed')
        names = (
            'world_p_root', 'world_R_root', 'external_force', 'fusion_covariance',
            'external_wrench', 'up', 'fall_probability',
        )  # fmt: skip
        known = {name: self._known(name) for name in names}
        if known['world_p_root'] is None or known['world_R_root'] is None:
            known |= {'world_p_root': None, 'world_R_root': None}
        return Evaluation(
            robot=model.name,
            root=model.root,
            total_mass=model.total_mass,
            gravity=robot.gravity,
            stamps=self._join('stamps'),
            tracks={track.name: track for track in tracks if self._any_known(track.wrench)},
            normal=self._join('normal'),
            ground_point=self._join('ground_point'),
            com=self._join('com'),
            feet=tuple(self._foot(k) for k in range(len(robot.feet))),
            link=self._link(),
            fusion=fusion if self._any_known(fusion.wrench) else None,
            **known,
            fall_alarm=None if known['fall_probability'] is None else alarm,
            fall_assumed=None if known['fall_probability'] is None else assumed,
            filtering=filter_in_words(robot),
            filter_bandwidth=filter_bandwidth(robot),
            motion=Motion(model, self.urdf, self._join('motion.stamps'), self._join('motion.q')),
            missing=tuple(map(str, recording.missing)),
            notes=tuple(notes),
            doubts=tuple(doubts),
            damage=recording.bag.damage or '',
            health=self._health(evaluator.faults),
            outages=tuple(outages),
            parameters=flatten(robot) | dict(stages or {}),
            columns=self.columns,
        )

    def _link(self) -> LinkPoses | None:
        link, model = self.recording.robot.fusion.link, self.recording.model
        if link is None:
            return None
        R, p = self._join('link.R'), self._join('link.p')
        return LinkPoses(link, R, p, model.center_of_link(link))

    def _foot(self, k: int) -> Foot:
        rig, wrench = self.recording.rig.feet[k], self.recording.robot.feet[k].wrench
        use = self.recording.uses.get(f'feet[{rig.name}]')
        return Foot(
            name=rig.name,
            sole=self._join(f'{k}.sole'),
            normal_force=self._join(f'{k}.normal_force'),
            loaded=self._join(f'{k}.loaded'),
            share=self._join(f'{k}.share'),
            chance=self._join(f'{k}.chance'),
            axes=self._join(f'{k}.axes'),
            sensor=None if rig.sensor is None else self._join(f'{k}.sensor'),
            normal_only=rig.normal_only,
            only_normal_found=use is not None and use.forces.only_normal,
            held_joints=self.recording.held_joints.get(rig.name, ()),
            sign=1 if wrench is None else wrench.sign,
            frame=rig.sole,
            measured=bool(rig.sensor or rig.scalar),
        )

    def _join(self, column: str) -> npt.NDArray[Any]:
        return self._columns.pop(column, Column(self.columns)).rows

    def _known(self, column: str) -> Any:
        """The rows of a column; None if no number of them is known."""
        rows = self._join(column)
        return rows if self._any_known(rows) else None

    def _any_known(self, values: Array) -> bool:
        step = self.columns.block
        blocks = (values[first : first + step] for first in range(0, len(values), step))
        return any(np.isfinite(block).any() for block in blocks)

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


def filter_bandwidth(robot: RobotFile) -> float:
    """Bandwidth of the filter that all signals pass [Hz]; infinite without one."""
    half_width = robot.filter.half_width
    return math.inf if half_width is None else bandwidth(half_width)
