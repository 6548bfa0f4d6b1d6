"""A fleet as a user runs it: killed workers, Ctrl-C, two runs."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import yaml

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.base.errors import FleetError
from izmp_dynamics.cli.fleet import _lines
from izmp_dynamics.engine.processes import Processes
from izmp_dynamics.fleet.campaign import (
    Fleet,
    Record,
    run_fleet,
)
from izmp_dynamics.fleet.page import fleet_statistics
from izmp_dynamics.fleet.robots import robot_digest
from izmp_dynamics.fleet.row import COLUMNS, RUN, blank, of_error, of_report
from izmp_dynamics.fleet.sources import find_bags
from izmp_dynamics.fleet.task import Done, Task, evaluate

from .bag_surgery import TOPICS, Draft
from .command_line import REPOSITORY, izmp, with_site_code
from .raising import raising
from .requiring import need

need('distributed')

PATIENCE = 300.0
"""Longest wait for what must come [s]; a computer may be busy."""


@pytest.fixture(scope='module')
def robot(robot_content, tmp_path_factory):
    """The robot file of biped31, apart from its folder."""
    path = tmp_path_factory.mktemp('robot') / 'robot.yaml'
    path.write_text(yaml.safe_dump(robot_content))
    return path


@pytest.fixture(scope='module')
def logs(sway, tmp_path_factory):
    """Three short bags with a robot's name and software version, and one that is none."""
    folder = tmp_path_factory.mktemp('logs')
    for k in range(3):
        draft = Draft.of_bag(sway[1], TOPICS, start=1.0 + 0.2 * k, stop=1.8 + 0.2 * k)
        bag = draft.write(folder / f'day{k % 2}' / f'walk_{k}')
        custom = {'custom_data': {'robot_id': f'unit {k % 2}', 'software_version': f'4.{k % 3}'}}
        content = yaml.safe_load((bag / 'metadata.yaml').read_text())
        content['rosbag2_bagfile_information'] |= custom
        (bag / 'metadata.yaml').write_text(yaml.safe_dump(content))
    (folder / 'day1' / 'poisoned.mcap').write_bytes(b'\x89MCAP0\r\n' + bytes(range(256)))
    return folder


@pytest.fixture(scope='module')
def single(logs, robot, tmp_path_factory):
    """Name of a bag → the bytes of report.json as `izmp replay` writes it."""
    folder, found = tmp_path_factory.mktemp('single'), {}
    for bag in sorted(logs.glob('*/walk_*')):
        out = folder / bag.name
        assert izmp('replay', bag, '--robot', robot, '-o', out).status == 0
        found[bag.name] = (out / 'report.json').read_bytes()
    return found


def workers_of_this_process():
    """Process numbers of the workers that a LocalCluster started."""
    import psutil

    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if 'spawn_main' in ' '.join(child.cmdline())]


def rows_in(folder):
    """The rows of a folder, also while a run has it."""
    try:
        with sqlite3.connect(f'file:{folder}/rows.sqlite?immutable=1', uri=True) as table:
            return [json.loads(text) for (text,) in table.execute('SELECT row FROM rows')]
    except sqlite3.DatabaseError:
        return []


ONE_BAG_ALONE = """
import os, threading
from izmp_dynamics.results import files

def hash_or_wait(bag, data_hashes=files.data_hashes):
    try:
        with open(os.environ['FIRST'], 'x') as first:
            first.write(str(bag))
    except FileExistsError:
        with open(os.environ['FIRST']) as first:
            if first.read() != str(bag):
                threading.Event().wait()
    return data_hashes(bag)

files.data_hashes = hash_or_wait
"""
"""The workers evaluate the bag that one of them reads first; they wait for the others for ever."""


