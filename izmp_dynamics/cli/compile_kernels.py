"""`izmp compile`: machine code for all nodes, before a robot needs it."""

import argparse
import time
from importlib.metadata import entry_points
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'compile',
        help='compile what nodes, replays and simulations need, so that no start waits for it',
        description='Compile all kernels that nodes, replays and simulations need into the cache: '
        "beside the installed files or, where these cannot be written to, in the user's folder, "
        'or in NUMBA_CACHE_DIR. It takes a minute or more once, and seconds if all is there.',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile; the log says what is done."""
    from izmp_dynamics.cli.every_kernel import compile_every_kernel

    begin = time.perf_counter()
    compile_every_kernel()
    for command in entry_points(group='izmp_dynamics.commands'):  # the laboratory's
        getattr(command.load(), 'compile_kernels', int)()
    print(f'All kernels are compiled ({time.perf_counter() - begin:.0f} s).')
    return 0
