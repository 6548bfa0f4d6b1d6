"""Options that state where work is done, for `izmp fleet` and `experiments`."""

import argparse
from typing import Any


def add_process_options(parser: argparse.ArgumentParser, name: str, default: int | None) -> None:
    """Add the processes and their memory.

    Args:
        parser: gets the options.
        name: of the option for the processes, e.g. '--workers'.
        default: number of processes; None for one per core.
    """
    shown = 'one per core' if default is None else default
    parser.add_argument(
        name, dest='workers', type=at_least(1), default=default, metavar='N',
        help=f'processes on this computer (default: {shown})',
    )  # fmt: skip
    parser.add_argument(
        '--memory',
        metavar='SIZE',
        help='limit of a process, e.g. 2GB (default: an equal share)',
    )


def processes_of(options: argparse.Namespace) -> Any:
    """Return the `Processes` that the options state."""
    from izmp_dynamics.engine.processes import Processes

    return Processes(options.workers, options.memory)


def at_least(least: int) -> Any:
    """Type of an option: a whole number, with a sentence for smaller ones."""

    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f'must be at least {least}, not {value}')
        return value

    return whole_number
