"""How the nodes find each other: quickly, and a demonstration on this computer only."""

import os

from izmp_dynamics.resources import find_resource

_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Environment variables of Fast DDS from 3.0 on, and before."""

_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'


def discover_quickly() -> None:
    """Let Fast DDS use the profile of this package, unless the user has one."""
    if not any(name in os.environ for name in _PROFILES):
        path = str(find_resource('config/fastdds_profiles.xml'))
        os.environ.update(dict.fromkeys(_PROFILES, path))


def stay_on_this_computer() -> None:
    """Discover nodes of this computer only, unless the user says otherwise."""
    os.environ.setdefault(_RANGE, 'LOCALHOST')
