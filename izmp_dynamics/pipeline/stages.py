"""The stages of a robot: what pairs each of its signals with the instants of the joints."""

from collections.abc import Collection, Container, Iterator, Mapping

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.given import GivenJoints, GivenRoot, GivenWorld, Gyroscope, Result
from izmp_dynamics.pipeline.ground import GroundStage
from izmp_dynamics.pipeline.joints import JointGroup, JointStage
from izmp_dynamics.pipeline.pose_imu import PoseImu
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.repeats import Flags
from izmp_dynamics.signals.stage import PATIENCE, Stage
from izmp_dynamics.signals.stream import Filtering, SampleStream

PARTS = frozenset(('joints', 'root', 'mr_ad', 'world', 'ir_md', 'verdict'))
"""What is computed: kinematics of the joints, motion of the root, contact wrench of MR-AD, pose in
the world, contact wrench of IR-MD, and from them feet, ground, points, margins and fall alarm."""


class Stages:
    """Makes the stages, and lists what they have learned and found.

    Args:
        rig: the robot.
        groups: joints that are published together; None: learned from the first messages.
        periods: signal → time between its samples [s]; learned where it is not known.
        orientation: source of the root's orientation: 'imu', 'position', or None.
        live: whether the samples are those of a running system.
        patience: an instant does not wait for a signal that is behind by more [s].
        given: of the `PARTS`, those that are given.
        computes: those that are computed.

    Attributes:
        witnesses: signals that show whether the robot moves.
        all: the stages whose samples wait for instants.
        wrench: of MR-AD, if it is given.
        in_world: of IR-MD, if it is given.
        needs_world: whether the ground moves in the world, so that the IZMP needs the pose.
        pose_imu: derives the IMU from the pose; None unless the robot file asks for it.

    Raises:
        SensingError: if the sensors do not suffice.
    """

    def __init__(
        self,
        rig: Rig,
        groups: tuple[JointGroup, ...] | None = None,
        periods: Mapping[str, float] | None = None,
        *,
        orientation: str | None = 'imu',
        live: bool = False,
        patience: float = PATIENCE,
        given: Collection[str] = (),
        computes: Collection[str] = PARTS,
    ) -> None:
        robot, filtering = rig.robot, Filtering.of(rig.robot, causal=live)
        self.given, self.computes = frozenset(given), frozenset(computes)
        sensed = [f'feet[{foot.name}]' for foot in rig.feet if foot.sensor is not None]
        self.witnesses = ('imu', *sensed) if 'joints' in computes else ()
        self.joints = (JointStage if 'joints' in computes else GivenJoints)(
            rig.model,
            robot,
            filtering,
            groups=groups,
            patience=patience,
            witnesses=self.witnesses,
            relearn=live,
        )
        root = RootStage if 'root' in computes else Gyroscope if 'world' in computes else GivenRoot
        self.root = root(rig, filtering, periods, patience=patience, fall_back=live)
        world = WorldStage if 'world' in computes else GivenWorld
        self.world = world(
            rig, filtering, orientation or 'imu', periods, patience, imu=self.root.imu
        )
        self.world.orientation.available = orientation is not None
        self.feet = FeetStage(rig, filtering, periods, patience)
        self.ground = GroundStage(rig, filtering, periods, patience)
        moves_in_world = robot.ground.moves and rig.ground_reference is None
        self.needs_world = moves_in_world and 'verdict' in computes
        self.pose_imu = PoseImu(rig, periods) if robot.imu.from_position else None
        self.wrench = Result('mr_ad/contact_wrench', 6) if 'mr_ad' in given else None
        self.in_world = Result('ir_md/contact_wrench', 6) if 'ir_md' in given else None
        wrenches = [each for each in (self.wrench, self.in_world) if each is not None]
        self.all: tuple[Stage, ...] = (self.root, self.world, self.feet, self.ground, *wrenches)

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

    @property
    def streams(self) -> list[SampleStream]:
        """The signals but the joints."""
        streams = [stream for stage in self.all for stream in stage.streams]
        return [*streams, *(imu.stream for imu in self.ground.imus.values())]

    @property
    def faults(self) -> dict[str, Faults]:
        """Signal → samples and instants that could not be used, by reason."""
        oriented = self.world.orientation
        faults = {
            **({} if self.given else {'joints': self.joints.faults}),
            'imu': self.root.imu_faults,
            'position': self.world.position_faults,
            **{stream.signal: stream.faults for stream in self.root.accelerometers},
            **{stream.signal: stream.faults for stream in self.feet.streams},
            **self.ground.faults,
            **{result.signal: result.faults for result in self.first_results},
        }
        if 'ir_md' in self.computes or self.needs_world:
            faults |= {result.signal: result.faults for result in self.later_results}
        faults[oriented.stream.signal] = faults[oriented.stream.signal] + oriented.faults
        return faults

    @property
    def hung(self) -> dict[str, list[tuple[int, int]]]:
        """Signal → first and last instant [ns] of the times in which it hung."""
        logs = [('joints', self.joints.hung), *((s.signal, s.hung) for s in self.streams)]
        return {signal: log.spans for signal, log in logs if log.spans}

    @property
    def clocks(self) -> dict[str, PublisherClock]:
        """Signal → clock of a publisher whose stamps came in bursts."""
        clocks = {s.signal: s.clock for s in reversed(self.streams) if s.clock is not None}
        for clock in self.joints.clocks:
            clocks['joints'] = clock if clock.faults else clocks.get('joints', clock)
        return {signal: clock for signal, clock in clocks.items() if clock.faults}

    def periods(self) -> Iterator[tuple[str, float]]:
        """Signals with the time between their samples, as far as it is known [s]."""
        yield from (('joints', group.period) for group in self.joints.groups)
        yield from ((s.signal, s.period) for s in self.streams if s.period is not None)

    def assume(self, former: 'Stages', without: Container[str] = ()) -> None:
        """Begin with the rates that others have learned, but for those of some signals.

        Raises:
            SensingError: if a signal is too slow for the low-pass.
        """
        self.joints.assume(former.joints.groups)
        periods = dict(former.periods())
        for stream in self.streams:
            if stream.signal in periods and stream.signal not in without:
                stream.assume(periods[stream.signal])

    def flush(self, final: bool) -> None:
        """Take in the last samples, as nothing follows; see `Stage`."""
        if self.pose_imu is not None:
            self.root.push_imu(self.pose_imu.flush(final))
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
        if self.pose_imu is not None:
            self.pose_imu.reset()
        for stage in self.all:
            stage.reset()
