"""`izmp simulate`: a simulated robot moves; all sensors and the truth as a bag."""

import argparse
import dataclasses
import math
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.cli.process_options import at_least
from izmp_dynamics.cli.progress import progress_bar
from izmp_dynamics.cli.terminal import add_output_options, printable
from izmp_lab.cli.plan import add_walk_options, notes, walk_parameters


def add_seesaw(motions: Any) -> None:
    """Add the motion to `izmp simulate`."""
    parser = motions.add_parser(
        'seesaw',
        help='balance on a seesaw by momentum control (iCub or biped31)',
        description='A humanoid balances with both feet on a semi-cylindrical seesaw, controlled '
        'by torques at 100 Hz after Nava et al.; see docs/seesaw.md.',
    )
    parser.add_argument(
        '--robot', default='icub', metavar='NAME', help='icub (default) or biped31'
    )
    parser.add_argument(
        '--controller', choices=('mixed', 'robot'), default='mixed',
        help='mixed (default): linear momentum of the robot, angular momentum of the whole '
        'system; robot: both of the robot',
    )  # fmt: skip
    parser.add_argument(
        '--gains', choices=('authors', 'tuned'), default='authors', help='default: authors'
    )
    parser.add_argument(
        '--plant', choices=('mujoco', 'kkt'), default='mujoco',
        help='mujoco: real contacts and sensors (default); kkt: ideal constraints, states only',
    )  # fmt: skip
    parser.add_argument(
        '--reference', default='constant', metavar='R',
        help='of the centre of mass: constant (default) or sine:METRES:HERTZ to the sides, e.g. '
        'sine:0.025:0.25',
    )  # fmt: skip
    _add_push(parser, parser, 'the torso ')
    parser.add_argument(
        '--duration', type=float, default=60.0, metavar='S', help='of the simulation (default: 60)'
    )
    parser.add_argument(
        '--damping', type=float, metavar='D',
        help='friction of all joints [N·m·s/rad] (default: 1, as iCub in Gazebo)',
    )  # fmt: skip
    _add_output(parser, 'folder for the bag; seesaw.csv in it is the log of the controller')
    parser.set_defaults(run=run_seesaw)


def run_seesaw(options: argparse.Namespace) -> int:
    """Check the loop, simulate, record and sum up."""
    from izmp_lab.seesaw.scenario import simulate_seesaw
    from izmp_lab.simulation.physics import Shove

    controller = _controller(options)
    with _writing(options) as written:
        outcome = simulate_seesaw(
            controller,
            options.output,
            plant=options.plant,
            duration=options.duration,
            pushes=[Shove.parse(text) for text in options.push],
            **written,
        )
    if not options.quiet:
        for line in outcome.summary_lines():
            print(line)
        print(f'Bag:     {options.output}')
    run = outcome.run
    if run.unsolved:
        print(
            f'izmp: {run.unsolved} of {len(run.times)} ticks had no solution; they held the last '
            f'torques (the first at {run.times[~run.solved][0]:.2f} s).',
            file=sys.stderr,
        )
    if run.fall:
        print(f'izmp: {run.fall} The bag is kept: {options.output}', file=sys.stderr)
    return 1 if run.fall else 0


def _controller(options: argparse.Namespace) -> Any:
    import numpy as np

    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.controller import MomentumController

    robot = load_balancing_robot(options.robot)
    if options.damping is not None:
        if not 0.0 <= options.damping <= 1e3:
            raise SimulationError(
                f'--damping is {options.damping:g}; valid: 0 to 1000 N·m·s/rad.',
                kind='damping',
                damping=options.damping,
            )
        damping = np.full(robot.model.dof, options.damping)
        robot = dataclasses.replace(robot, damping=damping)
    return MomentumController.named(robot, options.controller, options.gains, options.reference)


BIPED31 = 'robots/biped31/robot.yaml'


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'simulate',
        help='simulate a robot; record its sensors and the ground truth',
        description='Simulate a robot in MuJoCo and record its sensors and the truth as a bag.',
    )
    motions = parser.add_subparsers(metavar='MOTION', required=True)
    _add_sway(motions)
    _add_walk(motions)
    _add_quadruped(motions)
    add_seesaw(motions)


def _add_sway(motions: Any) -> None:
    parser = motions.add_parser(
        'sway',
        help='shift the weight to the sides, fore and aft, and squat',
        description='The robot shifts its weight to the sides, fore and aft, and squats.',
    )
    _add_robot(parser)
    _add_output(parser)
    parser.set_defaults(run=run_sway)


def _add_walk(motions: Any) -> None:
    parser = motions.add_parser(
        'walk',
        help='walk on level ground, up a slope, in a curve, over bumps, with pushes and noise',
        description='The robot stands, walks and stands again. A walk that cannot be planned is '
        'refused with step, joint and value; a fall ends the recording, which is kept and marked '
        '(exit status 1).',
    )
    add_walk_options(parser)
    _add_world(parser)
    _add_sensors(parser)
    _add_robot(parser)
    _add_output(parser)
    parser.add_argument('--picture', type=Path, metavar='PNG', help='stick figures of the walk')
    parser.set_defaults(run=run_walk)


