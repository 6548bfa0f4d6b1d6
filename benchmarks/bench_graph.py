"""Latency, CPU and memory of the node graph over real DDS.

    python benchmarks/bench_graph.py [--seconds 30] [--sensors 125]
    python benchmarks/bench_graph.py --seconds 600 --only composed     # memory
    python benchmarks/bench_graph.py --only view               # composed beside the view
    python benchmarks/bench_graph.py --only heard              # composed, its verdict heard
    python benchmarks/bench_graph.py --only composed --quotas 1 0.5 0.3 0.2   # a slow computer
    python benchmarks/bench_graph.py --table > table.md    # joints at 125, 500 and 1000 Hz

A robot that stands is published with the stamps of now: joints at 500 Hz, the other sensors at
the rate of the bus. The latency of an instant is the time from the stamp of the last sample that
it needs (the joints' differentiation looks a few samples ahead; of the other sensors it needs the
sample at the instant or, where the sensors publish between the instants, the next two) to the
arrival of its IZMP here. Beside it: a bare chain of relays with as many hops, an Imu message at
the rate of the bus through processes that do nothing but publish what they receive, with each of
the executors at hand. With a quota the nodes run for that part of every 20 ms only, as on a
computer that is so much slower; results are fresh as long as they are younger than their limit.
"""

import argparse
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
os.environ.setdefault('ROS_DOMAIN_ID', '97')
sys.path.insert(0, str(Path(__file__).parents[1]))

JOINT_RATE = 500.0
TABLE = (125.0, 500.0, 1000.0)
"""Rates of the joints in the table [Hz]; the other sensors come at the rate of the bus."""

AHEAD = 4
"""Joint samples that an instant of `central` waits for: one for the quotient, two for the outlier
gate, one for the gate of stamps."""

SETTLE = 60.0
"""Time before the memory is measured, at most [s]."""

SLICE = 0.02
"""Time of which a quota is a part [s]."""

MINUTE = 60.0
"""Time between two looks at the memory [s]."""

HOPS = 4
"""acd, angular_acceleration, mr_ad, izmp: what an instant goes through to its IZMP."""


EXECUTORS = ('single-threaded', 'multi-threaded', 'events', 'Receiver')
"""rclpy's, and what the nodes of this package receive with."""


def relay(source, target, kind):
    """Publish what is received."""
    import rclpy
    from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
    from sensor_msgs.msg import Imu

    from izmp_dynamics.nodes.qos import RESULT
    from izmp_dynamics.nodes.receiving import Receiver, Reception

    rclpy.init()
    node = rclpy.create_node(f'relay_{target}')
    publisher = node.create_publisher(Imu, target, RESULT)
    if kind == 'Receiver':
        receiver = Receiver()
        take = publisher.publish
        receiver.add(Reception(node, source, Imu, take, lambda reason, number: None, RESULT))
        receiver.spin()
    node.create_subscription(Imu, source, publisher.publish, RESULT)
    if kind == 'events':
        from rclpy.experimental import EventsExecutor

        executor = EventsExecutor()
    else:
        single = kind == 'single-threaded'
        executor = SingleThreadedExecutor() if single else MultiThreadedExecutor(2)
    executor.add_node(node)
    executor.spin()


def percentiles(latencies):
    """Median, 99th percentile and largest as text."""
    import numpy as np

    if not latencies:
        return math.nan, math.nan, math.nan
    ms = 1e3 * np.array(latencies)
    return np.median(ms), np.percentile(ms, 99), ms.max()


def say(name, latencies):
    """Print a line of the result; return its median and 99th percentile [ms]."""
    median, p99, largest = percentiles(latencies)
    if not latencies:
        print(f'{name:<30} no message came through')
        return median, p99
    print(
        f'{name:<30} median {median:6.2f} ms   p99 {p99:6.2f} ms   largest {largest:6.1f} ms   '
        f'({len(latencies)} instants)'
    )
    return median, p99


