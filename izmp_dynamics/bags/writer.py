"""Writing a rosbag2: complete or not at all, the same bytes for the same input.

Usage::

    with BagWriter('out', storage='mcap') as bag:
        bag.add_topic('/izmp', 'geometry_msgs/msg/PointStamped', {'header.frame_id': 'pelvis'})
        for ...:                                        # span by span
            bag.write_batch('/izmp', stamps, {'point': points})      # (T,), (T, 3)
            bag.flush()
        bag.mark('fell', 'no')

The bag is written to a hidden folder `.out.partial-…` beside its place and moved there when it is
complete; an exception, Ctrl-C included, leaves nothing behind. Within one flush, the messages of
all topics lie in the order of their stamps.

The metadata has version 8, which every rosbag2 from Humble on can parse: version 9 made the QoS
profiles a list with words, on which Humble stops with 'bad conversion' (ros2/rosbag2 issues 1895
and 2013); what versions 6 to 8 added an older reader passes over.
"""

import functools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.cdr_layout import CdrLayout, Rows, serialized
from izmp_dynamics.bags.mcap_storage import McapStorage, write_messages
from izmp_dynamics.bags.metadata import FILES, bag_place
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import FOREVER
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.base.errors import BagError, ShapeError, UnknownNameError
from izmp_dynamics.files.libraries import library

Qos = Literal['default', 'sensor_data', 'latched', 'history']
"""Reliable; best effort; reliable and kept for late subscribers (transient local): one or many."""

_DEPTHS = {'default': 10, 'sensor_data': 5, 'latched': 1, 'history': 1000}

_log = logging.getLogger(__name__)

_VERSION = 8
_LATCHED = ('/tf_static', '/robot_description')
_FLUSH_EVERY = 1.0
"""Recorded messages are flushed unasked after this time [s]; a killed recorder loses no more."""

_KEPT = "What was recorded until then is kept as '{}', which izmp can read."

_LARGEST_FLUSH = 2**26
"""Pending messages are flushed unasked when they exceed this size [bytes]."""


