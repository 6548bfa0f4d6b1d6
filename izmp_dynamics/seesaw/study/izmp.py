"""The IZMP on the moving board against the true CoP, and what those miss who fix the ground."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, Stamps, seconds
from izmp_dynamics.seesaw.study.points import ASSUMPTIONS, points_on_board
from izmp_dynamics.studies.look import Entry, Look, line, panels
from izmp_dynamics.studies.picture import Fact, Picture, Table
from izmp_dynamics.studies.runs import Load, Run
from izmp_dynamics.studies.store import Arrays

REPLAYED = 'replayed'
"""MR-AD as `izmp replay` computes it from the bag: derivatives by ACD at 500 Hz."""

NAMES: Mapping[str, str] = {
    'moving': 'MR-AD, exact derivatives',
    REPLAYED: 'MR-AD, ACD at 500 Hz',
    **{name: text for name, text in ASSUMPTIONS.items() if name != 'moving'},
}

CASES: Mapping[str, tuple[str, str, float]] = {
    'push': ('constant', '100:lateral:2.0:0.01', 12.0),
    'sine': ('sine:0.025:0.25', '', 12.0),
}
"""Name → reference of the CoM, push on the torso, duration [s]."""

LARGEST_EXACT, LARGEST_REPLAYED = 1.0, 3.0
"""Mean distances from the true CoP that must hold [mm]."""

LEAST_SHARE = 99.0
"""Part of the instants that must be evaluated, or the means say nothing [%]."""

WRONG: Mapping[str, float] = {'level_seen': 5.0, 'board_still': 5.0}
"""Assumption → how many times as far off as MR-AD of a recording it must be, to be called wrong.

`level` is not among them: most of its distance is travel of the board, no error of the formula.
"""

_SETTLED = 0.2
"""Before it the feet sink into the soft contacts [s]."""

_FUNCTION = 'izmp_dynamics.seesaw.study.izmp:board_points'


@dataclass(frozen=True)
class _Style:
    """Colour by its name in a look, and matplotlib's arguments."""

    colour: str
    line: Mapping[str, Any]


_STYLES = {
    'level_seen': _Style('ir-md', {'linewidth': 1.1}),
    'board_still': _Style('other', {'linewidth': 0.8}),
    REPLAYED: _Style('ink', {'linewidth': 1.1, 'linestyle': (0, (3, 2))}),
}


def run_of(robot: str, case: str, controller: str = 'mixed') -> Run:
    """The run of a case; its result is that of `board_points`."""
    reference, push, duration = CASES[case]
    parameters = {'robot': robot, 'controller': controller, 'reference': reference,
                  'push': push, 'duration': duration}  # fmt: skip
    return Run(_FUNCTION, parameters, effort=duration)


def runs(robot: str) -> tuple[Run, ...]:
    """What the figure needs."""
    return tuple(run_of(robot, case) for case in CASES)