def measure_relays(seconds, rate, kind):
    """Send an Imu through the chain of relays with an executor of this kind."""
    import subprocess

    import rclpy
    from sensor_msgs.msg import Imu

    from izmp_dynamics.nodes.messages import header, stamp_of
    from izmp_dynamics.nodes.qos import RESULT
    from test.node_processes import wait_until

    chain = [
        subprocess.Popen([sys.executable, __file__, '--relay', f'hop{k}', f'hop{k + 1}', kind])
        for k in range(HOPS)
    ]
    node = rclpy.create_node(f'probe_{kind.replace("-", "_")}')
    latencies = []
    node.create_subscription(
        Imu,
        f'hop{HOPS}',
        lambda m: latencies.append((time.time_ns() - stamp_of(m)) * 1e-9),
        RESULT,
    )
    publisher = node.create_publisher(Imu, 'hop0', RESULT)
    relays = SimpleNamespace(running={f'hop{k}': process for k, process in enumerate(chain)})
    try:
        with spinning(node):
            ready = wait_until(
                lambda: publisher.get_subscription_count() and node.count_publishers(f'hop{HOPS}')
            )
            if not ready:
                sys.exit(f'bench_graph: the relays ({kind}) did not start')
            time.sleep(1.0)
            before, begin = usage(relays), time.monotonic()
            end = begin + seconds
            while time.monotonic() < end:
                publisher.publish(Imu(header=header(time.time_ns(), 'imu_link')))
                time.sleep(1.0 / rate)
            used = used_since(before, begin, relays)
    finally:
        for process in chain:
            process.kill()
            process.wait()
    return latencies, used


@contextmanager
def spinning(node):
    """Spin a node in a thread; its end is waited for, and the node destroyed.

    The executor is shut down only when nobody spins it any more: what it waits for goes then.
    """
    from rclpy.executors import SingleThreadedExecutor

    executor = SingleThreadedExecutor()
    executor.add_node(node)
    over = threading.Event()

    def spin():
        while not over.is_set():
            executor.spin_once(timeout_sec=0.1)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        executor.shutdown()
        node.destroy_node()


class Publisher:
    """A process of its own publishes; see `publish`."""

    def __init__(self, sensor_rate, shift, joint_rate):
        import subprocess

        rates = ['--sensors', str(sensor_rate), '--joints', str(joint_rate)]
        self.process = subprocess.Popen(
            [sys.executable, __file__, '--publish', str(shift), *rates]
        )

    def stop(self):
        """End it."""
        self.process.kill()
        self.process.wait()


