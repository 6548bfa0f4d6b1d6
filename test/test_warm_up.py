"""After `izmp compile` no first sample waits for the compiler."""

import subprocess
import sys

from .conftest import REPOSITORY
from .requiring import need

READY = """
import dataclasses, gc, sys
from numba.core.dispatcher import Dispatcher

def ready():
    return {
        (kernel.py_func.__module__, kernel.py_func.__qualname__, signature)
        for kernel in gc.get_objects() if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }
"""


def printed(program, *arguments):
    """The lines that a process of its own prints."""
    command = [sys.executable, '-c', READY + program, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


LATER = """
import copy
from unittest.mock import Mock
import numpy as np
from izmp_dynamics.base.cache import KernelCache
from izmp_dynamics.cli import compile_kernels
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.sensor_watch import ForceWatch
from izmp_dynamics.nodes.markers import Markers
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.cli.every_kernel import choices
from izmp_dynamics.nodes.registry import TASKS
from izmp_dynamics.pipeline.standstill import compile_stages, standstill
from izmp_dynamics.pipeline.uncertainty import izmp_covariance

robot = load_robot_file(sys.argv[1])
model = load_model(robot.urdf_path, robot.root)
rig = make_rig(robot, model, {foot.wrench.topic: foot.sole for foot in robot.feet})
compile_kernels.run(None)
print([
    kernel for kernel in gc.get_objects()
    if isinstance(kernel, Dispatcher) and isinstance(kernel._cache, KernelCache)
    and not kernel._cache._cache_file._load_index()
])
markers = Markers(Mock(), model, 'pelvis')
steps = ForceWatch(robot, Mock(holds=lambda key: False))
before = ready()
evaluator = Evaluator(rig, live=True)
for piece in evaluator.push(standstill(rig, 300)):
    izmp_covariance(evaluator, piece)
changed = [each for each in choices(robot) if each.acd.method == 'savitzky_golay']
assert len(changed) == 1
for each in changed:
    compile_stages(dataclasses.replace(rig, robot=each), given=(), computes=['joints'])
compile_stages(rig, given=TASKS['izmp'].given, computes=TASKS['izmp'].computes)
assert copy.deepcopy(evaluator).flush()  # as in a pause
markers.show(10**9, np.zeros(model.dof), np.zeros(3), None, None, np.zeros(6))
steps.inspect(rig)
knee = np.eye(model.dof)[model.joint_names.index('l_knee')]
for bent in (0.0, 1.0):  # a robot that stands is not judged by its steps
    for signal, samples in standstill(rig, 300).items():
        for stamp, values in zip(samples.stamps.tolist(), samples.values):
            steps.see(signal, stamp, values + bent * knee if signal == 'joints' else values)
    steps.findings(steps.given())
    assert ('izmp_dynamics.calibration.residuals' in sys.modules) == bool(bent)
assert before
print(sorted(ready() - before))
"""


def test_after_izmp_compile_every_kernel_is_ready_and_nothing_needs_another(biped31):
    """Pictures, judgements, covariances, other settings, single nodes."""
    need('rclpy')
    announced, missing, late = printed(LATER, biped31.path)
    assert announced.startswith('All kernels are compiled')
    assert (missing, late) == ('[]', '[]')
