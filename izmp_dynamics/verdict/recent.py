"""The last seconds of a running robot, judged by the rules of the report: the same keys."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.finding import Finding, by_kind
from izmp_dynamics.diagnosis.forces import motion_findings
from izmp_dynamics.diagnosis.legs import LEAST_TIME
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.rig import Rig, unit_rates
from izmp_dynamics.results.evaluation import Evaluation, Foot, LinkPoses, Outage, Track
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.formatting import instants_since
from izmp_dynamics.verdict.pushes import Gap
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise

SPAN = 8.0
"""Time that is judged [s]."""

LEAST = 4.0
"""Time from which on it is [s]."""

OF_PUSHES = 60.0
"""Time in which pushes are looked for: what lasts for half of it is taken for a bias [s]."""

LIVE = ('noisy', 'biased', 'cop_outside', 'cop_at_edge', 'mean_force', 'mean_foot_force', 'push')
"""Kinds of findings of the report that the last seconds are enough for."""

OF_FORCES = (
    'carries_in_air', 'foot_pulls', 'foot_scale', 'foot_unit', 'forces_contradict',
    'feet_exchanged', 'imu_turned', 'tilted_force',
)  # fmt: skip
"""Those of `izmp check`."""

_UNITS_STEP = 8
"""Decimation of the instants at which rates of units are compared [-]."""


class Judgement(NamedTuple):
    """What was found in the last seconds.

    Attributes:
        findings: those whose kind is in `LIVE` or `OF_FORCES`, and those on units.
        events: their times count from the first instant.
        first: stamp of the first instant [ns].
        last: stamp of the last one [ns].
    """

    findings: tuple[Finding, ...] = ()
    events: tuple[Event, ...] = ()
    first: int = 0
    last: int = 0


class Recent:
    """Keeps the last seconds, and judges them when it is asked.

    Attributes:
        era: how often the instants were forgotten.
    """

    def __init__(self) -> None:
        self._instants: deque[Evaluated] = deque()
        self._rig: Rig | None = None
        self._newest = self._start = 0
        self._gap: Gap | None = None
        self.era = 0

    @property
    def newest(self) -> int:
        """Stamp of the last instant [ns]; 0 before any."""
        return self._newest

    def reset(self) -> None:
        """Forget all instants."""
        self._instants.clear()
        self._newest = 0
        self.era += 1

    def see(self, instant: Evaluated, rig: Rig) -> None:
        """Take the next instant, of the robot as it is known then."""
        stamp = int(instant.stamps[0])
        if stamp <= self._newest:  # the clock was set back
            self.reset()
        if not self._instants:
            self._start = stamp
        self._instants.append(instant if instant.fused is None else replace(instant, fused=None))
        self._newest, self._rig = stamp, rig
        while stamp - int(self._instants[0].stamps[0]) > SPAN * NANOSECONDS:
            self._instants.popleft()

    def snapshot(self) -> tuple[Evaluated, ...]:
        """The instants that can be judged; none before there are enough."""
        if not self._instants:
            return ()
        span = self._newest - int(self._instants[0].stamps[0])
        return tuple(self._instants) if span >= LEAST * NANOSECONDS else ()

    def judge(self, instants: tuple[Evaluated, ...], outages: Iterable[Outage] = ()) -> Judgement:
        """Judge instants; sentences count from the first one since the last reset.

        Args:
            instants: as `snapshot` returns them.
            outages: times in which signals could not be used; those before are left out.
        """
        if not instants or self._rig is None:
            return Judgement()
        rig, first, last = self._rig, int(instants[0].stamps[0]), int(instants[-1].stamps[-1])
        recent = tuple(outage for outage in outages if outage.end > first)
        scene = Scene(_evaluation(instants, rig, recent, first == self._start))
        gap = Gap.of(scene)
        self._gap = None if gap is None else gap.after(self._gap, OF_PUSHES)
        with instants_since(self._start, first):
            summary = summarise(scene, self._gap)
            found = *(f for f in summary.findings if f.kind in LIVE), *_of_forces(scene)
            if instants[0].units is not None:
                found += _of_units(instants[::_UNITS_STEP], rig)
        return Judgement(found, summary.events, first, last)


def _evaluation(
    instants: tuple[Evaluated, ...], rig: Rig, outages: tuple[Outage, ...], begins: bool
) -> Evaluation:
    """What a report would be made of."""

    def joined(rows: Callable[[Evaluated], Array]) -> Array:
        return np.concatenate([rows(instant) for instant in instants])

    robot, model, link = rig.robot, rig.model, rig.robot.fusion.link
    ground = Ground.joined([instant.ground for instant in instants])
    risk = None
    if any(instant.fall is not None for instant in instants):
        risk = FallRisk.joined([i.fall or FallRisk.nothing(len(i.stamps), '') for i in instants])
    tracks = {}
    for name in ('mr_ad', 'cop'):
        if all(name in instant.wrenches for instant in instants):
            found = [(i.wrenches[name], i.points[name], i.margins[name]) for i in instants]
            tracks[name] = Track(name, *map(np.concatenate, zip(*found, strict=True)))
    whole = 'cop' in tracks and not any(foot.normal_only for foot in robot.feet)
    q, up = joined(lambda i: i.joints.positions), joined(lambda i: i.world.R[:, 2])
    width = robot.filter.half_width
    return Evaluation(
        robot='',
        root='',
        total_mass=model.total_mass,
        gravity=robot.gravity,
        stamps=np.concatenate([instant.stamps for instant in instants]),
        tracks=tracks,
        normal=ground.plane.normal,
        ground_point=ground.plane.point,
        com=model.com(q),
        link=LinkPoses.of(model, link, q) if link else None,
        up=up if np.isfinite(up).any() else None,
        fall_probability=None if risk is None else risk.probability,
        fall_alarm=None if risk is None else risk.alarm,
        outages=outages,
        feet=tuple(_foot(ground, rig, k) for k in range(len(robot.feet))),
        world_p_root=None,
        world_R_root=None,
        begins=begins,
        filter_bandwidth=math.inf if width is None else bandwidth(width),
        external_force=(tracks['mr_ad'].wrench - tracks['cop'].wrench)[:, :3] if whole else None,
    )


def _foot(ground: Ground, rig: Rig, k: int) -> Foot:
    stated, sole, feet = rig.robot.feet[k], ground.soles[k], ground.feet
    return Foot(
        name=stated.name,
        sole=sole.corners,
        normal_force=feet.soles.forces[:, k],
        loaded=feet.loaded[:, k],
        share=feet.shares[:, k],
        axes=sole.R,
        normal_only=stated.normal_only,
        measured=bool({*stated.sensors} - {'wrench'}),  # a wrench's place is not known here
        sign=stated.wrench.sign if stated.wrench else 1,
    )


def _of_forces(scene: Scene) -> tuple[Finding, ...]:
    """Find wrong signs, units and topics of the feet's sensors, and a tilted contact force."""
    evaluation = scene.evaluation
    found = [*scene.of_feet]
    stands = scene.stands & np.any([foot.loaded for foot in evaluation.feet], axis=0)
    if scene.timeline.total(stands) >= LEAST_TIME:  # it may hang in a gantry
        found += motion_findings(evaluation, stands)
    return by_kind(each for each in found if each.kind in OF_FORCES)


def _of_units(instants: Sequence[Evaluated], rig: Rig) -> tuple[Finding, ...]:
    """Find units on other links that are turned or exchanged."""
    joints = JointKinematics.joined([each.joints for each in instants])
    root = RootState.joined([each.root for each in instants])
    units = np.concatenate([each.units for each in instants if each.units is not None])
    rates = unit_rates(rig, joints.positions, joints.velocities, root.angular_velocity, units)
    return tuple(unit_findings(tuple(rig.units), rates[:, 0], rates[:, 1]))
