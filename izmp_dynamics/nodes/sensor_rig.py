"""Where the sensors of a node sit, also when only their messages state their frames."""

from collections.abc import Callable, Iterable

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.nodes.transforms import FrameNames
from izmp_dynamics.pipeline.rig import Rig, make_rig


class SensorRig:
    """Makes the rig as soon as every frame is known.

    Args:
        robot: robot file.
        model: its model.
        topics: of the sensors that matter here; the others' frames are never asked for.
        names: of frames in messages.
    """

    def __init__(
        self, robot: RobotFile, model: RobotModel, topics: Iterable[str], names: FrameNames
    ) -> None:
        self._names = names
        self.robot = robot
        self.model = model
        stated = {robot.imu.topic: robot.imu.frame}
        stated |= {sensor.topic: sensor.frame for sensor in robot.accelerometers}
        stated |= {foot.wrench.topic: foot.wrench.frame for foot in robot.feet if foot.wrench}
        stated |= {robot.ground.topic: None} if robot.ground.topic is not None else {}
        in_feet = {foot.imu.topic: foot for foot in robot.feet if foot.imu}
        stated |= {topic: foot.imu.frame for topic, foot in in_feet.items() if foot.imu}
        self._asked = {topic for topic in topics if stated.get(topic, '') is None}
        self.unknown = set(self._asked)
        self._frames: dict[str, str | None] = dict.fromkeys(stated, model.root)
        self._frames |= {topic: foot.sole for topic, foot in in_feet.items()}

    def learn(self, topic: str, frame: str) -> bool:
        """Learn the frame that messages on a topic name; return whether that is news."""
        news = topic in self.unknown
        if news:
            self._frames[topic] = self._names.link(frame)
            self.unknown.discard(topic)
        return news

    def learn_positioned(self, link: str, make: Callable[[], None]) -> None:
        """Learn from Odometry whose pose it is; if that is news, make what depends on it.

        Args:
            link: its child_frame_id.
            make: makes what depends on the rig.

        Raises:
            IzmpError: if nothing can be made with that link, which is forgotten.
        """
        position = self.robot.position
        if position is None or position.frame is not None or link not in self.model.frame_names:
            return
        before = self._frames.get(position.topic, self.model.root)
        self._frames[position.topic] = link
        try:
            if link != before:
                make()
        except IzmpError:
            self._frames[position.topic] = before
            raise

    def refuse_frames(self) -> None:
        """Ask for the frames of sensors again, as no rig can be made with these."""
        self.unknown = set(self._asked)

    def make(self) -> Rig | None:
        """Make the rig; None while a frame is unknown.

        Raises:
            IzmpError: if a frame is no link of the robot, or not where it has to be.
        """
        return None if self.unknown else make_rig(self.robot, self.model, self._frames)
