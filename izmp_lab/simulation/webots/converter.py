"""urdf2webots, called so that it leaves nothing behind but the text of a PROTO."""

import contextlib
import copy
import io
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from izmp_dynamics.base.errors import MissingDependencyError, SimulationError
from izmp_dynamics.model.audit import floating_root_joint
from izmp_dynamics.model.urdf import Urdf
from izmp_lab.simulation.webots.vrml import Document, Node, Use, def_names, parse


def convert(urdf: Urdf, name: str, folder: Path) -> Document:
    """Make a PROTO from a URDF.

    Args:
        urdf: the URDF. Elements other than links, joints and materials are left out, and so is a
            floating joint that ties the robot to a world.
        name: of the PROTO.
        folder: where the PROTO will lie; addresses of meshes are relative to it.

    Returns:
        The PROTO; the name of each solid, also by DEF, is that of its link, and no other node has
        a DEF.

    Raises:
        MissingDependencyError: without urdf2webots.
        SimulationError: if urdf2webots cannot convert the URDF.
    """
    importer = _importer()
    robot, meshes = _reduced(urdf)
    names = def_names([link.name for link in urdf.robot.links])
    _rename_links(robot, names)
    said = io.StringIO()
    with tempfile.TemporaryDirectory(prefix='izmp_proto_') as staging:
        path = Path(staging) / f'{name}.proto'
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                text = ElementTree.tostring(robot, encoding='unicode')
                importer.convertUrdfContent(text, str(path), linkToDef=True)
        except (SystemExit, Exception) as error:  # its way to say what it does not like
            cause = ' '.join(str(error).split()) or type(error).__name__
            raise SimulationError(
                f"urdf2webots cannot convert '{urdf.path}': {cause.rstrip('.')}.",
                kind='not_converted',
                path=urdf.path,
                cause=cause,
            ) from error
        try:
            document = parse(path.read_text(encoding='utf-8'))
        except SimulationError as error:
            raise SimulationError(
                f"What urdf2webots makes of '{urdf.path}' is not a valid PROTO. {error}",
                kind='no_proto',
                path=urdf.path,
                cause=error,
            ) from error
    links = {name: link for link, name in names.items()}
    for node in document.nodes[0].nodes():
        if node.type == 'Solid':
            node.name = node.fields['name'] = links[node.name]
    _Finisher(_colours(robot), meshes, folder).finish(document.nodes[0])
    return document


class _Finisher:
    """Repairs what urdf2webots makes of shared nodes, colours and meshes.

    It gives a DEF to appearances and meshes and uses them again; a name may be that of a link or
    of a mesh in another folder. Here every USE becomes a copy of its own.
    """

    def __init__(
        self, known: Mapping[str, tuple[float, ...]], meshes: Mapping[str, Path], folder: Path
    ) -> None:
        self.known, self.meshes, self.folder = known, meshes, folder
        self.defined: dict[str, Node] = {}

    def finish(self, node: Node) -> None:
        for key, value in node.fields.items():
            if isinstance(value, list):
                node.fields[key] = [self._finished(item) for item in value]
            else:
                node.fields[key] = self._finished(value)
        if node.type == 'PBRAppearance' and node.name in self.known:
            *rgb, alpha = self.known[node.name]
            node.fields['baseColor'] = tuple(rgb)
            if alpha < 1.0:
                node.fields['transparency'] = (1.0 - alpha,)
        node.fields.pop('baseColorMap', None)  # it would lie in a folder that is gone
        if node.type in ('Mesh', 'CadShape'):
            mesh = self.meshes[node.fields['url']]
            node.fields['url'] = [Path(os.path.relpath(mesh, self.folder)).as_posix()]
        if node.name and node.type != 'Solid':
            self.defined[node.name] = node
            node.name = ''

    def _finished(self, value: Any) -> Any:
        if isinstance(value, Use):
            return copy.deepcopy(self.defined[value.name])
        if isinstance(value, Node):
            self.finish(value)
        return value


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


def _reduced(urdf: Urdf) -> tuple[ElementTree.Element, dict[str, Path]]:
    """Return the robot without what would be converted wrongly or twice.

    Also returns name → file of its meshes: urdf2webots mistakes paths with 'package' in them, so
    each mesh gets a name of its own for the conversion.
    """
    root = ElementTree.fromstring(urdf.text.encode())
    tie = floating_root_joint(urdf)
    for element in list(root):
        name = element.get('name')
        tied = tie is not None and (element.tag, name) in (
            ('joint', tie.name), ('link', tie.parent),
        )  # fmt: skip
        if element.tag not in ('link', 'joint', 'material') or tied:
            root.remove(element)
    for limit in root.iter('limit'):
        limit.attrib.clear()  # motors get theirs from the model; no infinite one gets through
        limit.attrib.update(effort='1', velocity='1')
    for link in root.iter('link'):
        visuals = sorted(link.findall('visual'), key=_displacement)
        for visual in visuals:
            link.remove(visual)
            link.append(visual)
    meshes: dict[str, Path] = {}
    beside = (urdf.path or Path('robot.urdf')).absolute().parent
    for mesh in root.iter('mesh'):
        file = _mesh_file(mesh.get('filename', ''), beside)
        name = f'/mesh_{len(meshes)}{file.suffix}'
        meshes[name] = file
        mesh.set('filename', name)
    return root, meshes


def _colours(robot: ElementTree.Element) -> dict[str, tuple[float, ...]]:
    """Material → its colour: red, green, blue, alpha; 0 … 1."""
    return {
        str(material.get('name')): tuple(map(float, colour.get('rgba', '').split()))
        for material in robot.iter('material')
        if (colour := material.find('color')) is not None
    }


def _rename_links(robot: ElementTree.Element, names: Mapping[str, str]) -> None:
    """Give the links other names; urdf2webots takes any name for a DEF."""
    for link in robot.findall('link'):
        link.set('name', names[link.get('name', '')])
    for joint in robot.findall('joint'):
        for end in (*joint.findall('parent'), *joint.findall('child')):
            end.set('link', names[end.get('link', '')])


def _displacement(visual: ElementTree.Element) -> float:
    """How far a visual is from its link's pose and size: 1 for those that clearly differ.

    urdf2webots closes a bracket too many after a visual in the link's own pose that follows one
    that is not; sorted by this, none does.
    """
    origin, mesh = visual.find('origin'), visual.find('geometry/mesh')
    text = '' if origin is None else f'{origin.get("xyz", "")} {origin.get("rpy", "")}'
    scale = '' if mesh is None else mesh.get('scale', '')
    try:
        off = sum(abs(float(word)) for word in text.split())
        off += sum(abs(float(word) - 1.0) for word in scale.split())
    except ValueError:
        return 1.0
    return off if off < _ALIKE else 1.0


_ALIKE = 1e-6


def _mesh_file(address: str, beside: Path) -> Path:
    """Return the file of a mesh: beside the URDF, in a folder above it, or in a ROS package."""
    scheme, found, rest = address.partition('://')
    if not found:
        return beside / address
    if scheme != 'package':
        return Path(rest)
    package, _, inside = rest.partition('/')
    for folder in (beside, *beside.parents):
        if folder.name == package:
            return folder / inside
    with contextlib.suppress(ImportError, LookupError, OSError, ValueError):
        from ament_index_python.packages import get_package_share_directory

        return Path(get_package_share_directory(package)) / inside
    return beside / inside
