"""Time until a node that was killed and started again receives its inputs, over Fast DDS.

    python benchmarks/bench_restarts.py [--minutes 5] [--profiles a.xml b.xml]

Three processes publish six topics at 50 Hz, reliably; one that subscribes to all is killed
(SIGKILL) and started again, over and over. The profiles take turns, so that what else the computer
does affects all alike. For each topic of each restart: the time from the subscription to the first
message, and how old that is, which shows a connection that stood at one end only.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

PUBLISHERS, TOPICS, RATE = 3, 2, 50.0
LONGEST = 12.0
"""Time after which a topic counts as one that never comes [s]."""


def publish(number):
    """Publish two topics for ever."""
    import rclpy
    from geometry_msgs.msg import PointStamped

    from izmp_dynamics.nodes.messages import header
    from izmp_dynamics.nodes.qos import RESULT

    rclpy.init()
    node = rclpy.create_node(f'publisher_{number}')
    names = (f'topic_{TOPICS * number + k}' for k in range(TOPICS))
    publishers = [node.create_publisher(PointStamped, name, RESULT) for name in names]
    while True:
        for publisher in publishers:
            publisher.publish(PointStamped(header=header(time.time_ns(), '')))
        time.sleep(1.0 / RATE)


def receive():
    """Subscribe, print delay and age of the first message of each topic, and wait to be killed."""
    import rclpy
    from geometry_msgs.msg import PointStamped

    from izmp_dynamics.nodes.messages import stamp_of
    from izmp_dynamics.nodes.qos import RESULT

    rclpy.init()
    node = rclpy.create_node('subscriber')
    begin, first = time.time_ns(), {}

    def take(name, message):
        now = time.time_ns()
        first.setdefault(name, ((now - begin) * 1e-9, (now - stamp_of(message)) * 1e-9))

    names = [f'topic_{k}' for k in range(PUBLISHERS * TOPICS)]
    for name in names:
        node.create_subscription(PointStamped, name, lambda m, n=name: take(n, m), RESULT)
    while len(first) < len(names) and time.time_ns() - begin < LONGEST * 1e9:
        rclpy.spin_once(node, timeout_sec=0.05)
    for name in names:
        print(*first.get(name, (np.inf, np.nan)), flush=True)
    while True:
        rclpy.spin_once(node)


def environment(profile, domain):
    """Of the processes that use a profile."""
    names = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
    return os.environ | dict.fromkeys(names, str(Path(profile).resolve())) | {
        'ROS_DOMAIN_ID': str(domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SYSTEM_DEFAULT',
    }  # fmt: skip


def restart(environ):
    """Start the subscriber, kill it when it has all topics; return (topics, 2) delay and age."""
    command = [sys.executable, __file__, '--receive']
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(PUBLISHERS * TOPICS)]
        process.send_signal(signal.SIGKILL)
    return np.array([[float(number) for number in line.split()] for line in lines])


def measure(profiles, minutes):
    """Restart by turns; return profile → (restarts, topics, 2)."""
    environments = {name: environment(name, 98 + k) for k, name in enumerate(profiles)}
    publishers = [
        subprocess.Popen([sys.executable, __file__, '--publish', str(number)], env=environ)
        for environ in environments.values()
        for number in range(PUBLISHERS)
    ]
    rows = {name: [] for name in profiles}
    end = time.monotonic() + 60.0 * minutes
    try:
        while time.monotonic() < end:
            for name, environ in environments.items():
                rows[name].append(restart(environ))
    finally:
        for process in publishers:
            process.kill()
            process.wait()
    return {name: np.array(found) for name, found in rows.items()}


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--minutes', type=float, default=5.0)
    profile = ROOT / 'config' / 'fastdds_loopback.xml'
    parser.add_argument('--profiles', nargs='+', default=[profile], help='of Fast DDS (XML)')
    parser.add_argument('--publish', type=int, help=argparse.SUPPRESS)
    parser.add_argument('--receive', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.publish is not None:
        publish(options.publish)
    elif options.receive:
        receive()
    else:
        for name, found in measure(options.profiles, options.minutes).items():
            delay, age = found[..., 0], found[..., 1]
            slowest = delay.max(axis=1)
            print(
                f'{name}: {len(found)} restarts; first message of a topic after '
                f'{np.median(delay):.2f} s in the median, {np.quantile(delay, 0.9):.2f} s at p90, '
                f'{delay.max():.1f} s at most, then {np.nanmax(age):.1f} s old at most; '
                f'all topics within 1 s: {np.mean(slowest < 1.0):.0%}'
            )


if __name__ == '__main__':
    main()
