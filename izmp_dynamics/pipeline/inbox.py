"""Where samples come in: their clocks are followed, and each goes to the stage that needs it."""

from collections.abc import Callable
from functools import partial

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.stages import Stages
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.clock import Clocks
from izmp_dynamics.signals.samples import Samples, Signals
from izmp_dynamics.signals.stage import Stage

Entrance = tuple[Stage, Callable[[Samples], object]]
"""The stage that needs a signal, and what takes its samples."""


class Inbox:
    """Takes the samples of all signals.

    Args:
        rig: the robot.
        stages: which need them.
        instants: is given what the joints complete.

    Attributes:
        signals: their names.
        clocks: of the signals.
        locates: whether the position is needed.
    """

    def __init__(
        self, rig: Rig, stages: Stages, instants: Callable[[JointKinematics], None]
    ) -> None:
        self._stages, self._instants = stages, instants
        self.signals = (
            *('joints', 'imu', 'orientation', 'position', 'ground'),
            *(stream.signal for stream in stages.root.accelerometers),
            *(f'feet[{foot.name}]' for foot in rig.feet),
            *(f'foot_imus[{foot.name}]' for foot in rig.feet),
        )
        self.clocks: Clocks[Samples] = Clocks('joints')
        self.locates = True
        self._entrances = self._made_entrances()

    @property
    def faults(self) -> dict[str, Faults]:
        """Signal → samples whose stamps could not be used, by reason."""
        gates = self.clocks.gates.items()  # messages with an orientation are counted elsewhere
        return {signal: clock.faults for signal, clock in gates if signal != 'orientation'}

    def stage_of(self, signal: str) -> Stage:
        """The stage that needs a signal other than the joints."""
        return self._entrances[signal][0]

    def take(self, signals: Signals) -> None:
        """Hand samples to the stages that need them.

        Samples of a sensor that the robot file does not use are ignored.

        Raises:
            UnknownNameError: if there is no such signal.
            ShapeError: if its samples have another width.
        """
        for signal, samples in signals.items():
            if signal != 'joints' and signal not in self._entrances:
                if signal not in self.signals:
                    raise UnknownNameError('signal', signal, self.signals)
                continue
            admitted = self.clocks.admit(signal, samples)
            if not len(admitted.stamps) or (signal == 'position' and not self.locates):
                continue
            if signal == 'joints':
                self._instants(self._stages.joints.push(admitted))
            else:
                if signal in self._stages.witnesses:
                    self._stages.joints.witness(signal, admitted)
                self._entrances[signal][1](admitted)

    def _made_entrances(self) -> dict[str, Entrance]:
        """Signal → where it goes; that of the joints alone is another one."""
        stages = self._stages
        root, world, ground = stages.root, stages.world, stages.ground
        entrances: dict[str, Entrance] = {
            'imu': (root, root.push_imu),
            'orientation': (world, self._push_orientation),
            'position': (world, self._push_position),
            'ground': (ground, ground.push_pose),
        }
        for k, stream in enumerate(root.accelerometers):
            entrances[stream.signal] = (root, partial(root.push_accelerometer, k))
        for stream in stages.feet.sensors.values():
            entrances[stream.signal] = (stages.feet, stream.push)
        for imu in ground.imus.values():
            entrances[imu.stream.signal] = (ground, imu.push)
        return entrances

    def _push_orientation(self, samples: Samples) -> None:
        self._stages.world.push_orientation(samples)
        if self._stages.pose_imu is not None:
            self._push_derived(self._stages.pose_imu.push_orientation(samples))

    def _push_position(self, samples: Samples) -> None:
        self._stages.world.push_position(samples)
        if self._stages.pose_imu is not None:
            self._push_derived(self._stages.pose_imu.push_position(samples))

    def _push_derived(self, samples: Samples) -> None:
        """Take samples of an IMU that the pose stands for."""
        self._stages.joints.witness('imu', samples)
        self._stages.root.push_imu(samples)
