"""First-message checks of the IMU: what would falsify every result stops it, with the remedy."""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.sensing.imu_check import check_imu

STRETCH = 1.0
"""Time over which samples are collected for a judgement [s]."""

SAMPLES = 200
"""Samples that are looked at, at most, for one judgement."""


class ImuWatch:
    """Judges a segment of samples at the beginning, and again while the judgement is bad.

    Args:
        robot: robot file.
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
        if stamp - self._samples[0][0] >= STRETCH * NANOSECONDS:
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
            self.usable = False
            self._state_error(error)
            return
        self.usable, self.oriented, self.done = True, verdict.oriented, True
        self._state_remarks(verdict.remarks)

    def _state_error(self, error: SensingError) -> None:
        if self.health is None:
            return
        if self.health.remark('imu', 'error', f'{error} Until then nothing is computed.'):
            self.log.error(str(error))

    def _state_remarks(self, remarks: tuple[str, ...]) -> None:
        if self.health is None:
            return
        self.health.clear('imu')
        for k, remark in enumerate(remarks):
            self.health.remark(f'imu {k}', 'warning', remark)
