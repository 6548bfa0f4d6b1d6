"""Quality of service, in the kinds that a recording of this package has."""

from typing import Any, Literal

from izmp_dynamics.files.libraries import library

Qos = Literal['default', 'sensor_data', 'latched', 'history']
"""Reliable; best effort; reliable and kept for those who subscribe
later (transient local): the last message, or many."""

_DEPTHS = {'default': 10, 'sensor_data': 5, 'latched': 1, 'history': 1000}


def qos_profile(name: Qos) -> Any:
    """The profile as an object of rosbags."""
    ros = library('rosbags.interfaces', 'Writing a bag')
    latched, sensor = name in ('latched', 'history'), name == 'sensor_data'
    unlimited = ros.QosTime(9223372036, 854775807)
    return ros.Qos(
        ros.QosHistory.KEEP_LAST,
        _DEPTHS[name],
        ros.QosReliability.BEST_EFFORT if sensor else ros.QosReliability.RELIABLE,
        ros.QosDurability.TRANSIENT_LOCAL if latched else ros.QosDurability.VOLATILE,
        unlimited,
        unlimited,
        ros.QosLiveliness.AUTOMATIC,
        unlimited,
        False,
    )
