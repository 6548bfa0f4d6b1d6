"""One case of the fuzz campaign: corrupted files, commands run on them, and a judgement."""

import contextlib
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from json import loads
from pathlib import Path
from typing import NoReturn

import numpy as np
from fuzz_bytes import mutated_bytes, mutated_mcap
from fuzz_inputs import BARE_FORMS, FORMS, Files, Inputs, write
from fuzz_messages import mutated_messages
from fuzz_trees import mutated_sqlite, mutated_xml, mutated_yaml
from fuzz_values import encoded, name
from numpy.random import Generator

from izmp_dynamics.bags.batch import Message
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.cli.main import main

HARMLESS = ('complete', 'usable', 'refused')
KINDS = ('mcap', 'db3', 'messages', 'metadata', 'robot', 'urdf', 'names')
_SHARES = (0.24, 0.2, 0.16, 0.1, 0.12, 0.12, 0.06)

LARGEST_FILE = 1 << 28
"""What a command may write into a file [bytes]."""

REPLAYED = 0.25
"""Share of the usable cases that are replayed, too: drawing the report takes most of the time."""

_SENTENCE = re.compile(r'izmp: error: [^\n]{15,4000}\n(  [^\n]+\n)*')
_PROGRESS = re.compile(r'izmp: \d+ of \d+ bags[^\n]*\n')
_CONTROL = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f]')
_INJECTED = re.compile(r'<script>alert|<img src=x')
_OUR_NAMES = (b'pelvis', b'l_knee', b'l_foot_ft', b'imu_link', b'l_foot', b'r_sole', b'/gps',
              b'joint_states', b'accelerometer_2', b'biped31', b'base_link')  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where commands run.

    Attributes:
        folder: the current one.
        temporary: for temporary files.
        encoding: of the terminal.
        largest_file: as if the disk were full beyond it [bytes].
        memory: that a command may take beyond what it has at its start [bytes].
    """

    folder: Path
    temporary: Path
    encoding: str
    largest_file: int
    memory: int = 1 << 30

    @property
    def is_narrow(self) -> bool:
        """Whether the disk may be too small for the results."""
        return self.largest_file < LARGEST_FILE


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        command: its name.
        status: exit status; negative for a signal.
        out: standard output.
        err: standard error.
        cpu: computing time [s].
    """

    command: str
    status: int
    out: str
    err: str
    cpu: float


@dataclass(frozen=True)
class Verdict:
    """What came of a case.

    Attributes:
        kind: what was corrupted.
        outcome: 'complete', 'usable' (as `izmp check` says; not replayed), 'refused', or the name
            of a fault.
        detail: what to know about a fault.
        cpu: computing time of the slowest command [s].
    """

    kind: str
    outcome: str
    detail: str
    cpu: float

    @property
    def is_fault(self) -> bool:
        """Whether this must not happen."""
        return self.outcome not in HARMLESS


class FaultError(Exception):
    """What must not happen; the arguments are its name and what to know about it."""


