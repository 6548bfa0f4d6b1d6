"""metadata.yaml of a rosbag2 folder, versions 1 to 9; which folders a new bag may replace."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.libraries import library
from izmp_dynamics.files.place import TAKEN, Obstacle, Place, read_regular_file

FILE = 'metadata.yaml'
KEY = 'rosbag2_bagfile_information'
_LARGEST, _DEEPEST = 2**21, 100


@dataclass(frozen=True)
class Metadata:
    """What a recorder wrote about a bag.

    Attributes:
        storage: storage identifier, e.g. 'mcap'.
        files: names of the storage files in the folder, in order.
        counts: (topic, type) → number of messages.
        type_hashes: (topic, type) → hash of the type, where it was recorded (from version 7 on).
        custom_data: free marks (from version 6 on).
        distro: ROS distribution (from version 8 on); '' when unknown.
    """

    storage: str
    files: tuple[str, ...]
    counts: dict[tuple[str, str], int]
    type_hashes: dict[tuple[str, str], str] = field(default_factory=dict)
    custom_data: dict[str, str] = field(default_factory=dict)
    distro: str = ''


def read_metadata(folder: Path) -> Metadata:
    """Read the metadata.yaml of a folder.

    Raises:
        BagError: it cannot be read or is not that of a rosbag2; the sentence has no place.
    """
    yaml = library('yaml', 'Reading a bag')
    path = folder / FILE
    try:
        text = read_regular_file(path, _LARGEST).decode('utf-8')
        loader = getattr(yaml, 'CBaseLoader', yaml.BaseLoader)  # every scalar is a text
        depth = 0
        for event in yaml.parse(text, loader):  # libyaml composes without a limit of its own
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise RecursionError(f'it is nested more than {_DEEPEST} levels deep')
        return _metadata(yaml.load(text, loader)[KEY])
    except OSError as error:
        raise BagError(
            error.strerror or str(error), kind='unreadable', errno=error.errno
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise BagError(str(error).splitlines()[0], kind='not_yaml') from error
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BagError(
            f'it is not that of a rosbag2 ({type(error).__name__}: {error})', kind='not_rosbag2'
        ) from error


def _metadata(information: dict[str, Any]) -> Metadata:
    custom = information.get('custom_data')
    topics = [
        (entry['topic_metadata'], int(entry['message_count']))
        for entry in information.get('topics_with_message_count') or []
    ]
    keys = [(_text(topic['name']), _text(topic['type'])) for topic, _ in topics]
    hashes = [_text(topic.get('type_description_hash') or '') for topic, _ in topics]
    own = custom.items() if isinstance(custom, dict) else ()
    return Metadata(
        storage=_text(information['storage_identifier']),
        files=tuple(PurePosixPath(_text(p)).name for p in information['relative_file_paths']),
        counts={key: count for key, (_, count) in zip(keys, topics, strict=True)},
        type_hashes={key: text for key, text in zip(keys, hashes, strict=True) if text},
        custom_data={k: v for k, v in own if isinstance(k, str) and isinstance(v, str)},
        distro=_text(information.get('ros_distro') or ''),
    )


def _text(value: Any) -> str:
    """A text; anything else may be a tree of aliases that is endless when written out."""
    if not isinstance(value, str):
        raise TypeError(f'a {type(value).__name__} where a text is expected')
    return value


FILES = 'files'
"""Mark of the metadata with the names of further files that belong to the bag."""

_STORAGE = ('.mcap', '.db3', '.db3-wal', '.db3-shm', '.mcap.zstd', '.db3.zstd')


def bag_place(path: Path, overwrite: bool) -> Place:
    """A folder that does not exist yet, or a bag that may be replaced.

    Raises:
        BagError: it is taken and must not be replaced.
    """

    def obstacle(found: Path) -> Obstacle | None:
        if overwrite:
            return _foreign(found)
        return 'place_taken', TAKEN, path.name

    return Place(path.absolute(), obstacle, BagError)


def _foreign(path: Path) -> Obstacle | None:
    """Why a place must not be replaced; None if it is a bag and nothing else."""
    if path.is_symlink() or not path.is_dir():
        return 'not_a_bag_folder', 'is not overwritten: it is not a folder of a bag', path.name
    try:
        text = read_regular_file(path / FILE, 2**24).decode('utf-8', errors='replace')
    except OSError:
        return 'no_metadata', f'is not overwritten: it holds no {FILE}, so it is not a bag', FILE
    if KEY not in text:
        return 'foreign_metadata', f'is not overwritten: its {FILE} is not that of a bag', FILE
    own = {FILE}
    with suppress(BagError):  # damaged metadata list nothing
        own.update(read_metadata(path).custom_data.get(FILES, '').split())
    others = [
        x.name for x in path.iterdir() if x.name not in own and not x.name.endswith(_STORAGE)
    ]
    if not others:
        return None
    name = min(others)
    return 'foreign_file', f"is not overwritten: besides the bag it holds '{name}'", name
