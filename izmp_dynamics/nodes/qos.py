"""Quality of service; every topic's can be overridden by the parameters qos_overrides.TOPIC…."""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.verdict.events.event import DEPTH as MOST_EVENTS

DEPTH = 2000
"""Messages that may wait: four seconds at 500 Hz, when the computer is busy with other things."""

_LATCHED = DurabilityPolicy.TRANSIENT_LOCAL

SENSOR = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Of the robot's sensors: as rclcpp's SensorDataQoS, but nothing is lost while a node is busy."""

RESULT = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE)
"""Of everything that the nodes compute."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=_LATCHED)
"""Of what is published once: /tf_static and robot_description."""

EVENTS = QoSProfile(depth=MOST_EVENTS, reliability=ReliabilityPolicy.RELIABLE, durability=_LATCHED)
"""Of events, which a program that starts later receives as well."""

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Where only the latest message is shown."""