def _add_quadruped(motions: Any) -> None:
    parser = motions.add_parser(
        'quadruped',
        help='stand, crawl or trot on ball feet (go2, anymal_c, solo12 and others)',
        description='A shipped quadruped stands, crawls or trots on level ground or a slope, by '
        'whole-body control. Every ball has a sensor; robot.yaml in the folder of the bag names '
        'them.',
    )
    parser.add_argument('--robot', default='go2', metavar='NAME', help='default: go2')
    parser.add_argument(
        '--gait', default='trot', metavar='GAIT', help='stand, crawl or trot (default)'
    )
    parser.add_argument(
        '--speed', type=float, metavar='V', help='[m/s] (default: 0.3 in a trot, 0.02 in a crawl)'
    )
    parser.add_argument(
        '--slope-deg', type=float, default=0.0, metavar='DEG',
        help='of the ground; negative: downhill (default: 0)',
    )  # fmt: skip
    parser.add_argument(
        '--duration', type=float, default=10.0, metavar='S',
        help='[s], with 1 s of standing before and after the steps (default: 10)',
    )  # fmt: skip
    _add_push(parser, parser)
    parser.add_argument(
        '--feet', default='wrench', choices=('wrench', 'force', 'contact'),
        help='what they measure: six axes (default), the normal force, or whether they carry load',
    )  # fmt: skip
    parser.add_argument(
        '--noise', metavar='UNIT', help='the IMU has the noise of this one: xsens_mti20'
    )
    _add_encoder_bits(parser)
    parser.add_argument(
        '--seed', type=at_least(0), default=0, metavar='N', help='of the noise (default: 0)'
    )
    _add_output(parser)
    parser.set_defaults(run=run_quadruped)


def _add_encoder_bits(parser: Any) -> None:
    parser.add_argument(
        '--encoder-bits',
        type=at_least(1),
        metavar='N',
        help='joint positions in steps of 2π / 2^N',
    )


def _add_push(group: Any, parser: Any, what: str = '') -> None:
    parser._negative_number_matcher = re.compile(r'-\d')  # so -40:left:3 is a value, and refused
    group.add_argument(
        '--push', action='append', default=[], metavar='N:DIRECTION:T[:DURATION]',
        help=f'push {what}with N newtons (forward, back, left or lateral, right, up, down) at '
        'time T [s] for DURATION [s] (default: 0.1); repeatable. Example: 40:lateral:3.0',
    )  # fmt: skip


def _add_world(parser: argparse.ArgumentParser) -> None:
    world = parser.add_argument_group('world')
    world.add_argument(
        '--uneven', type=int, metavar='SEED',
        help='bumps and hollows of 1 cm, placed by the seed; see --ankle-feedback',
    )  # fmt: skip
    world.add_argument(
        '--friction', type=float, metavar='MU', help='between soles and ground (default: 1)'
    )
    _add_push(world, parser)
    world.add_argument(
        '--push-on', default='trunk', metavar='LINK', help='the link pushed (default: trunk)'
    )
    world.add_argument(
        '--ankle-feedback',
        action='store_true',
        help='the ankles react to the measured tilt: survives harder pushes and rougher ground',
    )
    world.add_argument(
        '--physics-rate', type=float, default=500.0, metavar='HZ',
        help='steps of the physics per second (default: 500)',
    )  # fmt: skip


def _add_sensors(parser: argparse.ArgumentParser) -> None:
    sensors = parser.add_argument_group('sensors')
    sensors.add_argument(
        '--sensor-rate', type=float, default=500.0, metavar='HZ',
        help='an integer divisor of the physics rate (default: 500)',
    )  # fmt: skip
    sensors.add_argument(
        '--noise', metavar='UNIT',
        help='also record noisy/… topics with the noise of an IMU: xsens_mti20; evaluate them '
        'with robot_noisy.yaml',
    )  # fmt: skip
    _add_encoder_bits(sensors)
    sensors.add_argument(
        '--segments', metavar='all|LINK,…',
        help='units on links beside the root, each an IMU and three accelerometers; robot.yaml in '
        'the folder of the bag states them, with the noisy topics if there is noise',
    )  # fmt: skip
    sensors.add_argument(
        '--seed', type=int, default=0, metavar='N', help='of the random noise (default: 0)'
    )


def _add_robot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--robot', type=Path, metavar='FILE', help='robot file (default: biped31)')


def _add_output(parser: argparse.ArgumentParser, text: str = 'folder for the bag') -> None:
    quiet = 'no progress bar, no summary'
    add_output_options(parser, 'BAG', text, 'replace an earlier bag', quiet)
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')


