"""Reading a whole file that a user names, unless it has no end or never begins."""

import errno
import os
import stat
from pathlib import Path


def read_regular_file(path: Path, largest: int) -> bytes:
    """Read a regular file; devices, pipes and sockets are refused without waiting for them.

    Args:
        path: the file.
        largest: most bytes that it may have.

    Raises:
        OSError: it cannot be read, is not a regular file or is too large.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, 'rb') as stream:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, 'it is not a regular file', str(path))
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f'it has more than {largest / 1e6:.0f} MB', str(path))
    return data
