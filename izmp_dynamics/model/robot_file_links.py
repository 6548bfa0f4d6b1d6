"""Mistakes of a robot file that show against its URDF: links that the robot does not have."""

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError, ModelError, RobotFileError, UnknownNameError
from izmp_dynamics.files.place import read_regular_file
from izmp_dynamics.model.kinematic_tree import build_tree
from izmp_dynamics.model.packages import PACKAGE, urdf_at
from izmp_dynamics.model.urdf import LARGEST, read_urdf

_LINK = re.compile(
    r'(imu|position|(accelerometers|feet|segments)\[\d+\](\.wrench|\.imu|\.accelerometers\[\d+\])?)'
    r'\.(frame|below|link)'
)
_NAME = re.compile(r'<link\s+name\s*=\s*["\']([^"\']*)')
_SOLE = re.compile(r'feet\[\d+\]\.sole(\.link)?')


def link_mistakes(
    texts: Mapping[str, str], folder: Path, urdf: str | Path | None = None
) -> Iterator[RobotFileError]:
    """Compare the links that a robot file names with those of its URDF.

    Args:
        texts: key of the robot file, e.g. 'feet[0].sole' → what it states.
        folder: of the robot file.
        urdf: the URDF that is used instead of that of the file.

    Returns:
        The mistakes, each with its `key`.
    """
    named = texts.get('urdf')
    if urdf is None and (not named or '://' in named.removeprefix(PACKAGE)):
        return  # that is a mistake of the file itself
    try:
        path = Path(urdf or urdf_at(str(named), folder))
    except RobotFileError as error:
        yield _mistake('urdf', error)
        return
    stated, written = _links_of(texts), _names_in(path)
    wanted = {*stated, texts['root']} if 'root' in texts else set(stated)
    if written and wanted <= written:
        return  # without building the robot, which takes ten times as long
    try:
        parsed = read_urdf(path)
        tree = build_tree(parsed)
    except ModelError as error:
        if urdf is None and error.kind in ('file_absent', 'file_unreadable'):
            yield _mistake('urdf', error, ' A relative path starts at the robot file; --urdf FILE '
                           'takes another URDF.')  # fmt: skip
        return  # others are mistakes of the URDF, not of the robot file
    try:
        build_tree(parsed, texts.get('root'))
    except UnknownNameError as error:
        yield _mistake('root', error)
    links = (tree.root, *(segment.link for segment in tree.segments))
    for link, keys in stated.items():
        if link not in links:
            for key in keys:
                yield _mistake(key, unknown_link(link, links, tree.name, key))


def _links_of(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Links that a robot file names → the keys that do so; without the root."""
    found: dict[str, list[str]] = {}
    for key, text in texts.items():
        sensor = _LINK.fullmatch(key) is not None
        ground = key == 'ground.frame' and 'ground.topic' not in texts
        if sensor or ground or _SOLE.fullmatch(key):
            found.setdefault(text.lstrip('/') if sensor else text, []).append(key)
    return found


def _names_in(path: Path) -> set[str]:
    """Names of the links in the text of a URDF; none if it is not there or not readable."""
    try:
        text = read_regular_file(path, LARGEST).decode(errors='replace')
    except (OSError, ValueError):
        return set()
    return set(_NAME.findall(text))


def unknown_link(
    link: str, links: Collection[str], robot: str, where: str, frame_id: str | None = None
) -> UnknownNameError:
    """Describe a name that is no link of the robot.

    Args:
        link: the name.
        links: of the robot.
        robot: its name.
        where: what names the link.
        frame_id: of the sensor's messages, which may be the right one.
    """
    hint = "'izmp model' with the URDF shows all links."
    if frame_id and frame_id.lstrip('/') in links:
        hint = f"The sensor's messages name '{frame_id.lstrip('/')}', which is one. {hint}"
    return UnknownNameError('link', link, links, f"in robot '{robot}' (named by {where})", hint)


def _mistake(key: str, error: IzmpError, hint: str = '') -> RobotFileError:
    data: dict[str, object] = {'key': key}
    if isinstance(error, UnknownNameError):
        data |= {'denotes': error.denotes, 'name': error.name, 'valid': error.valid}
    return RobotFileError(f'{error}{hint}', kind=error.kind, **data)
