"""Make the pictures of docs/experiments.md, docs/walking.md and docs/seesaw.md.

.venv/bin/python docs/figures/experiments.py
"""

import shutil
import tempfile
from pathlib import Path

from izmp_dynamics.engine.processes import Processes
from izmp_lab.seesaw.study import page as seesaw_page
from izmp_lab.seesaw.study.tasks import SeesawStudy as SeesawStudy
from izmp_lab.studies.angular_momentum import page as momentum_page
from izmp_lab.studies.angular_momentum.study import MomentumStudy as MomentumStudy
from izmp_lab.studies.itu_biped import page as itu_page
from izmp_lab.studies.itu_biped.study import ItuStudy
from izmp_lab.studies.paper import page as paper_page
from izmp_lab.studies.paper.study import Experiment, PaperStudy
from izmp_lab.studies.publish import publish

TWO = Processes(workers=2)

PICTURES = ('fig9', 'zero_crossing', 'prediction')


def main() -> None:
    """Run the experiments with their defaults and keep the pictures."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        experiment, out = Experiment(), Path(folder)
        paper = PaperStudy.of(experiment)
        publish(paper_page.page(paper), paper, out, only=PICTURES, processes=TWO)
        for name in PICTURES:
            print(shutil.copy(out / f'{name}.png', here / f'experiments_{name}.png'))
        itu = ItuStudy.full()
        publish(itu_page.page(itu), itu, out, only=['falls'], processes=TWO)
        print(shutil.copy(out / 'falls.png', here / 'experiments_itu_falls.png'))
        momentum = MomentumStudy.full(out)
        publish(momentum_page.page(momentum), momentum, out, only=['grid'], processes=TWO)
        print(shutil.copy(out / 'grid.png', here / 'experiments_momentum_grid.png'))
        seesaw = SeesawStudy()
        publish(seesaw_page.page(seesaw), seesaw, out, only=['fig4', 'fig5'], processes=TWO)
        for name in ('fig4', 'fig5'):
            print(shutil.copy(out / f'{name}.png', here / f'seesaw_{name}.png'))


if __name__ == '__main__':
    main()
