"""What a replay writes: a folder, whole or not at all, with a bag; hashes of what it read."""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import Array, Flags, Stamps, unused_name
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.rotations import quaternions_of_matrices
from izmp_dynamics.files.place import TAKEN, Obstacle, Place
from izmp_dynamics.model.link_transforms import LinkTransforms
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.topics import TOPICS, Topic
from izmp_dynamics.stability.support_polygon import plane_axes

MARK = 'report.json'
"""A folder with this file is an earlier result and may be replaced if that is asked for."""

REPLAY = (MARK, 'report.html', 'bag', 'expect.xml')
"""What a replay writes."""


@contextmanager
def result_folder(
    folder: Path, overwrite: bool, results: Collection[str] = REPLAY
) -> Iterator[Path]:
    """Give a folder to write into that becomes `folder` when the block ends well.

    Args:
        folder: where the results shall be.
        overwrite: whether an earlier result there may be replaced.
        results: names of what such a result may hold.

    Yields:
        A folder in a hidden one beside it. If the block raises, Ctrl-C included, it is removed.

    Raises:
        ReplayError: if the place is taken or cannot be written to. What was put there meanwhile
            is left alone, and the complete results are kept beside it.
    """
    folder = Path(os.path.realpath(folder))
    if not folder.name:
        raise ReplayError(
            f"'{folder}' cannot be a folder of results; name one.", kind='no_name', path=folder
        )
    place = Place(
        folder, partial(_replaceable, results=results) if overwrite else _empty, ReplayError
    )
    try:
        with _writing(folder):
            new = place.prepare()
            new.mkdir()
        yield new
        with _writing(folder):
            place.publish()
    except BaseException:
        place.discard()
        raise


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReplayError(
            f"The results cannot be written to '{folder}': {error.strerror or error}.",
            kind='cannot_write', path=folder, errno=error.errno,
        ) from error  # fmt: skip


def _empty(found: Path) -> Obstacle | None:
    if found.is_dir() and not any(found.iterdir()):
        return None
    return 'place_taken', TAKEN, found.name


def _replaceable(found: Path, results: Collection[str]) -> Obstacle | None:
    """Why --overwrite does not touch a folder; None if it holds an earlier result only."""
    if _empty(found) is None:
        return None
    if not (found.is_dir() and (found / MARK).is_file()):
        reason = f'is not an earlier result (it has no {MARK}), so --overwrite does not touch'
        return 'not_a_result', f'{reason} it; choose another place', MARK
    foreign = [entry.name for entry in found.iterdir() if entry.name not in results]
    if not foreign:
        return None
    name = min(foreign)
    reason = (
        f"holds '{name}', which is not part of an earlier result, so --overwrite does not touch it"
    )
    return 'foreign_file', f'{reason}; choose another place, or move that away', name


_BLOCK = 1 << 22
"""Bytes that are read at a time."""


def input_hashes(bag: Path, robot: RobotFile, urdf: Urdf) -> dict[str, str]:
    """Name of a file → SHA-256: the URDF, the data files of the bag, the robot file.

    Args:
        bag: folder or file.
        robot: robot file.
        urdf: of the robot.
    """
    hashes = {robot.urdf: urdf.sha256, **data_hashes(bag)}
    if robot.path is not None:
        hashes[robot.path.name] = file_hash(robot.path)
    return hashes


