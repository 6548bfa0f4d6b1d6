"""`izmp experiments`: figures and tables of papers, made again."""

import argparse
import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.cluster_options import add_cluster_options, at_least, cluster_of

_PAGES = {
    'paper': 'izmp_lab.studies.paper.page',
    'itu_biped': 'izmp_lab.studies.itu_biped.page',
    'angular_momentum': 'izmp_lab.studies.angular_momentum.page',
    'seesaw': 'izmp_lab.seesaw.study.page',
    'fall_alarm': 'izmp_lab.studies.fall_alarm.page',
    'real': 'izmp_lab.studies.real.page',
}
"""Experiment → module with its figures."""

_TRIALS = 4000
"""Walks of the fall alarm: some 15 h that the robot survives."""

_FIRST_SEED = 10_000
"""Of the fall alarm: seeds below are those on which parameters were chosen."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'experiments',
        help="make the paper's figures and tables from simulated walks",
        description="Make the paper's figures 6 to 11 and the tables behind them from simulated "
        'walks, beside the values that the paper states; likewise figures 7 to 11 of the paper on '
        'the ITU Biped, the experiments on walks with estimated angular momentum, and figures 2 '
        'to 5 of the paper on iCub on a seesaw, and trials of the fall alarm.',
    )
    actions = parser.add_subparsers(metavar='ACTION', required=True)
    listing = actions.add_parser('list', help='list the figures')
    listing.add_argument(
        'experiment', nargs='?', choices=tuple(_PAGES), help='of which experiment (default: all)'
    )
    listing.set_defaults(run=run_list)
    for name, (run, summary, does) in _ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=does.format(**_WHERE))
        if name in _OWN_OPTIONS:
            _OWN_OPTIONS[name](action)
        _add_options(action)
        action.set_defaults(run=run)


def _add_fall_alarm_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--trials', type=at_least(1), metavar='N',
        help=f'walks of 21 s at most, with a stance to ten of them (default: {_TRIALS}; 10 with '
        '--quick)',
    )  # fmt: skip
    parser.add_argument(
        '--first-seed', type=at_least(0), metavar='SEED', default=_FIRST_SEED,
        help='of the first walk and the first stance (default: %(default)s)',
    )  # fmt: skip


def _add_real_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--logs', type=Path, metavar='FOLDER', help='where the recordings are (default: none)'
    )


def _add_seesaw_options(parser: argparse.ArgumentParser) -> None:
    robots = ('icub', 'biped31')
    parser.add_argument('--robot', choices=robots, default='icub', help='default: icub')


def _add_paper_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--file', type=Path, metavar='FILE', help='experiment file (default: as in the paper)'
    )
    parser.add_argument('--seeds', type=at_least(2), metavar='N', help='repetitions (default: 20)')
    parser.add_argument(
        '--noise-density',
        type=float,
        metavar='ν',
        help='of the accelerometers [µg/√Hz] (default: 60)',
    )


_OWN_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    'paper': _add_paper_options,
    'seesaw': _add_seesaw_options,
    'fall_alarm': _add_fall_alarm_options,
    'real': _add_real_options,
}


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every experiment has."""
    parser.add_argument(
        '-o', '--output', type=Path, required=True, metavar='OUT', help='folder for the results'
    )
    parser.add_argument(
        '--only',
        action='append',
        default=[],
        metavar='FIGURE',
        help='of those that `izmp experiments list` names; repeatable',
    )
    add_cluster_options(parser, '--jobs', 2)
    parser.add_argument(
        '--quick', action='store_true', help='few and short runs: does everything work?'
    )
    parser.add_argument('--quiet', action='store_true', help='no progress bar, no summary')
    parser.add_argument(
        '--strict', action='store_true', help='exit with 1 if something that must hold does not'
    )


def run_list(options: argparse.Namespace) -> int:
    """Print names and what they show."""
    for experiment in [options.experiment] if options.experiment else _PAGES:
        page = importlib.import_module(_PAGES[experiment])
        if not options.experiment:
            print(f'izmp experiments {experiment}')
        width = max(map(len, page.FIGURES), default=0)
        if not page.FIGURES:
            print('  one figure per recording, see --logs')
        for name, (_, what) in page.FIGURES.items():
            print(f'  {name:{width}}  {what}')
    return 0


def run_paper(options: argparse.Namespace) -> int:
    """Make figures and page of the paper."""
    from izmp_lab.studies.paper.campaign import Campaign
    from izmp_lab.studies.paper.page import page

    experiment = _experiment(options)
    return _make(options, page(experiment), Campaign.of(experiment))


def run_itu_biped(options: argparse.Namespace) -> int:
    """Make figures and page of the paper on the ITU Biped."""
    from izmp_lab.studies.itu_biped.page import page
    from izmp_lab.studies.itu_biped.study import ItuStudy

    study = ItuStudy.quick() if options.quick else ItuStudy.full()
    return _make(options, page(study), study)


def run_angular_momentum(options: argparse.Namespace) -> int:
    """Make figures and page of the walks with estimated angular momentum."""
    from izmp_lab.studies.angular_momentum.page import page
    from izmp_lab.studies.angular_momentum.study import MomentumStudy

    prepare = MomentumStudy.quick if options.quick else MomentumStudy.full
    study = prepare(options.output)
    return _make(options, page(study), study)


