"""Quality of service, in the three kinds that a recording of this package has."""

from typing import Any, Literal

from izmp_dynamics.bags.libraries import library

Qos = Literal['default', 'sensor_data', 'latched']
"""Reliable; best effort; reliable and kept for late subscribers (transient local)."""


def qos_profile(name: Qos) -> Any:
    """The profile as an object of rosbags."""
    ros = library('rosbags.interfaces', 'Writing a bag')
    latched, sensor = name == 'latched', name == 'sensor_data'
    unlimited = ros.QosTime(9223372036, 854775807)
    return ros.Qos(
        ros.QosHistory.KEEP_LAST,
        1 if latched else 5 if sensor else 10,
        ros.QosReliability.BEST_EFFORT if sensor else ros.QosReliability.RELIABLE,
        ros.QosDurability.TRANSIENT_LOCAL if latched else ros.QosDurability.VOLATILE,
        unlimited,
        unlimited,
        ros.QosLiveliness.AUTOMATIC,
        unlimited,
        False,
    )
