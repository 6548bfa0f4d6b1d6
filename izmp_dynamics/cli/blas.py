"""BLAS, with which numpy multiplies matrices, on one thread."""

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
