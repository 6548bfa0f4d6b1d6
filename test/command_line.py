"""The command line as a user meets it: arguments in, output and files out."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import yaml

from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.cli.main import main

REPOSITORY = Path(__file__).parents[1]
POINTS = ('/mr_ad/izmp', '/ir_md/izmp', '/cop')


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Attributes:
        status: exit status.
        out: standard output, without line breaks of the layout.
        err: standard error, without the lines printed while kernels are compiled.
    """

    status: int
    out: str
    err: str


def izmp(*arguments):
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.dict(os.environ, COLUMNS='240'),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter('error', RuntimeWarning)  # a user would see it on the terminal
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
    said = re.sub(r'izmp: Compil[^\n]*\n', '', err.getvalue())
    return Outcome(status, ' '.join(out.getvalue().split()), said)


def loaded_by(program):
    """Names of the modules that are loaded when a program prints them and at its end; by line.

    It runs in a process of its own.
    """
    ran = subprocess.run(
        [sys.executable, '-c', f'import sys, izmp_dynamics; {program}; print(*sys.modules)'],
        capture_output=True, text=True, cwd=REPOSITORY, check=True,
    )  # fmt: skip
    return [set(line.split()) for line in ran.stdout.splitlines()]


def with_site_code(folder, code, **variables):
    """Environment of processes that run this code as they start: as Python's `sitecustomize`."""
    folder.mkdir()
    (folder / 'sitecustomize.py').write_text(code)
    return os.environ | {'PYTHONPATH': f'{folder}{os.pathsep}{REPOSITORY}', **variables}


class Desk:
    """A folder with a recording and a robot file, and nothing else.

    Attributes:
        folder: everything happens in here.
        bag: the recording.
        robot: the robot file.
        results: where a replay puts its results.
    """

    def __init__(self, folder, draft, robot, storage='mcap'):
        """Write a `bag_surgery.Draft` and a robot file, given as the dictionary of its YAML."""
        self.folder = Path(folder)
        self.robot = self.folder / 'robot.yaml'
        self.robot.write_text(yaml.safe_dump(robot))
        self.bag = draft.write(self.folder / 'bag', storage)
        self.results = self.folder / 'out'

    def replay(self, *options):
        """`izmp replay` into the results."""
        return izmp('replay', self.bag, '--robot', self.robot, '-o', self.results, *options)

    def check(self):
        """`izmp check`."""
        return izmp('check', self.bag, '--robot', self.robot)

    def report(self):
        """The content of report.json; NaN and infinity are errors."""
        return json.loads((self.results / 'report.json').read_text(), parse_constant=_refuse)

    def gated(self):
        """Topic → reason → number, as the report says."""
        return {health['topic']: health['gated'] for health in self.report()['health']}

    def points(self):
        """Topic → stamp → IZMP or CoP in the root frame."""
        with BagReader(self.results / 'bag') as bag:
            topics = [topic for topic in POINTS if topic in bag.topics]
            (batch,) = bag.batches(topics, 1e9)
            poses = {topic: pose_batch(batch[topic]) for topic in topics}
        return {
            topic: dict(zip(pose.stamps.tolist(), pose.positions.tolist(), strict=True))
            for topic, pose in poses.items()
        }


def assert_refused(outcome, sentence=''):
    """One sentence that matches (a list may follow, indented), and nothing else."""
    assert outcome.status == 1, outcome
    assert outcome.out == ''
    assert re.fullmatch(r'izmp: error: [^\n]{20,1200}\n(  [^\n]+\n)*', outcome.err), outcome.err
    assert re.search(sentence, outcome.err), outcome.err


def assert_whole(desk, outcome):
    """Results that are complete, and finite everywhere."""
    assert outcome.status == 0, outcome
    assert outcome.err == ''
    names = sorted(path.name for path in desk.results.iterdir())
    assert names == ['bag', 'report.html', 'report.json']
    desk.report()
    page = (desk.results / 'report.html').read_text()
    for part in page.split('<script'):  # programs; packed numbers
        assert not re.search(r'\b(nan|inf)\b', part.rpartition('</script>')[2], re.IGNORECASE)
    assert _not_finite(desk.results / 'bag') == []


def assert_nothing_else(desk):
    """No file but those that should be there, hidden ones included."""
    expected = {desk.bag.name, desk.robot.name}
    assert {path.name for path in desk.folder.iterdir()} - {desk.results.name} == expected


def _not_finite(path):
    """Topics of a bag with a number that is not finite."""
    with BagReader(path) as bag:
        assert bag.damage is None
        (batch,) = bag.batches(list(bag.topics), 1e9)
        return [
            (topic, field)
            for topic, messages in batch.topics.items()
            for group in messages.decode().groups
            for field in group.layout.paths
            if not np.isfinite(group[field]).all()
        ]


def _refuse(constant):
    raise ValueError(f'{constant} in a report')
