"""Signals in, wrenches and points on the ground out: the whole method for a robot.

ACD, accelerometer array (or gyroscope), MR-AD, localizer, IR-MD, feet, ground, ZMP: each stage is
here once. The samples may come in pieces of any length; every sample is judged once, in the order
of arrival, and an instant is evaluated as soon as no further sample can change it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.falling import FallStage
from izmp_dynamics.pipeline.feet import mr_ad_states
from izmp_dynamics.pipeline.ground import Ground, require_orientation
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.located import IrMdStage, Located
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.stages import PARTS, Stages
from izmp_dynamics.pipeline.unloaded import UnloadedFeet
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.sensing.vertical import Vertical
from izmp_dynamics.signals.samples import Signals
from izmp_dynamics.signals.stage import PATIENCE, TIDY_AFTER, Stage, decided


class Evaluator:
    """Evaluates the signals of one robot.

    The signals by name, with the values of a sample (vectors in the axes of their sensors):

    * 'joints': (n,) positions in the order of the model [rad] or [m], NaN where a message lacks a
      joint, infinity where its value is no number;
    * 'efforts': (n,) torques of the joints [N·m] or forces [N], in the same messages;
    * 'imu': (6,) angular velocity [rad/s] and specific force [m/s²];
    * 'orientation': (4,) quaternion x y z w of the source of the orientation in the world;
    * 'accelerometers[k]': (3,) specific force of the further accelerometers [m/s²];
    * 'position': (3,) of the positioned frame in the world [m];
    * 'segments[LINK]': (6,) angular velocity [rad/s] and specific force [m/s²] of its unit;
    * 'segment_accelerometers[LINK][k]': (3,) specific force of its further accelerometers [m/s²];
    * 'feet[NAME]': (6,) force [N] and moment [N·m] of the foot's sensor;
    * 'foot_imus[NAME]': (6,) angular velocity [rad/s] and specific force [m/s²];
    * 'ground': (7,) position [m] and quaternion x y z w of a ground that moves.

    What is given instead of being computed comes with the stamps of its instants:

    * 'joint_kinematics': (3n,) q, q̇, q̈, NaN where they are not known; 'joints' then only shows
      which joints are published together, and the sensors of the root only their rates;
    * 'root_acceleration': (6,) φ [m/s²] and ω̇ [rad/s²]; 'root_twist': (6,) of which the last
      three are ω [rad/s];
    * 'mr_ad/contact_wrench': (6,) about the root origin, in root axes [N], [N·m];
    * 'odom': (13,) position [m], quaternion x y z w, v and ω in root axes;
    * 'ir_md/contact_wrench': (6,) about the origin of the world, in its axes.

    Args:
        rig: the robot, prepared.
        groups: joints that are published together; None: learned from the first messages.
        periods: signal → time between its samples [s]; learned where it is not known.
        orientation: source of the root's orientation: 'imu', 'position' (where its messages hold
            one), or None if nothing measures it.
        live: whether the samples are those of a running system: joints that appear late or change
            their rate are learned again, and the gyroscope is differenced as long as an
            accelerometer is silent.
        patience: an instant does not wait for a signal that is behind by more [s].
        prompt: is given each piece as soon as its IZMP is known, which is before the position of
            the root and IR-MD are: there they are NaN or absent.
        only_ir_md: whether MR-AD is left out, as the IMU is no measured one.
        given: of the `stages.PARTS`, those that are given.
        computes: those that are computed; of the others there is nothing.

    Attributes:
        stages: what was learned and found, signal by signal.
        unloaded: is shown instants; None: nothing looks for drifting offsets.
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
        given: Collection[str] = (),
        computes: Collection[str] = PARTS,
    ) -> None:
        self.rig, self._prompt, self._only_ir_md = rig, prompt, only_ir_md
        robot, model = rig.robot, rig.model
        if orientation is None:
            require_orientation(robot)
        self.stages = stages = Stages(
            rig,
            self._add_instants,
            groups,
            periods,
            orientation=orientation,
            live=live,
            patience=patience,
            given=given,
            computes=computes,
        )
        self.joints, self.root, self.world = stages.joints, stages.root, stages.world
        self.feet, self.ground = stages.feet, stages.ground
        self._for_izmp = self._stages_for_izmp()
        falls = bool(rig.feet) and not only_ir_md and 'verdict' in computes
        self._fall = FallStage(rig) if falls else None
        self._judges = falls
        self.unloaded: UnloadedFeet | None = None
        placed = self.world.position is not None and orientation is not None
        has_ir_md = placed and 'ir_md' in computes
        self._located = Located(stages, IrMdStage(model, robot) if has_ir_md else None)
        self._only_bus = not has_ir_md or robot.ir_md.step == 'bus' or bool(given)
        self._has_world = stages.locates
        self._tidied = 0
        self.resets = 0
        self.set_back: tuple[str, ...] = ()
        self._begin()

    @cached_property
    def mr_ad(self) -> MrAd:
        """The kernels of MR-AD, made where they are needed."""
        return MrAd(self.rig.model, [unit.body for unit in self.rig.segments])

    # ---- The method ---------------------------------------------------------------------------

    def _evaluated(self, joints: JointKinematics, root: RootState) -> Evaluated:
        """Evaluate MR-AD and the feet at instants of the bus."""
        if 'verdict' not in self.stages.computes:
            return self._of_motion(joints, root)
        if self.stages.needs_world:
            world = self.world.at(joints.stamps, joints.moving)
        else:
            nowhere = np.full((len(joints), 3), np.nan)
            R = self.world.orientation.at(joints.stamps, joints.moving)
            world = WorldState(R, nowhere, nowhere)
        normals = self.ground.normals(joints, world)
        states = mr_ad_states(joints, root)
        units = self._unit_motions(joints)
        mr_ad, com = self._mr_ad(joints, states, units)
        wrenches = {'mr_ad': np.full_like(mr_ad, np.nan) if self._only_ir_md else mr_ad}
        measured = world.R[:, 2]
        up = self._vertical.push(
            joints.stamps, root.angular_velocity, root.proper_acceleration, measured
        )
        feet = self.feet.evaluate(joints, states, up, normals, wrenches['mr_ad'])
        ground = self.ground.evaluate(joints, world, feet)
        if feet.total is not None:
            wrenches['cop'] = feet.total
        points, margins = ground.judge(wrenches)
        fall = None
        if self._fall is not None and self._judges:
            fall = self._fall.evaluate(joints, root, up, measured, ground, self.joints.groups)
        found = Evaluated(
            joints=joints,
            root=root,
            world=world,
            up=up,
            com=com,
            wrenches=wrenches,
            points=points,
            margins=margins,
            ground=ground,
            fall=fall,
            units=units,
        )
        if self.unloaded is not None:
            self.unloaded.see(found)
        return found

    def _unit_motions(self, joints: JointKinematics) -> Array | None:
        self.weigh_units(self.rig.robot.filter.half_width)
        return self.stages.unit_motions(joints)

    def weigh_units(self, half_width: float | None) -> None:
        """Weigh gyroscopes and accelerometers of units as a matched filter [s] leaves them."""
        if units := self.stages.segments:
            self.mr_ad.levers[:] = [unit.lever(half_width) for unit in units]

    def _mr_ad(
        self, joints: JointKinematics, states: Array, units: Array | None
    ) -> tuple[Array, Array]:
        """Contact wrenches (K, 6) of MR-AD, and centres of mass (K, 3)."""
        given = self.stages.wrench
        if given is not None:
            return given.at(joints.stamps), np.full((len(joints), 3), np.nan)
        return self.mr_ad.of_states(states, units)

    def _of_motion(self, joints: JointKinematics, root: RootState) -> Evaluated:
        wrenches: dict[str, Array] = {}
        world, com, ground = _nowhere(len(joints))
        if self.stages.computes & {'mr_ad', 'ir_md'}:
            units = self._unit_motions(joints)
            wrench, com = self.mr_ad.of_states(mr_ad_states(joints, root), units)
            wrenches = {'mr_ad': wrench} if 'mr_ad' in self.stages.computes else {}
        return Evaluated(joints, root, world, world.R[:, 2], com, wrenches, {}, {}, ground)

    # ---- Samples in, instants out -------------------------------------------------------------

    def push(self, signals: Signals) -> list[Evaluated]:
        """Take samples; return the instants that they complete: usually one piece or none.

        Samples of about the same time belong into one call: those that are ahead of the joints by
        more than `buffer.HORIZON` are dropped.

        Raises:
            UnknownNameError, ShapeError: as `take`.
        """
        self.take(signals)
        return self.advance()

    def take(self, signals: Signals) -> None:
        """Hand samples to the stages that need them; `advance` evaluates.

        Samples of a sensor that the robot file does not use are ignored.

        Raises:
            UnknownNameError: if there is no such signal.
            ShapeError: if its samples have another width.
        """
        self.stages.take(signals)

    def advance(self) -> list[Evaluated]:
        """Return the instants that what was taken completes, usually one piece or none."""
        clocks, results = self.stages.clock_gates, self._advance()
        while clocks.new_time:
            self.set_back = clocks.turned
            results += self._finish() + self._begin_new_time()
        for signal in clocks.alone:
            self.resets += 1
            self.set_back = (signal,)
            stage = self.stages.stage_of(signal)
            stage.flush()
            results += self._advance()
            stage.reset()
            held = clocks.gates[signal].release()
            self.take({} if held is None else {signal: held})
        return results

    def flush(self) -> list[Evaluated]:
        """Return the instants that are left at the end of the signals."""
        gates, results = self.stages.clock_gates.gates, self._finish()
        leading = self.stages.leading
        while leading in gates and gates[leading].turned:
            results += self._begin_new_time() + self._finish()
        for gate in gates.values():
            gate.drop_doubtful()
        return results

    def pause(self) -> list[Evaluated]:
        """Return the instants that wait for a next sample, as none has come for a while."""
        return self._finish(final=False)

    @property
    def locates(self) -> bool:
        """Whether instants get the pose of the root and IR-MD, which cost a third of the work.

        If not, `prompt` alone is given instants, unless there is none.
        A ground that moves in the world needs the pose in any case.
        """
        return self.stages.locates

    @locates.setter
    def locates(self, wanted: bool) -> None:
        wanted = (wanted or self.stages.needs_world) and self._has_world
        if wanted and not self.locates:
            self._located.reset()
        self.stages.locates = wanted

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
    def faults(self) -> dict[str, Faults]:
        """Signal → samples and instants that could not be used, by reason."""
        return self.stages.faults

    # ---- What is to come ----------------------------------------------------------------------

    @property
    def is_set_back(self) -> bool:
        """Whether a clock was set back in what was taken: `advance` before more is taken."""
        gates = self.stages.clock_gates
        return bool(gates.new_time or gates.alone)

    @property
    def waits(self) -> bool:
        """Whether an instant of the joints lacks other signals."""
        return len(self._pending) > 0

    def awaits(self, newest: Mapping[str, int]) -> bool:
        """Whether samples that have not been taken yet may complete an instant.

        Args:
            newest: signal → newest stamp of these samples [ns].
        """
        if self.waits:
            return True
        if len(self._located.waiting) and self.world.awaited in newest:
            return True
        stamp = newest.get('joints')
        return stamp is not None and stamp >= self.joints.due(stamp)

    @property
    def awaited(self) -> tuple[str, ...] | None:
        """Signals whose next sample may complete an instant; None: any may."""
        stages = self.stages
        if not stages.given:
            return None if self.locates or self.waits else (stages.leading,)
        results, waits = stages.first_results, self.waits
        waiting = self._pending.stamps
        if not results:
            results, waits = stages.later_results, waits or not self._located.is_empty
            waiting = np.concatenate([self._located.waiting.stamps, waiting])
        stamp = int(waiting[0]) if len(waiting) else self._newest + 1
        lacking = [result.signal for result in results if result.newest < stamp]
        if not lacking and waits:
            return (self.world.awaited,) if 'world' in stages.computes and self.locates else None
        first = lacking[-1] if lacking else stages.leading
        later = stages.later_results if self.locates else ()
        return (first, *(result.signal for result in later if result.signal != first))

    def idle_after(self, stamp: int) -> float:
        """Time after joints at `stamp` [ns] in which no samples complete an instant [s].

        As far as that can be foreseen; it ends half a sample before the one that does.
        """
        joints = self.joints
        if self.waits or not joints.groups:
            return 0.0
        ahead = (joints.due(stamp) - stamp) / NANOSECONDS
        return max(0.0, ahead - 0.25 * joints.groups[0].period)

    # ---- The instants that wait ---------------------------------------------------------------

    def _stages_for_izmp(self) -> tuple[Stage, ...]:
        """What the first results of an instant need: all but the position of the root."""
        stages = self.stages
        parts, found = stages.given | stages.computes, list[Stage]()
        if 'root' in parts or 'world' in stages.computes:
            found.append(self.root)
        found += stages.segments
        if 'verdict' in parts:
            where = self.world if stages.needs_world else self.world.orientation
            found += [where, self.feet, self.ground]
        return (*found, stages.wrench) if stages.wrench is not None else tuple(found)

    def _begin(self) -> None:
        self._none = self._pending = JointKinematics.none(self.rig.model.dof)
        self._reaches_bus = np.zeros(0, dtype=np.bool_)
        self._newest = 0
        self._located.begin()
        self._vertical = Vertical(self.rig.robot.gravity)
        if self._fall is not None:
            self._fall.reset()

    def _begin_new_time(self) -> list[Evaluated]:
        """Forget all samples of the time before; take those that came since."""
        self.resets += 1
        self.stages.reset()
        self._begin()
        self.take(self.stages.clock_gates.begin_new_time())
        return self._advance()

    def _add_instants(self, joints: JointKinematics) -> None:
        """Take instants of the joints; those off the bus only if IR-MD differences them."""
        if not len(joints):
            return
        on_bus = self.joints.on_bus(joints.stamps)
        if self._only_bus and not on_bus.all():
            joints, on_bus = joints.select(on_bus), on_bus[on_bus]
            if not len(joints):
                return
        self._newest = int(joints.stamps[-1])
        if len(self._pending):
            joints = JointKinematics.joined([self._pending, joints])
            on_bus = np.concatenate([self._reaches_bus, on_bus])
        self._pending, self._reaches_bus = joints, on_bus

    def _advance(self, final: bool = False) -> list[Evaluated]:
        """Evaluate the instants that are decided, or all of them if nothing follows."""
        self._add_instants(self.joints.settle())
        self._evaluate_izmp()
        if self.locates:
            results = self._located.advance(self._newest, final)
        else:
            left = self._located.leave()
            results = [
                replace(piece, world=WorldState.unknown(len(piece)))
                for piece in left
                if self._prompt is None
            ]
        self._forget()
        return results

    def _finish(self, final: bool = True) -> list[Evaluated]:
        """Evaluate all that is pending, as nothing follows.

        Args:
            final: whether rates that are not known yet are learned from what there is.
        """
        self._add_instants(self.joints.flush(final))
        self.stages.flush(final)
        return self._advance(final=True)

    def _evaluate_izmp(self) -> None:
        """Evaluate what does not need the position of the root, as far as that is decided."""
        joints, on_bus = self._pending, self._reaches_bus
        count = decided(self._for_izmp, joints.stamps, self._newest)
        if not count:
            return
        self._pending, self._reaches_bus = self._none, on_bus[count:]
        if count < len(joints):
            self._pending = joints.select(slice(count, None))
            joints, on_bus = joints.select(slice(count)), on_bus[:count]
        self._located.add(joints, on_bus)
        if not self._only_bus:
            joints = joints.select(on_bus)
        if not len(joints):
            return
        if self.root in self._for_izmp:
            root = self.root.without_stuck(self.root.evaluate(joints.stamps), joints.moving)
        else:
            root = RootState(joints.stamps, *np.full((3, len(joints), 3), np.nan))
        piece = self._evaluated(joints, root)
        self._located.pieces.append(piece)
        if self._prompt is not None:
            self._prompt(piece)

    def _forget(self) -> None:
        """Drop the samples that no instant from now on needs."""
        now, located = self.stages.clock_gates.newest, self._located
        if abs(now - self._tidied) < TIDY_AFTER:
            return
        self._tidied = now
        waiting = located.waiting if len(located.waiting) else self._pending
        self.stages.forget(int(waiting.stamps[0]) if len(waiting) else self._newest)
        if located.is_empty and not self.waits:
            self.stages.trim()


@lru_cache(maxsize=4)
def _nowhere(count: int) -> tuple[WorldState, Array, Ground]:
    """Pose, centre of mass (K, 3) and ground at K instants, not known; not to be changed."""
    return WorldState.unknown(count), np.full((count, 3), np.nan), Ground.unknown(count)
