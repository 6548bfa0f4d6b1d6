"""The stages of a robot: where its samples come in, and what pairs them with the instants."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Stamps
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.given import (
    JOINTS,
    GivenJoints,
    GivenRoot,
    GivenWorld,
    Result,
)
from izmp_dynamics.pipeline.ground import GroundStage
from izmp_dynamics.pipeline.joints import JointGroup, JointStage
from izmp_dynamics.pipeline.pose_imu import PoseImu
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage, unit_stage
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.clock import Clocks
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.samples import Samples, Signals
from izmp_dynamics.signals.stage import PATIENCE, Stage, Streams
from izmp_dynamics.signals.stream import SampleStream

PARTS = frozenset(('joints', 'root', 'mr_ad', 'world', 'ir_md', 'verdict', 'fusion'))
"""What is computed: kinematics of the joints, motion of the root, contact wrench of MR-AD, pose in
the world, contact wrench of IR-MD, and from them feet, ground, points, margins and fall alarm."""

Entrance = tuple[Stage, Callable[[Samples], object]]
"""The stage that needs a signal, and what takes its samples."""


class Stages:
    """Makes the stages, hands them samples, and lists what they have learned and found.

    Args:
        rig: the robot.
        instants: is given what the joints complete; the other arguments are those of `Evaluator`.

    Attributes:
        signals: their names.
        leading: the one whose stamps are the instants.
        clock_gates: follow the clocks of the signals.
        all: the stages whose samples wait for instants.
        segments: of the units on other links, each with its body in the place of the root.
        wrench: of MR-AD, if it is given.
        in_world: of IR-MD, if it is given.
        needs_world: whether the ground moves in the world, so that the IZMP needs the pose.
        locates: whether the position is needed now.

    Raises:
        SensingError: if the sensors do not suffice.
    """

    def __init__(
        self,
        rig: Rig,
        instants: Callable[[JointKinematics], None],
        groups: tuple[JointGroup, ...] | None = None,
        periods: Mapping[str, float] | None = None,
        *,
        orientation: str | None = 'imu',
        live: bool = False,
        patience: float = PATIENCE,
        given: Collection[str] = (),
        computes: Collection[str] = PARTS,
    ) -> None:
        robot = rig.robot
        streams = Streams(robot, robot.filter.half_width, periods or {}, patience)
        self._instants = instants
        self.given, self.computes = frozenset(given), frozenset(computes)
        sensed = [
            f'feet[{foot.name}]' for foot in rig.feet if foot.sensor or foot.scalar == 'force'
        ]
        self._shows_motion = ('imu', *sensed) if 'joints' in computes else ()
        self.joints = (JointStage if 'joints' in computes else GivenJoints)(
            rig.model,
            robot,
            groups=groups,
            patience=patience,
            evidence=self._shows_motion,
            relearn=live,
        )
        if 'root' in computes:
            self.root = RootStage(rig, streams, fall_back=live)
        elif 'world' in computes:
            self.root = RootStage(rig, streams, method='rates')
        else:
            self.root = GivenRoot(rig, streams)
        world = WorldStage if 'world' in computes else GivenWorld
        self.world = world(rig, streams, orientation or 'imu', self.root.imu)
        self.world.orientation.available = orientation is not None
        units = rig.segments if 'mr_ad' in computes else ()
        self.segments = tuple(unit_stage(rig, u, streams, fall_back=live) for u in units)
        self.feet = FeetStage(rig, streams)
        self.ground = GroundStage(rig, streams)
        moves_in_world = robot.ground.moves and rig.ground_reference is None
        self.needs_world = moves_in_world and 'verdict' in computes
        self._pose_imu = PoseImu(rig, streams) if robot.imu.from_position else None
        self.wrench = Result('mr_ad/contact_wrench', 6) if 'mr_ad' in given else None
        self.in_world = Result('ir_md/contact_wrench', 6) if 'ir_md' in given else None
        wrenches = [each for each in (self.wrench, self.in_world) if each is not None]
        self.all: tuple[Stage, ...] = (
            *(self.root, self.world, *self.segments, self.feet, self.ground),
            *wrenches,
        )
        self.leading = 'joints' if 'joints' in computes else JOINTS
        results = {each.signal: each for each in (*self.first_results, *self.later_results)}
        self.signals = (
            *('joints', 'efforts', 'imu', 'orientation', 'position', 'ground'),
            *(stream.signal for stream in self.root.accelerometers),
            *(mount.name for unit in rig.segments for mount in (unit.imu, *unit.accelerometers)),
            *(f'feet[{foot.name}]' for foot in rig.feet),
            *(f'foot_imus[{foot.name}]' for foot in rig.feet),
            *(() if self.leading == 'joints' else (JOINTS, *results)),
        )
        self.clock_gates = Clocks(self.leading)
        self.locates = 'world' in self.computes | self.given
        self._entrances = self._made_entrances()
        self._entrances |= {name: (result, result.push) for name, result in results.items()}

    @property
    def first_results(self) -> tuple[Result, ...]:
        """What is given for the contact wrench of MR-AD, in the order in which it comes."""
        root = self.root.results if isinstance(self.root, GivenRoot) else ()
        given = root if 'root' in self.given else ()
        return given if self.wrench is None else (*given, self.wrench)

    @property
    def later_results(self) -> tuple[Result, ...]:
        """What is given later: the pose, and the contact wrench of IR-MD."""
        world = (self.world.result,) if isinstance(self.world, GivenWorld) else ()
        given = world if 'world' in self.given else ()
        return given if self.in_world is None else (*given, self.in_world)

    def angular_velocity(self, instants: Stamps, moving: Flags) -> Array:
        """Give ω alone, (K, 3) in root axes [rad/s], as `RootStage` does, or as it is given."""
        if isinstance(self.world, GivenWorld):
            return self.world.angular_velocity(instants)
        return self.root.angular_velocity(instants, moving)

    def unit_motions(self, joints: JointKinematics) -> Array | None:
        """Give what the units on other links measure, as `MrAd.of_states` takes it."""
        if not self.segments:
            return None
        motions = np.empty((len(joints), len(self.segments), 9))
        for k, unit in enumerate(self.segments):
            state = unit.without_stuck(unit.evaluate(joints.stamps), joints.moving)
            parts = (state.proper_acceleration, state.angular_velocity, state.angular_acceleration)
            motions[:, k] = np.hstack(parts)
        return motions

    # ---- Samples come in ----------------------------------------------------------------------

    def uses(self, signal: str) -> bool:
        """Whether any stage needs a signal."""
        return signal in self._entrances

    def stage_of(self, signal: str) -> Stage:
        """The stage that needs a signal."""
        return self._entrances[signal][0]

    def take(self, signals: Signals) -> None:
        """Hand samples to the stages that need them; see `Evaluator.take`."""
        for signal, samples in signals.items():
            if signal not in self._entrances:
                if signal not in self.signals:
                    raise UnknownNameError('signal', signal, self.signals)
                continue
            admitted = self.clock_gates.admit(signal, samples)
            # Where a part is given, the pose comes from another node, which costs less.
            unwanted = signal == 'position' and not self.locates and not self.given
            if not len(admitted.stamps) or unwanted:
                continue
            if signal in self._shows_motion:
                self.joints.evidence.see(signal, admitted)
            self._entrances[signal][1](admitted)

    def _made_entrances(self) -> dict[str, Entrance]:
        """Signal → where it goes."""
        root, world, ground, computes = self.root, self.world, self.ground, self.computes
        nowhere = Stage(())
        entrances: dict[str, Entrance] = dict.fromkeys(self._shows_motion, (nowhere, _ignore))
        entrances['joints'] = (nowhere, self._push_joints)
        if isinstance(self.joints, GivenJoints):
            entrances[JOINTS] = (nowhere, self._push_kinematics)
        if computes & {'root', 'world', 'verdict'}:
            entrances['imu'] = (root, root.push_imu)
            for k, stream in enumerate(root.accelerometers):
                entrances[stream.signal] = (root, partial(root.push_accelerometer, k))
        for unit in self.segments:
            entrances[unit.imu.signal] = (unit, unit.push_imu)
            for k, stream in enumerate(unit.accelerometers):
                entrances[stream.signal] = (unit, partial(unit.push_accelerometer, k))
        if computes & {'world', 'verdict'}:
            entrances['orientation'] = (world, self._push_orientation)
            entrances['position'] = (world, self._push_position)
        if 'verdict' in computes:
            if ground.pose is not None:
                entrances['ground'] = (ground, ground.pose.push)
            if self.feet.efforts is not None:
                entrances['efforts'] = (self.feet, self.feet.push_efforts)
            for stream in self.feet.sensors.values():
                entrances[stream.signal] = (self.feet, stream.push)
            for imu in ground.imus.values():
                entrances[imu.stream.signal] = (ground, imu.push)
        return entrances

    def _push_joints(self, samples: Samples) -> None:
        self._instants(self.joints.push(samples))

    def _push_kinematics(self, samples: Samples) -> None:
        assert isinstance(self.joints, GivenJoints)
        self._instants(self.joints.give(samples))

    def _push_orientation(self, samples: Samples) -> None:
        self.world.orientation.stream.push(samples)
        if self._pose_imu is not None:
            self._push_derived(self._pose_imu.push_orientation(samples))

    def _push_position(self, samples: Samples) -> None:
        self.world.push_position(samples)
        if self._pose_imu is not None:
            self._push_derived(self._pose_imu.push_position(samples))

    def _push_derived(self, samples: Samples) -> None:
        """Take samples of an IMU that the pose stands for."""
        self.joints.evidence.see('imu', samples)
        self.root.push_imu(samples)

    # ---- What has been learned and found ------------------------------------------------------

    @property
    def _streams(self) -> list[SampleStream]:
        streams = [stream for stage in self.all for stream in stage.streams]
        return [*streams, *(imu.stream for imu in self.ground.imus.values())]

    @property
    def faults(self) -> dict[str, Faults]:
        """Signal → samples and instants that could not be used, by reason."""
        oriented = self.world.orientation
        faults = {
            **({} if self.given else {'joints': self.joints.faults}),
            **{s.signal: s.faults for s in self._streams if s is not oriented.stream},
            'imu': self.root.imu_faults,
            'position': self.world.position_faults,
            **{unit.imu.signal: unit.imu_faults for unit in self.segments},
            **{result.signal: result.faults for result in self.first_results},
        }
        if 'ir_md' in self.computes or self.needs_world:
            faults |= {result.signal: result.faults for result in self.later_results}
        faults[oriented.stream.signal] = faults[oriented.stream.signal] + oriented.faults
        if self._pose_imu is not None:
            faults['position'] = faults['position'] + self._pose_imu.faults
        for signal, gate in self.clock_gates.gates.items():
            if signal != 'orientation':  # whose messages are counted elsewhere
                faults[signal] = faults.get(signal, Faults()) + gate.faults
        return faults

    @property
    def stuck_times(self) -> dict[str, list[tuple[int, int]]]:
        """Signal → first and last instant [ns] of the times in which it was stuck."""
        logs = [
            ('joints', self.joints.stuck_times),
            *((s.signal, s.stuck_times) for s in self._streams),
        ]
        return {signal: log.spans for signal, log in logs if log.spans}

    @property
    def clocks(self) -> dict[str, PublisherClock]:
        """Signal → clock of a publisher whose stamps came in bursts."""
        clocks = {s.signal: s.clock for s in reversed(self._streams) if s.clock is not None}
        for clock in self.joints.clocks:
            clocks['joints'] = clock if clock.faults else clocks.get('joints', clock)
        return {signal: clock for signal, clock in clocks.items() if clock.faults}

    def periods(self) -> Iterator[tuple[str, float]]:
        """Signals with the time between their samples, as far as it is known [s]."""
        yield from (('joints', group.period) for group in self.joints.groups)
        yield from ((s.signal, s.period) for s in self._streams if s.period is not None)

    def assume(self, former: 'Stages') -> None:
        """Begin with the rates that others have learned, until a clock is set back.

        Args:
            former: of the same signals.

        Raises:
            SensingError: if a signal is too slow for the filter.
        """
        self.joints.assume(former.joints.groups)
        periods = dict(former.periods())
        for stream in self._streams:
            if stream.signal in periods:
                stream.assume(periods[stream.signal])

    # ---- All of them --------------------------------------------------------------------------

    def flush(self, final: bool) -> None:
        """Take in the last samples, as nothing follows; see `Stage`."""
        if self._pose_imu is not None:
            self.root.push_imu(self._pose_imu.flush(final))
        for stage in self.all:
            stage.flush(final)

    def forget(self, before: int) -> None:
        """Drop samples that no instant from `before` [ns] on needs."""
        for stage in self.all:
            stage.forget(before)

    def trim(self) -> None:
        """Drop samples that are too old to be needed, where no instants wait."""
        for stage in self.all:
            stage.trim()

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        self.joints.reset()
        if self._pose_imu is not None:
            self._pose_imu.reset()
        for stage in self.all:
            stage.reset()


def _ignore(samples: Samples) -> None:
    """Take samples that only show whether the robot moves."""
