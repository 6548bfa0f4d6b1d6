"""How many verdicts of `izmp replay` are true, by simulated recordings whose truth is known.

    python benchmarks/verdicts.py FOLDER [--held-out] [--only TEXT] [--seed 1]

Makes the recordings in FOLDER (see `verdict_cases`) or uses those that are there, replays the half
of them that is meant for work, or, once at the end, the half that was held out, and prints what is
wrong, the share of right verdicts, the pushes found, wrong and missed, and the largest error of
their magnitude. Exit status 1 if a verdict is 'stable' where that is false.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from verdict_cases import cases

from izmp_dynamics.cli.main import main as izmp

NEAR = 0.15
"""A push is found where one is reported to begin within so many seconds [s]."""


def replayed(case, folder):
    """Results of a case; None with the sentence if it is refused."""
    out = folder / 'results' / case.name
    shutil.rmtree(out, ignore_errors=True)
    arguments = ['replay', str(case.bag), '--robot', str(case.robot), '-o', str(out), '--quiet']
    status = izmp(arguments)
    report = out / 'report.json'
    return json.loads(report.read_text('utf-8')) if status == 0 and report.exists() else None


def judged(case, report):
    """What is wrong with a report, in words; empty if nothing is."""
    if report is None:
        return '' if 'unclear' in case.states else 'refused'
    state = report['verdict']['state']
    if state not in case.states:
        return f'{state}, not {" or ".join(sorted(case.states))}'
    faults = [event for event in report['events'] if event['kind'] == 'sensor fault']
    if case.noted and state != 'unclear' and not faults and not report['findings']:
        return 'nothing is said of the fault'
    return ''


def matched(case, report):
    """Pushes found, with reported over true magnitude, and how many more are reported."""
    reported = report['external_forces']['pushes'] if report else []
    ratios, left = [], list(reported)
    for start, duration, size in case.pushes:
        near = [p for p in left if start - NEAR <= p['start'] <= start + duration]
        if near:
            best = max(near, key=lambda p: np.hypot(p['forward'], p['left']))
            left.remove(best)
            force = np.linalg.norm([best['forward'], best['left'], best['up']])
            ratios.append(force / size)
    return ratios, len(left)


def main():
    """Score all cases of one half."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--held-out', action='store_true')
    parser.add_argument('--only', default='', help='cases with this text in their name')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    table = Table('case', 'wrong', 'what it says')
    count = right = green = pushed = found = false = 0
    minutes, ratios = 0.0, []
    folder = options.folder.resolve()
    for case in cases(folder, options.seed, options.held_out, options.only):
        report = replayed(case, folder)
        wrong = judged(case, report)
        count, right = count + 1, right + (not wrong)
        state = report['verdict']['state'] if report else 'refused'
        green += bool(wrong) and state == 'stable'
        if wrong:
            text = report['verdict']['text'] if report else ''
            table.add_row(case.name, wrong, text[:160])
        sizes, more = matched(case, report)
        pushed, found = pushed + len(case.pushes), found + len(sizes)
        if not case.noted:
            false += more
            minutes += (report['duration'] if report else 0.0) / 60.0
        ratios += [] if case.falling else sizes
        print(f'{case.name}: {state}{", WRONG" if wrong else ""}', flush=True)
    console = Console(width=200)
    console.print(table)
    off = np.abs(np.array(ratios) - 1.0)
    console.print(f'{right} of {count} verdicts right, {green} falsely stable')
    console.print(f'{found} of {pushed} pushes found; {false} false in {minutes:.1f} min')
    if len(off):
        beyond = np.count_nonzero(off > 0.1)
        console.print(f'magnitude: median error {np.median(off):.1%}, beyond 10 %: {beyond}')
    sys.exit(green > 0)


if __name__ == '__main__':
    main()
