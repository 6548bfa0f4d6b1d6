"""Signals in, wrenches and points on the ground out: the whole method for a robot.

ACD, accelerometer array (or gyroscope), MR-AD, localizer, IR-MD, feet, ground, ZMP: each stage is
here once. The samples may come in pieces of any length; every sample is judged once, in the order
of arrival, and an instant is evaluated as soon as no further sample can change it.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, rotate_back, scale, store, vector
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.pipeline.falling import FallStage
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.ground import Ground, GroundStage, require_orientation
from izmp_dynamics.pipeline.joints import JointGroup, JointStage, joined
from izmp_dynamics.pipeline.momentum import IrMdStage
from izmp_dynamics.pipeline.pose_imu import PoseImu
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.stance import StanceAcceleration
from izmp_dynamics.pipeline.world import WorldStage, WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.clock import Clocks
from izmp_dynamics.signals.joint_hangs import Changes
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.samples import Samples, Signals
from izmp_dynamics.signals.stage import PATIENCE, Stage, Tidying
from izmp_dynamics.signals.stream import Filtering, SampleStream
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.stability.ground_frame import GroundFrame
from izmp_dynamics.stability.ground_plane import GroundPlane, Sole


@dataclass(frozen=True)
class Evaluated:
    """What was computed at K instants of the bus.

    NaN stands where there is no value. Unless stated otherwise, everything is in the root frame.

    Attributes:
        joints: q, q̇, q̈.
        root: ω, ω̇, φ.
        world: pose and velocity of the root in the world.
        com: (K, 3) centre of mass [m].
        wrenches: 'mr_ad', 'ir_md', 'cop' → (K, 6) contact wrench about the root origin; those
            that the sensors allow.
        points: same keys → (K, 3) IZMP or CoP [m].
        margins: same keys → (K,) distance from the edge of the support polygon [m].
        ground: plane, soles, loaded feet.
        fall: whether the robot is about to fall; None where that is not asked for, and for a
            robot without feet.
    """

    joints: JointKinematics
    root: RootState
    world: WorldState
    com: Array
    wrenches: dict[str, Array]
    points: dict[str, Array]
    margins: dict[str, Array]
    ground: Ground
    fall: FallRisk | None = None

    @property
    def stamps(self) -> Stamps:
        """(K,) the instants [ns]."""
        return self.joints.stamps

    def select(self, rows: npt.NDArray[np.bool_] | slice) -> 'Evaluated':
        """Return the instants that a mask or a slice selects."""

        def some(quantity: dict[str, Array]) -> dict[str, Array]:
            return {name: values[rows] for name, values in quantity.items()}

        return Evaluated(
            self.joints.select(rows),
            self.root.select(rows),
            self.world.rows(rows),
            self.com[rows],
            some(self.wrenches),
            some(self.points),
            some(self.margins),
            self.ground.select(rows),
            None if self.fall is None else self.fall.select(rows),
        )

    @property
    def plane(self) -> GroundPlane:
        """The ground plane."""
        return self.ground.plane

    @property
    def soles(self) -> tuple[Sole, ...]:
        """One per foot."""
        return self.ground.soles

    @property
    def loaded(self) -> npt.NDArray[np.bool_]:
        """(K, F) which feet carry load."""
        return self.ground.loaded

    @property
    def frame(self) -> GroundFrame | None:
        """The ground's own frame; None unless the ground is that of a frame."""
        return self.ground.frame


