"""Make the pictures of docs/experiments.md, docs/walking.md and docs/seesaw.md.

.venv/bin/python docs/figures/experiments.py
"""

import shutil
import tempfile
from pathlib import Path

from izmp_dynamics.experiments.experiment import Experiment
from izmp_dynamics.experiments.itu_biped import Study
from izmp_dynamics.experiments.itu_page import make_itu_biped
from izmp_dynamics.experiments.momentum_page import make_angular_momentum
from izmp_dynamics.experiments.momentum_study import Study as MomentumStudy
from izmp_dynamics.experiments.paper import make_paper
from izmp_dynamics.experiments.seesaw_page import make_seesaw
from izmp_dynamics.experiments.seesaw_study import Study as SeesawStudy

PICTURES = ('fig9', 'zero_crossing', 'prediction')


def main() -> None:
    """Run the experiments with their defaults and keep the pictures."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        make_paper(Experiment(), Path(folder), only=PICTURES, jobs=2)
        for name in PICTURES:
            print(shutil.copy(Path(folder) / f'{name}.png', here / f'experiments_{name}.png'))
        make_itu_biped(Study.full(), Path(folder), only=['falls'], jobs=2)
        print(shutil.copy(Path(folder) / 'falls.png', here / 'experiments_itu_falls.png'))
        study = MomentumStudy.full(Path(folder))
        make_angular_momentum(study, Path(folder), only=['grid'], jobs=2)
        print(shutil.copy(Path(folder) / 'grid.png', here / 'experiments_momentum_grid.png'))
        make_seesaw(SeesawStudy(), Path(folder), only=['fig4', 'fig5'], jobs=2)
        for name in ('fig4', 'fig5'):
            print(shutil.copy(Path(folder) / f'{name}.png', here / f'seesaw_{name}.png'))


if __name__ == '__main__':
    main()
