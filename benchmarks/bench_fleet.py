"""A fleet under fire, how it scales, and how its page opens.

Run: ``python benchmarks/bench_fleet.py [--bags 200] [--workers 2] [--kills 20] [--seed 1]
[--only fire scaling page]``

1. Short bags are evaluated while workers are killed (SIGKILL) at random; every row is compared
   with that of a single evaluation in this process, bit for bit.
2. The same bags with one worker and with two: bags per second, and the time of a row.
3. The page of 10 000 bags: how long writing it takes, and until it is ready in headless Chromium.
"""

import argparse
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from long_log import ROBOT, sensors
from rich.console import Console

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.engine.processes import Processes
from izmp_dynamics.fleet.campaign import Record, run_fleet
from izmp_dynamics.fleet.page import fleet_page, fleet_statistics
from izmp_dynamics.fleet.robots import robot_digest
from izmp_dynamics.fleet.row import RUN, Row
from izmp_dynamics.fleet.sources import find_bags
from izmp_dynamics.fleet.task import Task, evaluate
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_lab.simulation.scenarios import simulate_sway

PARTS = ('fire', 'scaling', 'page')


def write_bags(folder: Path, count: int, seed: int) -> None:
    """Write bags that are windows of 1 s to 4 s of the sway, at random."""
    robot = load_robot_file(ROBOT)
    with tempfile.TemporaryDirectory() as scratch:
        sway = Path(scratch) / 'sway'
        simulate_sway(robot, sway)
        signals = list(sensors(sway, robot))
    start, end = signals[0].stamps[[0, -1]]
    draw = np.random.default_rng(seed)
    for k in range(count):
        begin = draw.integers(start, end - 4_000_000_000)
        stop = begin + draw.integers(1_000_000_000, 4_000_000_000)
        with BagWriter(folder / f'day_{k % 7}' / f'walk_{k:03d}') as bag:
            for signal in signals:
                rows = (signal.stamps >= begin) & (signal.stamps < stop)
                bag.add_topic(signal.topic, signal.layout.msgtype, signal.layout)
                values = {path: column[rows] for path, column in signal.values.items()}
                bag.write_batch(signal.topic, signal.stamps[rows], values)


class Killer:
    """Kills a worker of this process at random times, until it has killed enough.

    Attributes:
        killed: how many.
    """

    def __init__(self, kills: int, bags: int, seed: int) -> None:
        self.killed = 0
        draw = random.Random(seed)
        self._after = sorted(draw.sample(range(1, bags), min(kills, bags - 1)))
        self._draw = draw

    def __call__(self, done: int, *_: int) -> None:
        """Kill one, a moment later, if it is time."""
        if done in self._after:
            threading.Timer(self._draw.uniform(0.0, 0.5), self._kill).start()

    def _kill(self) -> None:
        if workers := _workers():
            self._draw.choice(workers).kill()
            self.killed += 1


def without(row: Row, names: Sequence[str]) -> Row:
    """Return a row without some columns."""
    return {name: value for name, value in row.items() if name not in names}


def under_fire(logs: Path, folder: Path, options: argparse.Namespace) -> str:
    """Part 1, in words."""
    robot = str(ROBOT)
    single = {
        bag.name: evaluate(Task(bag, robot, robot_digest(ROBOT))).row
        for bag in find_bags([str(logs)])
    }
    killer = Killer(options.kills, options.bags, options.seed)
    begin = time.perf_counter()
    processes = Processes(options.workers)
    fleet = run_fleet([str(logs)], [robot], folder / 'fire', processes, progress=killer)
    seconds = time.perf_counter() - begin
    with sqlite3.connect(folder / 'fire' / 'rows.sqlite') as table:
        ((lines,),) = table.execute('SELECT count(*) FROM rows')
    equal = sum(without(row, RUN) == without(single[row['name']] or {}, RUN) for row in fleet.rows)
    return (
        f'{fleet.bags} bags with {options.workers} workers, {killer.killed} of which were '
        f'killed: {len(fleet.rows)} rows, {lines} written, {equal} equal to single evaluations; '
        f'{seconds:.0f} s'
    )


