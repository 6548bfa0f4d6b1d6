"""The stages of a robot: what pairs each of its signals with the instants of the joints."""

from collections.abc import Container, Iterator, Mapping

from izmp_dynamics.base.faults import Faults
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.ground import GroundStage
from izmp_dynamics.pipeline.joints import JointGroup, JointStage
from izmp_dynamics.pipeline.pose_imu import PoseImu
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.stage import PATIENCE, Stage
from izmp_dynamics.signals.stream import Filtering, SampleStream


class Stages:
    """Makes the stages, and lists what they have learned and found.

    Args:
        rig: the robot.
        groups: joints that are published together; None: learned from the first messages.
        periods: signal → time between its samples [s]; learned where it is not known.
        orientation: source of the root's orientation: 'imu', 'position', or None.
        live: whether the samples are those of a running system.
        patience: an instant does not wait for a signal that is behind by more [s].

    Attributes:
        witnesses: signals that show whether the robot moves.
        all: the stages whose samples wait for instants.
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
    ) -> None:
        robot, filtering = rig.robot, Filtering.of(rig.robot, causal=live)
        sensed = [f'feet[{foot.name}]' for foot in rig.feet if foot.sensor is not None]
        self.witnesses = ('imu', *sensed)
        self.joints = JointStage(
            rig.model,
            robot,
            filtering,
            groups=groups,
            patience=patience,
            witnesses=self.witnesses,
            relearn=live,
        )
        self.root = RootStage(rig, filtering, periods, patience=patience, fall_back=live)
        self.world = WorldStage(
            rig, filtering, orientation or 'imu', periods, patience, imu=self.root.imu
        )
        self.world.orientation.available = orientation is not None
        self.feet = FeetStage(rig, filtering, periods, patience)
        self.ground = GroundStage(rig, filtering, periods, patience)
        self.pose_imu = PoseImu(rig, periods) if robot.imu.from_position else None
        self.all: tuple[Stage, ...] = (self.root, self.world, self.feet, self.ground)

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
            'joints': self.joints.faults,
            'imu': self.root.imu_faults,
            'position': self.world.position_faults,
            **{stream.signal: stream.faults for stream in self.root.accelerometers},
            **{stream.signal: stream.faults for stream in self.feet.streams},
            **self.ground.faults,
        }
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
