"""Results of `izmp replay` of this version and of an earlier one: equal within 1e-9, or not.

    python benchmarks/same_results.py REVISION [--logs FOLDER] [--reference FOLDER]

Both evaluate the same simulated bags, which the earlier one makes, and the recordings in FOLDER
that have a robot file. Compared are report.json with its events, but for the hashes of files, and
all messages of the bag by topic and stamp: names and sentences must be the same, numbers differ by
at most 1e-9 or, where they are larger than 1, by 1e-9 of themselves. REVISION is a commit or the
folder of a checkout; its results are kept in the folder of --reference and used again.
Exit status: 0 all equal, 1 not.
"""

import argparse
import json
import math
import sys
import tempfile
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

import numpy as np
from against import checkout, environment
from child import izmp
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

HERE = Path(__file__).resolve().parents[1]
BIPED = 'robots/biped31'
TOLERANCE = 1e-9
SHOWN = 10
SIMULATED = {
    'walk': ('walk', '--steps', '8', '--push', '40:lateral:2.0', '--noise', 'xsens_mti20'),
    'sway': ('sway',),
}
MISSING = 'missing'


def run(root, *arguments):
    """Run `izmp` of the checkout `root`."""
    izmp(*map(str, arguments), environment=environment(root), cwd=root)


def replays(root, simulated, logs):
    """Name of each evaluation and the arguments of its `izmp replay`."""
    biped = root / BIPED
    walk, sway = simulated / 'walk', simulated / 'sway'
    yield 'walk', (walk, '--robot', biped / 'robot.yaml', '--filter', 'none')
    yield 'walk_noisy', (walk, '--robot', biped / 'robot_noisy.yaml', '--filter', 'auto')
    filtered = ('--filter', '0.04', '--storage', 'sqlite3')
    yield 'sway_filtered', (sway, '--robot', biped / 'robot.yaml', *filtered)
    for log in sorted(path.parent for path in logs.glob('*/metadata.yaml')):
        example = root / 'examples' / log.name / 'robot.yaml'
        urdf = ('--urdf', log / 'robot.urdf') if example.exists() else ()
        for robot in [*sorted(log.glob('robot*.yaml')), *([example] if urdf else [])]:
            yield f'{log.name}_{robot.stem}', (log, '--robot', robot, *urdf, '--filter', 'none')
        if log.name == 'human_bowing':
            yield f'{log.name}_filter', (log, '--robot', robot, '--filter', 'auto')


def evaluate(root, simulated, logs, folder):
    """Write what the checkout `root` makes of all logs to `folder`."""
    for name, arguments in replays(root, simulated, logs):
        run(root, 'replay', *arguments, '--quiet', '-o', folder / name)


def make_reference(revision, logs, reference):
    """Simulate, evaluate with `revision`; `reference` appears when all is done."""
    reference.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=reference.parent) as folder,
        checkout(revision) as root,
    ):
        made = Path(folder) / 'made'
        simulated = made / 'simulated'
        for name, arguments in SIMULATED.items():
            run(root, 'simulate', *arguments, '--quiet', '-o', simulated / name)
        evaluate(root, simulated, logs, made / 'results')
        (made / 'revision').write_text(revision, 'utf-8')
        made.rename(reference)


def plain(value):
    """A message as dictionaries, lists, numbers and strings."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {k: plain(v) for k, v in vars(value).items()} if hasattr(value, '__dict__') else value


def differences(a, b, key=''):
    """Yield key, both values and how far they are apart, of all that is not identical."""
    if isinstance(a, dict) and isinstance(b, dict):
        for name in {**a, **b}:
            if key != '/hashes' or (name in a) != (name in b):
                at = f'{key}/{name}'
                yield from differences(a.get(name, MISSING), b.get(name, MISSING), at)
    elif isinstance(a, list) and isinstance(b, list):
        for i, pair in enumerate(zip_longest(a, b, fillvalue=MISSING)):
            yield from differences(*pair, f'{key}[{i}]')
    elif (float in (type(a), type(b))) and {type(a), type(b)} <= {int, float}:
        if a != b and not (math.isnan(a) and math.isnan(b)):
            distance = abs(a - b) / (1.0 + abs(a))
            yield key, a, b, distance if math.isfinite(distance) else math.inf
    elif type(a) is not type(b) or a != b:
        yield key, a, b, math.inf


def contents(reader):
    """Types, qualities of service and, by topic and stamp, messages of a bag."""
    topics = {c.topic: f'{c.msgtype} {c.ext.offered_qos_profiles}' for c in reader.connections}
    messages = defaultdict(list)
    for connection, stamp, raw in reader.messages():
        messages[f'{connection.topic} at {stamp}'].append((connection.msgtype, raw))
    return topics, messages


def bag_differences(old, new):
    """Differences of two bags; bytes are read as numbers only where they differ."""
    store = get_typestore(Stores.ROS2_JAZZY)
    with (
        AnyReader([old], default_typestore=store) as first,
        AnyReader([new], default_typestore=store) as second,
    ):
        (topics, messages), (new_topics, new_messages) = contents(first), contents(second)
        yield from differences(topics, new_topics, 'bag')
        for key in {**messages, **new_messages}:
            a, b = messages.get(key, []), new_messages.get(key, [])
            if a != b:
                a = [plain(first.deserialize(raw, kind)) for kind, raw in a]
                b = [plain(second.deserialize(raw, kind)) for kind, raw in b]
                yield from differences(a, b, key)


def compare(name, old, new):
    """Print whether two results are equal, or the first differences; return the former."""
    if not (old.is_dir() and new.is_dir()):
        print(f'{name}: only in {old.parent if old.is_dir() else new.parent}')
        return False
    reports = [json.loads((folder / 'report.json').read_text('utf-8')) for folder in (old, new)]
    found = [*differences(*reports), *bag_differences(old / 'bag', new / 'bag')]
    wrong = [row for row in found if row[3] > TOLERANCE]
    largest = max((row[3] for row in found), default=0.0)
    print(f'{name}: {f"{len(wrong)} differences" if wrong else "equal"}, largest {largest:.1e}')
    for key, a, b, distance in wrong[:SHOWN]:
        print(f'    {key}: {str(a)[:200]} → {str(b)[:200]} ({distance:.1e})')
    return not wrong


def main():
    """Compare all results; exit status 1 on a difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('revision', help='commit, or folder of a checkout, to compare with')
    parser.add_argument('--logs', type=Path, default=HERE.parent / 'shared/data')
    parser.add_argument('--reference', type=Path, help='keep the results of REVISION here')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reference = (options.reference or Path(folder) / 'reference').resolve()
        logs, new = options.logs.resolve(), Path(folder).resolve() / 'new'
        if not reference.exists():
            make_reference(options.revision, logs, reference)
        elif (kept := (reference / 'revision').read_text('utf-8')) != options.revision:
            sys.exit(f'{reference} holds the results of {kept}')
        evaluate(HERE, reference / 'simulated', logs, new)
        names = {path.name for made in (reference / 'results', new) for path in made.iterdir()}
        equal = [compare(name, reference / 'results' / name, new / name) for name in sorted(names)]
        sys.exit(not all(equal))


if __name__ == '__main__':
    main()
