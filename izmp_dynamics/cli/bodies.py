"""`izmp import`: recordings of humans as bag, URDF and robot file."""

import argparse
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import add_output_options, listed, printable


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'import',
        help='make bag, URDF and robot file of a recording of a human: OpenSim, C3D',
        description='Make a folder with a bag, robot.urdf and robot.yaml of a recording of a '
        'human: SI units, z up. Topics under derived/ are derived or assumed.',
    )
    formats = parser.add_subparsers(metavar='FORMAT', required=True)
    opensim = formats.add_parser(
        'opensim', help='OpenSim: model, motion, ground reaction forces',
        description="OpenSim's model and motion, and what force plates measured.",
    )  # fmt: skip
    opensim.add_argument('model', type=Path, metavar='MODEL', help='the scaled model, *.osim')
    opensim.add_argument(
        'motion', type=Path, metavar='MOTION', help='inverse kinematics, *.mot, *.sto or *.mat'
    )
    opensim.add_argument(
        '--grf',
        type=Path,
        metavar='FILE',
        help='ground reaction forces, *.mot, *.sto, *.mat or *.c3d',
    )
    opensim.add_argument(
        '--imu', type=_units, metavar='FILE:UNIT=BODY,…',
        help='inertial units, as in imu.mat:trunk=torso,foot=calcn_r of columns trunk_Accel_X, '
        'trunk_Gyro_X, … in g or m/s², rad/s or °/s',
    )  # fmt: skip
    opensim.add_argument(
        '--feet', type=listed, default=(), metavar='A,B',
        help='bodies that are feet (default: those named calcn or foot)',
    )  # fmt: skip
    opensim.add_argument(
        '--upright', metavar='BODY',
        help='keep a body upright that the motion locks to the root, as a trunk without markers',
    )  # fmt: skip
    opensim.add_argument(
        '--shift-plates', type=_shift, default=(0.0, 0.0), metavar='X,Y',
        help='move the plates in the world, z up [m], as in --shift-plates=-0.010,0.041; the '
        'import says by what',
    )  # fmt: skip
    opensim.add_argument(
        '--shift-com', type=_com, default={}, metavar='BODY=X,Y',
        help='move the centre of mass of a body ahead and to the left [m], as in '
        '--shift-com torso=0.09,0.00; the import says by what',
    )  # fmt: skip
    opensim.set_defaults(run=run)
    c3d = formats.add_parser(
        'c3d', help='C3D: force plates, angles',
        description='The force plates of a C3D file, and its angles where it has them. It has no '
        'masses, so there is no URDF: “izmp import opensim --grf FILE” makes a robot of it.',
    )  # fmt: skip
    c3d.add_argument('file', type=Path, metavar='FILE', help='*.c3d')
    c3d.set_defaults(run=run_c3d)
    for part in (opensim, c3d):
        quiet = 'no progress bar, no summary'
        add_output_options(part, 'DIR', 'folder to be made', 'replace DIR', quiet)


def _shift(text: str) -> tuple[float, float]:
    with suppress(ValueError):
        x, y = map(float, listed(text))
        if abs(x) < 10.0 and abs(y) < 10.0:
            return x, y
    raise argparse.ArgumentTypeError(f"two numbers below 10 m, as 0.010,-0.041, not '{text}'")


def _com(text: str) -> dict[str, tuple[float, float]]:
    body, _, way = text.partition('=')
    return {body: _shift(way)}


def _units(text: str) -> tuple[Path, dict[str, str]]:
    file, _, units = text.rpartition(':')
    pairs = [pair.partition('=')[::2] for pair in listed(units)]
    if file and pairs and all(unit and body for unit, body in pairs):
        return Path(file), dict(pairs)
    raise argparse.ArgumentTypeError(f"FILE:UNIT=BODY,…, as imu.mat:trunk=torso, not '{text}'")


def run(options: argparse.Namespace) -> int:
    """Write the folder and say what is in it."""
    from izmp_dynamics.bodies.write import import_opensim
    from izmp_dynamics.cli.progress import progress_bar

    with progress_bar('import', options.quiet) as progress:
        recording = import_opensim(
            options.model, options.motion, options.grf, options.output,
            imu=options.imu, feet=options.feet, upright=options.upright,
            shift=options.shift_plates, com=options.shift_com, overwrite=options.overwrite,
            progress=progress,
        )  # fmt: skip
    if options.quiet:
        return 0
    for remark in recording.remarks:
        print(printable(f'Note: {remark}'))
    print(
        f'{recording.mass:.2f} kg, {len(recording.q)} joints, {len(recording.stamps)} instants, '
        f'{len(recording.feet)} feet.'
    )
    folder = shlex.quote(str(options.output))
    print(printable(f'Written: {options.output}'))
    print(printable(f'Next:    izmp replay {folder} --robot {folder}/robot.yaml -o OUT'))
    return 0


def run_c3d(options: argparse.Namespace) -> int:
    """Write the bag and say what is in it."""
    from izmp_dynamics.bodies.write import import_c3d

    file = import_c3d(options.file, options.output, overwrite=options.overwrite)
    if not options.quiet:
        for remark in file.remarks:
            print(printable(f'Note: {remark}'))
        print(f'{len(file.plates)} force plates, {len(file.angles)} angles.')
        print(printable(f'Written: {options.output}'))
    return 0
