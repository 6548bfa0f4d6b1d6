"""Signals of a robot that stands still: with them every stage can run before there are any."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.stages import PARTS
from izmp_dynamics.signals.samples import Samples, Signals
from izmp_dynamics.signals.stamps import nanoseconds

_STEP = 0.01
_SAMPLES = 100


def standstill(rig: Rig, samples: int = _SAMPLES, step: float = _STEP) -> Signals:
    """Make signals of all sensors, with equal stamps.

    Args:
        rig: the robot.
        samples: messages per signal.
        step: time between them [s].
    """
    stamps = np.arange(1, samples + 1) * nanoseconds(step)

    force = (0.0, 0.0, rig.robot.gravity)
    level = (0.0, 0.0, 0.0, 1.0)
    values: dict[str, Any] = {
        'joints': np.zeros(rig.model.dof),
        'efforts': np.zeros(rig.model.dof),
        'imu': (0.0, 0.0, 0.0, *force),
        'orientation': level,
        'position': (0.0, 0.0, 0.0),
        'ground': (0.0, 0.0, 0.0, *level),
    }
    further = {
        'accelerometers': force,
        'segments': (0.0, 0.0, 0.0, *force),
        'segment_accelerometers': force,
        'feet': (*force, 0.0, 0.0, 0.0),
        'foot_imus': (0.0, 0.0, 0.0, *force),
    }
    values |= {s.name: further[s.kind] for s in rig.robot.signals() if s.kind in further}
    return {name: Samples(stamps, np.tile(value, (samples, 1))) for name, value in values.items()}


def compile_stages(
    rig: Rig, given: Collection[str] = (), computes: Collection[str] = PARTS
) -> None:
    """Run all stages once, so that no first sample waits for a kernel to be compiled.

    Compiled once per installation, loaded from the cache once per process.

    Args:
        rig: the robot.
        given: see `Evaluator`.
        computes: see `Evaluator`.
    """
    with announced_compilation():
        robot = replace(rig, robot=_slow(rig.robot))
        evaluator = Evaluator(robot, given=given, computes=computes)
        signals = standstill(rig) | (_results(rig) if given else {})
        signals = {
            name: samples for name, samples in signals.items() if evaluator.stages.uses(name)
        }
        for pieces in zip(*map(_pieces, signals.values()), strict=True):
            evaluator.push(dict(zip(signals, pieces, strict=True)))
        for piece in evaluator.flush():
            piece.ground.outline()  # when somebody subscribes to it
        rig.model.frame_pose(rig.model.root, np.zeros((1, rig.model.dof)))  # what judges feet


def _results(rig: Rig) -> Signals:
    """What is given of a robot that stands still."""
    up = (0.0, 0.0, rig.robot.gravity, 0.0, 0.0, 0.0)
    values: dict[str, Any] = {
        'joint_kinematics': np.zeros(3 * rig.model.dof),
        'root_twist': np.zeros(6),
        'root_acceleration': up,
        'mr_ad/contact_wrench': up,
        'odom': (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *np.zeros(6)),
        'ir_md/contact_wrench': up,
    }
    stamps = np.arange(1, _SAMPLES + 1) * nanoseconds(_STEP)
    return {name: Samples(stamps, np.tile(v, (_SAMPLES, 1))) for name, v in values.items()}


def _slow(robot: RobotFile) -> RobotFile:
    """The robot with a filter that these signals are fast enough for, whatever its own is."""
    half_width = robot.filter.half_width
    if half_width is None:
        return robot
    fitting = min(max(half_width, 2.0 * _STEP), 20.0 * _STEP)
    return replace(robot, filter=replace(robot.filter, half_width=fitting))


def _pieces(samples: Samples) -> Iterator[Samples]:
    """Many samples at once and read-only, as from a bag; single ones; many again."""
    last = len(samples) - 10
    single = (slice(k, k + 1) for k in range(80, last))
    for some in (slice(80), *single, slice(last, None)):
        piece = samples.select(some)
        if len(piece) > 1:
            piece.values.setflags(write=False)
        yield piece