class BagWriter:
    """Writes a bag; use it as a context manager.

    Attributes:
        path: folder that the bag will be.
        storage: 'mcap' or 'sqlite3'.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        storage: str = 'mcap',
        overwrite: bool = False,
        custom_data: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare to write; nothing is touched before the `with` statement.

        Args:
            path: folder to be made.
            storage: 'mcap' or 'sqlite3'.
            overwrite: replace an existing bag (once the new one is complete).
            custom_data: marks for the metadata.

        Raises:
            BagError: the place is taken, by a bag or by something else.
        """
        if storage not in ('mcap', 'sqlite3'):
            raise UnknownNameError('bag storage', storage, ('mcap', 'sqlite3'))
        self.storage = storage
        self._place = bag_place(Path(path), overwrite)
        self.path = self._place.path
        if storage == 'sqlite3' and set('?#%') & set(str(self.path)):
            what = f"The path '{self.path}' of a sqlite3 bag must not contain ?, # or %."
            raise BagError(what, kind='bad_path', path=self.path)
        self._marks = dict(custom_data or {})
        self._files: dict[str, str] = {}
        self._connections: dict[str, Any] = {}
        self._layouts: dict[str, CdrLayout] = {}  # of topics whose messages are not serialized yet
        self._pending: list[tuple[Any, Stamps, Raws]] = []  # connection, stamps, messages
        self._pending_size = 0
        self._flushed = monotonic()
        self._writer: Any = None

    def __enter__(self) -> 'BagWriter':
        rosbag2 = library('rosbags.rosbag2', 'Writing a bag')
        library('mcap.records', 'Writing a bag')
        plugins, own = rosbag2.StoragePlugin, {rosbag2.StoragePlugin.MCAP: McapStorage}
        plugin = plugins[self.storage.upper()]
        try:
            self._partial = self._place.prepare()
            self._writer = rosbag2.Writer(self._partial, version=_VERSION, storage_plugin=plugin)
            self._writer.STORAGE_PLUGINS = rosbag2.Writer.STORAGE_PLUGINS | own
            self._writer.open()
        except BaseException as error:
            self._abort()
            self._raise(error)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            if kept := self._abort():
                _log.warning(_KEPT.format(kept))
            return
        try:
            self.flush()
            self._commit('DELETE')
            for key, value in sorted(self._marks.items()):
                self._writer.set_custom_data(key, value)
            self._writer.close()
            for name, text in self._files.items():
                (self._partial / name).write_text(text, encoding='utf-8')
            self._place.publish()
        except BaseException as failure:
            self._raise(failure, self._abort())

    def try_place(self) -> None:
        """Make sure, before the `with` statement, that the bag can be written; leave nothing.

        Raises:
            BagError: it cannot be.
        """
        try:
            self._place.prepare()
        except Exception as error:
            self._raise(error)
        finally:
            self._place.discard()

    def add_file(self, name: str, text: str) -> None:
        """Put a further file into the folder, next to the bag's own; players ignore it.

        Args:
            name: without a folder or spaces; not that of one of the bag's own files.
            text: its content.
        """
        self._files[name] = text
        self._marks[FILES] = ' '.join(self._files)

    def add_topic(
        self,
        name: str,
        msgtype: str,
        like: Mapping[str, Any] | CdrLayout,
        qos: Qos | None = None,
    ) -> CdrLayout:
        """Declare a topic.

        Args:
            name: e.g. '/mr_ad/izmp'.
            msgtype: a standard ROS type.
            like: what all its messages have in common: values for `cdr_layout.serialized`, or a
                layout.
            qos: how it was offered; default: 'latched' for /tf_static and /robot_description.

        Returns:
            The layout: its paths are those that `write_batch` takes.

        Raises:
            BagError: the name is taken, or `like` is no such message or is not finite.
            UnknownNameError: `like` names what the type does not have.
        """
        layout = like if isinstance(like, CdrLayout) else _layout(msgtype, like)
        if layout.msgtype != msgtype:
            what = f'The layout is that of {layout.msgtype}, not of {msgtype}.'
            raise BagError(what, kind='wrong_type', msgtype=msgtype)
        self._connect(name, msgtype, qos or ('latched' if name in _LATCHED else 'default'))
        self._layouts[name] = layout
        return layout

    def write_batch(
        self,
        topic: str,
        stamps: Stamps,
        values: Mapping[str, npt.ArrayLike] | None = None,
        like: Mapping[str, Any] | None = None,
    ) -> None:
        """Write messages of one topic.

        Args:
            topic: its name.
            stamps: (T,) receive stamps [ns]; header stamps as well unless `values` has them.
            values: path → (T, …) numbers; what is not named is as in the example.
            like: an example for these messages, if their strings or the lengths of their
                sequences are not those of the topic's example; as in `add_topic`.

        Raises:
            BagError: a value is not finite, a stamp negative, or `like` is no such message.
            ShapeError: `values` do not fit.
            UnknownNameError: there is no such topic or path.
        """
        if topic not in self._layouts:
            raise self._unknown(topic, self._layouts)
        layout = self._layouts[topic]
        if like is not None:
            layout = _layout(layout.msgtype, like)
        stamps = np.asarray(stamps, None if len(stamps) else np.int64)
        self._check_stamps(topic, stamps)
        given = dict(values or {})
        for path in layout.times:
            if path.rpartition('.')[2] == 'stamp':
                given.setdefault(path, stamps)
        rows = layout.encode_rows(len(stamps), given)
        self._check_finite(topic, layout, rows, given)
        if len(stamps):
            sizes = np.full(len(rows), layout.size)
            self._add(topic, stamps.astype(np.int64), Raws(rows.reshape(-1), sizes))

    def add_raw_topic(self, name: str, msgtype: str, qos: Qos = 'default') -> None:
        """Declare a topic whose messages are serialized already, e.g. as they came over DDS.

        Args:
            name: e.g. '/imu'.
            msgtype: a standard ROS type.
            qos: how it was offered.

        Raises:
            BagError: the name is taken, the type is not known, or writing fails, as in `flush`.
        """
        if msgtype not in standard_types().fielddefs:
            what = f"The type {msgtype} of topic '{name}' is not a standard one."
            raise BagError(what, kind='unknown_type', topic=name, msgtype=msgtype)
        if not self._place.keep:
            self._place.keep = True
            with self._writing():
                self._commit('WAL')
        self._connect(name, msgtype, qos)

    def write_raw(self, topic: str, stamp: int, raw: bytes) -> None:
        """Write a serialized message of a topic of `add_raw_topic`; nothing in it is checked.

        Args:
            topic: its name.
            stamp: receive stamp [ns].
            raw: the message (CDR).

        Raises:
            BagError: the stamp is negative.
            UnknownNameError: there is no such topic.
        """
        raw_topics = self._connections.keys() - self._layouts
        if topic not in raw_topics:
            raise self._unknown(topic, raw_topics)
        stamps = np.array([stamp])
        self._check_stamps(topic, stamps)
        self._add(topic, stamps, Raws.of([raw]))
        if monotonic() - self._flushed >= _FLUSH_EVERY:
            self.flush()

    def mark(self, key: str, value: str) -> None:
        """Put a mark into the metadata of the bag, for example `mark('fell', 'yes')`."""
        self._marks[key] = value

    def flush(self) -> None:
        """Write what is pending in the order of the stamps.

        Raises:
            BagError: writing fails (disk full). Nothing more can be written then; what was
                recorded is kept, and the error says where.
        """
        self._flushed = monotonic()
        if not self._pending:
            return
        connections, stamps, messages = zip(*self._pending, strict=True)
        self._pending, self._pending_size = [], 0
        with self._writing():
            if self.storage == 'mcap':
                numbers = np.array([connection.id for connection in connections], np.uint16)
                numbers = numbers.repeat([len(part) for part in stamps])
                write_messages(self._writer, numbers, np.concatenate(stamps), messages)
            else:
                self._write_rows(connections, stamps, messages)
            if self._place.keep:
                self._commit()

    def _write_rows(
        self, connections: Sequence[Any], stamps: Sequence[Stamps], messages: Sequence[Raws]
    ) -> None:
        rows = [
            (stamp, connection, raw)
            for connection, part, raws in zip(connections, stamps, messages, strict=True)
            for stamp, raw in zip(part.tolist(), raws, strict=True)
        ]
        for stamp, connection, raw in sorted(rows, key=itemgetter(0)):
            self._writer.write(connection, stamp, raw)

    def _commit(self, journal: str = '') -> None:
        """Commit what a recording holds; set the mode of a database's journal (WAL or DELETE).

        Other bags than recordings are worthless before they are complete: they have one
        transaction, and so the same bytes whenever they are written.
        """
        if self.storage != 'sqlite3':
            self._writer.storage.sync()
            return
        database = self._writer.storage.conn
        database.commit()
        if journal:
            database.execute(f'PRAGMA journal_mode={journal}')

    def _add(self, topic: str, stamps: Stamps, messages: Raws) -> None:
        self._pending.append((self._connections[topic], stamps, messages))
        self._pending_size += messages.data.size
        if self._pending_size > _LARGEST_FLUSH:
            self.flush()

    def _connect(self, name: str, msgtype: str, qos: Qos) -> None:
        if name in self._connections:
            sentence = f"Topic '{name}' of the bag '{self.path}' was added before."
            raise BagError(sentence, kind='topic_exists', topic=name)
        with self._writing():
            self._connections[name] = self._writer.add_connection(
                name,
                msgtype,
                typestore=standard_types(),
                offered_qos_profiles=[_qos_profile(qos)],
            )

    def _unknown(self, topic: str, valid: Iterable[str]) -> UnknownNameError:
        where = f"in the bag '{self.path}'; add it first"
        return UnknownNameError('topic', topic, valid, where)

    def _check_stamps(self, topic: str, stamps: npt.NDArray[Any]) -> None:
        if stamps.ndim != 1:
            raise ShapeError('stamps', '(T,)', stamps.shape)
        if stamps.dtype.kind not in 'iu':
            what = f"The stamps of topic '{topic}' are {stamps.dtype}, not integers [ns]."
            raise BagError(what, kind='wrong_dtype', topic=topic)
        if stamps.size and not 0 <= stamps.min() <= stamps.max() < FOREVER:
            what = f"A stamp of topic '{topic}' is negative or beyond the year 2116."
            raise BagError(what, kind='bad_stamp', topic=topic)

    def _check_finite(
        self, topic: str, layout: CdrLayout, rows: Rows, paths: Iterable[str]
    ) -> None:
        fields = layout.fields(rows)
        for path in paths:
            if path in layout.times:
                continue
            if not (finite := np.isfinite(fields[path])).all():
                place = int(np.argwhere(~finite)[0, 0])
                raise BagError(
                    f"Field '{path}' of topic '{topic}' is not finite in message {place} of a "
                    f"batch; it is not written to '{self.path}'.",
                    kind='not_finite', topic=topic, field=path, index=place,
                )  # fmt: skip

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """End the bag where writing fails: nothing could be read beyond an incomplete piece."""
        try:
            yield
        except BagError:
            raise
        except Exception as error:
            self._raise(error, self._abort())

    def _abort(self) -> Path | None:
        """Close and remove what was written; but keep a recording, and return where."""
        if self._writer is not None:
            with suppress(Exception):  # what made writing fail may make closing fail as well
                self._writer.abort()
        return self._place.discard()

    def _raise(self, error: BaseException, kept: Path | None = None) -> NoReturn:
        """Raise a `BagError` for a failure of writing, any other error as it is."""
        where = f' {_KEPT.format(kept)}' if kept else ''
        if not isinstance(error, Exception) or (isinstance(error, BagError) and not kept):
            raise error
        if isinstance(error, BagError):
            raise BagError(f'{error}{where}', kind=error.kind, **(error.data | {'kept': kept}))
        reason = (getattr(error, 'strerror', '') or str(error)).rstrip('.')
        raise BagError(
            f"The bag '{self.path}' cannot be written: {reason}.{where}",
            kind='cannot_write', path=self.path, errno=getattr(error, 'errno', None), kept=kept,
        ) from error  # fmt: skip


