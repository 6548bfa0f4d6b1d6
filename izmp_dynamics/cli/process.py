"""How this process uses threads and memory, decided before numpy is imported."""

import ctypes
import os

VARIABLES = ('OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'OMP_NUM_THREADS')


def use_one_blas_thread() -> None:
    """Have numpy, which is not imported yet, use one thread, unless the user set a number.

    OMP_NUM_THREADS counts for every library, the other variables for their own.

    Threads change the last bits of sums, so that results would depend on the number of cores; for
    matrices of a hundred rows, and for sums over a block of a recording, they cost more than they
    gain: a tenth of the CPU time of a replay whose dynamics run at 500 Hz.
    """
    if 'OMP_NUM_THREADS' not in os.environ:
        for name in VARIABLES:
            os.environ.setdefault(name, '1')


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
