"""Compiles whatever nodes and replays may need later, so that none waits for it; needs no ROS."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.check import check
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.feet import FootImu
from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.registry import TASKS
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig, make_rig
from izmp_dynamics.pipeline.root import accelerometer_array
from izmp_dynamics.pipeline.standstill import compile_stages, standstill
from izmp_dynamics.pipeline.uncertainty import izmp_covariance, joint_speeds
from izmp_dynamics.stability.support_polygon import outlines

_FIELDS = {
    'joints': {'position': slice(None)},
    'imu': {'angular_velocity': slice(0, 3), 'linear_acceleration': slice(3, 6)},
    'position': {'point': slice(0, 3)},
    'accelerometers': {'linear_acceleration': slice(0, 3)},
    'feet': {'wrench': slice(0, 6)},
}
"""Kind of a signal → field of its messages → columns of its values."""


def compile_every_kernel() -> None:
    """Run every node, with every choice of its settings, and a check on a robot that stands.

    The types of kernels do not depend on the robot.
    """
    robot = load_robot_file(find_resource('robots/biped31/robot.yaml'))
    model = load_model(robot.urdf_path, robot.root)
    feet = [replace(foot, imu=FootImu(f'{foot.name}/imu', foot.sole_frame)) for foot in robot.feet]
    robot = replace(robot, feet=tuple(feet))
    rig = make_rig(robot, model, {})
    with announced_compilation():
        for task in TASKS.values():
            compile_stages(rig, given=task.given, computes=task.computes)
        for each in choices(robot):
            with suppress(IzmpError):  # some go with other robots only
                compile_stages(replace(rig, robot=each))
        evaluator = Evaluator(rig, live=True)
        for piece in evaluator.push(standstill(rig)):
            izmp_covariance(evaluator, piece, speeds=joint_speeds(evaluator.joints.groups, None))
        model.com(np.zeros(model.dof))
        LinkTransforms(model)
        MrAd(model, [1]).of_states(np.zeros((1, 9 + 3 * model.dof)), np.zeros((1, 1, 9)))
        one, array = np.ones(1, dtype=np.int64), accelerometer_array(rig)
        readings = {mount.name: np.zeros((1, 3)) for mount in (rig.imu, *rig.accelerometers)}
        array.batch(one, np.zeros((1, 3)), readings)
        nowhere = np.zeros((1, 3))
        outlines((nowhere[None],), np.ones((1, 1), np.bool_), nowhere, nowhere)
        _check_recording(rig)


def _check_recording(rig: Rig) -> None:
    """Write the signals as a bag and examine it, as `izmp check` does."""
    signals, noise = standstill(rig, 300), np.random.default_rng(0)
    names = {'name': list(rig.model.joint_names), 'position': np.zeros(rig.model.dof)}
    with TemporaryDirectory() as folder, suppress(IzmpError):
        bag = Path(folder, 'bag')
        with BagWriter(bag) as writer:
            for signal in rig.robot.signals():
                if signal.kind not in _FIELDS:
                    continue
                like = (
                    names if signal.kind == 'joints' else {'header.frame_id': signal.frame or ''}
                )
                stamps, values = signals[signal.name].stamps, signals[signal.name].values
                values = values + noise.normal(0.0, 1e-4, values.shape)  # or it were stuck
                columns = {field: values[:, part] for field, part in _FIELDS[signal.kind].items()}
                writer.add_topic(f'/{signal.topic}', signal.types[0], like)
                writer.write_batch(f'/{signal.topic}', stamps, columns)
        check(bag, rig.robot)


def choices(robot: RobotFile) -> Iterator[RobotFile]:
    """The robot file with each value of each of its settings that are words, and with a filter."""
    yield replace(robot, filter=replace(robot.filter, half_width=0.03))
    for section in fields(robot):
        settings = getattr(robot, section.name)
        for setting in fields(settings) if is_dataclass(settings) else ():
            for word in setting.metadata.get('choices', ()):
                with suppress(IzmpError):
                    changed = replace(settings, **{setting.name: word})
                    yield replace(robot, **{section.name: changed})
