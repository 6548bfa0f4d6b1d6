"""Write a drafted robot file."""

import os
import tempfile
from os import PathLike
from pathlib import Path

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.draft.recorded import read_recorded
from izmp_dynamics.draft.robot_text import Draft
from izmp_dynamics.files.place import TAKEN
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.urdf import Urdf, parse_urdf, read_urdf


def write_draft(
    bag: str | PathLike[str], urdf: Path | None, output: Path, overwrite: bool = False
) -> tuple[str, ...]:
    """Draft a robot file from a recording and a URDF.

    Args:
        bag: rosbag2, folder or file, in which the robot is on its feet.
        urdf: of the robot, URDF or xacro; None for the robot_description in the recording, which
            is then written beside `output`.
        output: the robot file; it states the URDF relative to itself.
        overwrite: replace what is there.

    Returns:
        What was guessed and should be looked at, sentences.

    Raises:
        RobotFileError: if `output` is there already or cannot be written.
        IzmpError: if bag or URDF cannot be used.
    """
    if output.suffix not in ('.yaml', '.yml'):
        raise RobotFileError(
            f"'{output}' is not a robot file name: it must end in .yaml.",
            kind='other_suffix', path=output,
        )  # fmt: skip
    if output.is_dir() or (os.path.lexists(output) and not overwrite):
        reason = 'is a folder; choose another name' if output.is_dir() else TAKEN
        raise RobotFileError(f"'{output}' {reason}.", kind='output_exists', path=output)
    described = None
    if urdf is None:
        recorded = read_recorded(bag)
        urdf = described = output.with_suffix('.urdf')
        model = _described(recorded.description, described, bag)
    else:
        model = read_urdf(urdf)
        recorded = read_recorded(bag, model)
    draft = Draft(recorded, model)
    stated = os.path.relpath(os.path.realpath(urdf), os.path.realpath(output.parent))
    text = draft.text(os.path.basename(os.path.abspath(bag)), stated)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=output.parent, prefix=f'.{output.name}.') as scratch:
            files = {output: text}
            if described is not None:
                files = {described: recorded.description or '', output: text}
            for file, content in files.items():
                Path(scratch, file.name).write_text(content, encoding='utf-8')
            partial_urdf = urdf if described is None else Path(scratch, described.name)
            load_robot_file(Path(scratch, output.name), partial_urdf)
            for file in files:
                Path(scratch, file.name).replace(file)
    except OSError as error:
        raise RobotFileError(
            f"'{output}' cannot be written: {error.strerror}.", kind='not_written', path=output
        ) from error
    return tuple(draft.guesses)


def _described(description: str | None, path: Path, bag: str | PathLike[str]) -> Urdf:
    """The recorded URDF, which is to be written to a path."""
    if description is None:
        raise RobotFileError(
            f"The recording '{bag}' has no robot_description; state the URDF with --urdf.",
            kind='no_urdf', path=bag,
        )  # fmt: skip
    if path.exists() and read_urdf(path).text != parse_urdf(description).text:
        raise RobotFileError(
            f"'{path}' exists and differs from the robot_description in '{bag}'. If it "
            'is the URDF of the robot, state it with --urdf; else move it away.',
            kind='output_exists', path=path,
        )  # fmt: skip
    return parse_urdf(description, path)
