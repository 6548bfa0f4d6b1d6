"""TALOS of example-robot-data: a robot file for it, written where a test wants it."""

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.studies.angular_momentum.study import POSTURE, write_robot_file
from izmp_lab.walking.biped import Biped

from ..requiring import skip_without

HEIGHT = 0.86


def talos(folder):
    """The walker; skips the test where example-robot-data is not installed."""
    try:
        path = write_robot_file(folder)
    except MissingDependencyError as error:
        skip_without(error.library, error)
    return Biped.of(load_robot_file(path), POSTURE)
