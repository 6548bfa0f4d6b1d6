"""Looks at the first messages of the feet's force sensors, as `izmp check` does at a recording."""

import numpy as np

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import WARN, Health
from izmp_dynamics.sensing.wrench_check import ENOUGH, PROPOSAL, NormalForceWatch

SEEN = 10 * ENOUGH
"""Messages that are looked at."""


class ForceWatch:
    """Proposes `normal_only` for sensors that measure nothing but the force along z.

    Args:
        robot: robot file.
        health: takes the findings.
    """

    def __init__(self, robot: RobotFile, health: Health) -> None:
        self._health = health
        self._topics = {
            foot.name: foot.wrench.topic
            for foot in robot.feet
            if foot.wrench and not foot.wrench.normal_only
        }
        self._watches = {name: NormalForceWatch() for name in self._topics}
        self._left = dict.fromkeys(self._topics, SEEN)

    def see(self, foot: str, values: np.ndarray) -> None:
        """Take a reading (6,) of the sensor of a foot."""
        if self._left.get(foot, 0):
            self._left[foot] -= 1
            self._watches[foot].see(values[None])

    def inspect(self) -> None:
        """State what was found, with the key that `izmp check` uses."""
        for foot, watch in self._watches.items():
            key = f'only_normal_force[feet[{foot}]]'
            if watch.only_normal:
                sentence = (
                    f"'{self._topics[foot]}': horizontal forces and torques are zero. {PROPOSAL}"
                )
                self._health.remark(key, WARN, sentence)
            else:
                self._health.clear(key)