def test_interrupted_killed_and_resumed_it_gives_what_single_runs_give(
    logs, robot, single, tmp_path
):
    out = tmp_path / 'out'
    command = [sys.executable, '-m', 'izmp_dynamics.cli.main', 'fleet', logs, '--robot', robot,
               '-o', out, '--workers', '2', '--reports']  # fmt: skip
    run = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=with_site_code(tmp_path / 'site', ONE_BAG_ALONE, FIRST=str(tmp_path / 'first')),
    )  # fmt: skip
    limit = time.monotonic() + PATIENCE
    try:
        while not rows_in(out) and run.poll() is None and time.monotonic() < limit:
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all processes
        _, said = run.communicate(timeout=PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)  # what is left of it, if that failed
    assert run.returncode == 130, said
    assert 'Traceback' not in said
    assert 'bags are in the results' in said
    first = rows_in(out)
    partial = json.loads((out / 'fleet.json').read_text())
    assert not partial['complete']
    assert partial['done'] == len(first) == 1
    assert (out / 'fleet.html').is_file()

    killed = []

    def kill_a_worker(done, *_):
        if done == 1 and not killed:
            killed.append(workers_of_this_process()[0])
            os.kill(killed[0], signal.SIGKILL)

    fleet = run_fleet(
        [str(logs)], [str(robot)], out, Processes(2), reports=True, progress=kill_a_worker
    )
    assert killed
    assert fleet.kept == len(first)
    assert [row['state'] for row in fleet.rows].count('error') == 1
    rows = {row['name']: row for row in fleet.rows}
    assert rows['poisoned.mcap']['bag'] == f'{logs}/day1/poisoned.mcap'
    assert f'{logs}/day1/poisoned.mcap' in rows['poisoned.mcap']['error']
    for name, report in single.items():
        assert (out / rows[name]['report']).with_suffix('.json').read_bytes() == report
        assert rows[name].items() >= of_report(json.loads(report)).items()
    assert rows['walk_1']['unit'] == 'unit 1'
    assert rows['walk_2']['software'] == '4.2'
    assert len(rows_in(out)) == 4  # nothing was written twice
    assert sorted(path.name for path in out.iterdir()) == [
        'fleet.html', 'fleet.json', 'fleet.parquet', 'reports', 'rows.sqlite',
    ]  # fmt: skip

    written = rows_in(out)
    again = run_fleet(
        [str(logs)], [str(robot)], out, Processes(2), reports=True, progress=kill_a_worker
    )
    assert again.kept == 4
    assert again.rows == fleet.rows
    assert rows_in(out) == written
    _read_by_others(out)


def _read_by_others(out):
    """The table as pyarrow and DuckDB read it; the query is that of the documentation."""
    duckdb = need('duckdb')
    queries = (REPOSITORY / 'docs' / 'fleet.md').read_text().split('```sql\n')[1:]
    assert queries
    for query in queries:
        text = query.partition('```')[0].replace('fleet.parquet', str(out / 'fleet.parquet'))
        assert duckdb.sql(text).fetchall(), text
    count = duckdb.sql(f"SELECT count(*), count(margin) FROM '{out / 'fleet.parquet'}'")
    assert count.fetchall() == [(4, 3)]


def test_a_local_bag_gives_the_same_row_without_its_report(logs, robot, single):
    (bag,) = find_bags([str(logs / 'day0' / 'walk_0')])
    task = Task(bag, str(robot), robot_digest(robot))
    done = evaluate(task)
    assert done.row.items() >= of_report(json.loads(single['walk_0'])).items()
    assert done.row.keys() == COLUMNS.keys()
    assert done.files == {}
    again = evaluate(task).row
    assert {k: v for k, v in again.items() if k not in RUN} == {
        k: v for k, v in done.row.items() if k not in RUN
    }


def test_a_bag_that_is_cut_off_says_so(sway, robot, tmp_path):
    bag = Draft.of_bag(sway[1], TOPICS, start=1.0, stop=2.5).write(tmp_path / 'walk')
    (file,) = bag.glob('*.mcap')
    os.truncate(file, int(0.7 * file.stat().st_size))
    row = evaluate(task_of(bag, robot)).row
    assert row['state'] != 'error', row['error']
    assert row['findings'][0] == 'damaged_bag'
    assert f"'{file.name}' is cut off" in row['damage']
    assert not any('cut off' in note for note in row['notes'])
    said = _lines(Fleet(tmp_path, (row,), 1, 0))
    assert f'walk: {row["damage"]}' in said
    assert said[0].startswith('1 bag: 1 ')
    assert fleet_statistics([row], 1)['damaged'] == [{'bag': row['bag'], 'damage': row['damage']}]


