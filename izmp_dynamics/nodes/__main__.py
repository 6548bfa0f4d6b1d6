"""`python -m izmp_dynamics.nodes acd [--ros-args …]`; 'composed' does what all of them do."""

import sys

from izmp_dynamics.nodes.main import run

if __name__ == '__main__':
    sys.exit(run(sys.argv[1] if len(sys.argv) > 1 else '', sys.argv[2:]))
