"""The tests, whose processes use threads and memory as the commands do: set before numpy comes."""

from izmp_dynamics.cli.process import keep_freed_memory, use_one_blas_thread

use_one_blas_thread()
keep_freed_memory()