@contextmanager
def _writing(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Show the progress; how the bag is written, as every simulation takes it."""
    with progress_bar('Simulating', options.quiet) as progress:
        yield {
            'storage': options.storage, 'overwrite': options.overwrite, 'progress': progress
        }  # fmt: skip


def run_sway(options: argparse.Namespace) -> int:
    """Simulate the sway and record it."""
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_lab.simulation.scenarios import simulate_sway

    file = options.robot or find_resource(BIPED31)
    robot = load_robot_file(file)
    with _writing(options) as written:
        simulated = simulate_sway(robot, options.output, **written)
    return _finish(simulated.fall, options, file)


def run_walk(options: argparse.Namespace) -> int:
    """Plan and simulate a walk, record and draw it."""
    with TemporaryDirectory() as folder:
        return _walk(options, Path(folder))


def _walk(options: argparse.Namespace, folder: Path) -> int:
    """Do so; the folder is for the URDF with the frames of units."""
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.model.robot_model import load_model
    from izmp_lab.simulation.noisy_signals import sensor_noise
    from izmp_lab.simulation.physics import Physics, Shove
    from izmp_lab.simulation.pictures import save_strip
    from izmp_lab.simulation.segment_units import files_of, with_units
    from izmp_lab.simulation.terrain import Uneven

    if options.uneven is not None and options.slope_deg:
        raise SimulationError(
            '--uneven is level on average; it cannot be combined with --slope-deg.',
            kind='uneven_slope',
        )
    file = options.robot or find_resource(BIPED31)
    robot = load_robot_file(file)
    if options.segments is not None:
        robot = with_units(robot, options.segments, folder)
    parameters = walk_parameters(options)
    physics = Physics.at_rate(options.physics_rate, options.friction)
    pushes = [Shove.parse(text, options.push_on) for text in options.push]
    noise = sensor_noise(options.noise) if options.noise else None
    # mistakes in the arguments come before MuJoCo, which may be missing
    from izmp_lab.simulation.mujoco.plant import AnkleFeedback, Sampling
    from izmp_lab.simulation.scenarios import simulate_walk

    with _writing(options) as written:
        walk = simulate_walk(
            robot,
            options.output,
            parameters=parameters,
            terrain=Uneven(options.uneven) if options.uneven is not None else None,
            physics=physics,
            sampling=Sampling.at_rate(options.sensor_rate, physics),
            pushes=pushes,
            feedback=AnkleFeedback() if options.ankle_feedback else None,
            noise=noise,
            encoder_bits=options.encoder_bits,
            seed=options.seed,
            files=files_of(robot, noisy=bool(options.noise))
            if options.segments is not None
            else None,
            **written,
        )
    if options.segments is not None:
        file = options.output / 'robot.yaml'
        _print_path('Robot', file, options)
    if not options.quiet:
        for line in (*walk.summary_lines(), *notes(walk.planned.parameters)):
            print(line)
    if options.picture:
        save_strip(walk.run, load_model(robot.read_urdf(), robot.root), options.picture)
        _print_path('Picture', options.picture, options)
    if walk.planned.stopped:
        print(f'izmp: the robot stops early: {walk.planned.stopped}', file=sys.stderr)
    status = _finish(walk.run.fall, options, file)
    return 1 if walk.planned.stopped else status


def run_quadruped(options: argparse.Namespace) -> int:
    """Let a quadruped stand, crawl or trot, and record it."""
    from izmp_lab.simulation.noisy_signals import SensorErrors, sensor_noise
    from izmp_lab.simulation.physics import Physics, Shove
    from izmp_lab.walking.quadruped_gait import plan_quadruped

    given = options.robot, options.gait, options.duration, options.speed
    plan_quadruped(*given, Physics().time_step)
    for push in options.push:
        Shove.parse(push)
    noise = sensor_noise(options.noise) if options.noise else None
    errors = SensorErrors(imu_noise=noise, encoder_bits=options.encoder_bits)
    # mistakes in the arguments come before MuJoCo, which may be missing
    from izmp_lab.simulation.quadruped import simulate_quadruped

    with _writing(options) as written:
        simulated = simulate_quadruped(
            options.robot,
            options.gait,
            options.output,
            duration=options.duration,
            speed=options.speed,
            slope=math.radians(options.slope_deg),
            pushes=options.push,
            measured=options.feet,
            errors=errors,
            seed=options.seed,
            **written,
        )
    file = options.output / 'robot.yaml'
    _print_path('Robot', file, options)
    return _finish(simulated.run.fall, options, file)


def _finish(fall: str, options: argparse.Namespace, robot: Path) -> int:
    """Say where the bag is and what to do with it, or how the robot fell; the exit status."""
    if fall:
        print(f'izmp: {fall} The bag is kept and marked: {options.output}', file=sys.stderr)
        return 1
    _print_path('Bag', options.output, options)
    if not options.quiet:
        bag, file = (shlex.quote(str(path)) for path in (options.output, robot))
        print(printable(f'Next:    izmp replay {bag} --robot {file} -o OUT'))
    return 0


def _print_path(what: str, path: Path, options: argparse.Namespace) -> None:
    if not options.quiet:
        print(f'{what + ":":8} {path}')