def board_points(
    load: Load, robot: str, controller: str, reference: str, push: str, duration: float
) -> Arrays:
    """Balance in MuJoCo, record, replay; all at the K instants of the replay.

    Returns:
        times (K,) [s]; pushed (K,) whether somebody pushes; cop (K, 3) the true one; and for each
        of NAMES (K, 3) the point that it gives; all in the board's frame [m].
    """
    from izmp_dynamics.seesaw.bag import SeesawRecorder, record_seesaw
    from izmp_dynamics.seesaw.balancing_robot import load_balancing_robot
    from izmp_dynamics.seesaw.board import Seesaw
    from izmp_dynamics.seesaw.closed_loop import balance_on_seesaw
    from izmp_dynamics.seesaw.controller import MomentumController
    from izmp_dynamics.seesaw.gains import gains
    from izmp_dynamics.seesaw.mujoco_plant import MujocoSeesaw
    from izmp_dynamics.seesaw.reference import ComReference
    from izmp_dynamics.simulation.shove import Shove

    balancing, recorder = load_balancing_robot(robot), SeesawRecorder()
    plant = MujocoSeesaw(balancing, Seesaw(), observer=recorder)
    own = gains(controller, balancing.model.joint_names)
    control = MomentumController(
        balancing, plant.seesaw, controller, own, ComReference.parse(reference)
    )
    pushes = [Shove.parse(push, balancing.torso)] if push else []
    balance_on_seesaw(plant, control, duration, pushes)
    run = recorder.run(plant, f'seesaw {controller}')
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        record_seesaw(run, plant, bag)
        stamps, replayed = replayed_points(bag)
    rows = np.searchsorted(run.stamps, stamps)
    points = points_on_board(run, balancing.model, plant.seesaw.top, plant.sensed.file.gravity)
    return {
        'times': seconds(stamps, int(run.stamps[0])),
        'pushed': np.asarray(run.truth.applied_wrench[rows].any(axis=1)),
        'cop': run.cop_in_ground()[rows],
        REPLAYED: replayed,
        **{name: place[rows] for name, place in points.items()},
    }


def replayed_points(bag: Path) -> tuple[Stamps, Array]:
    """Evaluate a recording of the seesaw; stamps (K,) [ns], IZMP of MR-AD on the board (K, 3)."""
    from izmp_dynamics.bags.reader import BagReader
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.model.robot_model import load_model
    from izmp_dynamics.replay.evaluator import Evaluator
    from izmp_dynamics.replay.recording import Recording
    from izmp_dynamics.replay.run import evaluated_windows
    from izmp_dynamics.seesaw.sensed_robot import ROBOT_YAML

    robot = load_robot_file(bag / ROBOT_YAML)
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, load_model(robot.urdf_path, robot.root))
        evaluator = Evaluator(recording.rig, recording.groups, recording.periods, recording.origin)
        parts = [part for part, _ in evaluated_windows(recording, evaluator, lambda _: None)]
    points = [part.frame.points(part.points['mr_ad']) for part in parts if part.frame is not None]
    return np.concatenate([part.stamps for part in parts]), np.concatenate(points)


def distances(points: Arrays, name: str) -> Array:
    """(N,) distances from the true CoP [mm], where all are known and nobody pushes.

    While somebody pushes, the IZMP is beside the CoP, as it should be.
    """
    rows = _judged(points) & _known(points)
    apart: Array = 1e3 * np.linalg.norm((points[name] - points['cop'])[rows], axis=1)
    return apart


def share(points: Arrays) -> float:
    """Part of the instants without a push at which IZMP and CoP are known [%]."""
    return 100.0 * float(_known(points)[_judged(points)].mean())


def _judged(points: Arrays) -> npt.NDArray[np.bool_]:
    rows: npt.NDArray[np.bool_] = (points['times'] >= _SETTLED) & ~points['pushed']
    return rows


def _known(points: Arrays) -> npt.NDArray[np.bool_]:
    rows: npt.NDArray[np.bool_] = np.isfinite(points['cop'][:, 0])
    rows &= np.isfinite(points[REPLAYED][:, 0])
    return rows


