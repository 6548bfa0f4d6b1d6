"""Nodes as real processes, and what listens to them."""

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
ROBOT = ROOT / 'robots' / 'biped31' / 'robot.yaml'
GRAPH = ('acd', 'angular_acceleration', 'mr_ad', 'localizer', 'ir_md', 'izmp')


class Processes:
    """Starts nodes as processes of their own and stops them at the end."""

    def __init__(self, domain, folder):
        self.environment = os.environ | {
            'ROS_DOMAIN_ID': str(domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'ROS_LOG_DIR': str(folder),
        }
        self.folder = folder
        self.running = {}

    def start(self, name, *parameters):
        arguments = [sys.executable, '-m', 'izmp_dynamics.nodes', name, '--ros-args']
        for parameter in (f'robot:={ROBOT}', *parameters):
            arguments += ['-p', parameter]
        with (self.folder / f'{name}.log').open('a') as log:
            self.running[name] = subprocess.Popen(
                arguments,
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
            )

    def kill(self, name):
        os.killpg(self.running.pop(name).pid, signal.SIGKILL)

    def stop(self):
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGTERM)
        statuses = {}
        for name, process in self.running.items():
            try:
                statuses[name] = process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                statuses[name] = 'killed'
        self.running = {}
        return statuses

    def log(self, name):
        return (self.folder / f'{name}.log').read_text()


class Listener:
    """Collects the results that come over DDS, by topic: stamp → values."""

    def __init__(self, node, topics):
        from izmp_dynamics.nodes.messages import stamp_of
        from izmp_dynamics.nodes.qos import RESULT

        self.values = defaultdict(dict)
        self.messages = defaultdict(list)
        self.subscriptions = []

        def take(topic, message):
            self.messages[topic].append(message)
            if hasattr(message, 'header'):
                self.values[topic][stamp_of(message)] = numbers(message)

        for topic, msgtype in topics.items():
            self.subscriptions.append(
                node.create_subscription(
                    msgtype, topic, lambda message, topic=topic: take(topic, message), RESULT
                )
            )


def numbers(message):
    """The payload of a message as an array."""
    for name in ('point', 'vector'):
        if hasattr(message, name):
            value = getattr(message, name)
            return np.array([value.x, value.y, value.z])
    if hasattr(message, 'wrench'):
        force, torque = message.wrench.force, message.wrench.torque
        return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
    return np.array([])


def wait_until(condition, timeout=20.0):
    """Spin-free waiting; returns whether the condition came true."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
