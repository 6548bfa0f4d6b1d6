"""Quality of service; every topic's can be overridden by the parameters qos_overrides.TOPIC…."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

DEPTH = 2000
"""Messages that may wait: four seconds at 500 Hz, when the computer is busy with other things."""

SENSOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT
)
"""Of the robot's sensors: as rclcpp's SensorDataQoS, but nothing is lost while a node is busy."""

RESULT = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=DEPTH, reliability=ReliabilityPolicy.RELIABLE
)
"""Of everything that the nodes compute."""

LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Of what is published once: /tf_static and robot_description."""