@dataclass(frozen=True)
class Pace:
    """How a campaign went, once all workers were at work and until no bag waited.

    Attributes:
        rate: bags per second.
        worker: CPU time of the workers per bag [s].
        command: CPU time of this process per bag: scheduler, client, results [s].
    """

    rate: float
    worker: float
    command: float


def scaling(logs: Path, folder: Path) -> tuple[list[Pace], list[float]]:
    """Part 2: the pace with one and with two workers, and the times of the tasks [s]."""
    paces, seconds = [], []
    for workers in (1, 2):
        ends: list[tuple[float, float, float]] = []

        def note(done: int, *_: int, ends: list[tuple[float, float, float]] = ends) -> None:
            if done:
                ends.append((time.perf_counter(), _cpu_of_workers(), time.process_time()))

        place = folder / f'workers_{workers}'
        fleet = run_fleet([str(logs)], [str(ROBOT)], place, Processes(workers), progress=note)
        steady = np.array(ends[20:-2])  # the same bags in both
        taken, worker, command = (steady[-1] - steady[0]) / (len(steady) - 1)
        paces.append(Pace(1.0 / taken, worker, command))
        if workers == 1:
            seconds = sorted(row['seconds'] for row in fleet.rows)[:-1]  # less the one that starts
    return paces, seconds


def _workers() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [each for each in children if 'spawn_main' in ' '.join(each.cmdline())]


def _cpu_of_workers() -> float:
    times = [each.cpu_times() for each in _workers()]
    return sum(each.user + each.system for each in times)


def result_time(logs: Path, folder: Path) -> float:
    """Time that keeping the row of a task needs [s], as the command does between two others."""
    digest = robot_digest(ROBOT)
    tasks = [Task(bag, str(ROBOT), digest) for bag in find_bags([str(logs)])[:50]]
    done = evaluate(tasks[0])
    with Record(folder) as record:
        begin = time.perf_counter()
        for task in tasks:
            record.add(task, done)
        return (time.perf_counter() - begin) / len(tasks)


def page_times(folder: Path, bags: int = 10_000, times: int = 5) -> tuple[float, list[float]]:
    """Part 3: to write the page, and from navigation to the finished page, a few times [s]."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from test.chromium import chromium
    from test.fleet_rows import rows_of_many

    rows = rows_of_many(bags)
    page, found = folder / 'fleet.html', []
    begin = time.perf_counter()
    page.write_text(fleet_page(rows, fleet_statistics(rows, bags)), encoding='utf-8')
    written = time.perf_counter() - begin
    with chromium() as tab:
        for _ in range(times):
            tab.open('about:blank')
            tab.call('Page.navigate', url=page.as_uri())
            tab.until('document.body?.dataset.ready === "yes"')
            found.append(tab.run('performance.now()') / 1e3)
    return written, found


def main() -> None:
    """Run the chosen parts and print what they give."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--bags', type=int, default=200)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', nargs='+', choices=PARTS, default=PARTS)
    options = parser.parse_args()
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if {'fire', 'scaling'} & set(options.only):
            write_bags(folder / 'logs', options.bags, options.seed)
        if 'fire' in options.only:
            console.print(under_fire(folder / 'logs', folder, options))
        if 'scaling' in options.only:
            (one, two), seconds = scaling(folder / 'logs', folder)
            borne = 2.0 / (two.worker + two.command)
            console.print(
                f'From a disk: {one.rate:.2f} bags/s with one worker, {two.rate:.2f} with two: '
                f'{two.rate / one.rate:.2f} ×; a task takes {np.median(seconds):.2f} s (median)'
            )
            console.print(
                f'CPU time of a bag in workers and command: {1e3 * one.worker:.0f} + '
                f'{1e3 * one.command:.0f} ms with one worker, {1e3 * two.worker:.0f} + '
                f'{1e3 * two.command:.0f} ms with two: two cores of their own would do '
                f'{borne:.2f} bags/s, {borne * one.worker:.2f} × what one worker can'
            )
            results = result_time(folder / 'logs', folder / 'rows')
            console.print(f'The command takes {1e3 * results:.2f} ms for the row of a bag')
        if 'page' in options.only:
            written, times = page_times(folder)
            console.print(
                f'Page of 10 000 bags: written in {written:.1f} s, ready in the browser after '
                f'{min(times):.2f} to {max(times):.2f} s'
            )


if __name__ == '__main__':
    main()
