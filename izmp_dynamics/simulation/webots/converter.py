"""urdf2webots, called so that it leaves nothing behind but the text of a PROTO."""

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from izmp_dynamics.errors import MissingDependencyError, SimulationError
from izmp_dynamics.model.audit import floating_root_joint
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.simulation.webots.vrml import Document, parse


def convert(urdf: Urdf, name: str, folder: Path) -> Document:
    """Make a PROTO from a URDF.

    Args:
        urdf: the URDF. Elements that are no links, joints or materials are left out, and so is a
            floating joint that ties the robot to a world.
        name: of the PROTO.
        folder: where the PROTO will lie; addresses of meshes are relative to it.

    Raises:
        MissingDependencyError: without urdf2webots.
        SimulationError: if urdf2webots cannot convert the URDF.
    """
    importer = _importer()
    said = io.StringIO()
    beside = str((urdf.path or Path('robot.urdf')).absolute().parent)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix='.izmp_') as staging:
        path = Path(staging) / f'{name}.proto'
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                importer.convertUrdfContent(
                    _reduced(urdf), str(path), linkToDef=True, relativePathPrefix=beside
                )
        except (SystemExit, Exception) as error:  # its way to say what it does not like
            cause = ' '.join(str(error).split()) or type(error).__name__
            raise SimulationError(
                f"urdf2webots cannot convert '{urdf.path}': {cause.rstrip('.')}."
            ) from error
        return parse(path.read_text(encoding='utf-8'))


def _importer() -> Any:
    """Return urdf2webots' module; webots_ros2_importer brings the package along."""
    with contextlib.suppress(ImportError):
        import webots_ros2_importer

        beside = Path(webots_ros2_importer.__file__ or '').parent / 'urdf2webots'
        if str(beside) not in sys.path:
            sys.path.append(str(beside))
    try:
        from urdf2webots import importer
    except ImportError as error:
        raise MissingDependencyError(
            'urdf2webots', 'Making a world for Webots', 'pip install urdf2webots'
        ) from error
    return importer


def _reduced(urdf: Urdf) -> str:
    """Return the text without what would be converted wrongly or twice."""
    root = ElementTree.fromstring(urdf.text.encode())
    tie = floating_root_joint(urdf)
    for element in list(root):
        name = element.get('name')
        tied = tie is not None and (element.tag, name) in (
            ('joint', tie.name), ('link', tie.parent),
        )  # fmt: skip
        if element.tag not in ('link', 'joint', 'material') or tied:
            root.remove(element)
    return ElementTree.tostring(root, encoding='unicode')
