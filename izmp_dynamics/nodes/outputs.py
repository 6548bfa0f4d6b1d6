"""What a node of the graph publishes: its part of the table of results, and more of izmp."""

from collections.abc import Iterable
from typing import Any

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.nodes.output import numbers
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.nodes.verdict_outputs import VerdictOutputs
from izmp_dynamics.nodes.wire import JointTemplate
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.stages import PARTS
from izmp_dynamics.results.topics import TOPICS
from izmp_dynamics.sensing.odometry_covariance import OdometryNoise, odometry_covariance


def _published(part: str, robot: RobotFile, of_world: bool) -> list[str]:
    """Results of one of `stages.PARTS` that this robot has, before or after its pose is known."""
    return [
        topic.name
        for topic in TOPICS.values()
        if topic.part == part and topic.of_world == of_world and topic.of_robot(robot)
    ]


class Outputs:
    """Publishes the results of instants.

    Attributes:
        verdict: what follows from the contact wrenches; None where that is not computed.
    """

    def __init__(self, node: TopicNode) -> None:
        self._node, computes = node, node.task.computes
        like: dict[str, dict[str, Any]] = {
            'odom': {'child_frame_id': node.root},
            **{
                name: dict(topic.like(node.robot))
                for name, topic in TOPICS.items()
                if topic.msgtype.endswith('MultiArray')
            },
        }
        self._first, self._later = (
            {
                part: _published(part, node.robot, of_world) if part in computes else []
                for part in PARTS
            }
            for of_world in (False, True)
        )
        self._made = {
            name: node.advertise(name, message_class(TOPICS[name].msgtype), **like.get(name, {}))
            for names in (*self._first.values(), *self._later.values())
            for name in names
        }
        self._template = JointTemplate(node.model.joint_names)
        self.verdict: VerdictOutputs | None = None
        self._pose: TransformBroadcaster | None = None
        if computes & {'world', 'verdict'}:
            broadcaster = TransformBroadcaster(node, node.frame_names)
            self._pose = broadcaster if 'world' in computes else None
            if 'verdict' in computes:
                self.verdict = VerdictOutputs(node, self._made, self.send, broadcaster)
        ground = node.robot.ground.frame or ''
        self._frames = {
            'root': node.root,
            'world': node.frame_names.world,
            'ground': ground if node.robot.ground.moves else node.frame_names.of(ground),
            'link': node.frame_names.of(node.robot.fusion.link or ''),
            '': '',
        }
        self._of_pose = [self._made[name] for name in self._made if TOPICS[name].of_world]

    @property
    def world_wanted(self) -> bool:
        """Whether anybody subscribes to what needs the pose of the root in the world."""
        evaluator = self._node.evaluator
        if evaluator is not None and evaluator.stages.needs_world:
            return True
        if self._pose is not None and self._pose.wanted:
            return True
        of_points = self.verdict is not None and self.verdict.frame.in_world
        return of_points or any(output.wanted for output in self._of_pose)

    @property
    def fusion_wanted(self) -> bool:
        """Whether anybody subscribes to what motion and feet say together."""
        return any(self._made[name].wanted for name in self._first['fusion'])

    @property
    def judgement_wanted(self) -> bool:
        """Whether anybody subscribes to the fall alarm, or to the events."""
        return self.verdict is not None and self.verdict.falls.wanted

    @property
    def uncertain_wanted(self) -> bool:
        """Whether anybody subscribes to the covariance of the IZMP."""
        return self.verdict is not None and self.verdict.uncertain_wanted

    def reset(self) -> None:
        """Forget what belongs to the time before the clock was set back."""
        if self.verdict is not None:
            self.verdict.frame.reset()

    def put_first(self, instant: Evaluated, rig: Rig) -> bool:
        """Publish an instant, its IZMP first; return whether there is a verdict."""
        judged = False
        if instant.joints.valid[0]:
            known = 'mr_ad' in instant.wrenches and all_finite(instant.wrenches['mr_ad'])
            if self.verdict is not None:
                judged = self.verdict.put(instant, known, rig)
            if known:
                self.send(self._first['mr_ad'], instant, rig)
            if self._first['root'] and instant.root.valid[0]:
                self.send(self._first['root'], instant, rig)
        if self.verdict is not None and instant.fall is not None:
            self.verdict.falls.put(int(instant.stamps[0]), instant.fall)
        if 'joint_kinematics' in self._made:
            write, stamp = self._template.write, int(instant.stamps[0])
            self._made['joint_kinematics'](write, stamp, instant.joints, 0)
        return judged

    def put_later(self, instant: Evaluated, evaluator: Evaluator) -> None:
        """Publish what needs the pose of the root, if it is known."""
        world = instant.world
        if not (instant.joints.valid[0] and all(map(all_finite, (world.R, world.p, world.v)))):
            return
        if all_finite(instant.root.angular_velocity[0]):
            self._put_pose(instant, evaluator)
        if 'mr_ad' in instant.wrenches and all_finite(instant.wrenches['mr_ad']):
            self.send(self._later['mr_ad'], instant, evaluator.rig)
        if 'ir_md' in instant.wrenches and all_finite(instant.wrenches['ir_md']):
            self.send(self._later['ir_md'], instant, evaluator.rig)
            if self.verdict is not None and instant.ground.is_known:
                self.verdict.point('ir_md', instant, evaluator.rig)

    def _put_pose(self, instant: Evaluated, evaluator: Evaluator) -> None:
        stamp, rig, world = int(instant.stamps[0]), evaluator.rig, instant.world
        if 'odom' in self._made and rig.position is not None:
            noise = evaluator.world.noise(evaluator.root.imu.period)
            self._made['odom'].computed(
                stamp, self._frames['world'], _odometry, instant, rig, rig.position.p, noise
            )
        if self._pose is not None:
            q = instant.joints.positions[0]
            self._pose.send_root(self._node.model, stamp, world.R[0], world.p[0], q)
        if self.verdict is not None:
            self.verdict.frame.take_pose(stamp, (world.R[0], world.p[0]))

    def send(self, names: Iterable[str], instant: Evaluated, rig: Rig) -> None:
        """Publish results that are known, by their table, as far as they are advertised."""
        for name in names:
            if name in self._made:
                topic = TOPICS[name]
                frame = self._frames[topic.frame]
                self._made[name].computed(
                    int(instant.stamps[0]), frame, numbers, topic, instant, rig
                )


def _odometry(instant: Evaluated, rig: Rig, arm: Array, noise: OdometryNoise) -> tuple[Array, ...]:
    """Pose, its covariance, twist, its covariance: the numbers of an Odometry in their order."""
    pose, twist = numbers(TOPICS['odom'], instant, rig)
    world = instant.world
    of_pose, of_twist = odometry_covariance(world.R[0], world.v[0], arm, noise)
    return pose, of_pose, twist, of_twist