def publish(sensor_rate, shift, joint_rate):
    """Publish a standing robot with the stamps of now, on time.

    Args:
        sensor_rate: of all but the joints [Hz].
        shift: joint samples by which the other sensors are later than the instants, which are
            the multiples of their period.
        joint_rate: [Hz].
    """
    import rclpy

    from izmp_dynamics.model.robot_file import load_robot_file
    from test.node_processes import ROBOT, StandingRobot

    rclpy.init()
    node = rclpy.create_node('robot')
    robot = StandingRobot(node, load_robot_file(ROBOT))
    divisor = round(joint_rate / sensor_rate)
    step = round(1e9 / joint_rate)
    while robot.joints.get_subscription_count() < 1 or robot.imu.get_subscription_count() < 1:
        time.sleep(0.05)
    time.sleep(2.0)
    period = divisor * step
    due, count = -(-time.time_ns() // period) * period - step, -shift
    while True:
        due += step
        time.sleep(max(0.0, (due - time.time_ns()) * 1e-9))
        if count >= 0 and count % divisor == 0:
            robot.sample(due)
        else:
            robot.publish_joints(due)
        count += 1


@contextmanager
def slowed(processes, quota):
    """Stop the processes for the rest of every slice."""
    over = threading.Event()

    def send(number):
        for process in processes.running.values():
            os.kill(process.pid, number)

    def alternate():
        while not over.wait(quota * SLICE):
            send(signal.SIGSTOP)
            over.wait((1.0 - quota) * SLICE)
            send(signal.SIGCONT)

    thread = threading.Thread(target=alternate)
    if quota < 1.0:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if quota < 1.0:
            thread.join()


def usage(processes):
    """CPU time [s] and resident memory [MB] of processes by name."""
    ticks = os.sysconf('SC_CLK_TCK')
    found = {}
    for name, process in processes.running.items():
        fields = Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
        pages = int(Path(f'/proc/{process.pid}/statm').read_text().split()[1])
        cpu = (int(fields[11]) + int(fields[12])) / ticks
        found[name] = (cpu, pages * os.sysconf('SC_PAGE_SIZE') / 2**20)
    return found


def used_since(before, begin, processes):
    """Name → part of a core since then, and resident memory then and now [MB]."""
    after, elapsed = usage(processes), time.monotonic() - begin
    return {
        name: ((after[name][0] - before[name][0]) / elapsed, before[name][1], after[name][1])
        for name in after
    }


def last_needed(instant, sensor_stamp, sensor_rate, joint_rate):
    """Stamp of the last sample that an instant needs [ns].

    Of the joints the one `AHEAD` of it; of the other sensors the one at it or, if there is none,
    the next two: one to interpolate, and one that shows that its stamp is good.
    """
    period = round(1e9 / sensor_rate)
    apart = (sensor_stamp - instant) % period
    others = instant + (apart + period if apart else 0)
    return max(instant + round(AHEAD / joint_rate * 1e9), others)


def measure_graph(
    names, seconds, sensor_rate, shift=0, quota=1.0, joint_rate=JOINT_RATE, heard=False
):
    """Run the graph in processes of these names; return latencies and what it used.

    heard: whether something subscribes to what the view shows, so that verdicts are computed.
    """
    import rclpy
    from geometry_msgs.msg import PointStamped, WrenchStamped
    from sensor_msgs.msg import Imu
    from std_msgs.msg import Float64
    from visualization_msgs.msg import MarkerArray

    from izmp_dynamics.nodes.messages import stamp_of
    from izmp_dynamics.nodes.qos import RESULT, SENSOR
    from test.node_processes import Processes, wait_until

    latencies = []
    sensors = {'stamp': 0}
    node = rclpy.create_node(f'probe_{names[0]}_{shift}')

    def take(message):
        now, stamp = time.time_ns(), stamp_of(message)
        latencies.append(
            (now - last_needed(stamp, sensors['stamp'], sensor_rate, joint_rate)) * 1e-9
        )

    def take_imu(message):
        sensors['stamp'] = stamp_of(message)

    node.create_subscription(PointStamped, '/mr_ad/izmp', take, RESULT)
    node.create_subscription(Imu, '/imu', take_imu, SENSOR)
    shown = {
        'margin': Float64,
        'fall_probability': Float64,
        'external_wrench': WrenchStamped,
        'markers': MarkerArray,
    }
    for topic, kind in shown.items() if heard else ():
        node.create_subscription(kind, f'/{topic}', lambda data: None, RESULT, raw=True)
    with (
        spinning(node),
        tempfile.TemporaryDirectory() as folder,
        Processes(Path(folder)) as processes,
    ):
        processes.environment['ROS_DOMAIN_ID'] = os.environ['ROS_DOMAIN_ID']
        for name in names:
            processes.start(name)
        publisher = Publisher(sensor_rate, shift, joint_rate)
        try:
            if not wait_until(lambda: len(latencies) > 200):
                logs = '\n'.join(processes.log(name)[-2000:] for name in names)
                sys.exit(f'bench_graph: no results came:\n{logs}')
            time.sleep(min(SETTLE, seconds / 3.0))  # until histories and queues are full
            with slowed(processes, quota):
                time.sleep(1.0 if quota < 1.0 else 0.0)
                before, begin = usage(processes), time.monotonic()
                del latencies[:]
                for _ in range(int(seconds // MINUTE)):
                    time.sleep(MINUTE)
                    memory = sum(used for _, used in usage(processes).values())
                    past = time.monotonic() - begin
                    print(f'{"":<30} {past:4.0f} s: {memory:.1f} MB', flush=True)
                time.sleep(seconds % MINUTE)
            measured, used = list(latencies), used_since(before, begin, processes)
        finally:
            publisher.stop()
    return measured, used


def make_table(seconds):
    """Print latency and CPU at all rates as a table, beside relays and `ros2 topic echo`."""
    from test.node_processes import GRAPH

    print('| what | joints [Hz] | median [ms] | p99 [ms] | largest [ms] | CPU [% of a core] |')
    print('|---|---|---|---|---|---|')

    def row(name, rate, latencies, used):
        figures = ' | '.join(f'{each:.2f}' for each in percentiles(latencies))
        cpu = 100.0 * sum(part for part, _, _ in used.values())
        print(f'| {name} | {rate:.0f} | {figures} | {cpu:.0f} |', flush=True)

    for rate in TABLE:
        for kind in EXECUTORS:
            row(f'{HOPS} relays, {kind}', rate, *measure_relays(seconds, rate, kind))
        sensors = min(rate, TABLE[0])
        for title, names in (('composed', ('composed',)), ('separate', GRAPH)):
            row(title, rate, *measure_graph(names, seconds, sensors, joint_rate=rate))
        if shutil.which('ros2'):
            with echoing() as echo:
                measure_graph(('composed',), seconds, sensors, joint_rate=rate)
                row('ros2 topic echo /mr_ad/izmp', rate, [], used_since(*echo))


@contextmanager
def echoing():
    """Let `ros2 topic echo` print the IZMPs meanwhile; give what `used_since` takes."""
    import subprocess

    with open(os.devnull, 'w') as nowhere:
        process = subprocess.Popen(['ros2', 'topic', 'echo', '/mr_ad/izmp'], stdout=nowhere)
    running = SimpleNamespace(running={'echo': process})
    try:
        yield usage(running), time.monotonic(), running
    finally:
        process.kill()
        process.wait()


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=30.0)
    parser.add_argument('--sensors', type=float, default=125.0, help='rate of the sensors [Hz]')
    parser.add_argument('--joints', type=float, default=JOINT_RATE, help=argparse.SUPPRESS)
    parser.add_argument('--table', action='store_true', help='latency and CPU at all rates')
    parser.add_argument('--only', choices=('relays', 'composed', 'separate', 'heard', 'view'))
    parser.add_argument('--quotas', type=float, nargs='+', help='parts of the time, 0 to 1')
    parser.add_argument('--relay', nargs=3, help=argparse.SUPPRESS)
    parser.add_argument('--publish', type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        import rclpy
    except ImportError:
        print("bench_graph: rclpy is missing; pip install '.[ros]'")
        return
    if options.relay:
        relay(*options.relay)
    elif options.publish is not None:
        publish(options.sensors, options.publish, options.joints)
    else:
        rclpy.init()
        run(options)
        rclpy.shutdown()


def run(options):
    """Measure relays, the composed and the separate graph."""
    from test.node_processes import GRAPH

    if options.table:
        make_table(options.seconds)
        return
    load = os.getloadavg()[0]
    print(f'{os.cpu_count()} cores, load {load:.1f} before; joints at {JOINT_RATE:.0f} Hz, '
          f'other sensors at {options.sensors:.0f} Hz, bus at 125 Hz')  # fmt: skip
    if options.quotas:
        names = GRAPH if options.only == 'separate' else ('composed',)
        for quota in options.quotas:
            latencies, _ = measure_graph(names, options.seconds, options.sensors, quota=quota)
            say(f'{options.only or "composed"}, quota {quota:.0%}', latencies)
        return
    bare = {}
    for kind in EXECUTORS if options.only in (None, 'relays') else ():
        latencies, _ = measure_relays(options.seconds / 2, 125.0, kind)
        bare[kind] = say(f'{HOPS} relays, {kind}', latencies)
    graphs = {'composed': ('composed',), 'separate': GRAPH}
    graphs |= {'heard': ('composed',), 'view': ('composed', 'view')}
    for title, names in graphs.items():
        if options.only not in (None, title):
            continue
        heard = title in ('heard', 'view')
        for shift, where in ((0, ''), (1, ', interpolated'))[: 1 if options.only else 2]:
            latencies, used = measure_graph(
                names, options.seconds, options.sensors, shift, heard=heard
            )
            median, p99 = say(f'{title}{where}', latencies)
            if bare:
                a, b = bare[EXECUTORS[0]]
                print(f'{"":<30} {median / a:.1f} × and {p99 / b:.1f} × the bare relays')
        for name, (cpu, before, after) in used.items():
            print(
                f'{"":<30} {name:<22} {cpu:5.1%} of a core, {after:.0f} MB ({after - before:+.1f})'
            )


if __name__ == '__main__':
    main()
