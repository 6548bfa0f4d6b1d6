"""`izmp experiments`: figures and tables of papers, made again."""

import argparse
import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from izmp_dynamics.cli.process_options import add_process_options, at_least, processes_of
from izmp_dynamics.cli.terminal import add_output_options

_TRIALS = 4000
"""Walks of the fall alarm: some 15 h that the robot survives."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'experiments',
        help="make the paper's figures and tables from simulated walks",
        description="Make the paper's figures 6 to 11 and the tables behind them from simulated "
        'walks, beside the values that the paper states; likewise figures 7 to 11 of the paper on '
        'the ITU Biped, the experiments on walks with estimated angular momentum, and figures 2 '
        'to 5 of the paper on iCub on a seesaw, quadrupeds, sensor units on links, and trials of '
        'the fall alarm.',
    )
    actions = parser.add_subparsers(metavar='ACTION', required=True)
    listing = actions.add_parser('list', help='list the figures')
    listing.add_argument(
        'experiment', nargs='?', choices=tuple(_EXPERIMENTS),
        help='of which experiment (default: all)',
    )  # fmt: skip
    listing.set_defaults(run=run_list)
    for name, experiment in _EXPERIMENTS.items():
        does = experiment.does.format(**_WHERE)
        action = actions.add_parser(name, help=experiment.summary, description=does)
        if experiment.add_options:
            experiment.add_options(action)
        _add_options(action)
        action.set_defaults(run=run, experiment=name)


def _add_fall_alarm_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--trials', type=at_least(1), metavar='N',
        help=f'walks of 21 s at most, with a stance to ten of them (default: {_TRIALS}; 10 with '
        '--quick)',
    )  # fmt: skip
    parser.add_argument(
        '--first-seed', type=at_least(0), metavar='SEED',
        default=10_000,  # below are those on which parameters were chosen
        help='of the first walk and the first stance (default: %(default)s)',
    )  # fmt: skip


def _add_real_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--logs', type=Path, metavar='FOLDER', help='where the recordings are; needed'
    )
    parser.add_argument(
        '--robot', type=Path, metavar='FILE',
        help='robot file of all recordings (default: the robot*.yaml beside each)',
    )  # fmt: skip


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


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every experiment has."""
    add_output_options(
        parser, 'OUT', 'folder for the results', quiet='no progress bar, no summary'
    )
    parser.add_argument(
        '--only',
        action='append',
        default=[],
        metavar='FIGURE',
        help='one that `izmp experiments list` names; repeatable',
    )
    add_process_options(parser, '--jobs', 2)
    parser.add_argument(
        '--quick', action='store_true', help='few and short runs, to see whether everything works'
    )
    parser.add_argument(
        '--strict', action='store_true', help='exit with 1 if a claim that must hold does not'
    )


def run_list(options: argparse.Namespace) -> int:
    """Print names and what they show."""
    for experiment in [options.experiment] if options.experiment else _EXPERIMENTS:
        page = importlib.import_module(_EXPERIMENTS[experiment].page)
        if not options.experiment:
            print(f'izmp experiments {experiment}')
        width = max(map(len, page.FIGURES), default=0)
        if not page.FIGURES:
            print('  one figure per recording, see --logs')
        for name, (_, what) in page.FIGURES.items():
            print(f'  {name:{width}}  {what}')
    return 0


def run(options: argparse.Namespace) -> int:
    """Make figures and page; say which claims hold; 1 if one does not and `--strict`."""
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_lab.studies.publish import publish

    experiment = _EXPERIMENTS[options.experiment]
    module = importlib.import_module(experiment.page)
    study = experiment.study(module, options)
    with progress_bar('Experiments', options.quiet) as progress:
        results = publish(
            module.page(study), study, options.output,
            only=options.only, processes=processes_of(options), progress=progress,
        )  # fmt: skip
    if not options.quiet:
        for picture, fact in results.claims:
            mark = 'holds' if fact.holds else 'FAILS'
            print(f'{mark}  {picture.name:13} {fact.label}: {fact} (expected {fact.wanted})')
        for each in results.missing:
            print(f'{each.item}: {each.why}')
        if options.quick and not all(fact.holds for _, fact in results.claims):
            print('--quick makes few repetitions: a FAILS may come from that; run without it.')
        print(f'Page: {results.page}')
    return int(options.strict and not all(fact.holds for _, fact in results.claims))


def _paper(_: Any, options: argparse.Namespace) -> Any:
    from izmp_dynamics.base.errors import RobotFileError
    from izmp_lab.studies.paper.study import PaperStudy, load_experiment

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
    return PaperStudy.of(experiment)


