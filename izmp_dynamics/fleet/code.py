"""What decides a row and a report besides the bag and the robot file."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from izmp_dynamics.base.source_closure import PACKAGE, code_digest
from izmp_dynamics.replay.hashes import file_hash

LIBRARIES = ('numpy', 'scipy', 'numba')
"""Libraries whose version may change a number."""


@cache
def code() -> str:
    """Digest of this package's code, of what its reports are made of, and of `LIBRARIES`."""
    return digest_with(code_digest('izmp_dynamics.fleet.task'), PACKAGE / 'report')


def digest_with(sources: str, folder: Path) -> str:
    """Digest of sources, of the templates, scripts and styles in a folder, and of `LIBRARIES`.

    Args:
        sources: their digest.
        folder: searched at all depths.
    """
    files = sorted(path for path in folder.rglob('*') if path.suffix in ('.j2', '.js', '.css'))
    parts = [sources, *map(file_hash, files), *map(_version, LIBRARIES)]
    return hashlib.sha256(' '.join(parts).encode()).hexdigest()[:16]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # installed without metadata
        return ''
