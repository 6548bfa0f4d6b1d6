"""Soak test: the graph for minutes or hours at 500 Hz, with faults at random from a seed.

    python benchmarks/soak.py [--minutes 30] [--seed 0] [--separate]

A robot that stands publishes (`soak_robot`), and now and then something goes wrong (`soak_plan`):
a process is killed and started again as by launch, a sensor is silent, all samples come in a
burst, the IMU reads NaN, the clock is set, a parameter is set to a value that is possible or not.
At the end it prints how many instants were to be expected, given, and lost by reason, how the
memory grew, and the restarts (`soak_table`). The status is 1 if a process died by itself, a
result was not finite or a parameter service did not answer.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from soak_plan import SENSORS, SETTINGS, plan
from soak_table import COUNTED, Injected, Record, show

RESPAWN = 1.0
"""Time after which a process that ended is started again, as in the launch files [s]."""

ANSWER, TRIES = 20.0, 6
"""Time after which a parameter service without an answer is asked again [s], and how often.

A response may be lost where the service has not discovered the client yet.
"""

LATE = 2_000_000_000
"""Time by which what a node counts may be about instants before its last report [ns]."""

LOOK = 10.0
"""Time between two looks at the memory [s]."""

WAITING = 5000
"""Messages that may wait for this process, which is late itself on a busy computer."""

QUIET = 3.0
"""Time without a result after which the last ones have come [s]."""

COMPOSED = {'composed': 'izmp_dynamics'}
"""Process → name of its node, where they differ."""


class Asked:
    """A setting that a node was asked to change.

    Args:
        client: of its service.
        request: to the service.
        life: name of the process, and how often it had been started.
        fault: lasts from the question to the answer.
    """

    def __init__(self, client, request, life, fault):
        self.client, self.request, self.life, self.tries = client, request, life, 0
        self.since, self.future, self.fault = time.monotonic(), None, fault

    def ask(self):
        """Ask, or ask again."""
        self.fault.begin = self.fault.end = time.time_ns()
        self.future, self.since = self.client.call_async(self.request), time.monotonic()
        self.tries += 1

    @property
    def is_answered(self):
        """Whether there is an answer."""
        return self.future is not None and self.future.done()

    @property
    def is_overdue(self):
        """Whether there should be an answer by now."""
        return time.monotonic() - self.since > ANSWER


class Soak:
    """A run.

    Args:
        names: of the processes.
        processes: runs them.
        node: receives results and sets parameters.
        record: takes what is seen.
    """

    def __init__(self, names, processes, node, record):
        self.names, self.processes, self.node, self.record = names, processes, node, record
        self.starts = dict.fromkeys(names, 0)
        self.due = {}
        self.looked = 0.0
        self.asked = []
        self.counters, self.reported = {}, {}
        self.number, self.stamp, self.received = 0, 0, 0.0
        record.restarts.update({name: [0, 0] for name in names})
        for name in names:
            self.start(name)
        self.subscribe()

    def subscribe(self):
        """Receive the results and the diagnostics."""
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import PointStamped
        from rclpy.qos import QoSProfile

        self.node.create_subscription(
            PointStamped, '/mr_ad/izmp', self.take, QoSProfile(depth=WAITING)
        )
        self.node.create_subscription(
            DiagnosticArray, '/diagnostics', self.count, QoSProfile(depth=WAITING)
        )

    def start(self, name):
        """Start a process."""
        self.processes.start(name)
        self.starts[name] += 1

    def take(self, message, info):
        """Note a result, when it was published, and whether others before it did not come."""
        from izmp_dynamics.nodes.messages import stamp_of, vector

        stamp, number = stamp_of(message), info['publication_sequence_number'] or 0
        if self.number and number > self.number + 1:
            self.record.unseen.append((self.stamp, stamp, number - self.number - 1))
        self.number, self.stamp, self.received = number, stamp, time.monotonic()
        self.record.twice += stamp in self.record.given
        self.record.not_finite += not np.isfinite(vector(message.point)).all()
        self.record.given.setdefault(stamp, info['source_timestamp'])

    def count(self, message):
        """Note the counters of a node at its report; they begin at zero when it starts again."""
        from izmp_dynamics.nodes.messages import stamp_of

        now = stamp_of(message)
        for status in message.status:
            begin = self.reported.get(status.name, now) - LATE
            self.reported[status.name] = now
            for item in status.values:
                if '.' in item.key and item.value.isdigit():
                    number, place = int(item.value), (status.name, item.key)
                    before = self.counters.get(place, 0)
                    new = number - before if number >= before else number
                    self.counters[place] = number
                    total = self.record.counted.get(item.key, 0) + new
                    self.record.counted[item.key] = total
                    reason = COUNTED.get(item.key.rpartition('.')[2])
                    if new and reason:
                        self.record.counted_at.append(Injected(reason, begin, now))

    def inject(self, fault):
        """Do and note what the robot does not do itself."""
        now, reason, duration = time.time_ns(), fault.kind, 0.0
        if fault.kind == 'kill':
            name = self.names[fault.choice % len(self.names)]
            reason = f'kill of {name}'
            if name in self.processes.running:
                self.processes.kill(name)
                self.record.restarts[name][0] += 1
                self.due[name] = time.monotonic() + RESPAWN
            duration = RESPAWN
        elif fault.kind != 'parameter':
            return
        injected = Injected(reason, now, now + round(duration * 1e9))
        self.record.faults.append(injected)
        if fault.kind == 'parameter':
            self.set_parameter(fault.choice, injected)

    def set_parameter(self, choice, injected):
        """Ask a node to change a setting; the answer comes later."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        name = self.names[choice % len(self.names)]
        setting, value = SETTINGS[choice // len(self.names) % len(SETTINGS)]
        client = self.node.create_client(
            SetParameters, f'/{COMPOSED.get(name, name)}/set_parameters'
        )
        request = SetParameters.Request(
            parameters=[Parameter(setting, value=value).to_parameter_msg()]
        )
        life = name, self.starts[name]
        self.asked.append(Asked(client, request, life, injected))

    def look_for_answers(self):
        """Note the answers of parameter services; one of a process that was killed is void."""
        waiting, answers = [], Counter(self.record.answers)
        for asked in self.asked:
            name, life = asked.life
            killed = self.starts[name] != life or name not in self.processes.running
            if asked.is_answered:
                asked.fault.end = time.time_ns()
                (result,) = asked.future.result().results
                answers['accepted' if result.successful else 'refused'] += 1
            elif not killed and asked.is_overdue and asked.tries >= TRIES:
                answers['no answer'] += 1
            elif not killed:
                if asked.is_overdue or (not asked.tries and asked.client.service_is_ready()):
                    answers['asked again'] += asked.tries > 0
                    asked.ask()
                waiting.append(asked)
                continue
            self.node.destroy_client(asked.client)
        self.asked, self.record.answers = waiting, dict(answers)

    def look_after(self):
        """Start again what ended; look at the memory now and then."""
        now = time.monotonic()
        for name, process in list(self.processes.running.items()):
            if process.poll() is not None:
                del self.processes.running[name]
                self.record.restarts[name][1] += 1
                self.due[name] = now + RESPAWN
                print(f'{name} died:\n{self.processes.log(name)[-2000:]}', flush=True)
        for name, due in list(self.due.items()):
            if now >= due:
                del self.due[name]
                self.start(name)
        self.look_for_answers()
        if now > self.looked + LOOK:
            self.looked = now
            for name, process in self.processes.running.items():
                size = resident(process.pid)
                if size:
                    self.record.memory[name, self.starts[name]].append((now, size))


def resident(pid):
    """Resident memory of a process [MB]; 0 if it has ended."""
    try:
        pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


def reason_of(fault):
    """What a fault of the robot is called in the table."""
    sensor = SENSORS[fault.choice % len(SENSORS)]
    return f'silence of {sensor}' if fault.kind == 'silence' else fault.kind


def soak(names, seconds, seed, every):
    """Run, until Ctrl-C at most; return the record."""
    record = Record(np.empty((0, 2), np.int64))
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / 'samples'
        try:
            watch(names, seconds, seed, every, samples, record)
        except KeyboardInterrupt:
            print('Ended by Ctrl-C; what has been seen so far:', flush=True)
        record.samples = read_samples(samples)
    for fault in plan(seed, seconds, every):
        if fault.kind in ('kill', 'parameter') or not len(record.samples):
            continue
        begin, end = record.samples[0, 0] + np.round(1e9 * np.array([fault.begin, fault.end]))
        if begin <= record.samples[-1, 0]:
            record.faults.append(Injected(reason_of(fault), int(begin), int(end)))
    return record


def watch(names, seconds, seed, every, samples, record):
    """Let the robot publish and the graph evaluate; note what is seen."""
    from test.node_processes import Processes, probe

    with Processes(samples.parent) as processes, probe(processes) as node:
        run = Soak(names, processes, node, record)
        command = [Path(__file__).with_name('soak_robot.py'), seed, seconds, every, samples]
        robot = subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=processes.environment,
            start_new_session=True,  # Ctrl-C is for this process alone
        )
        try:
            while robot.poll() is None and not (samples.exists() and samples.stat().st_size):
                run.look_after()
                time.sleep(0.05)
            print('The robot publishes. Ctrl-C ends it with the table.', flush=True)
            begin, faults = time.monotonic(), plan(seed, seconds, every)
            while robot.poll() is None:
                while faults and time.monotonic() - begin >= faults[0].begin:
                    run.inject(faults.pop(0))
                run.look_after()
                time.sleep(0.05)
            run.received = time.monotonic()
            while time.monotonic() - run.received < QUIET:
                time.sleep(0.05)
            run.look_for_answers()
        finally:
            robot.kill()
            robot.wait()


def read_samples(path):
    """(N, 2) what the robot has noted; the last note may be unfinished."""
    numbers = np.fromfile(path, np.int64) if path.exists() else np.zeros(0, np.int64)
    return numbers[: len(numbers) // 2 * 2].reshape(-1, 2)


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=30.0)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--every', type=float, default=15.0, help='time between faults [s]')
    parser.add_argument('--separate', action='store_true', help='a process for each node')
    options = parser.parse_args()
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print("soak: rclpy is missing; pip install '.[ros]'")
        return 0
    from test.node_processes import GRAPH

    names = GRAPH if options.separate else ('composed',)
    begin = time.monotonic()
    record = soak(names, 60.0 * options.minutes, options.seed, options.every)
    minutes = (time.monotonic() - begin) / 60.0
    print(f'{minutes:.1f} min, seed {options.seed}, a fault in {options.every:g} s, '
          f'{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}')  # fmt: skip
    return 0 if show(record) else 1


if __name__ == '__main__':
    sys.exit(main())
