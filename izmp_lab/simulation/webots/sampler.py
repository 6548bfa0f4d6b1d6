"""From the values of Webots' sensors after each step to signals of one instant each.

A step of Webots leads from an instant k to k + 1. After it, positions, velocities and orientation
are those of k + 1; an accelerometer measures the change of velocity over the step and a force-3d
sensor the force of the solver, which both belong to k. So a sample of the instant k takes the
first from the step before and the second from this one; all of it bears the stamp of k, the
robot's time at the step before. That is one step of latency, and no skew between the signals.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, cross
from izmp_dynamics.base.errors import IzmpError, SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import Foot, RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.simulation.sensor_signals import SensorSignals
from izmp_lab.simulation.simulated_run import ImuSignals
from izmp_lab.simulation.webots.devices import Reading

_MICROSECONDS = 1_000_000


class Sampler:
    """Makes samples of readings.

    Args:
        model: the robot.
        file: the robot file.
        joints: the joints that the readings hold.
        period: time between two readings [s].
        origin: what is added to the robot's time to make a stamp [ns].

    Raises:
        SimulationError: if a foot's wrench is to be in a frame that is not fixed to its sole.
        UnknownNameError: if a frame does not exist.
    """

    def __init__(
        self,
        model: RobotModel,
        file: RobotFile,
        joints: tuple[str, ...],
        period: float,
        origin: int = 0,
    ) -> None:
        self.file, self.joints, self.period, self.origin = file, joints, period, origin
        self._soles = [_Sole(model, foot) if foot.wrench else None for foot in file.feet]
        self._before: Reading | None = None

    def update(self, reading: Reading) -> SensorSignals | None:
        """Take the reading after a step; return the sample of the instant at which it began.

        None for the first reading, and after a gap or a reset of the simulation.
        """
        before, self._before = self._before, reading
        if before is None or abs(reading.time - before.time - self.period) > 0.5 * self.period:
            return None
        file = self.file
        imu = None
        if reading.specific_force is not None and before.angular_velocity is not None:
            imu = ImuSignals(
                before.angular_velocity[None],
                reading.specific_force[None],
                np.empty((1, 4)) if before.orientation_xyzw is None
                else before.orientation_xyzw[None],
            )  # fmt: skip
        return SensorSignals(
            joint_names=self.joints,
            stamps=np.array([self._stamp(before.time)]),
            q=before.q[None],
            effort=None,
            imu=imu,
            accelerometers={
                sensor.topic: force[None]
                for sensor, force in zip(file.accelerometers, reading.accelerometers, strict=True)
                if force is not None
            },
            position=None if before.position is None else before.position[None],
            wrenches={
                foot.wrench.topic: sole.wrench(forces)[None]
                for foot, sole, forces in zip(file.feet, self._soles, reading.pads, strict=True)
                if foot.wrench and sole is not None and forces is not None
            },
        )

    def _stamp(self, time: float) -> int:
        """A stamp [ns]; the robot's time [s] is a whole number of microseconds."""
        return self.origin + round(time * _MICROSECONDS) * (NANOSECONDS // _MICROSECONDS)


def with_possible_wrenches(
    file: RobotFile, model: RobotModel, warn: Callable[[str], None]
) -> RobotFile:
    """Return the robot file without wrenches that pads cannot measure; warn of each."""
    feet = []
    for foot in file.feet:
        possible = foot
        if foot.wrench:
            try:
                _Sole(model, foot)
            except IzmpError as error:
                warn(f'{foot.wrench.topic} is not published. {error}')
                possible = replace(foot, wrench=None)
        feet.append(possible)
    return replace(file, feet=tuple(feet))


class _Sole:
    """The corners of a sole, and the frame of its wrench."""

    def __init__(self, model: RobotModel, foot: Foot) -> None:
        assert foot.wrench is not None
        frame = foot.wrench.frame or foot.sole
        sole, sensor = model.mount(foot.sole), model.mount(frame)
        if sole.body != sensor.body:
            raise SimulationError(
                f"The wrench of '{foot.name}' is to be given in frame '{frame}', which is not "
                f"fixed to the sole '{foot.sole}'; name a frame of the same foot.",
                kind='frame_of_other_link',
                foot=foot.name,
                frame=frame,
            )
        self.corners = np.array([[x, y, 0.0] for x, y in foot.polygon])
        self.R = sensor.body_R_frame.T @ sole.body_R_frame
        self.p = sensor.body_R_frame.T @ (sole.p_frame_in_body - sensor.p_frame_in_body)
        self.sign = foot.wrench.sign

    def wrench(self, forces: Array) -> Array:
        """Wrench (6,) [N], [N·m] of forces (corners, 3) [N] at the corners, in the sole's axes."""
        total = ContactWrench(forces.sum(axis=0), cross(self.corners, forces).sum(axis=0))
        return self.sign * total.transformed(self.R, self.p).as_array()
