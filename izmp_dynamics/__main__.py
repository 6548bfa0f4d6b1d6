"""`python -m izmp_dynamics` is the command `izmp`."""

import sys

from izmp_dynamics.cli.main import main

if __name__ == '__main__':
    sys.exit(main())
