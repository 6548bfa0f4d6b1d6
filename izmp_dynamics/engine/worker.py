"""What every worker process does first (`dask worker --preload izmp_dynamics.engine.worker`)."""

import logging
from typing import Any

from izmp_dynamics.engine.interrupts import leave_to_parent


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C to the process that started this one, and the terminal as well."""
    leave_to_parent()
    logging.getLogger('izmp_dynamics').setLevel(logging.ERROR)
    for name in ('distributed', 'tornado'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
