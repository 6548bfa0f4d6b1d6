"""Signals of a robot that stands still: with them every stage can run before there are any."""

import numpy as np

from izmp_dynamics.kernel import announced_compilation
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.pipeline.samples import Samples, Signals
from izmp_dynamics.sensing.stamps import nanoseconds

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


def compile_stages(rig: Rig) -> None:
    """Run all stages once, so that no first sample waits for a kernel to be compiled.

    Compiled once per installation, loaded from the cache once per process.
    """
    with announced_compilation():
        evaluator = Evaluator(rig)
        signals = standstill(rig)
        first = {signal: samples.rows(slice(80)) for signal, samples in signals.items()}
        evaluator.push(first)
        for k in range(80, _SAMPLES):
            single = slice(k, k + 1)
            evaluator.push({name: samples.rows(single) for name, samples in signals.items()})
        evaluator.flush()
