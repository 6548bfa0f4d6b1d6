"""Make the pictures of docs/experiments.md: fig9.png, zero_crossing.png, prediction.png.

.venv/bin/python docs/figures/experiments.py
"""

import shutil
import tempfile
from pathlib import Path

from izmp_dynamics.experiments.experiment import Experiment
from izmp_dynamics.experiments.paper import make_paper

PICTURES = ('fig9', 'zero_crossing', 'prediction')


def main() -> None:
    """Run the experiments with their defaults and keep the pictures."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        make_paper(Experiment(), Path(folder), only=PICTURES, jobs=2)
        for name in PICTURES:
            print(shutil.copy(Path(folder) / f'{name}.png', here / f'experiments_{name}.png'))


if __name__ == '__main__':
    main()
