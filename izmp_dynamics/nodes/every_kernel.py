"""Compiles whatever nodes may need later, so that no robot waits for it; needs no ROS."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace

import numpy as np

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.registry import TASKS
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.standstill import compile_stages, standstill
from izmp_dynamics.pipeline.uncertainty import izmp_covariance, joint_speeds


def compile_every_kernel() -> None:
    """Run every node, with every choice that its settings offer, on a robot that stands.

    The types of kernels do not depend on the robot.
    """
    robot = load_robot_file(find_resource('robots/biped31/robot.yaml'))
    model = load_model(robot.urdf_path, robot.root)
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