@pytest.fixture
def kept(logs, robot, tmp_path):
    """A folder with the row of a bag, as an earlier run left it; bag, task and row."""
    bag = shutil.copytree(logs / 'day0' / 'walk_0', tmp_path / 'logs' / 'walk_0')
    task = task_of(bag, robot)
    with Record(tmp_path / 'out') as record:
        row = record.add(task, Done(done_row(task)))
    return tmp_path / 'out', bag, task, row


def task_of(bag, robot):
    (source,) = find_bags([str(bag)])
    return Task(source, str(robot), robot_digest(robot))


def done_row(task, **columns):
    known = {'state': 'stable', 'sha256': 'abc', 'code': code_digest()}
    return blank(task.bag, task.robot) | known | {'robot_sha256': task.robot_sha256} | columns


def test_a_row_is_kept_until_bag_robot_or_code_change(kept, robot, monkeypatch):
    out, bag, task, row = kept
    with Record(out) as record:
        assert record.result(task) == row
        assert record.result(Task(task.bag, task.robot, 'other')) is None
        assert record.result(Task(task.bag, task.robot, task.robot_sha256, report=True)) is None
        (bag / 'walk_0.mcap').write_bytes(b'other')
        assert record.result(task_of(bag, robot)) is None
    monkeypatch.setattr('izmp_dynamics.fleet.campaign.code_digest', lambda: 'newer')
    with Record(out) as record:
        assert record.result(task) is None


def test_what_failed_for_a_reason_outside_of_the_bag_is_tried_again(kept, robot):
    out, bag, _, _ = kept
    (bag / 'walk_0.mcap').write_bytes(b'other')
    task = task_of(bag, robot)
    failed = blank(task.bag, task.robot) | of_error('no network', 'OSError', transient=True)
    with Record(out) as record:
        assert record.add(task, Done(failed)) == record.result(task)  # a row of this run
    with Record(out) as record:
        assert record.result(task) is None


def test_what_a_killed_process_had_not_finished_is_not_there(kept):
    out, _, task, row = kept
    program = (
        'import os, signal, sqlite3, sys\n'
        'rows = sqlite3.connect(sys.argv[1])\n'
        'rows.execute("INSERT INTO rows VALUES (?, ?)", ("", "half"))\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    subprocess.run([sys.executable, '-c', program, out / 'rows.sqlite'], check=False)
    with Record(out) as record:
        assert record.result(task) == row
        record.add(task, Done(row | {'gated': 7}))
    assert [row['gated'] for row in rows_in(out)] == [None, 7]


@pytest.mark.parametrize('damage', [lambda data: b'no table', lambda data: data[:50]])
def test_a_damaged_table_is_a_sentence(kept, damage):
    table = kept[0] / 'rows.sqlite'
    table.write_bytes(damage(table.read_bytes()))
    with raising(FleetError, 'damaged', path=table):
        Record(kept[0])


def test_bags_of_any_name_have_reports_of_their_own(kept):
    out, _, task, _ = kept
    places = set()
    with Record(out) as record:
        for name in ('日本語', '中文', '語' * 80, 'a b', '*', '?', '\udcff'):
            named = replace(task, bag=replace(task.bag, path=f'/logs/{name}'))
            places.add(record._write(named, Done(done_row(named), {'report.html': b''})))
    assert len(places) == 7


def test_two_runs_do_not_write_to_one_folder(kept):
    with Record(kept[0]), pytest.raises(FleetError, match='Another run'):
        Record(kept[0])


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / 'thesis.tex').touch()
    with pytest.raises(FleetError, match='not an earlier result'):
        Record(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ['thesis.tex']


def test_a_fleet_of_which_no_bag_is_evaluated_has_failed(logs, robot, tmp_path):
    outcome = izmp('fleet', logs, '--robot', f'other_*={robot}', '-o', tmp_path / 'out')
    assert outcome.status == 1
    assert 'not evaluated.' in outcome.out


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (['--memory', 'much'], 'processes cannot be started'),
        (['--memory', '100MB'], "a memory of '100MB' is too small; 400 MB are the least."),
    ],
)
def test_a_memory_that_cannot_be_is_a_sentence(options, sentence, logs, robot, tmp_path):
    outcome = izmp('fleet', logs, '--robot', robot, '-o', tmp_path / 'out', *options)
    assert outcome.status == 1
    assert sentence in outcome.err
    assert 'Traceback' not in outcome.err