class Case:
    """The files of one case, made from a seed and a number alone.

    Attributes:
        kind: what is corrupted.
        runs: whether the kind is wanted; there are no files otherwise.
        replays: whether a usable recording is replayed.
    """

    def __init__(
        self, inputs: Inputs, seed: int, number: int, folder: Path, kinds: tuple[str, ...] = KINDS
    ) -> None:
        """Make the files of case `number` in an empty folder."""
        self.inputs = inputs
        self.folder = folder
        self.rng = np.random.default_rng([seed, number])
        self.kind = str(self.rng.choice(KINDS, p=_SHARES))
        self.runs = self.kind in kinds
        self.rounds = int(self.rng.integers(1, 4))
        self.replays = bool(self.rng.random() < REPLAYED)
        self.bag = folder / 'bag'
        self.temporary = folder / 'tmp'
        encoding = 'ascii' if self.rng.random() < 0.1 else 'utf-8'
        narrow = self.rng.random() < 0.1
        disk = int(2 ** self.rng.uniform(15, 20)) if narrow else LARGEST_FILE
        self.place = Place(folder, self.temporary, encoding, disk)
        if self.runs:
            self._make()
            self.given = set(folder.iterdir())

    def run(self, seconds: float) -> Verdict:
        """Run the commands; a command may compute for so long."""
        ended: list[Ended] = []
        try:
            for command in self._commands():
                if command[0] == 'replay' and ended[0].status == 0 and not self.replays:
                    continue
                ended.append(run(command, self.place, seconds))
                self._judge(ended[-1])
            statuses = {end.status for end in ended if end.command != 'model'}
            if len(statuses) > 1 and not self.place.is_narrow:
                raise FaultError('disagree', f'check and replay end with {statuses}')
            done = 'complete' if ended[-1].command == 'replay' else 'usable'
            outcome, detail = ('refused' if 1 in statuses else done), ''
        except FaultError as fault:
            outcome, detail = fault.args
        return Verdict(self.kind, outcome, detail, max((end.cpu for end in ended), default=0.0))

    def _commands(self) -> list[list[str]]:
        bag = next(self.bag.glob('*.mcap'), self.bag)
        bag = bag if self.rng.random() < 0.1 else self.bag
        given = [str(bag), '--robot', str(self.folder / 'robot.yaml')]
        storage = ('mcap', 'sqlite3')[self.rng.integers(2)]
        commands = [['check', *given]]
        if self.kind in ('urdf', 'names'):
            commands.append(['model', str(self.folder / 'robot.urdf')])
        replay = ['replay', *given, '-o', str(self.folder / 'out'), '--storage', storage]
        return [*commands, replay]

    def _judge_ending(self, ended: Ended, statuses: tuple[int, ...] = (0, 1)) -> None:
        """Judge how a command ended and what it printed."""
        said = f'{ended.command}: {_excerpt(ended.err or ended.out)}'
        if ended.status < 0:
            number = signal.Signals(-ended.status)
            slow = number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL)
            raise FaultError('time' if slow else number.name, said)
        if 'Traceback' in ended.err:
            raise FaultError('traceback', said)
        if 'memory does not suffice' in ended.err:
            raise FaultError('memory', said)
        if _CONTROL.search(ended.out + ended.err):
            raise FaultError('control characters', repr(said))
        if ended.status not in statuses:
            raise FaultError(f'status {ended.status}', said)
        if ended.status == 0 and _PROGRESS.sub('', ended.err):
            raise FaultError('remarks on stderr', said)
        if ended.status == 1 and not (
            ended.out if not ended.err else _SENTENCE.fullmatch(ended.err)
        ):
            raise FaultError('no sentence', said)

    def _judge(self, ended: Ended) -> None:
        self._judge_ending(ended)
        said = f'{ended.command}: {_excerpt(ended.err or ended.out)}'
        if ended.status == 1 and ended.command == 'replay' and (ended.out or not ended.err):
            raise FaultError('no sentence', said)
        if ended.command == 'replay' and ended.status == 0:
            self._judge_results()
        found = set(self.folder.iterdir()) - self.given
        expected = (
            {self.folder / 'out'} if ended.command == 'replay' and not ended.status else set()
        )
        if found != expected or list(self.temporary.iterdir()):
            raise FaultError('left behind', f'{found}, {list(self.temporary.iterdir())}')

    def _judge_results(self) -> None:
        out = self.folder / 'out'
        names = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
        if names != ['bag', 'report.html', 'report.json']:
            raise FaultError('incomplete', str(names))
        try:
            loads((out / 'report.json').read_text('utf-8'), parse_constant=_refuse)
            page = (out / 'report.html').read_text('utf-8')
            odd = _not_finite(out / 'bag')
        except (IzmpError, ValueError) as error:
            raise FaultError('bad results', str(error)) from error
        if odd:
            raise FaultError('not finite', str(odd))
        if _INJECTED.search(page):
            raise FaultError('injected', 'markup of a name is in the page')

    def _make(self) -> None:
        self.temporary.mkdir()
        inputs, rng = self.inputs, self.rng
        robot, urdf = inputs.robot, inputs.urdf
        form = str(rng.choice([form for form in (*FORMS, *BARE_FORMS) if self._fits(form)]))
        files = dict(inputs.bags[form])
        if self.kind == 'messages':
            files = self._rewritten(mutated_messages(rng, inputs.messages, self.rounds), form)
        elif self.kind == 'metadata':
            files['metadata.yaml'] = self._repeated(mutated_yaml, files['metadata.yaml'])
        elif self.kind == 'robot':
            base = robot if rng.random() < 0.5 else inputs.full_robot
            robot = self._repeated(mutated_yaml, base)
        elif self.kind == 'urdf':
            urdf = self._repeated(mutated_xml, urdf)
        elif self.kind == 'names':
            old, new = self._same_length()
            renamed = [replace(m, raw=m.raw.replace(old, new)) for m in inputs.messages]
            files = self._rewritten(renamed, form)
            robot, urdf = robot.replace(old, new), urdf.replace(old, new)
        else:
            storage = next(name for name in files if name != 'metadata.yaml')
            files[storage] = self._repeated(self._mutated_storage, files[storage])
            if rng.random() < 0.2:
                files.pop('metadata.yaml', None)
        self.bag.mkdir()
        for path, content in files.items():
            (self.bag / path).write_bytes(content)
        (self.folder / 'robot.yaml').write_bytes(robot)
        (self.folder / 'robot.urdf').write_bytes(urdf)

    def _fits(self, form: str) -> bool:
        """Whether a form of bag can be corrupted in the way of this case."""
        storage = {'mcap': 'mcap', 'db3': 'sqlite3'}.get(self.kind, '')
        return form.startswith(storage) and not (self.kind == 'metadata' and form in BARE_FORMS)

    def _repeated(self, mutate: Callable[[Generator, bytes], bytes], content: bytes) -> bytes:
        for _ in range(self.rounds):
            content = mutate(self.rng, content)
        return content

    def _mutated_storage(self, rng: Generator, content: bytes) -> bytes:
        if rng.random() < 0.4:
            return mutated_bytes(rng, content)
        if self.kind == 'db3':
            return mutated_sqlite(rng, content, self.temporary)
        return mutated_mcap(rng, content)

    def _rewritten(self, messages: list[Message], form: str) -> Files:
        """A bag with these messages in it."""
        with tempfile.TemporaryDirectory() as scratch:
            return write(messages, Path(scratch) / 'bag', form)

    def _same_length(self) -> tuple[bytes, bytes]:
        """A name and another one of as many bytes."""
        old = _OUR_NAMES[self.rng.integers(len(_OUR_NAMES))]
        new = encoded(name(self.rng)) or b'?'
        return old, (new * len(old))[: len(old)]


