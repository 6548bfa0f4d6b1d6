"""Time per message of reading and writing bags, beside rosbags alone.

Run: ``python benchmarks/bag_io.py [--seconds 40] [--repeat 3]``

A log of a 31-joint robot at 500 Hz (joint states with velocities, four IMUs, two foot wrenches,
pose) is written by `bags.writer` and read to arrays by `bags.reader` and `bags.messages`; rosbags
reads and decodes the same bag message by message, and writes the same messages. Each figure is
the best of `--repeat` runs and includes opening, encoding, merging by stamp and closing. The last
columns are the largest memory that Python and numpy allocated, in a run of its own: one figure
for the log, one for a log of double length.
"""

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin, Writer

from izmp_dynamics.bags.messages import imu_batch, joint_state_batch, pose_batch, wrench_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.bags.writer import BagWriter

RATE = 500
NAMES = [f'joint_{i}' for i in range(31)]
IMUS = ['/imu', *(f'/accelerometers/{i}' for i in range(3))]
FEET = ['/left/wrench', '/right/wrench']
TOPICS = ['/joint_states', *IMUS, *FEET, '/pose']
SPAN = 5.0


def write(path: Path, storage: str, seconds: float) -> int:
    """Write the log; return the number of messages."""
    rng = np.random.default_rng(0)
    with BagWriter(path, storage, overwrite=True) as bag:
        joints = {'name': NAMES, 'position': np.zeros(31), 'velocity': np.zeros(31)}
        bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState', joints)
        for topic in IMUS:
            bag.add_topic(topic, 'sensor_msgs/msg/Imu', {'header.frame_id': 'imu'})
        for topic in FEET:
            bag.add_topic(topic, 'geometry_msgs/msg/WrenchStamped', {'header.frame_id': 'foot'})
        bag.add_topic('/pose', 'geometry_msgs/msg/PoseStamped', {'header.frame_id': 'world'})
        for start in np.arange(0, seconds, SPAN):
            count = int(SPAN * RATE)
            stamps = 10**18 + int(start * 1e9) + np.arange(count) * (10**9 // RATE)
            q, v = rng.normal(size=(2, count, 31))
            bag.write_batch('/joint_states', stamps, {'position': q, 'velocity': v})
            for topic in IMUS:
                gyro, acceleration = rng.normal(size=(2, count, 3))
                values = {'angular_velocity': gyro, 'linear_acceleration': acceleration}
                bag.write_batch(topic, stamps, values)
            for topic in FEET:
                bag.write_batch(topic, stamps, {'wrench': rng.normal(size=(count, 6))})
            bag.write_batch('/pose', stamps, {'pose.position': rng.normal(size=(count, 3))})
            bag.flush()
    return int(np.ceil(seconds / SPAN)) * int(SPAN * RATE) * len(TOPICS)


def read(path: Path) -> None:
    """Read every number that the replay needs."""
    with BagReader(path) as bag:
        for batch in bag.batches(TOPICS, SPAN):
            joint_state_batch(batch['/joint_states'], NAMES)
            for topic in IMUS:
                imu_batch(batch[topic])
            for topic in FEET:
                wrench_batch(batch[topic])
            pose_batch(batch['/pose'])


def rosbags_read(path: Path) -> None:
    """Read the same messages to objects."""
    with AnyReader([path]) as bag:
        for connection, _, raw in bag.messages():
            bag.deserialize(raw, connection.msgtype)


def rosbags_write(source: Path, target: Path, storage: str) -> float:
    """Serialize and write the same messages; return the seconds that this takes."""
    types = standard_types()
    with AnyReader([source]) as bag:
        entries = [
            (c.topic, c.msgtype, stamp, bag.deserialize(raw, c.msgtype))
            for c, stamp, raw in bag.messages()
        ]
    start = time.perf_counter()
    with Writer(target, version=8, storage_plugin=StoragePlugin[storage.upper()]) as writer:
        kinds = {topic: msgtype for topic, msgtype, _, _ in entries}
        connections = {t: writer.add_connection(t, k, typestore=types) for t, k in kinds.items()}
        for topic, msgtype, stamp, message in entries:
            writer.write(connections[topic], stamp, types.serialize_cdr(message, msgtype))
    return time.perf_counter() - start


def seconds_of(work: Callable[[], object], repeat: int) -> float:
    """Best time of `repeat` runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_of(work: Callable[[], object]) -> float:
    """Largest allocated memory [MB]."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def measure(storage: str, folder: Path, seconds: float, repeat: int) -> list[str]:
    """One row of the table."""
    path, long = folder / storage, folder / f'{storage}_long'
    count = write(path, storage, seconds)
    times = [
        seconds_of(lambda: read(path), repeat),
        seconds_of(lambda: rosbags_read(path), 1),
        seconds_of(lambda: write(path, storage, seconds), repeat),
        rosbags_write(path, folder / f'{storage}_rosbags', storage),
    ]
    memory_write = peak_of(lambda: write(long, storage, 2 * seconds))
    memory = [peak_of(lambda: read(path)), peak_of(lambda: read(long)), memory_write]
    size = next(file for file in path.iterdir() if file.suffix != '.yaml').stat().st_size / 1e6
    figures = [f'{1e6 * t / count:.2f}' for t in times] + [f'{m:.0f}' for m in memory]
    return [storage, f'{count}', f'{size:.0f}', *figures]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=40.0, help='length of the log [s]')
    parser.add_argument('--repeat', type=int, default=3, help='runs; the best one counts')
    options = parser.parse_args()
    table = Table(title='Bags: µs per message; largest memory [MB]')
    for head in (
        'storage', 'messages', 'size [MB]', 'read', 'rosbags read', 'write', 'rosbags write',
        'memory read', '… of twice the log', 'memory write',
    ):  # fmt: skip
        table.add_column(head, justify='right')
    with tempfile.TemporaryDirectory() as folder:
        for storage in ('mcap', 'sqlite3'):
            table.add_row(*measure(storage, Path(folder), options.seconds, options.repeat))
    Console(width=120).print(table)


if __name__ == '__main__':
    main()
