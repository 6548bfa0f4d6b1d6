"""What a robot cannot do, found in the plan of a walk before anything moves."""

from dataclasses import dataclass

import numpy as np
from shapely.geometry import Point, Polygon

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import SIDES, Biped
from izmp_lab.walking.converging_cog import WholeBodyPoses
from izmp_lab.walking.footsteps import Footsteps
from izmp_lab.walking.step_timing import StepTiming


@dataclass(frozen=True)
class WalkLimits:
    """The limits of a robot, and the steps in which they are met.

    Attributes:
        biped: the robot.
        footsteps: where the walk goes.
        timing: when.
    """

    biped: Biped
    footsteps: Footsteps
    timing: StepTiming

    def check_zmp(self, travel: tuple[float, float]) -> None:
        """Refuse a ZMP that would leave the sole that carries alone.

        Args:
            travel: how far ahead of the sole's origin it begins and ends [m].

        Raises:
            MotionError: naming the foot and the point.
        """
        for side, polygon in zip(SIDES, self.biped.polygons, strict=True):
            for ahead in travel:
                if not Polygon(polygon).contains(Point(ahead, 0.0)):
                    raise MotionError(
                        f'The ZMP is to be {ahead:.3f} m ahead of the origin of the {side} sole, '
                        f'which reaches from {polygon[:, 0].min():.3f} to '
                        f'{polygon[:, 0].max():.3f} m; it must stay inside.',
                        kind='zmp_outside_sole',
                        foot=side,
                        ahead=ahead,
                    )

    def check_reach(self, poses: WholeBodyPoses) -> None:
        """Refuse poses for which a leg is too short.

        Raises:
            MotionError: naming step, leg and distance.
        """
        found = poses.unreachable(self.biped)
        if found is None:
            return
        row, foot = found
        leg, distance = self.biped.legs[foot], poses.reach[row, foot]
        knee = self.biped.model.joint_names[leg.columns[3]]
        if distance < 0.0:
            raise MotionError(
                f"{self._place(row)}: '{leg.sole}' would have to face upwards.",
                kind='sole_upwards',
                **self._where(row),
                sole=leg.sole,
            )
        raise MotionError(
            f"{self._place(row)}: joint '{knee}' would stretch. The {SIDES[foot]} leg would have "
            f'to reach {distance:.3f} m from hip to ankle; stretched it reaches '
            f'{leg.thigh + leg.shank:.3f} m. Lower the centre of mass or shorten the steps.',
            kind='knee_stretches',
            **self._where(row),
            joint=knee,
            distance=float(distance),
            longest=leg.thigh + leg.shank,
        )

    def check_joints(self, q: Array, qd: Array) -> None:
        """Refuse motions beyond the joints' limits.

        Args:
            q: (T, n) joint positions [rad] or [m].
            qd: (T, n) joint velocities [rad/s] or [m/s].

        Raises:
            MotionError: naming step, joint and value.
        """
        model = self.biped.model
        self._check(q, model.position_lower, model.position_upper, 'position', 'rad')
        self._check(qd, -model.velocity_limit, model.velocity_limit, 'velocity', 'rad/s')

    def check_torques(self, torques: Array) -> None:
        """Refuse torques (T, n) [N·m] beyond the joints' limits.

        Raises:
            MotionError: naming step, joint and value.
        """
        effort = self.biped.model.effort_limit
        self._check(torques, -effort, effort, 'torque', 'N·m')

    def _check(self, values: Array, lower: Array, upper: Array, what: str, unit: str) -> None:
        outside = (values < lower) | (values > upper)
        if not outside.any():
            return
        row, column = (int(index) for index in np.argwhere(outside)[0])
        raise MotionError(
            f"{self._place(row)}: joint '{self.biped.model.joint_names[column]}' would need the "
            f'{what} {values[row, column]:.3f} {unit}; its limits are {lower[column]:.3f} to '
            f'{upper[column]:.3f} {unit}.',
            kind='joint_limit',
            **self._where(row),
            joint=self.biped.model.joint_names[column],
            quantity=what,
            value=float(values[row, column]),
        )

    def _where(self, row: int) -> dict[str, object]:
        """Data of an error: time [s] and number of the step, 0 if no step is under way."""
        time = row * self.timing.time_step
        step = self.timing.step_at(time)
        return {'time': time, 'step': 0 if step is None else step + 1}

    def _place(self, row: int) -> str:
        time = row * self.timing.time_step
        step = self.timing.step_at(time)
        if step is None:
            before = time < self.timing.begins(0)
            return f'{"Before the first" if before else "After the last"} step, at {time:.3f} s'
        foot = SIDES[self.footsteps.steps[step].foot]
        return f'Step {step + 1} ({foot} foot), at {time:.3f} s'