def data_hashes(bag: Path) -> dict[str, str]:
    """SHA-256 of the data files of a bag, a folder or a file, by name.

    A write-ahead log of SQLite counts: it holds what a killed recorder had written last.
    """
    files = sorted(bag.iterdir()) if bag.is_dir() else [bag, bag.with_name(f'{bag.name}-wal')]
    return {
        file.name: file_hash(file)
        for file in files
        if file.is_file() and (file == bag or {'.mcap', '.db3', '.db3-wal'} & set(file.suffixes))
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


TF_RATE = 50.0
"""About this rate /tf is written, if the bus is faster [Hz]."""

_GEOMETRY = 'geometry_msgs/msg/'

_Link = tuple[str, str]
"""Parent and child frame."""


class ResultWriter:
    """Writes evaluated spans to an open bag, in their order.

    The topics and types are those of the live graph, so both look the same to a viewer.

    Args:
        start: stamp of the latched topics [ns].
    """

    def __init__(self, bag: BagWriter, rig: Rig, urdf_text: str, start: int) -> None:
        self.bag = bag
        self.rig = rig
        self.root = rig.model.root
        taken = (*rig.model.frame_names, rig.robot.ground.frame or '')
        self.world, self.nif = (unused_name(name, taken) for name in ('world', 'nif'))
        ground = rig.robot.ground.frame or ''
        self._frames = {
            'root': self.root, 'points': self.root, 'world': self.world, 'ground': ground,
            'link': rig.robot.fusion.link or '',
        }  # fmt: skip
        self.links = LinkTransforms(rig.model)
        self.tf_step = max(1, round(rig.robot.rates.bus / TF_RATE))
        self._topics: set[str] = set()
        self._written = 0
        self._write_latched(urdf_text, start)

    def write(self, results: Evaluated) -> None:
        """Write a span; rows without a value are left out, topic by topic."""
        for topic in TOPICS.values():
            self._put(topic, results)
        self._write_polygons(results)
        self._write_tf(results)
        self.bag.flush()
        self._written += len(results.stamps)

    def _put(self, topic: Topic, results: Evaluated) -> None:
        values = topic.values(results, self.rig)
        if values is None:
            return
        name, rows = f'/{topic.name}', topic.known(results, values)
        if rows.any() or name in self._topics:
            frame = {'header.frame_id': self._frames[topic.frame]} if topic.frame else {}
            self._add(name, topic.msgtype, frame | dict(topic.like(self.rig)))
            fields = zip(topic.fields, values, strict=True)
            self.bag.write_batch(
                name, results.stamps[rows], {field: part[rows] for field, part in fields}
            )

    def _add(self, topic: str, msgtype: str, like: dict[str, object]) -> None:
        if topic not in self._topics:
            self.bag.add_topic(topic, msgtype, like)
            self._topics.add(topic)

    def _write_polygons(self, results: Evaluated) -> None:
        """Write the hulls of the loaded soles; their number of corners varies."""
        topic = '/support_polygon'
        like: dict[str, object] = {'header.frame_id': self.root}
        self._add(topic, f'{_GEOMETRY}PolygonStamped', like)
        outlines, counts = results.ground.outlines()
        for count in np.unique(counts[counts > 0]).tolist():
            rows = counts == count
            corners = outlines[rows, :count].reshape(-1, 3 * count)
            self.bag.write_batch(
                topic,
                results.stamps[rows],
                {'polygon.points': corners},
                like | {'polygon.points': count},
            )

    def _write_tf(self, results: Evaluated) -> None:
        """Write the tree of links with the frame nif, and the world where it is known."""
        first = -self._written % self.tf_step
        rows = np.zeros(len(results.stamps), dtype=np.bool_)
        rows[first :: self.tf_step] = True
        rows &= results.joints.valid & np.isfinite(results.ground.plane.normal).all(axis=1)
        world = results.world
        located = np.isfinite(world.p).all(axis=1) & np.isfinite(world.R).all(axis=(1, 2))
        for some in (rows & located, rows & ~located):
            if some.any():
                self._write_transforms('/tf', results.stamps[some], self._tree(results, some))

    def _tree(self, results: Evaluated, rows: Flags) -> dict[_Link, Array]:
        """Return (parent, child) → (K, 7) poses at instants of which all or none are located."""
        link_poses = np.moveaxis(self.links.poses(results.joints.positions[rows]), 1, 0)
        poses = dict(zip(self.links.moving, link_poses, strict=True))
        poses[self.root, self.nif] = _nif_pose(results.ground.plane.normal[rows])
        ground = self.rig.robot.ground
        if results.ground.frame is not None and ground.frame is not None and ground.moves:
            p = results.ground.frame.p[rows]  # given in the world, it is known where the root is
            if np.isfinite(p).all():
                poses[self.root, ground.frame] = _poses(results.ground.frame.R[rows], p)
        p, R = results.world.p[rows], results.world.R[rows]
        if np.isfinite(p).all() and np.isfinite(R).all():
            poses[self.world, self.root] = _poses(R, p)
        return poses

    def _write_transforms(self, topic: str, stamps: Stamps, poses: dict[_Link, Array]) -> None:
        """Write TFMessages with one transform per (parent, child): (K, 7) pose."""
        like: dict[str, object] = {'transforms': len(poses)}
        values = {}
        for k, ((parent, child), pose) in enumerate(poses.items()):
            like[f'transforms[{k}].header.frame_id'] = parent
            like[f'transforms[{k}].child_frame_id'] = child
            values[f'transforms[{k}].transform'] = pose
        self._add(topic, 'tf2_msgs/msg/TFMessage', like)
        self.bag.write_batch(topic, stamps, values, like)

    def _write_latched(self, urdf_text: str, start: int) -> None:
        self._add('/robot_description', 'std_msgs/msg/String', {'data': urdf_text})
        self.bag.write_batch('/robot_description', np.array([start]), {})
        poses = {
            names: pose[None]
            for names, pose in zip(self.links.fixed, self.links.fixed_poses, strict=True)
        }
        if poses:
            self._write_transforms('/tf_static', np.array([start]), poses)


def _nif_pose(normal: Array) -> Array:
    """(K, 7) pose of the frame nif in the root frame: z along the ground normal, x sagittal."""
    axes = plane_axes(normal)
    return _poses(np.stack([axes[:, 0], axes[:, 1], normal], axis=2), np.zeros_like(normal))


def _poses(R: Array, p: Array) -> Array:
    """(K, 7) positions and quaternions (x, y, z, w) from R (K, 3, 3) and p (K, 3)."""
    return np.hstack([p, quaternions_of_matrices(R)])
