"""How the nodes find each other: quickly, and a demonstration on this computer only."""

import os

from izmp_dynamics.base.resources import find_resource

_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Environment variables of Fast DDS from 3.0 on, and before."""

_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_MIDDLEWARE = 'RMW_IMPLEMENTATION'


def discover_quickly() -> None:
    """Let Fast DDS use a profile of this package, unless the user has one.

    On this computer only (`ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`) it is the one whose sockets
    are bound to the loopback interface; the range is then left to the profile.
    """
    if any(name in os.environ for name in _PROFILES):
        return
    profile = 'config/fastdds_profiles.xml'
    fast_dds = 'fastrtps' in os.environ.get(_MIDDLEWARE, 'rmw_fastrtps_cpp')
    if fast_dds and os.environ.get(_RANGE) == 'LOCALHOST':
        profile = 'config/fastdds_loopback.xml'
        os.environ[_RANGE] = 'SYSTEM_DEFAULT'
    os.environ.update(dict.fromkeys(_PROFILES, str(find_resource(profile))))


def stay_on_this_computer() -> None:
    """Discover nodes of this computer only, unless the user says otherwise.

    To be called before `discover_quickly`.
    """
    os.environ.setdefault(_RANGE, 'LOCALHOST')
