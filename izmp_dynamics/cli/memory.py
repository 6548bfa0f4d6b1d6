"""Memory that arrays leave is kept for the next ones instead of given back to the system."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_KEPT = 1 << 24
_LARGE = 1 << 25


def keep_freed_memory() -> None:
    """Keep up to 16 MB that are free, and arrays of up to 32 MB on the heap.

    By its defaults glibc gives arrays of a span of a log back when they are freed, and the system
    fills the memory of the next ones with zeros, page by page: a twentieth of a replay. Without
    glibc nothing is done.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGE)
    mallopt(_TRIM_THRESHOLD, _KEPT)