class Evaluator:
    """Evaluates the signals of one robot.

    The signals by name, with the values of a sample (vectors in the axes of their sensors):

    * 'joints': (n,) positions in the order of the model [rad] or [m], NaN where a message lacks a
      joint, infinity where its value is no number;
    * 'imu': (6,) angular velocity [rad/s] and specific force [m/s²];
    * 'orientation': (4,) quaternion x y z w of the source of the orientation in the world;
    * 'accelerometers[k]': (3,) specific force of the further accelerometers [m/s²];
    * 'position': (3,) of the positioned frame in the world [m];
    * 'feet[NAME]': (6,) force [N] and moment [N·m] of the foot's sensor;
    * 'foot_imus[NAME]': (6,) angular velocity [rad/s] and specific force [m/s²];
    * 'ground': (7,) position [m] and quaternion x y z w of a ground that moves.

    Args:
        rig: the robot, prepared.
        groups: joints that are published together; None: learned from the first messages.
        periods: signal → time between its samples [s]; learned where it is not known.
        orientation: source of the root's orientation: 'imu', 'position' (where its messages hold
            one), or None if nothing measures it.
        live: whether the samples are those of a running system: the low-pass is causal, joints
            that appear late or change their rate are learned again, and the gyroscope is
            differenced as long as an accelerometer is silent.
        patience: an instant does not wait for a signal that is behind by more [s].
        prompt: is given each piece as soon as its IZMP is known, which is before the position of
            the root and IR-MD are: there they are NaN or absent.
        only_ir_md: whether MR-AD is left out, as the IMU is no measured one.

    Attributes:
        signals: their names.
        resets: how often a clock was set back.
        set_back: the signals with the clocks that were set back last.

    Raises:
        SensingError: if the sensors do not suffice; the message says what is missing.
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
        prompt: Callable[[Evaluated], None] | None = None,
        only_ir_md: bool = False,
    ) -> None:
        self.rig = rig
        self._prompt = prompt
        self._only_ir_md = only_ir_md
        robot, model = rig.robot, rig.model
        self._patience = patience
        filtering = Filtering.of(robot, causal=live)
        if orientation is None:
            require_orientation(robot)
        sensed = [f'feet[{foot.name}]' for foot in rig.feet if foot.sensor is not None]
        self._witnesses = ('imu', *sensed)
        self.joints = JointStage(
            model,
            robot,
            filtering,
            groups=groups,
            patience=patience,
            witnesses=self._witnesses,
            relearn=live,
        )
        self.root = RootStage(rig, filtering, periods, patience=patience, fall_back=live)
        self.world = WorldStage(
            rig, filtering, orientation or 'imu', periods, patience, imu=self.root.imu
        )
        self.world.orientation.available = orientation is not None
        self.feet = FeetStage(rig, filtering, periods, patience)
        self.ground = GroundStage(rig, filtering, periods, patience)
        self._stages = (self.root, self.world, self.feet, self.ground)
        self._in_world = robot.ground.moves and rig.ground_reference is None
        where = self.world if self._in_world else self.world.orientation
        self._for_izmp = (self.root, where, self.feet, self.ground)
        self._stance: StanceAcceleration | None = None
        if robot.root_acceleration.source != 'imu':
            self._stance = StanceAcceleration(rig, self.feet, causal=live)
        self.mr_ad = MrAd(model)
        self._fall = FallStage(rig) if rig.feet and not only_ir_md else None
        self._judges = self._fall is not None
        self._ir_md: IrMdStage | None = None
        if self.world.position is not None and orientation is not None:
            self._ir_md = IrMdStage(model, robot)
        self._only_bus = self._ir_md is None or robot.ir_md.step == 'bus'
        self.signals = (
            *('joints', 'imu', 'orientation', 'position', 'ground'),
            *(stream.signal for stream in self.root.accelerometers),
            *(f'feet[{foot.name}]' for foot in rig.feet),
            *(f'foot_imus[{foot.name}]' for foot in rig.feet),
        )
        self._pose_imu = PoseImu(rig, periods) if robot.imu.from_position else None
        self._stages_of = self._entrances()
        self._alone = self._streams_alone()
        self._locates = True
        self._tidying = Tidying()
        self._clocks: Clocks[Samples] = Clocks('joints')
        self.resets = 0
        self.set_back: tuple[str, ...] = ()
        self._begin()

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
        for signal, clock in self._clocks.gates.items():
            if signal != 'orientation':  # the same messages are counted elsewhere
                faults[signal] = faults.get(signal, Faults()) + clock.faults
        return faults

    def assume(self, former: 'Evaluator', without: Container[str] = ()) -> None:
        """Begin with the rates that another one has learned, until a clock is set back.

        Args:
            former: evaluated the same signals.
            without: signals whose rates are to be learned.

        Raises:
            SensingError: if a signal is too slow for the low-pass.
        """
        self.joints.assume(former.joints.groups)
        periods = dict(former.periods())
        for stream in self._streams():
            if stream.signal in periods and stream.signal not in without:
                stream.assume(periods[stream.signal])

    @property
    def locates(self) -> bool:
        """Whether instants get the pose of the root and IR-MD, which cost a third of the work.

        If not, `prompt` alone is given instants, unless there is none.
        A ground that moves in the world needs the pose in any case.
        """
        return self._locates

    @locates.setter
    def locates(self, wanted: bool) -> None:
        wanted = wanted or self._in_world
        if wanted and not self._locates and self._ir_md is not None:
            self._ir_md.reset()
        self._locates = wanted

    @property
    def judges(self) -> bool:
        """Whether the fall alarm is evaluated; false for a robot without feet."""
        return self._judges

    @judges.setter
    def judges(self, wanted: bool) -> None:
        if self._fall is not None:
            if wanted and not self._judges:
                self._fall.reset()
            self._judges = wanted

    @property
    def hung(self) -> dict[str, list[tuple[int, int]]]:
        """Signal → first and last instant [ns] of the times in which it hung."""
        logs = [('joints', self.joints.hung), *((s.signal, s.hung) for s in self._streams())]
        return {signal: log.spans for signal, log in logs if log.spans}

    @property
    def clocks(self) -> dict[str, PublisherClock]:
        """Signal → clock of a publisher whose stamps came in bursts."""
        streams = reversed(list(self._streams()))
        clocks = {s.signal: s.clock for s in streams if s.clock is not None}
        for clock in self.joints.clocks:
            clocks['joints'] = clock if clock.faults else clocks.get('joints', clock)
        return {signal: clock for signal, clock in clocks.items() if clock.faults}

    def push(self, signals: Signals) -> list[Evaluated]:
        """Take samples; return the instants that they complete: usually one piece or none.

        Samples of about the same time belong into one call: those that are ahead of the joints by
        more than `buffer.HORIZON` are dropped.

        Raises:
            UnknownNameError, ShapeError: as `take`.
        """
        self.take(signals)
        return self.advance()

    @property
    def is_set_back(self) -> bool:
        """Whether a clock was set back in what was taken: `advance` before more is taken."""
        return bool(self._clocks.new_time or self._clocks.alone)

    def advance(self) -> list[Evaluated]:
        """Return the instants that what was taken completes, usually one piece or none."""
        results = self._advance()
        while self._clocks.new_time:
            self.set_back = self._clocks.turned
            results += self._finish() + self._begin_new_time()
        for signal in self._clocks.alone:
            self.resets += 1
            self.set_back = (signal,)
            stage = self._stages_of[signal][0]
            stage.flush()
            results += self._advance()
            stage.reset()
            held = self._clocks.gates[signal].release()
            self.take({} if held is None else {signal: held})
        return results

    def awaits(self, newest: Mapping[str, int]) -> bool:
        """Whether samples that have not been taken yet may complete an instant.

        Args:
            newest: signal → newest stamp of these samples [ns].
        """
        if self.waits:
            return True
        if self._pushed < self._izmp_known and self.world.awaited in newest:
            return True
        stamp = newest.get('joints')
        return stamp is not None and stamp >= self.joints.due(stamp)

    @property
    def waits(self) -> bool:
        """Whether an instant of the joints lacks other signals."""
        return self._izmp_known < len(self._pending)

    def idle_after(self, stamp: int) -> float:
        """Time after joints at `stamp` [ns] in which no samples complete an instant [s].

        As far as that can be foreseen, see `JointStage.idle_after`.
        """
        return 0.0 if self.waits else self.joints.idle_after(stamp)

    def flush(self) -> list[Evaluated]:
        """Return the instants that are left at the end of the signals."""
        results = self._finish()
        while 'joints' in self._clocks.gates and self._clocks.gates['joints'].turned:
            results += self._begin_new_time() + self._finish()
        for gate in self._clocks.gates.values():
            gate.drop_doubtful()
        return results

    def trim(self) -> None:
        """Drop samples that are too old to be needed; to be called while no joints come."""
        for stage in self._stages:
            stage.trim()

    def pause(self) -> list[Evaluated]:
        """Return the instants that wait for a next sample, as none has come for a while."""
        return self._finish(final=False)

    def periods(self) -> Iterator[tuple[str, float]]:
        """Signals with the time between their samples, as far as it is known [s]."""
        yield from (('joints', group.period) for group in self.joints.groups)
        yield from ((s.signal, s.period) for s in self._streams() if s.period is not None)

    def _streams(self) -> list[SampleStream]:
        streams = [stream for stage in self._stages for stream in stage.streams]
        return [*streams, *(imu.stream for imu in self.ground.imus.values())]

    def _begin(self) -> None:
        self._pending = joined([], self.rig.model.dof)
        self._reaches_bus = np.zeros(0, dtype=np.bool_)
        self._differenced: Array = np.empty((0, 6))
        self._worlds = WorldState.unknown(0)
        self._pieces: deque[Evaluated] = deque()
        self._begun = self._izmp_known = self._pushed = self._last = self._newest = 0
        if self._stance is not None:
            self._stance.reset()
        if self._fall is not None:
            self._fall.reset()

    def take(self, signals: Signals) -> None:
        """Hand samples to the stages that need them; `advance` evaluates.

        Samples of a sensor that the robot file does not use are ignored.

        Raises:
            UnknownNameError: if there is no such signal.
            ShapeError: if its samples have another width.
        """
        for signal, samples in signals.items():
            if signal != 'joints' and signal not in self._stages_of:
                if signal not in self.signals:
                    raise UnknownNameError('signal', signal, self.signals)
                continue
            admitted = self._clocks.admit(signal, samples)
            if not admitted.stamps.size or (signal == 'position' and not self._locates):
                continue
            self._newest = max(self._newest, int(admitted.stamps[-1]))
            if signal == 'joints':
                self._add_instants(self.joints.push(admitted))
            else:
                if signal in self._witnesses:
                    self.joints.witness(signal, admitted)
                self._stages_of[signal][1](admitted)

    def take_one(self, signal: str, stamp: int, values: Array) -> None:
        """Do as `take` with a single sample (m,) of a signal at `stamp` [ns], at a lower cost."""
        alone, gate = self._alone.get(signal), self._clocks.gates.get(signal)
        follows = gate is not None and gate.follows(stamp)
        if follows and signal == 'position' and not self._locates:
            return
        if alone is None or not follows:
            self.take({signal: Samples.one(stamp, values)})
            return
        stream, changes = alone
        self._newest = max(self._newest, stamp)
        if changes is not None:
            changes.see_one(stamp, values)
        needed = signal == 'imu' and self.root.method == 'gyro'
        if needed or stream.follow(stamp, values) is None:
            self._stages_of[signal][1](Samples.one(stamp, values))

    def _streams_alone(self) -> dict[str, tuple[SampleStream, Changes | None]]:
        """Signal → its stream, where usual samples need nothing else than to be there.

        Beside it, what shows by this signal that the robot moves. The IMU needs nothing else as
        long as the gyroscope is not differenced.
        """
        streams = (*self.root.accelerometers, *self.feet.sensors.values())
        alone = {stream.signal: stream for stream in streams}
        if self._pose_imu is None:
            alone |= {'imu': self.root.imu, 'orientation': self.world.orientation.stream}
        return {name: (stream, self.joints.changes_of(name)) for name, stream in alone.items()}

    def _entrances(self) -> dict[str, tuple[Stage, Callable[[Samples], object]]]:
        """Signal → the stage that needs it, and what takes its samples."""
        root, world, ground = self.root, self.world, self.ground
        pose = self._pose_imu

        def push_derived(samples: Samples) -> None:
            self.joints.witness('imu', samples)
            root.push_imu(samples)

        def push_position(samples: Samples) -> None:
            world.push_position(samples)
            if pose is not None:
                push_derived(pose.push_position(samples))

        def push_orientation(samples: Samples) -> None:
            world.push_orientation(samples)
            if pose is not None:
                push_derived(pose.push_orientation(samples))

        entrances: dict[str, tuple[Stage, Callable[[Samples], object]]] = {
            'imu': (root, root.push_imu),
            'orientation': (world, push_orientation),
            'position': (world, push_position),
            'ground': (ground, ground.push_pose),
        }
        for k, stream in enumerate(root.accelerometers):
            entrances[stream.signal] = (root, partial(root.push_accelerometer, k))
        for stream in self.feet.sensors.values():
            entrances[stream.signal] = (self.feet, stream.push)
        for imu in ground.imus.values():
            entrances[imu.stream.signal] = (ground, imu.push)
        return entrances

    def _add_instants(self, joints: JointKinematics) -> None:
        """Take instants of the joints; those off the bus only if IR-MD differences them."""
        if not len(joints):
            return
        on_bus = self.joints.on_bus(joints.stamps)
        if self._only_bus:
            joints, on_bus = joints.select(on_bus), on_bus[on_bus]
            if not len(joints):
                return
        if len(self._pending):
            joints = joined([self._pending, joints], self.rig.model.dof)
            on_bus = np.concatenate([self._reaches_bus, on_bus])
        self._pending, self._reaches_bus = joints, on_bus

    def _advance(self) -> list[Evaluated]:
        """Evaluate the pending instants that are decided."""
        self._add_instants(self.joints.settle())
        if not len(self._pending):
            self._forget()
            return []
        self._evaluate_izmp()
        if not self.locates and self._prompt is not None:
            self._pass_over()
            return []
        if not self.locates:
            return self._complete(self._izmp_known)
        count = self._decided((self.world,), self._pushed, self._izmp_known)
        return self._complete(self._pushed + count) if count else []

    def _finish(self, final: bool = True) -> list[Evaluated]:
        """Evaluate all that is pending, as nothing follows.

        Args:
            final: whether rates that are not known yet are learned from what there is.
        """
        self._add_instants(self.joints.flush(final))
        if self._pose_imu is not None:
            self.root.push_imu(self._pose_imu.flush(final))
        for stage in self._stages:
            stage.flush(final)
        self._evaluate_izmp()
        if self._stance is not None:
            self._take_pieces(self._stance.flush())
        return self._complete(len(self._pending), final=True)

    def _decided(self, stages: Iterable[Stage], begin: int, end: int) -> int:
        """How many of these pending instants have all that they need of some stages."""
        stamps = self._pending.stamps[begin:end]
        if not len(stamps):
            return 0
        first, newest = int(stamps[0]), int(self._pending.stamps[-1])
        if not all(stage.decides(first, newest) for stage in stages):
            return 0
        if len(stamps) == 1:
            return 1
        return min(stage.decided(stamps, newest) for stage in stages)

    def _evaluate_izmp(self) -> None:
        """Evaluate what does not need the position of the root, as far as that is decided."""
        count = self._decided(self._for_izmp, self._begun, len(self._pending))
        if not count:
            return
        begin, end = self._begun, self._begun + count
        rows: npt.NDArray[np.intp] | slice = slice(begin, end)
        if not self._only_bus:
            rows = begin + np.flatnonzero(self._reaches_bus[begin:end])
        self._begun = end
        joints = self._pending
        if count < len(joints) or not self._only_bus:
            joints = joints.select(rows)
        root = self.root.without_hanging(self.root.evaluate(joints.stamps), joints.moving)
        instants = [(joints, root)]
        if self._stance is not None:
            instants = self._stance.push(joints, root, self._bus_period())
        self._take_pieces(instants)

    def _take_pieces(self, instants: list[tuple[JointKinematics, RootState]]) -> None:
        """Evaluate instants of the bus whose root's motion is known."""
        pieces = [self._evaluated(joints, root) for joints, root in instants if len(joints)]
        held = 0 if self._stance is None else self._stance.held
        self._izmp_known = self._begun
        if held:
            self._izmp_known = int(np.flatnonzero(self._reaches_bus[: self._begun])[-held])
        self._pieces += pieces
        if self._prompt is not None:
            for piece in pieces:
                self._prompt(piece)

    def _bus_period(self) -> float:
        """Usual time between the instants of the bus [s]."""
        return max(1.0 / self.rig.robot.rates.bus, self.joints.groups[0].period)

    def _complete(self, decided: int, final: bool = False) -> list[Evaluated]:
        """Locate the first of the pending instants and evaluate IR-MD, as far as it is known."""
        count = self._difference(decided, final)
        if not count:
            return []
        on_bus = self._reaches_bus[:count]
        if not self.locates:
            self._worlds = WorldState.unknown(count)
        elif self._ir_md is None:
            part = self._pending.select(slice(count))
            self._worlds = self.world.evaluate(part.stamps, moving=part.moving)
        world = self._worlds.rows(slice(count))
        results = self._located(self._differenced[on_bus], world.rows(on_bus))
        self._worlds = self._worlds.rows(slice(count, None))
        self._differenced = self._differenced[count:]
        self._drop(count)
        return results

    def _pass_over(self) -> None:
        """Leave instants whose IZMP is known as they are: `prompt` was given all there is."""
        self._pieces.clear()
        if len(self._differenced) or len(self._worlds.p):
            self._worlds, self._differenced = WorldState.unknown(0), np.empty((0, 6))
        self._pushed = 0
        if self._izmp_known:
            self._drop(self._izmp_known)

    def _drop(self, count: int) -> None:
        """Go on after the first of the pending instants."""
        self._last = int(self._pending.stamps[count - 1])
        self._pending = self._pending.select(slice(count, None))
        self._reaches_bus = self._reaches_bus[count:]
        self._izmp_known -= count
        self._begun -= count
        self._pushed = max(self._pushed - count, 0)
        self._forget()

    def _difference(self, decided: int, final: bool) -> int:
        """Difference the momentum of decided instants; return how many are known by then."""
        if self._ir_md is None or not self.locates:
            self._differenced = np.full((decided, 6), np.nan)
            return decided
        new = self._pending.select(slice(self._pushed, decided))
        wrenches = [self._differenced]
        if len(new):
            counted = self._reaches_bus[self._pushed : decided]
            world = self.world.evaluate(new.stamps, counted, new.moving)
            self._worlds = self._worlds.followed_by(world)
            omega = self.root.angular_velocity(new.stamps, new.moving)
            wrenches.append(self._ir_md.push(new, world, omega)[1])
        if final:
            wrenches.append(self._ir_md.flush()[1])
        if len(wrenches) > 1:
            self._differenced = np.concatenate(wrenches)
        self._pushed = max(self._pushed, decided)
        return len(self._differenced)

    def _evaluated(self, joints: JointKinematics, root: RootState) -> Evaluated:
        """Evaluate MR-AD and the feet at instants of the bus."""
        if self._in_world:
            world = self.world.at(joints.stamps, joints.moving)
        else:
            nowhere = np.full((len(joints), 3), np.nan)
            R = self.world.orientation.at(joints.stamps, joints.moving)
            world = WorldState(R, nowhere, nowhere)
        feet = self.feet.evaluate(joints, root, world.R)
        ground = self.ground.evaluate(joints, root, world, feet)
        mr_ad, com = self.mr_ad.of_states(feet.states)
        wrenches = {'mr_ad': np.full_like(mr_ad, np.nan) if self._only_ir_md else mr_ad}
        if feet.wrench is not None:
            wrenches['cop'] = feet.wrench.as_array()
        points, margins = ground.judge(wrenches)
        fall = None
        if self._fall is not None and self._judges:
            fall = self._fall.evaluate(joints, root, world.R[:, 2], ground, self.joints.groups)
        return Evaluated(
            joints=joints,
            root=root,
            world=world,
            com=com,
            wrenches=wrenches,
            points=points,
            margins=margins,
            ground=ground,
            fall=fall,
        )

    def _located(self, in_world: Array, world: WorldState) -> list[Evaluated]:
        """Add pose and IR-MD to the next pieces, given its wrenches (K, 6) in the world."""
        results = []
        while len(in_world):
            piece = self._pieces.popleft()
            count = min(len(piece.stamps), len(in_world))
            if count < len(piece.stamps):
                self._pieces.appendleft(piece.select(slice(count, None)))
                piece = piece.select(slice(count))
            results.append(self._with_world(piece, in_world[:count], world.rows(slice(count))))
            in_world, world = in_world[count:], world.rows(slice(count, None))
        return results

    def _with_world(self, piece: Evaluated, in_world: Array, world: WorldState) -> Evaluated:
        """Add pose and IR-MD to a piece, given its wrenches (K, 6) in the world."""
        if self._ir_md is None or not self.locates:
            return replace(piece, world=world)
        wrench = in_root(in_world, world)
        points, margins = piece.ground.judge({'ir_md': wrench})
        return replace(
            piece,
            world=world,
            wrenches=piece.wrenches | {'ir_md': wrench},
            points=piece.points | points,
            margins=piece.margins | margins,
        )

    def _forget(self) -> None:
        """Drop the samples that no instant from now on needs."""
        before = int(self._pending.stamps[0]) if len(self._pending) else self._last
        if not self._tidying.is_due(self._newest):
            return
        for stage in self._stages:
            stage.forget(before)
            if not len(self._pending):
                stage.trim()

    def _begin_new_time(self) -> list[Evaluated]:
        """Forget all samples of the time before; take those that came since."""
        self.resets += 1
        self.joints.reset()
        if self._pose_imu is not None:
            self._pose_imu.reset()
        for stage in self._stages:
            stage.reset()
        if self._ir_md is not None:
            self._ir_md.reset()
        self._begin()
        self.take(self._clocks.begin_new_time())
        return self._advance()


def in_root(in_world: Array, world: WorldState) -> Array:
    """Bring contact wrenches (K, 6) about the world's origin to the root frame."""
    in_root = np.empty(in_world.shape)
    _in_root(np.array(in_world), np.array(world.R), np.array(world.p), in_root)
    return in_root


@kernel
def _in_root(in_world: Array, world_R_root: Array, p_root: Array, in_root: Array) -> None:
    """Write what `in_root` returns."""
    for t in range(len(in_world)):
        R = world_R_root[t].ravel()
        force, moment = vector(in_world[t], 0), vector(in_world[t], 3)
        lever = scale(-1.0, cross(vector(p_root[t], 0), force))
        store(in_root[t], 0, rotate_back(R, force))
        store(in_root[t], 3, rotate_back(R, add(moment, lever)))
