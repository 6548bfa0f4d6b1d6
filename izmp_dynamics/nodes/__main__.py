"""`python -m izmp_dynamics.nodes acd [--ros-args …]`; 'composed' does what all of them do."""

import sys
from collections.abc import Sequence

from izmp_dynamics.nodes.main import REFUSED, run
from izmp_dynamics.nodes.registry import nodes


def main(arguments: Sequence[str]) -> int:
    """Run the node that the first argument names."""
    if arguments and arguments[0] in nodes():
        return run(arguments[0], arguments[1:])
    asked = bool({'-h', '--help'} & set(arguments))
    given = '' if asked or not arguments else f"There is no node '{arguments[0]}'.\n"
    print(
        f'{given}usage: python -m izmp_dynamics.nodes NODE [--ros-args -p robot:=FILE …]\n'
        f'NODE is one of: {", ".join(nodes())}.\n'
        'composed is the whole graph in one node; docs/nodes.md describes all.',
        file=sys.stdout if asked else sys.stderr,
    )
    return 0 if asked else REFUSED


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