def run(command: list[str], place: Place, seconds: float) -> Ended:
    """Run `izmp` in a child of this process, within limits."""
    beside = place.folder.parent
    with (beside / 'out').open('w+b') as out, (beside / 'err').open('w+b') as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _child(command, place, seconds, out.fileno(), err.fileno())
        _, status, usage = os.wait4(child, 0)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode('utf-8', 'backslashreplace'))
    cpu = usage.ru_utime + usage.ru_stime
    return Ended(command[0], os.waitstatus_to_exitcode(status), *texts, cpu)


def _child(command: list[str], place: Place, seconds: float, out: int, err: int) -> NoReturn:
    """Never returns: the child ends here, whatever happens."""
    status = 70
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, 'w'), place.encoding)
        sys.stderr = io.TextIOWrapper(io.FileIO(2, 'w'), place.encoding, 'backslashreplace')
        os.chdir(place.folder)
        os.environ['TMPDIR'] = tempfile.tempdir = str(place.temporary)
        _limit(seconds, place)
        warnings.simplefilter('error', RuntimeWarning)  # a user would see it on the terminal
        status = main(command)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 70
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def _limit(seconds: float, place: Place) -> None:
    """Limit computing time, memory and files; the alarm is for what waits for ever."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(round(30 * seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (round(seconds), round(seconds) + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.largest_file, place.largest_file))
    pages = int(Path('/proc/self/statm').read_text().split()[0])
    most = pages * resource.getpagesize() + place.memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def clear(folder: Path) -> None:
    """Make a folder empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _excerpt(text: str) -> str:
    return text if len(text) < 3000 else f'{text[:1000]} … {text[-2000:]}'


def _not_finite(path: Path) -> list[tuple[str, str]]:
    """Topics and fields of a bag with a number that is not finite."""
    with BagReader(path) as bag:
        if bag.damage:
            raise FaultError('bad results', str(bag.damage))
        (batch,) = bag.batches(list(bag.topics), 1e9)
        return [
            (topic, field)
            for topic, messages in batch.topics.items()
            for group in messages.decode().groups
            for field in group.layout.paths
            if not np.isfinite(group[field]).all()
        ]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f'{constant} in report.json')
