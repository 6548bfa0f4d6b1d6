"""Signals of a robot that stands still: with them every stage can run before there are any."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.joints import JointStage
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.samples import Samples, Signals
from izmp_dynamics.signals.stage import PATIENCE, Stage
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream import Filtering

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

    def constant(*values: float) -> Samples:
        return Samples(stamps, np.tile(values, (samples, 1)))

    force = (0.0, 0.0, rig.robot.gravity)
    level = (0.0, 0.0, 0.0, 1.0)
    signals = {
        'joints': constant(*np.zeros(rig.model.dof)),
        'imu': constant(0.0, 0.0, 0.0, *force),
        'orientation': constant(*level),
        'position': constant(0.0, 0.0, 0.0),
        'ground': constant(0.0, 0.0, 0.0, *level),
    }
    for k in range(len(rig.accelerometers)):
        signals[f'accelerometers[{k}]'] = constant(*force)
    for foot in rig.feet:
        if foot.sensor is not None:
            signals[f'feet[{foot.name}]'] = constant(*force, 0.0, 0.0, 0.0)
        if foot.sole_R_imu is not None:
            signals[f'foot_imus[{foot.name}]'] = constant(0.0, 0.0, 0.0, *force)
    return signals


def compile_stages(rig: Rig, live: bool = True) -> None:
    """Run all stages once, so that no first sample waits for a kernel to be compiled.

    Compiled once per installation, loaded from the cache once per process.

    Args:
        rig: the robot.
        live: whether samples will also come one by one, not only many at once as from a bag.
    """
    with announced_compilation():
        evaluator = Evaluator(replace(rig, robot=_slow(rig.robot)))
        signals = standstill(rig)
        for pieces in zip(*(_pieces(s, live) for s in signals.values()), strict=True):
            evaluator.push(dict(zip(signals, pieces, strict=True)))
        evaluator.flush()
        rig.model.frame_pose(rig.model.root, np.zeros((1, rig.model.dof)))  # what judges feet


def compile_joints(model: RobotModel, robot: RobotFile) -> None:
    """Do as `compile_stages` for the joints alone."""
    stage = JointStage(model, robot, Filtering.of(_slow(robot), causal=True), patience=PATIENCE)
    stamps = np.arange(1, _SAMPLES + 1) * nanoseconds(_STEP)
    with announced_compilation():
        stage.push(Samples(stamps[:80], np.zeros((80, model.dof))))
        for stamp in stamps[80:].tolist():
            stage.on_bus(stage.push(Samples.one(stamp, np.zeros(model.dof))).stamps)
        stage.flush()


def compile_root(rig: Rig) -> None:
    """Do as `compile_stages` for the sensors on the root alone."""
    signals = standstill(rig)
    with announced_compilation():
        stage = RootStage(rig, Filtering.of(_slow(rig.robot), causal=True))
        for samples in _pieces(signals['imu']):
            stage.push_imu(samples)
        for k in range(len(rig.accelerometers)):
            for samples in _pieces(signals[f'accelerometers[{k}]']):
                stage.push_accelerometer(k, samples)
        _ask(stage, stage.evaluate)


def compile_world(rig: Rig) -> None:
    """Do as `compile_stages` for the pose in the world alone."""
    signals = standstill(rig)
    with announced_compilation():
        stage = WorldStage(rig, Filtering.of(_slow(rig.robot), causal=True))
        for samples in _pieces(signals['orientation']):
            stage.push_orientation(samples)
        for samples in _pieces(signals['position']):
            stage.push_position(samples)
        _ask(stage, stage.evaluate)


def _slow(robot: RobotFile) -> RobotFile:
    """The robot with a filter that these signals are fast enough for, whatever its own is."""
    half_width, cutoff = robot.filter.half_width, robot.low_pass.cutoff
    if half_width is not None:
        fitting = min(max(half_width, 2.0 * _STEP), 20.0 * _STEP)
        return replace(robot, filter=replace(robot.filter, half_width=fitting))
    if cutoff is None:
        return robot
    return replace(robot, low_pass=replace(robot.low_pass, cutoff=min(cutoff, 0.1 / _STEP)))


def _pieces(samples: Samples, live: bool = True) -> Iterator[Samples]:
    """Many samples at once and read-only, as from a bag; single ones, more if live; many again."""
    last = len(samples) - 10
    end = last if live else 81
    single = (slice(k, k + 1) for k in range(80, end))
    for some in (slice(80), *single, *([] if live else [slice(end, last)]), slice(last, None)):
        piece = samples.rows(some)
        if len(piece) > 1:
            piece.values.setflags(write=False)
        yield piece


def _ask(stage: Stage, evaluate: Callable[[Stamps], object]) -> None:
    """Evaluate an instant in the middle."""
    instants = np.array([nanoseconds(50.5 * _STEP)])
    stage.decided(instants, int(instants[0]))
    evaluate(instants)
    stage.flush()
