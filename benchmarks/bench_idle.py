"""CPU that the composed graph uses while nothing is published.

    python benchmarks/bench_idle.py [--seconds 20]

What it shows is what wakes the process: rclpy's executor gathers all entities of its nodes for
every timer, and the middleware announces itself.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
START = 20.0
"""Time in which the nodes start, and compile if they must [s]."""


def cpu_time(path):
    """Seconds that a process or thread has used, of its stat file."""
    fields = Path(path, 'stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def threads(pid):
    """Thread → seconds that it has used."""
    return {task.name: cpu_time(task) for task in Path(f'/proc/{pid}/task').iterdir()}


def main():
    """Start the graph, wait, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--seconds', type=float, default=20.0)
    seconds = parser.parse_args().seconds
    environment = {
        'ROS_DOMAIN_ID': '96',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'PYTHONPATH': str(ROOT),
        **os.environ,
    }
    robot = ROOT / 'robots' / 'biped31' / 'robot.yaml'
    command = [sys.executable, '-m', 'izmp_dynamics.nodes', 'composed', '--ros-args']
    command += ['-p', f'robot:={robot}', '--log-level', 'fatal']
    with subprocess.Popen(command, env=environment) as process:
        time.sleep(START)
        before, begin = threads(process.pid), time.monotonic()
        time.sleep(seconds)
        after, elapsed = threads(process.pid), time.monotonic() - begin
        process.terminate()
    used = {name: total - before.get(name, 0.0) for name, total in after.items()}
    print(f'composed without input: {sum(used.values()) / elapsed:.2%} of a core')
    for name, time_used in sorted(used.items(), key=lambda item: -item[1])[:4]:
        print(f'  thread {name}: {time_used / elapsed:.2%}')


if __name__ == '__main__':
    main()