def run_seesaw(options: argparse.Namespace) -> int:
    """Make figures and page of the seesaw."""
    from izmp_lab.seesaw.study.page import page
    from izmp_lab.seesaw.study.tasks import SeesawStudy

    study = SeesawStudy.quick(options.robot) if options.quick else SeesawStudy(options.robot)
    return _make(options, page(study), study)


def run_fall_alarm(options: argparse.Namespace) -> int:
    """Make figures and page of the fall alarm."""
    from izmp_lab.studies.fall_alarm.page import page
    from izmp_lab.studies.fall_alarm.study import FallStudy

    study = FallStudy.of(options.trials or (10 if options.quick else _TRIALS), options.first_seed)
    return _make(options, page(study), study)


def run_real(options: argparse.Namespace) -> int:
    """Make figures and page of the recordings; say so if there are none."""
    from izmp_lab.studies.real.logs import LogStudy
    from izmp_lab.studies.real.page import NOTHING, page

    study = LogStudy.of(options.logs)
    for sentence in study.logs.skipped:
        print(sentence)
    if not study.logs.found:
        print(NOTHING)
        return 0
    return _make(options, page(study), study)


_WHERE = {
    'files': 'OUT/NAME.png, .svg and .csv, and OUT/index.html with all of them',
    'kept': 'Finished runs are kept in OUT/runs, so an interrupted command goes on where it '
    'stopped.',
}
_ACTIONS: dict[str, tuple[Callable[[argparse.Namespace], int], str, str]] = {
    'paper': (
        run_paper,
        'make the figures: PNG, SVG, CSV and one page',
        'Make the figures as {files}. {kept}',
    ),
    'itu_biped': (
        run_itu_biped,
        'walks of the ITU Biped with and without converging centre of gravity',
        'Make figures 7 to 11 of Şanlıtürk & Kocabaş (2024) and a map of who falls, as {files}. '
        '{kept}',
    ),
    'angular_momentum': (
        run_angular_momentum,
        'walking patterns with angular-momentum estimation: E1 to E4 and more',
        'Make the experiments E1 to E4 of Mayr, Gattringer & Bremer with biped31 and, where '
        'example-robot-data is installed, with TALOS, a map of step times and lengths, the '
        'execution in MuJoCo and calculation times, as {files}. {kept}',
    ),
    'seesaw': (
        run_seesaw,
        'iCub balances on a seesaw by momentum control',
        'Make figures 2 to 5 of Nava et al. (2017), a comparison of gains, the largest push, the '
        'two plants, the check of the loop and the IZMP on the moving board, as {files}. {kept}',
    ),
    'fall_alarm': (
        run_fall_alarm,
        'lead times and false alarms of the fall alarm in walks with pushes',
        'Let a robot walk and stand under pushes, and compare the fall alarm with the falls, as '
        '{files}. Finished trials are kept in OUT/runs, so an interrupted command goes on where '
        'it stopped, and one with more trials makes only those that are new.',
    ),
    'real': (
        run_real,
        'recordings of real robots, raw and filtered',
        'Evaluate every recording below a folder, raw and filtered, as fig. 12 does with the real '
        'robot: {files}. A recording is a folder with a metadata.yaml (rosbag2) and a robot.yaml.',
    ),
}
"""Experiment → what runs it, in short, and what it does."""


def _make(options: argparse.Namespace, page: Any, subject: Any) -> int:
    """Make figures and page; say which claims hold; 1 if one does not and `--strict`."""
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_lab.studies.publish import publish

    with progress_bar('Experiments', options.quiet) as progress:
        results = publish(
            page,
            subject,
            options.output,
            only=options.only,
            cluster=cluster_of(options),
            progress=progress,
        )
    _report(options, results)
    return int(options.strict and not all(fact.holds for _, fact in results.claims))


def _report(options: argparse.Namespace, results: Any) -> None:
    if options.quiet:
        return
    for picture, fact in results.claims:
        mark = 'holds' if fact.holds else 'FAILS'
        print(f'{mark}  {picture.name:13} {fact.label}: {fact} (expected {fact.wanted})')
    print(f'Page: {results.page}')


def _experiment(options: argparse.Namespace) -> Any:
    from izmp_dynamics.base.errors import RobotFileError
    from izmp_lab.studies.paper.campaign import load_experiment

    experiment = load_experiment(options.file)
    if options.quick:
        experiment = experiment.quick()
    if options.seeds is not None:
        experiment = dataclasses.replace(experiment, seeds=options.seeds)
    if options.noise_density is not None:
        if not 0.01 <= options.noise_density <= 1e5:
            raise RobotFileError(
                f'--noise-density is {options.noise_density:g}; valid: 0.01 to 1e+05 µg/√Hz.',
                kind='out_of_range', option='--noise-density', value=options.noise_density,
            )  # fmt: skip
        noise = dataclasses.replace(experiment.noise, accelerometer=options.noise_density)
        experiment = dataclasses.replace(experiment, noise=noise)
    return experiment
