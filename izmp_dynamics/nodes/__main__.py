"""`python -m izmp_dynamics.nodes acd [--ros-args …]`; 'composed' is the whole graph."""

import sys

from izmp_dynamics.nodes.main import GRAPH, run

if __name__ == '__main__':
    names = sys.argv[1].split('+') if len(sys.argv) > 1 else ['']
    sys.exit(run(GRAPH if names == ['composed'] else names, sys.argv[2:]))
