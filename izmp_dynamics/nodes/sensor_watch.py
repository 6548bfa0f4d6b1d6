"""Judges the sensors of a running robot as `izmp check` those of a recording: IMU, feet."""

from collections import defaultdict, deque
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.finding import Finding, by_kind
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.recent_findings import PeriodicJudge
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.sensor_check import ENOUGH, PROPOSAL, NormalForceWatch, check_imu
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.clearance import CLEARANCE_WITH_FORCES, clearances
from izmp_dynamics.stability.ground_plane import Sole

SEEN = 10 * ENOUGH
"""Messages in which `normal_only` is looked for."""

SPAN = 30.0
"""Time whose steps show how the sensors are mounted [s]."""

STEP = 0.008
"""Of the samples that are kept of it [s]."""

EVERY = 30.0
"""Time between two judgements of it [s]; one takes tenths of a second, the first a whole one."""

_SPAN, _STEP = nanoseconds(SPAN), nanoseconds(STEP)

OF_STEPS = ('force_sensor_turned', 'link_below_sensor', 'force_offset')
"""What the steps of the last half minute show."""


Recorded = tuple[Rig, dict[str, tuple[tuple[int, Array], ...]]]
"""The robot, prepared, and signal → samples with their stamps [ns]."""


class ForceWatch(PeriodicJudge):
    """States what is wrong with the force sensors, with the keys of `izmp check`.

    Their first readings show whether they measure normal forces alone, the last half minute of
    joints, IMU and force sensors how they are mounted.

    Args:
        every: time between two judgements of the steps [s].
    """

    def __init__(self, robot: RobotFile, health: Health, every: float = EVERY) -> None:
        super().__init__(health, every)
        self._topics = {
            f'feet[{foot.name}]': foot.wrench.topic
            for foot in robot.feet
            if foot.wrench and not foot.wrench.normal_only
        }
        self._watches = {signal: NormalForceWatch() for signal in self._topics}
        self._left = dict.fromkeys(self._topics, SEEN)
        self._rig: Rig | None = None
        self._samples: defaultdict[str, deque[tuple[int, Array]]] = defaultdict(deque)
        for key in OF_STEPS:  # of one that watched before
            health.clear(key)

    def see(self, signal: str, stamp: int, values: Array) -> None:
        """Take a sample (m,) of 'joints', 'imu' or 'feet[NAME]' at a stamp [ns]."""
        if self._left.get(signal, 0):
            self._left[signal] -= 1
            self._watches[signal].see(values[None])
        samples = self._samples[signal]
        if samples and 0 <= stamp - samples[-1][0] < _STEP:
            return
        if samples and stamp < samples[-1][0]:  # the clock was set back
            samples.clear()
        samples.append((stamp, values.copy()))
        while stamp - samples[0][0] > _SPAN:
            samples.popleft()

    def inspect(self, rig: Rig | None) -> None:
        """State what was found so far; `rig` is the robot, as soon as it is prepared."""
        for signal, watch in self._watches.items():
            zero = f"'{self._topics[signal]}': horizontal forces and torques are zero. {PROPOSAL}"
            key = f'only_normal_force[{signal}]'
            self._health.remark(key, 'warning', zero if watch.only_normal else '')
        self._rig = None if self._health.holds('feet_exchanged') else rig

    def given(self) -> Recorded | None:
        """What can be judged; None as long as a signal is missing."""
        rig = self._rig
        if rig is None:
            return None
        wanted = {'joints', 'imu', *(f'feet[{foot.name}]' for foot in rig.feet if foot.sensor)}
        kept = {name: tuple(samples) for name, samples in self._samples.items() if samples}
        return (rig, kept) if wanted <= set(kept) else None

    def findings(self, given: Recorded | None) -> tuple[Finding, ...]:
        """Find how the sensors are turned, and what they read without load."""
        if given is None:
            return ()
        rig, kept = given
        signals = {
            name: Samples(np.array([s for s, _ in samples]), np.array([v for _, v in samples]))
            for name, samples in kept.items()
        }
        if not _may_step(rig, signals['joints'].values):
            return ()
        # Imported when it is needed: it takes long, and most graphs end before.
        from izmp_dynamics.calibration.force_sensors import judge_force_sensors
        from izmp_dynamics.calibration.segments import cut_segments

        parts = cut_segments(rig, signals)
        return by_kind(judge_force_sensors(rig, parts))


def _may_step(rig: Rig, q: Array) -> bool:
    """Whether joint positions (T, n) hold a foot in the air, or leave that open."""
    soles = [
        Sole.from_polygon(*rig.model.frame_pose(foot.sole, q), foot.polygon, None)
        for foot in rig.feet
    ]
    return bool(soles) and not (clearances(soles) <= CLEARANCE_WITH_FORCES).all()


WINDOW = 1.0
"""Time over which samples are collected for a judgement [s]."""

SAMPLES = 200
"""Samples that are looked at, at most, for one judgement."""


class ImuWatch:
    """Judges a segment of samples at the beginning, and again while the judgement is bad.

    Args:
        health: takes the findings; None where those of another node suffice.
        log: of the node, with `health`.

    Attributes:
        usable: False if the IMU's signals cannot be right.
        oriented: False if its orientation cannot be used.
        done: whether a segment was judged to be good, so that no further sample is looked at.
    """

    def __init__(self, robot: RobotFile, health: Health | None = None, log: Any = None) -> None:
        self.robot = robot
        self.health = health
        self.log = log
        self.usable = True
        self.oriented = True
        self.reset()

    def reset(self) -> None:
        """Collect again from the start."""
        self.done = False
        self._samples: list[tuple[int, Array, Array]] = []

    def see(self, stamp: int, values: Array, orientation: Array | None) -> None:
        """Take a sample: (6,) ω and φ in sensor axes, (4,) orientation if there is one."""
        if self.done or stamp <= 0:
            return
        nothing = np.full(4, np.nan) if orientation is None else orientation
        self._samples.append((stamp, values.copy(), nothing))
        if stamp - self._samples[0][0] >= WINDOW * NANOSECONDS:
            self._judge()

    def _judge(self) -> None:
        samples = self._samples[:: max(1, len(self._samples) // SAMPLES)]
        self._samples = []
        stamps = np.array([sample[0] for sample in samples])
        values = np.array([sample[1] for sample in samples])
        orientations = np.array([sample[2] for sample in samples])
        try:
            verdict = check_imu(
                stamps,
                values[:, :3],
                values[:, 3:],
                orientations if np.isfinite(orientations).any() else None,
                self.robot.imu.gravity_removed,
                self.robot.gravity,
            )
        except SensingError as error:
            self.usable, sentence = False, f'{error} Until then nothing is computed.'
            if self.health is not None and self.health.remark('imu', 'error', sentence):
                self.log.error(str(error))
            return
        self.usable, self.oriented, self.done = True, verdict.oriented, True
        if self.health is not None:
            self.health.clear('imu')
            for k, remark in enumerate(verdict.remarks):
                self.health.remark(f'imu {k}', 'warning', remark)
