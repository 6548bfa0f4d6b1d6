"""The last seconds of a running robot, judged by the rules of the report: the same keys."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.finding import Finding, by_kind
from izmp_dynamics.diagnosis.forces import motion_findings
from izmp_dynamics.diagnosis.legs import LEAST_TIME
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.pipeline.rig import Rig, unit_rates
from izmp_dynamics.results.evaluation import Evaluation, Foot, LinkPoses, Outage, Track
from izmp_dynamics.signals.matched_filter import bandwidth
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


class Instant(NamedTuple):
    """One instant of a running robot.

    Attributes:
        stamp: [ns].
        ground: of this instant.
        mr_ad: (6,) contact wrench of the motion about the root origin [N], [N·m].
        q: (n,) joint positions; None where they do not matter.
        up: (3,) vertical in the root frame; None or NaN where it is not known.
        fall: probability of a fall within a second, NaN where it is not known, and whether the
            fall alarm is raised; None where that is not evaluated.
        units: the robot, its joint velocities (n,), its root's ω (3,) [rad/s] and what units on
            other links measure (S, 9); None without units.
    """

    stamp: int
    ground: Ground
    mr_ad: Array
    q: Array | None = None
    up: Array | None = None
    fall: tuple[float, bool] | None = None
    units: tuple[Rig, Array, Array, Array] | None = None


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

    Args:
        robot: robot file.
        total_mass: of the robot [kg].
        com: gives the centre of mass (T, 3) in the root frame [m] for joint positions (T, n); None
            if it is not known: then a fall is not recognised.
        link: gives likewise where the link is on which pushes are stated; None without one.

    Attributes:
        era: how often the instants were forgotten.
    """

    def __init__(
        self,
        robot: RobotFile,
        total_mass: float,
        com: Callable[[Array], Array] | None = None,
        link: Callable[[Array], LinkPoses] | None = None,
    ) -> None:
        self._robot, self._total_mass, self._com, self._link = robot, total_mass, com, link
        self._instants: deque[Instant] = deque()
        self._start = 0
        self._gap: Gap | None = None
        self.era = 0

    @property
    def newest(self) -> int:
        """Stamp of the last instant [ns]; 0 before any."""
        return self._instants[-1].stamp if self._instants else 0

    def reset(self) -> None:
        """Forget all instants."""
        self._instants.clear()
        self.era += 1

    def see(self, instant: Instant) -> None:
        """Take the next instant."""
        stamp = instant.stamp
        if stamp <= self.newest:  # the clock was set back
            self.reset()
        if not self._instants:
            self._start = stamp
        self._instants.append(instant)
        while stamp - self._instants[0].stamp > SPAN * NANOSECONDS:
            self._instants.popleft()

    def snapshot(self) -> tuple[Instant, ...]:
        """The instants that can be judged; none before there are enough."""
        if not self._instants:
            return ()
        span = self._instants[-1].stamp - self._instants[0].stamp
        return tuple(self._instants) if span >= LEAST * NANOSECONDS else ()

    def judge(self, instants: tuple[Instant, ...], outages: Iterable[Outage] = ()) -> Judgement:
        """Judge instants; sentences count from the first one since the last reset.

        Args:
            instants: as `snapshot` returns them.
            outages: times in which signals could not be used; those before are left out.
        """
        if not instants:
            return Judgement()
        first, last = instants[0].stamp, instants[-1].stamp
        recent = tuple(outage for outage in outages if outage.end > first)
        scene = Scene(self._evaluation(instants, recent))
        gap = Gap.of(scene)
        self._gap = None if gap is None else gap.after(self._gap, OF_PUSHES)
        with instants_since(self._start, first):
            summary = summarise(scene, self._gap)
            found = *(f for f in summary.findings if f.kind in LIVE), *_of_forces(scene)
            found += _of_units(instants)
        return Judgement(found, summary.events, first, last)

    def _evaluation(
        self, instants: tuple[Instant, ...], outages: tuple[Outage, ...]
    ) -> Evaluation:
        ground = Ground.joined([instant.ground for instant in instants])
        wrenches = {'mr_ad': np.array([instant.mr_ad for instant in instants])}
        if ground.feet.total is not None:
            wrenches['cop'] = ground.feet.total
        points, margins = ground.judge(wrenches)
        normal_only = any(foot.normal_only for foot in self._robot.feet)
        whole = 'cop' in wrenches and not normal_only
        com = np.full((len(instants), 3), np.nan)
        q = [instant.q for instant in instants if instant.q is not None]
        known = len(q) == len(instants)
        if self._com is not None and known:
            com = self._com(np.array(q))
        nowhere = np.full(3, np.nan)
        up = np.array([nowhere if i.up is None else i.up for i in instants])
        falls = [(np.nan, False) if i.fall is None else i.fall for i in instants]
        width = self._robot.filter.half_width
        judged = any(instant.fall is not None for instant in instants)
        return Evaluation(
            robot='',
            root='',
            total_mass=self._total_mass,
            gravity=self._robot.gravity,
            stamps=np.array([instant.stamp for instant in instants], dtype=np.int64),
            tracks={
                name: Track(name, wrench, points[name], margins[name])
                for name, wrench in wrenches.items()
            },
            normal=ground.plane.normal,
            ground_point=ground.plane.point,
            com=com,
            link=self._link(np.array(q)) if self._link is not None and known else None,
            up=up if np.isfinite(up).any() else None,
            fall_probability=np.array([each for each, _ in falls]) if judged else None,
            fall_alarm=np.array([raised for _, raised in falls]) if judged else None,
            outages=outages,
            feet=tuple(self._foot(k, ground) for k in range(len(self._robot.feet))),
            world_p_root=None,
            world_R_root=None,
            begins=instants[0].stamp == self._start,
            filter_bandwidth=math.inf if width is None else bandwidth(width),
            external_force=(wrenches['mr_ad'] - wrenches['cop'])[:, :3] if whole else None,
        )

    def _foot(self, k: int, ground: Ground) -> Foot:
        stated, sole = self._robot.feet[k], ground.soles[k]
        return Foot(
            name=stated.name,
            sole=sole.corners,
            normal_force=ground.feet.soles.forces[:, k],
            loaded=ground.feet.loaded[:, k],
            share=ground.feet.shares[:, k],
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


def _of_units(instants: tuple[Instant, ...]) -> tuple[Finding, ...]:
    """Find units on other links that are turned or exchanged."""
    seen = [(i.q, *i.units) for i in instants[::_UNITS_STEP] if i.units and i.q is not None]
    if not seen:
        return ()
    q, rigs, *others = zip(*seen, strict=True)
    rates = unit_rates(rigs[-1], np.stack(q), *map(np.stack, others))
    return tuple(unit_findings(tuple(rigs[-1].units), rates[:, 0], rates[:, 1]))
