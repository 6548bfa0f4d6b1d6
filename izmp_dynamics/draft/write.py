"""Write a drafted robot file."""

import os
from os import PathLike
from pathlib import Path

from izmp_dynamics.draft.recorded import read_recorded
from izmp_dynamics.draft.robot_text import Draft
from izmp_dynamics.errors import RobotFileError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.urdf import parse_urdf, read_urdf


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
            f"'{output}' is no name of a robot file: it must end in .yaml.",
            kind='other_suffix', path=output,
        )  # fmt: skip
    described = output.with_suffix('.urdf')
    for file in (output, described) if urdf is None else (output,):
        if file.exists() and not overwrite:
            raise RobotFileError(
                f"'{file}' is there already; give another name, or --overwrite to replace it.",
                kind='output_exists', path=file,
            )  # fmt: skip
    recorded = read_recorded(bag)
    if urdf is not None:
        model = read_urdf(urdf)
    elif recorded.description is not None:
        model, urdf = parse_urdf(recorded.description, described), described
    else:
        raise RobotFileError(
            f"The recording '{bag}' has no robot_description; state the URDF with --urdf.",
            kind='no_urdf', path=bag,
        )  # fmt: skip
    draft = Draft(recorded, model)
    folder = Path(os.path.realpath(output)).parent
    stated = os.path.relpath(os.path.realpath(urdf), folder)
    files = {output: draft.text(os.path.basename(os.path.abspath(bag)), stated)}
    if urdf == described and recorded.description is not None:
        files = {described: recorded.description, **files}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            partial = file.with_name(f'.{file.name}.partial')
            partial.write_text(text, encoding='utf-8')
            partial.replace(file)
    except OSError as error:
        raise RobotFileError(
            f"'{output}' cannot be written: {error.strerror}.", kind='not_written', path=output
        ) from error
    load_robot_file(output)
    return tuple(draft.guesses)