def _real(page: Any, options: argparse.Namespace) -> Any:
    from izmp_dynamics.base.errors import ReplayError

    study = page.LogStudy.of(options.logs, options.robot)
    for sentence in study.skipped:
        print(sentence)
    if not study.found:
        raise ReplayError(page.NOTHING, kind='no_recordings')
    return study


class _Experiment(NamedTuple):
    """What can be made.

    Attributes:
        page: module with its figures.
        study: makes what the figures are of, of that module and the options.
        summary: in short.
        does: what it does, with the placeholders of `_WHERE`.
        add_options: adds options of its own.
    """

    page: str
    study: Callable[[Any, argparse.Namespace], Any]
    summary: str
    does: str
    add_options: Callable[[argparse.ArgumentParser], None] | None = None


_WHERE = {
    'files': 'OUT/NAME.png, .svg and .csv, and OUT/index.html with all of them',
    'kept': 'Finished runs are kept in OUT/runs: an interrupted command resumes there.',
}

_EXPERIMENTS = {
    'paper': _Experiment(
        'izmp_lab.studies.paper.page',
        _paper,
        'make the figures: PNG, SVG, CSV and one page',
        'Make the figures as {files}. {kept}',
        _add_paper_options,
    ),
    'itu_biped': _Experiment(
        'izmp_lab.studies.itu_biped.page',
        lambda page, given: page.ItuStudy.quick() if given.quick else page.ItuStudy.full(),
        'walks of the ITU Biped with and without converging centre of gravity',
        'Make figures 7 to 11 of Şanlıtürk & Kocabaş (2024) and a map of the falls, as {files}. '
        '{kept}',
    ),
    'angular_momentum': _Experiment(
        'izmp_lab.studies.angular_momentum.page',
        lambda page, given: (page.MomentumStudy.quick if given.quick else page.MomentumStudy.full)(
            given.output
        ),
        'walking patterns with angular-momentum estimation: E1 to E4 and more',
        'Make the experiments E1 to E4 of Mayr, Gattringer & Bremer with biped31 and, where '
        'example-robot-data is installed, with TALOS, a map of step times and lengths, the '
        'execution in MuJoCo and calculation times, as {files}. {kept}',
    ),
    'seesaw': _Experiment(
        'izmp_lab.seesaw.study.page',
        lambda page, given: (page.SeesawStudy.quick if given.quick else page.SeesawStudy)(
            given.robot
        ),
        'iCub balances on a seesaw by momentum control',
        'Make figures 2 to 5 of Nava et al. (2017), a comparison of gains, the largest push, the '
        'two plants and the IZMP on the moving board, as {files}. {kept}',
        _add_seesaw_options,
    ),
    'quadruped': _Experiment(
        'izmp_lab.studies.quadruped',
        lambda page, given: (
            page.QuadrupedStudy(('go2',)) if given.quick else page.QuadrupedStudy()
        ),
        'Go2, ANYmal C and Solo12 stand, crawl, trot and are pushed',
        'Let quadrupeds on ball feet stand, crawl and trot in MuJoCo, and compare their IZMP with '
        'the true CoP and the pushes that are found with those that were: {files}. {kept}',
    ),
    'segment_units': _Experiment(
        'izmp_lab.studies.segment_units',
        lambda page, given: (
            page.UnitStudy(2, 2, ('trunk', 'l_thigh', 'r_thigh'))
            if given.quick
            else page.UnitStudy()
        ),
        'sensor units on the links of a walking robot: how many, and where',
        'Let biped31 walk in MuJoCo with sensor units on no, on some and on all links, and '
        'compare its IZMP with the true CoP: {files}. {kept}',
    ),
    'fall_alarm': _Experiment(
        'izmp_lab.studies.fall_alarm.page',
        lambda page, given: page.FallStudy.of(
            given.trials or (10 if given.quick else _TRIALS), given.first_seed
        ),
        'lead times and false alarms of the fall alarm in walks with pushes',
        'Push a walking or standing robot and compare the fall alarm with its falls, as '
        '{files}. Finished trials are kept in OUT/runs: an interrupted command resumes there, and '
        'one with more trials makes only the new ones.',
        _add_fall_alarm_options,
    ),
    'real': _Experiment(
        'izmp_lab.studies.real',
        _real,
        'recordings of real robots, raw and filtered',
        'Evaluate every recording below a folder, raw and filtered, as fig. 12 does with the real '
        'robot: {files}. A recording is a folder with a metadata.yaml (rosbag2) and a robot.yaml.',
        _add_real_options,
    ),
}
"""By name."""