def picture(robot: str, load: Load) -> Picture:
    """Draw the figure."""
    found = {case: load(run_of(robot, case)) for case in CASES}

    def draw(look: Look, width: float) -> Any:
        shown = tuple(_STYLES)
        legend = [
            Entry('true CoP', line(look, 'cop', linewidth=2.4)),
            *(
                Entry(NAMES[name], line(look, _STYLES[name].colour, **_STYLES[name].line))
                for name in shown
            ),
        ]
        canvas, axes = panels(width, 2, legend, height=2.7, titles=True)
        for ax, (case, points) in zip(axes, found.items(), strict=True):
            ax.plot(points['times'], 1e3 * points['cop'][:, 1], color=look['cop'], linewidth=2.4)
            for name in shown:
                style = _STYLES[name]
                colour = look[style.colour]
                ax.plot(points['times'], 1e3 * points[name][:, 1], color=colour, **style.line)
            reach = 2.0 * 1e3 * float(np.nanmax(np.abs(points['cop'][:, 1])))
            ax.set(xlabel='time [s]', ylabel='y on the board [mm]', ylim=(-reach, reach))
            ax.set_xlim(0.0, float(points['times'][-1]))
            ax.set_title({'push': '100 N for 10 ms at 2 s', 'sine': 'CoM swings by 25 mm'}[case])
        return canvas

    return Picture(
        name='izmp',
        title='The IZMP on the moving board',
        source='Beyond the paper',
        draw=draw,
        facts=_facts(found),
        seen='Where on the board the ZMP is, across it. The true CoP is that of the contacts in '
        'MuJoCo. MR-AD is evaluated on the plane of the board, a named frame that moves; beside '
        'it two that do not know that the board moves: a plane that stays level, its point seen '
        'from where the board really is, and the board taken for the world. The instants of '
        'the push are left out of the numbers: there the IZMP is '
        'beside the CoP by what the push does.',
        paper='Not considered.',
        ours='With exact derivatives MR-AD is {moving_sine_mean} from the true CoP in the mean, '
        'with those of ACD at 500 Hz {replayed_push_mean} (push) and {replayed_sine_mean} '
        '(sine). The classic formula on a plane that stays level, like for like, is wrong by '
        '{level_seen_push_mean} and {level_seen_sine_mean}: some times as much, but little, as '
        'the force is nearly upright. Without the pose of the board its point is off by '
        '{level_push_mean} and {level_sine_mean}, most of which is how far the board has rolled. '
        'Who takes the board for the world is wrong by {board_still_push_mean} and '
        '{board_still_sine_mean}, at most {board_still_sine_max}: gravity is tilted against the '
        'board, and the board accelerates. The CoM alone, along gravity, is wrong by '
        '{gravity_push_mean} and {gravity_sine_mean}.',
        why='',
        data=Table(
            ('case', 'time [s]', *(f'{name} y [mm]' for name in ('true CoP', *NAMES.values()))),
            [
                [case, float(points['times'][k]),
                 *(1e3 * float(points[name][k, 1]) for name in ('cop', *NAMES))]
                for case, points in found.items()
                for k in range(len(points['times']))
            ],
        ),
    )  # fmt: skip


def _facts(found: Mapping[str, Arrays]) -> tuple[Fact, ...]:
    facts = []
    limits = {'moving': LARGEST_EXACT, REPLAYED: LARGEST_REPLAYED}
    for name, text in NAMES.items():
        for case, points in found.items():
            distance = distances(points, name)
            mean, largest = float(distance.mean()), float(distance.max())
            limit, complete = limits.get(name), share(points) >= LEAST_SHARE
            facts += [
                Fact(f'{name}_{case}_mean', f'{text}: mean distance from the true CoP, {case}',
                     mean, 'mm', 2, wanted=f'≤ {limit:g} mm' if limit else '',
                     holds=mean <= limit and complete if limit else None),
                Fact(f'{name}_{case}_max', f'{text}: largest distance, {case}', largest, 'mm', 2),
            ]  # fmt: skip
            if name in WRONG:
                times = mean / float(distances(points, REPLAYED).mean())
                facts.append(
                    Fact(f'{name}_{case}_times', f'{text}: mean distance over that of '
                         f'{NAMES[REPLAYED]}, {case}', times, '', 1,
                         wanted=f'≥ {WRONG[name]:g}', holds=times >= WRONG[name] and complete)
                )  # fmt: skip
    for case, points in found.items():
        part = share(points)
        label = f'instants without a push that are evaluated, {case}'
        facts.append(Fact(f'{case}_share', label, part, '%', 2, wanted=f'≥ {LEAST_SHARE:g} %',
                          holds=part >= LEAST_SHARE))  # fmt: skip
    return tuple(facts)
