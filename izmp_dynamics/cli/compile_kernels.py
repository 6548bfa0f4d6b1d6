"""`izmp compile`: machine code for all nodes, before a robot needs it."""

import argparse
import time
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'compile',
        help='compile what nodes and replays need, so that no start waits for it',
        description='Compile all kernels that the nodes need, with any setting, into the cache: '
        "beside the installed files or, where these cannot be written to, in the user's folder, "
        'or in NUMBA_CACHE_DIR. It takes a minute or more once, and seconds if all is there.',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile; the log says what is done."""
    from izmp_dynamics.nodes.every_kernel import compile_every_kernel

    begin = time.perf_counter()
    compile_every_kernel()
    print(f'All kernels are compiled ({time.perf_counter() - begin:.0f} s).')
    return 0
