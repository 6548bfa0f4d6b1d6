"""Where samples come in: their clocks are followed, and each goes to the stage that needs it."""

from collections.abc import Callable
from functools import partial

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.pipeline.given import JOINTS, GivenJoints
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
        leading: the one whose stamps are the instants.
        clocks: of the signals.
        locates: whether the position is needed.
    """

    def __init__(
        self, rig: Rig, stages: Stages, instants: Callable[[JointKinematics], None]
    ) -> None:
        self._stages, self._instants = stages, instants
        results = {each.signal: each for each in (*stages.first_results, *stages.later_results)}
        self.leading = 'joints' if 'joints' in stages.computes else JOINTS
        self.signals = (
            *('joints', 'imu', 'orientation', 'position', 'ground'),
            *(stream.signal for stream in stages.root.accelerometers),
            *(f'feet[{foot.name}]' for foot in rig.feet),
            *(f'foot_imus[{foot.name}]' for foot in rig.feet),
            *(() if self.leading == 'joints' else (JOINTS, *results)),
        )
        self.clocks: Clocks[Samples] = Clocks(self.leading)
        self.locates = 'world' in stages.computes | stages.given
        self._entrances = self._made_entrances()
        self._entrances |= {name: (result, result.push) for name, result in results.items()}

    @property
    def faults(self) -> dict[str, Faults]:
        """Signal → samples whose stamps could not be used, by reason."""
        gates = self.clocks.gates.items()  # messages with an orientation are counted elsewhere
        return {signal: clock.faults for signal, clock in gates if signal != 'orientation'}

    def uses(self, signal: str) -> bool:
        """Whether any stage needs a signal."""
        return signal in self._entrances

    def stage_of(self, signal: str) -> Stage:
        """The stage that needs a signal."""
        return self._entrances[signal][0]

    def take(self, signals: Signals) -> None:
        """Hand samples to the stages that need them.

        Samples of a sensor that the robot file does not use are ignored.

        Raises:
            UnknownNameError: if there is no such signal.
            ShapeError: if its samples have another width.
        """
        for signal, samples in signals.items():
            if signal not in self._entrances:
                if signal not in self.signals:
                    raise UnknownNameError('signal', signal, self.signals)
                continue
            admitted = self.clocks.admit(signal, samples)
            if not len(admitted.stamps) or self._is_idle(signal):
                continue
            if signal in self._stages.witnesses:
                self._stages.joints.witness(signal, admitted)
            self._entrances[signal][1](admitted)

    def _is_idle(self, signal: str) -> bool:
        """Whether a signal is not needed now; where a part is given, another node costs less."""
        return signal == 'position' and not self.locates and not self._stages.given

    def _made_entrances(self) -> dict[str, Entrance]:
        """Signal → where it goes."""
        stages, computes = self._stages, self._stages.computes
        root, world, ground = stages.root, stages.world, stages.ground
        nowhere = Stage(())
        entrances: dict[str, Entrance] = dict.fromkeys(stages.witnesses, (nowhere, _ignore))
        entrances['joints'] = (nowhere, self._push_joints)
        if isinstance(stages.joints, GivenJoints):
            entrances[JOINTS] = (nowhere, self._push_kinematics)
        if computes & {'root', 'world', 'verdict'}:
            entrances['imu'] = (root, root.push_imu)
            for k, stream in enumerate(root.accelerometers):
                entrances[stream.signal] = (root, partial(root.push_accelerometer, k))
        if computes & {'world', 'verdict'}:
            entrances['orientation'] = (world, self._push_orientation)
            entrances['position'] = (world, self._push_position)
        if 'verdict' in computes:
            entrances['ground'] = (ground, ground.push_pose)
            for stream in stages.feet.sensors.values():
                entrances[stream.signal] = (stages.feet, stream.push)
            for imu in ground.imus.values():
                entrances[imu.stream.signal] = (ground, imu.push)
        return entrances

    def _push_joints(self, samples: Samples) -> None:
        self._instants(self._stages.joints.push(samples))

    def _push_kinematics(self, samples: Samples) -> None:
        assert isinstance(self._stages.joints, GivenJoints)
        self._instants(self._stages.joints.give(samples))

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


def _ignore(samples: Samples) -> None:
    """Take samples that nothing but `witness` needs."""
