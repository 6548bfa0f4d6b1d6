"""Cases of the fuzz campaign for the commands other than check, model and replay."""

import json
from pathlib import Path

from fuzz_bytes import mutated_mcap, mutated_text
from fuzz_case import Case, Ended, FaultError, Verdict, run
from fuzz_trees import mutated_yaml

LIMITS = Path(__file__).parents[1] / 'config/limits_example.yaml'

SHARES = {
    'draft': 0.25,
    'calibrate': 0.2,
    'compare': 0.2,
    'compare-runs': 0.16,
    'fleet': 0.03,
    'experiments': 0.06,
    'expect': 0.1,
}
"""Command → share of the cases; those that draw pages or start processes take longest."""


class OtherCase(Case):
    """Corrupted files, and one command on them."""

    def run(self, seconds: float) -> Verdict:
        """Run the command; it may compute for so long."""
        name = str(self.rng.choice(list(SHARES), p=list(SHARES.values())))
        command = getattr(self, f'_{name.replace("-", "_")}')()
        self.given = set(self.folder.iterdir())
        ended, outcome, detail = None, 'complete', ''
        try:
            ended = run(command, self.place, 3.0 * seconds if name == 'fleet' else seconds)
            self._judge_ending(ended, (0, 1, 3) if name == 'expect' else (0, 1))
            self._judge_files(name, ended)
            outcome = 'refused' if ended.status == 1 else 'complete'
        except FaultError as fault:
            outcome, detail = fault.args
        return Verdict(self.kind, outcome, detail, ended.cpu if ended else 0.0)

    def _judge_files(self, name: str, ended: Ended) -> None:
        """Nothing half-written, no NaN, nothing in the folder of temporary files."""
        new = {path.name for path in set(self.folder.iterdir()) - self.given}
        keeps = name in ('calibrate', 'fleet', 'experiments')  # a report, finished runs
        odd = new - {'out', 'draft.yaml', 'draft.urdf'}
        odd |= {str(path) for path in self.folder.rglob('*partial-*')}
        left = [path for path in self.temporary.iterdir() if 'dask-scratch' not in path.name]
        if odd or left or (new and ended.status == 1 and not keeps):
            raise FaultError('left behind', f'{name}: {new}, {odd}, {left}')
        try:
            for path in (self.folder / 'out').rglob('*.json'):
                json.loads(path.read_text('utf-8'), parse_constant=_refuse)
        except ValueError as error:
            raise FaultError('bad results', f'{name}: {error}') from error

    @property
    def _robot(self) -> list[str]:
        return ['--robot', str(self.folder / 'robot.yaml')]

    @property
    def _out(self) -> list[str]:
        return ['-o', str(self.folder / 'out')]

    def _draft(self) -> list[str]:
        given = ['--urdf', str(self.folder / 'robot.urdf')] if self.rng.random() < 0.7 else []
        return ['draft', str(self.bag), *given, '-o', str(self.folder / 'draft.yaml')]

    def _calibrate(self) -> list[str]:
        return ['calibrate', str(self.bag), *self._robot, *self._out]

    def _compare(self) -> list[str]:
        reference = str(self.rng.choice(['cop', 'mr_ad', 'ir_md', 'ground_truth']))
        return ['compare', str(self.bag), *self._robot, '--reference', reference]

    def _compare_runs(self) -> list[str]:
        return ['compare-runs', self._result(False), self._result(True), *self._out]

    def _fleet(self) -> list[str]:
        return ['fleet', str(self.bag), str(self.bag), *self._robot, *self._out, '--workers', '1']

    def _experiments(self) -> list[str]:
        for name in ('robot.yaml', 'robot.urdf'):
            (self.bag / name).write_bytes((self.folder / name).read_bytes())
        return ['experiments', 'real', '--logs', str(self.bag), *self._out]

    def _expect(self) -> list[str]:
        limits = self.folder / 'limits.yaml'
        limits.write_bytes(mutated_yaml(self.rng, LIMITS.read_bytes()))
        return ['replay', str(self.bag), *self._robot, *self._out, '--expect', str(limits)]

    def _result(self, corrupted: bool) -> str:
        """Write the result of a replay; of a corrupted one, its report or its bag."""
        folder = self.folder / ('corrupted' if corrupted else 'sound')
        files = dict(self.inputs.result)
        if corrupted:
            report = self.rng.random() < 0.6
            name = 'report.json' if report else next(n for n in files if n.endswith('.mcap'))
            for _ in range(self.rounds):
                mutate = mutated_mcap if not report else (
                    _mutated_json if self.rng.random() < 0.7 else mutated_text
                )  # fmt: skip
                files[name] = mutate(self.rng, files[name])
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return str(folder)


def _mutated_json(rng, content: bytes) -> bytes:
    """Change a value somewhere in a report."""
    try:
        node = tree = json.loads(content)
    except ValueError:
        return mutated_text(rng, content)
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return content
        key = keys[rng.integers(len(keys))]
        if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        if rng.random() < 0.4:
            del node[key]
        else:
            odd = (float('nan'), float('inf'), '\x1b[31m', 1e308, -1, 0)
            values = (None, True, [], {}, 'x', '', *odd)
            node[key] = values[rng.integers(len(values))]
        return json.dumps(tree).encode()


def _refuse(constant: str) -> None:
    raise ValueError(f'{constant} in a JSON file')
