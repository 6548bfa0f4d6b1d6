"""The last seconds of a running robot, judged by the rules of the report: the same keys."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.pipeline.ground import Ground
from izmp_dynamics.results.evaluation import Evaluation, Foot, Outage, Track
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.findings import ReportFinding
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise
from izmp_dynamics.verdict.timeline import Mask

SPAN = 8.0
"""Time that is judged [s]."""

LEAST = 4.0
"""Time from which on it is [s]."""

LIVE = ('noisy', 'biased', 'cop_outside', 'cop_at_edge', 'mean_force', 'mean_foot_force', 'push')
"""Kinds of findings that the last seconds are enough for."""


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
    """

    stamp: int
    ground: Ground
    mr_ad: Array
    q: Array | None = None
    up: Array | None = None
    fall: tuple[float, bool] | None = None


class Judgement(NamedTuple):
    """What was found in the last seconds.

    Attributes:
        findings: those whose kind is in `LIVE`, and further ones.
        events: their times count from the first instant.
        first: stamp of the first instant [ns].
        last: stamp of the last one [ns].
    """

    findings: tuple[ReportFinding, ...] = ()
    events: tuple[Event, ...] = ()
    first: int = 0
    last: int = 0


class Recent:
    """Keeps the last seconds, and judges them when it is asked.

    Args:
        names: of the feet.
        normal_only: which of them measure their normal force only.
        total_mass: of the robot [kg].
        gravity: [m/s²].
        com: gives the centre of mass (T, 3) in the root frame [m] for joint positions (T, n); None
            if it is not known: then a fall is not recognised.
        further: finds what the report does not look for.

    Attributes:
        era: how often the instants were forgotten.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        normal_only: tuple[bool, ...],
        total_mass: float,
        gravity: float,
        com: Callable[[Array], Array] | None = None,
        further: Callable[[Scene], Iterable[ReportFinding]] = lambda scene: (),
    ) -> None:
        self._names, self._normal_only = names, normal_only
        self._total_mass, self._gravity = total_mass, gravity
        self._com, self._further = com, further
        self._instants: deque[Instant] = deque()
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
        """Judge instants.

        Args:
            instants: as `snapshot` returns them.
            outages: times in which signals could not be used; those before are left out.
        """
        if not instants:
            return Judgement()
        first, last = instants[0].stamp, instants[-1].stamp
        recent = tuple(outage for outage in outages if outage.end > first)
        scene = Scene(self._evaluation(instants, recent))
        summary = summarise(scene)
        found = (f for f in summary.findings if f.key.partition('[')[0] in LIVE)
        return Judgement((*found, *self._further(scene)), summary.events, first, last)

    def _evaluation(
        self, instants: tuple[Instant, ...], outages: tuple[Outage, ...]
    ) -> Evaluation:
        grounds = [instant.ground for instant in instants]
        normal = np.concatenate([ground.plane.normal for ground in grounds])
        loaded = np.concatenate([ground.loaded for ground in grounds])
        soles = tuple(
            np.concatenate([ground.soles[k].corners for ground in grounds])
            for k in range(len(self._names))
        )
        wrenches = {'mr_ad': np.stack([instant.mr_ad for instant in instants])}
        if all(ground.feet_wrench is not None for ground in grounds):
            wrenches['cop'] = np.concatenate(
                [g.feet_wrench.as_array() for g in grounds if g.feet_wrench is not None]
            )
        place = np.concatenate([ground.plane.point for ground in grounds])
        least = grounds[-1].minimum_force
        points = {
            name: zero_moment_point(ContactWrench.from_array(wrench), normal, place, least)
            for name, wrench in wrenches.items()
        }
        distances = margins(tuple(points.values()), soles, loaded, normal)
        whole = 'cop' in wrenches and not any(self._normal_only)
        com = np.full((len(instants), 3), np.nan)
        q = [instant.q for instant in instants if instant.q is not None]
        if self._com is not None and len(q) == len(instants):
            com = self._com(np.stack(q))
        nowhere = np.full(3, np.nan)
        up = np.stack([nowhere if i.up is None else i.up for i in instants])
        falls = [(np.nan, False) if i.fall is None else i.fall for i in instants]
        judged = any(instant.fall is not None for instant in instants)
        return Evaluation(
            robot='',
            root='',
            total_mass=self._total_mass,
            gravity=self._gravity,
            stamps=np.array([instant.stamp for instant in instants], dtype=np.int64),
            tracks={
                name: Track(name, wrenches[name], points[name], margin)
                for name, margin in zip(points, distances, strict=True)
            },
            normal=normal,
            ground_point=place,
            com=com,
            up=up if np.isfinite(up).any() else None,
            fall_probability=np.array([each for each, _ in falls]) if judged else None,
            fall_alarm=np.array([raised for _, raised in falls]) if judged else None,
            outages=outages,
            feet=tuple(self._foot(k, grounds, soles[k], loaded) for k in range(len(soles))),
            world_p_root=None,
            world_R_root=None,
            external_force=(wrenches['mr_ad'] - wrenches['cop'])[:, :3] if whole else None,
        )

    def _foot(self, k: int, grounds: list[Ground], sole: Array, loaded: Mask) -> Foot:
        forces = [ground.soles[k].normal_force for ground in grounds]
        return Foot(
            name=self._names[k],
            sole=sole,
            normal_force=np.concatenate(
                [np.full(1, np.nan) if force is None else force for force in forces]
            ),
            loaded=loaded[:, k],
            axes=np.concatenate([ground.soles[k].R for ground in grounds]),
            normal_only=self._normal_only[k],
        )