def _layout(msgtype: str, like: Mapping[str, Any]) -> CdrLayout:
    try:
        parts = tuple((k, tuple(v) if np.ndim(v) else v) for k, v in like.items())
        hash(parts)
    except (TypeError, ValueError) as error:
        what = f'The example is not a message of type {msgtype}: {error}.'
        raise BagError(what, kind='wrong_type', msgtype=msgtype) from error
    return _layout_of(msgtype, parts)


@functools.lru_cache(maxsize=32)
def _layout_of(msgtype: str, like: tuple[tuple[str, Any], ...]) -> CdrLayout:
    """Make the layout of an example, which may come again and again."""
    types = standard_types()
    layout = CdrLayout(types, msgtype, serialized(types, msgtype, dict(like)))
    fields = layout.fields(layout.encode_rows(1, {}))
    for path in layout.paths:
        if not np.isfinite(fields[path]).all():
            what = f"Field '{path}' of an example of {msgtype} is not finite."
            raise BagError(what, kind='not_finite', field=path)
    return layout


def _qos_profile(name: Qos) -> Any:
    ros = library('rosbags.interfaces', 'Writing a bag')
    latched, sensor = name in ('latched', 'history'), name == 'sensor_data'
    unlimited = ros.QosTime(9223372036, 854775807)
    return ros.Qos(
        ros.QosHistory.KEEP_LAST, _DEPTHS[name],
        ros.QosReliability.BEST_EFFORT if sensor else ros.QosReliability.RELIABLE,
        ros.QosDurability.TRANSIENT_LOCAL if latched else ros.QosDurability.VOLATILE,
        unlimited, unlimited, ros.QosLiveliness.AUTOMATIC, unlimited, False,
    )  # fmt: skip
