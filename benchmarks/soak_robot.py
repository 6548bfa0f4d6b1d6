"""The robot of a soak test: it stands and publishes, with the faults of the plan.

    python benchmarks/soak_robot.py SEED SECONDS EVERY OUTPUT

Joints come at 500 Hz, the other sensors at 125 Hz, with the stamps of now. Every joint sample is
noted in OUTPUT: when it was due and its stamp (int64, [ns]).
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from soak_plan import SENSORS, plan

STEP = 2_000_000
"""Time between two joint samples [ns]."""

DIVISOR = 4
"""Joint samples for one of the other sensors."""


def publish(robot, fault, stamp, all_sensors):
    """Publish a sample with a stamp [ns]; what is silent is left out."""
    from test.node_processes import stamped

    silent = SENSORS[fault.choice % len(SENSORS)] if fault and fault.kind == 'silence' else ''
    robot.fault = 'NaN' if fault and fault.kind == 'NaN' else ''
    for k, (publisher, message) in enumerate(robot.messages()):
        if (all_sensors or k == 0) and not (silent and publisher.topic_name.endswith(silent)):
            publisher.publish(stamped(message, stamp))
    return not (silent and robot.joints.topic_name.endswith(silent))


def run(seed, seconds, every, output):
    """Publish until the time is up."""
    import rclpy

    from izmp_dynamics.model.robot_file import load_robot_file
    from test.node_processes import ROBOT, StandingRobot

    rclpy.init()
    node = rclpy.create_node('robot')
    robot = StandingRobot(node, load_robot_file(ROBOT))
    while not (robot.joints.get_subscription_count() and robot.imu.get_subscription_count()):
        time.sleep(0.05)
    begin = (time.time_ns() // (DIVISOR * STEP) + 1) * DIVISOR * STEP
    faults = plan(seed, seconds, every)
    offset, count, held = 0, 0, []
    with Path(output).open('ab') as file:
        while (due := begin + count * STEP) < begin + seconds * 1e9:
            past = (due - begin) * 1e-9
            while faults and past >= faults[0].end and past >= faults[0].begin:
                offset += round(faults[0].amount * 1e9) if faults[0].kind == 'clock reset' else 0
                faults.pop(0)
            fault = faults[0] if faults and past >= faults[0].begin else None
            held.append((due, due + offset, count % DIVISOR == 0, fault))
            count += 1
            time.sleep(max(0.0, (due - time.time_ns()) * 1e-9))
            if fault is not None and fault.kind == 'burst':
                continue
            for wall, stamp, all_sensors, present in held:
                if publish(robot, present, stamp, all_sensors):
                    file.write(np.array([wall, stamp], np.int64).tobytes())
            held = []
            if count % 500 == 1:  # at once, as others wait for the first one
                file.flush()
    rclpy.shutdown()


if __name__ == '__main__':
    run(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
