"""Settings and simulated recordings that many tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from izmp_dynamics.model.robot_file import load_robot_file

# The first example that a test sees may have to wait for numba's compiler. Where CI is set, the
# same examples are tried in every run; elsewhere new ones, so that the search goes on.
settings.register_profile('izmp_dynamics', deadline=None, derandomize=bool(os.environ.get('CI')))
settings.load_profile('izmp_dynamics')

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope='session')
def biped31():
    """The robot file of biped31."""
    return load_robot_file(REPOSITORY / 'robots' / 'biped31' / 'robot.yaml')


@pytest.fixture(scope='session')
def sway(biped31, tmp_path_factory):
    """The simulated sway of biped31: the run with its truth, and its recording."""
    pytest.importorskip('mujoco', reason='the sway is simulated with MuJoCo')
    from izmp_dynamics.simulation.scenarios import simulate_sway

    bag = tmp_path_factory.mktemp('sway') / 'sway'
    return simulate_sway(biped31, bag), bag


@pytest.fixture(scope='session')
def icub_walking():
    """The real robot's walk: a folder with a rosbag2 and its URDF, which is not in this package.

    `IZMP_SHARED_DATA` names the folder that holds `icub_walking`; otherwise `../shared/data`
    beside the repository is tried.
    """
    shared = os.environ.get('IZMP_SHARED_DATA', REPOSITORY.parent / 'shared' / 'data')
    folder = Path(shared) / 'icub_walking'
    if not (folder / 'walking.mcap').is_file():
        pytest.skip(
            'the recording icub_walking is not here (set IZMP_SHARED_DATA); test_replay.py '
            'covers the same code with the simulated sway'
        )
    return folder
