"""What is done for a robot in Webots at every step: sensors out, positions in.

Nothing here knows ROS: where samples and log messages go, and where trajectories come from, is a
`Sink`. Each error is logged once, and all that still works goes on.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError, SimulationError
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import read_urdf
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.simulated_run import SensorSignals
from izmp_lab.simulation.webots.devices import Devices, Reading, Sampler, with_possible_wrenches
from izmp_lab.simulation.webots.options import NO_GAIT, Options
from izmp_lab.simulation.webots.trajectory import Mover, Trajectory
from izmp_lab.simulation.webots.vrml import def_names
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.walk import make_plan


class Pusher:
    """Pushes solids of the robot.

    Args:
        robot: controller.Supervisor.
        pushes: what to push when, since the start of the motion.
        urdf: the robot's; a push acts on the solid that carries the link and is moved by a joint.
        warn: takes a sentence if that is not possible.
    """

    def __init__(
        self,
        robot: Any,
        pushes: Sequence[Push],
        urdf: Path,
        time_step: float,
        warn: Callable[[str], None],
    ) -> None:
        self._pushes: list[tuple[int, int, list[float], Any]] = []
        if not pushes:
            return
        if not robot.getSupervisor():
            warn(
                f"The robot '{robot.getName()}' in Webots cannot be pushed: it is not a "
                'supervisor; set its field supervisor to TRUE.'
            )
            return
        read = read_urdf(urdf)
        self._robot, self._model = robot, load_model(read)
        self._defs = def_names([link.name for link in read.robot.links])
        for push in pushes:
            try:
                solid = self._solid_carrying(push.link)
            except IzmpError as error:
                warn(str(error))
            else:
                self._pushes.append((*push.steps(time_step), push.force.tolist(), solid))

    def push(self, step: int) -> None:
        """Add the forces of the step that comes; they last for that step only.

        Args:
            step: number of steps since the start of the motion.
        """
        for first, end, force, solid in self._pushes:
            if first <= step < end:
                solid.addForce(force, False)

    def _solid_carrying(self, link: str) -> Any:
        """The solid in Webots that carries a link and is moved by a joint."""
        model = self._model
        parents = {segment.link: segment.parent for segment in model.tree.segments}
        body = model.mount(link).body
        while link != model.root and model.mount(parents[link]).body == body:
            link = parents[link]
        whole = self._robot.getSelf()
        if link == model.root:
            return whole
        find = whole.getFromProtoDef if whole.isProto() else self._robot.getFromDef
        solid = find(self._defs[link])
        if solid is None:
            raise SimulationError(
                f"There is no solid with the DEF name '{self._defs[link]}' in Webots to push.",
                kind='no_solid',
                link=link,
            )
        return solid


AFTERWARDS = 1.0
"""Time for which the simulation goes on after a motion, if it is to end then [s]."""

THERE = 5e-3
"""A robot as near as this to the first point of a trajectory need not go there [rad] or [m]."""

_FALLEN = math.cos(math.radians(60.0))


class Sink(Protocol):
    """Takes samples and log messages."""

    def publish(self, sample: SensorSignals) -> None:
        """Take a sample (T = 1)."""

    def log(self, sentence: str, level: str = 'info') -> None:
        """Take a sentence; the level is 'info', 'warning' or 'error'."""

    def trajectory(self) -> Trajectory | None:
        """Return the trajectory that has come since the last call, if any."""

    def listened(self) -> bool:
        """Whether the samples have a subscriber."""

    def close(self) -> None:
        """Take nothing any more."""


class RobotLoop:
    """One robot in Webots.

    Args:
        robot: controller.Supervisor (or Robot, without pushes).
        options: what is asked for.
        sink: see there.
        origin: what is added to the robot's time to make a stamp [ns].

    Raises:
        IzmpError: if robot file, URDF or frames cannot be used.
    """

    def __init__(
        self,
        robot: Any,
        options: Options,
        sink: Sink,
        origin: int = 0,
    ) -> None:
        self.robot, self.options, self.sink = robot, options, sink
        self.model = load_model(options.file.read_urdf(), options.file.root)
        self.devices = Devices(
            robot, options.file, options.devices, self.model.joint_names, self._warn
        )
        self._origin = origin
        self._sampler: Sampler | None = None
        self._file = with_possible_wrenches(options.file, self.model, self._warn)
        self._warn_of_wrenches()
        self._plan = self._planned()
        self._mover: Mover | None = None
        self._pusher: Pusher | None = None
        self._reported_end = self._reported_fall = False
        self._quit_at = math.inf

    def step(self) -> None:
        """Do what there is to do after a step of the simulation."""
        reading = self.devices.read()
        if reading is None:
            return
        if self._sampler is None:
            self._sampler = Sampler(
                self.model, self._file, self.devices.joints, self.devices.period, self._origin,
            )  # fmt: skip
        sample = self._sampler.update(reading)
        if sample is not None:
            self.sink.publish(sample)
        self._follow(reading)
        self._watch(reading)

    def stop(self) -> None:
        """Say so if the simulation ended before the motion."""
        mover, time = self._mover, self.robot.getTime()
        if mover and not mover.is_over(time):
            self._warn(
                f"The simulation ended at {time:.2f} s, before the motion '{mover.name}' was over "
                f'(at {mover.end:.2f} s).'
            )
        self.sink.close()

    def _planned(self) -> MotionPlan | None:
        """Return the motion of the options if there is one and this robot can execute it."""
        options = self.options
        if options.gait == NO_GAIT:
            return None
        try:
            plan = make_plan(
                options.file, options.gait, self.devices.period, options.speed, options.steps,
                math.radians(options.slope_deg),
            )  # fmt: skip
        except IzmpError as error:
            self._cannot(str(error))
            return None
        missing = [name for name in plan.joint_names if name not in self.devices.motors]
        if missing:
            self._cannot(
                f"The motion '{plan.name}' is not begun: it needs the motors "
                f'{", ".join(missing)}, which the robot in Webots does not have.'
            )
            return None
        return plan

    def _follow(self, reading: Reading) -> None:
        self._look_for_trajectory(reading)
        may_begin = not self.options.wait_for_listener or self.sink.listened()
        if self._mover is None and self._plan is not None and may_begin:
            self._begin(
                self._plan.name, list(range(self.model.dof)), self._plan.q, reading,
                self.options.approach, self.options.settle,
            )  # fmt: skip
            self._prepare_pushes(self._plan)
        mover = self._mover
        if mover is None:
            return
        positions = mover.targets(reading.time).tolist()
        for column, position in zip(mover.columns, positions, strict=True):
            self.devices.motors[self.model.joint_names[column]].setPosition(position)
        if self._pusher:
            self._pusher.push(round((reading.time - mover.begin) / self.devices.period))

    def _look_for_trajectory(self, reading: Reading) -> None:
        """Begin a trajectory if one has come; an invalid message does not end the loop."""
        try:
            wanted = self.sink.trajectory()
            if wanted is not None:
                self._begin_trajectory(wanted, reading)
        except IzmpError as error:
            self._warn(str(error))
        except Exception as error:
            self._warn(f'A trajectory cannot be followed ({type(error).__name__}: {error}).')

    def _begin_trajectory(self, wanted: Trajectory, reading: Reading) -> None:
        columns = wanted.columns(self.model)
        missing = [name for name in wanted.joint_names if name not in self.devices.motors]
        if missing:
            self._warn(f'The trajectory needs motors that are missing: {", ".join(missing)}.')
            return
        rows = wanted.rows(self.model, self.devices.period)
        approach, settle = self.options.approach, self.options.settle
        if wanted.times[0] > 0.0:
            approach, settle = float(wanted.times[0]), 0.0
        elif np.abs(self._now(reading)[columns] - rows[0]).max() <= THERE:
            approach = settle = 0.0
        self._pusher = None
        self._begin('trajectory', columns, rows, reading, approach, settle)

    def _now(self, reading: Reading) -> Array:
        """Positions (n,) of the model's joints; NaN without a sensor."""
        now = np.full(self.model.dof, np.nan)
        now[[self.model.joint_names.index(joint) for joint in self.devices.joints]] = reading.q
        return now

    def _begin(
        self,
        name: str,
        columns: list[int],
        rows: Array,
        reading: Reading,
        approach: float,
        settle: float,
    ) -> None:
        self._mover = Mover(
            name, columns, rows, self._now(reading)[columns], reading.time, self.devices.period,
            approach, settle,
        )  # fmt: skip
        self._reported_end = False
        self.sink.log(
            f"The motion '{name}' begins at {self._mover.begin:.2f} s of the robot's time and "
            f'ends at {self._mover.end:.2f} s.'
        )

    def _prepare_pushes(self, plan: MotionPlan) -> None:
        try:
            pushes = [shove.push(plan) for shove in self.options.push]
        except IzmpError as error:
            self._warn(str(error))
            return
        self._pusher = Pusher(
            self.robot, pushes, self.options.file.urdf_path, self.devices.period, self._warn
        )

    def _watch(self, reading: Reading) -> None:
        """Log the end of the motion and a fall; end the simulation if that is wanted."""
        mover = self._mover
        if mover and not self._reported_end and mover.is_over(reading.time):
            self._reported_end = True
            self.sink.log(f"The motion '{mover.name}' is over.")
            self._quit_at = min(self._quit_at, reading.time + AFTERWARDS)
        if not self._reported_fall and self._lies(reading):
            self._reported_fall = True
            self._warn(
                f"The robot fell at {reading.time:.2f} s of the robot's time: its root is tilted "
                'by more than 60°.'
            )
            self._quit_at = min(self._quit_at, reading.time + AFTERWARDS)
        if reading.time >= self._quit_at:
            self._quit(1 if self._reported_fall else 0)
            self._quit_at = math.inf

    def _lies(self, reading: Reading) -> bool:
        if reading.orientation_xyzw is None:
            return False
        imu_R_root = self.model.mount(
            self.options.file.imu.frame or self.model.root
        ).body_R_frame.T
        up_in_imu = Rotation.from_quat(reading.orientation_xyzw).as_matrix()[2]
        return float(up_in_imu @ imu_R_root[:, 2]) < _FALLEN

    def _warn_of_wrenches(self) -> None:
        for foot in self.options.file.feet:
            if foot.wrench and foot.wrench.below:
                self._warn(
                    f"The robot file says that '{foot.wrench.below}' is below the force sensor of "
                    f"'{foot.name}'; pads at the sole have nothing below them. Use the robot file "
                    'that izmp make-world writes, or leave out the key below.'
                )

    def _warn(self, sentence: str) -> None:
        self.sink.log(sentence, 'warning')

    def _cannot(self, sentence: str) -> None:
        """Log why there will be no motion; end the simulation if that is wanted."""
        self.sink.log(sentence, 'error')
        self._quit(1)

    def _quit(self, status: int) -> None:
        if self.options.quit and self.robot.getSupervisor():
            self.robot.simulationQuit(status)
