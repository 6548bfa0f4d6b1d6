"""The key of a kept result follows from the sources that the computation imports."""

import functools
import importlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the studies simulate with MuJoCo')

from izmp_dynamics.base.source_closure import PACKAGE, Sources, code_digest
from izmp_lab.cli.experiments import _PAGES
from izmp_lab.seesaw.study import tasks
from izmp_lab.seesaw.study.robot_digest import robot_digest
from izmp_lab.seesaw.study.tasks import Study
from izmp_lab.studies import runs as runs_module
from izmp_lab.studies.angular_momentum.study import Study as MomentumStudy
from izmp_lab.studies.campaign import perform_all
from izmp_lab.studies.fall_alarm.study import Study as FallStudy
from izmp_lab.studies.itu_biped.study import Study as ItuStudy
from izmp_lab.studies.paper.campaign import Campaign
from izmp_lab.studies.paper.experiment import Experiment
from izmp_lab.studies.real.figure import LogFigure
from izmp_lab.studies.real.logs import Log, Logs
from izmp_lab.studies.real.study import Study as RealStudy
from izmp_lab.studies.runs import Run
from izmp_lab.studies.store import Store

from .walking import ROBOT_FILE

SOURCES = Sources(PACKAGE)
EVERYWHERE = (
    'conventions.py', 'errors.py', 'kernel.py', 'rotations.py', 'model/kinematics.py',
    'dynamics/contact_wrench.py', 'stability/zmp.py', 'walking/plan.py', 'walking/walk.py',
    'simulation/physics.py', 'simulation/mujoco/model.py', 'simulation/mujoco/plant.py',
    'studies/runs.py', 'studies/__init__.py', '__init__.py',
)  # fmt: skip
PAPER = (
    'dynamics/mr_ad.py', 'dynamics/ir_md.py', 'sensing/differences.py', 'pipeline/rig.py',
    'sensing/noise.py', 'studies/metrics.py', 'studies/paper/trial.py', 'studies/paper/bench.py',
)  # fmt: skip
BALANCE = (
    'conventions.py', 'errors.py', 'kernel.py', 'rotations.py', 'model/kinematics.py',
    'dynamics/contact_wrench.py', 'stability/zmp.py', 'simulation/shove.py',
    'simulation/mujoco/spec.py', 'walking/quadratic_programme.py', 'seesaw/controller.py',
    'seesaw/gains.py', 'seesaw/board.py', 'seesaw/stance.py', 'seesaw/mujoco_plant.py',
    'seesaw/closed_loop.py', 'studies/runs.py', 'seesaw/__init__.py', 'seesaw/study/__init__.py',
)  # fmt: skip
RELIES_ON = {
    'studies.paper.tasks': (*EVERYWHERE, *PAPER),
    'studies.paper.slope': (*EVERYWHERE, *PAPER, 'sensing/foot_imu.py'),
    'studies.itu_biped.walks': (
        *EVERYWHERE, 'walking/converging_cog.py', 'simulation/itu_experiment.py',
    ),
    'studies.angular_momentum.walks': (
        *EVERYWHERE, 'walking/com_programme.py', 'walking/momentum_parameters.py',
        'simulation/mujoco/ankle_feedback.py',
    ),
    'studies.fall_alarm.trials': (
        'stability/fall_alarm.py', 'stability/gait.py', 'dynamics/com_motion.py',
        'pipeline/evaluator.py', 'simulation/mujoco/ankle_feedback.py', 'walking/walk.py',
    ),
    'studies.real.tasks': (
        'bags/reader.py', 'pipeline/evaluator.py', 'dynamics/mr_ad.py', 'sensing/acd.py',
        'stability/zmp.py', 'replay/recording.py', 'sensing/low_pass.py',
    ),
    'seesaw.study.tasks': (*BALANCE, 'seesaw/kkt_plant.py', 'seesaw/loop_check.py'),
    'seesaw.study.izmp': (
        *BALANCE, 'seesaw/bag.py', 'bags/reader.py', 'bags/writer.py', 'pipeline/evaluator.py',
        'dynamics/mr_ad.py', 'sensing/acd.py', 'seesaw/study/points.py',
    ),
}  # fmt: skip
"""Module with computations → some of the files that decide their results."""

INDIFFERENT = ('cli/main.py', 'nodes/main.py', 'nodes/izmp.py', 'studies/look.py')
"""Files that decide no result."""


@pytest.fixture(scope='module')
def scratch(tmp_path_factory):
    """A copy of the package's sources: its folder and the sources."""
    folder = tmp_path_factory.mktemp('sources') / PACKAGE.name
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns('__pycache__'))
    return folder, Sources(folder)


def digests(sources):
    return {module: sources.digest(f'izmp_dynamics.{module}') for module in RELIES_ON}


def changed_by(file, scratch):
    """Modules with computations whose digest a further byte in a file changes."""
    folder, sources = scratch
    path, before = folder / file, digests(sources)
    content = path.read_bytes()
    path.write_bytes(content + b'\n')
    try:
        after = digests(sources)
    finally:
        path.write_bytes(content)
    return {module for module in RELIES_ON if after[module] != before[module]}


def files(module):
    return {
        SOURCES.files[name].relative_to(PACKAGE).as_posix()
        for name in SOURCES.closure(f'izmp_dynamics.{module}')
    }


@pytest.mark.parametrize('module', RELIES_ON)
def test_a_closure_has_what_the_results_rely_on(module):
    assert set(RELIES_ON[module]) <= files(module)
    assert not set(INDIFFERENT) & files(module)


@pytest.mark.parametrize('module', RELIES_ON)
def test_importing_a_module_loads_nothing_beyond_its_closure(module):
    program = f'import sys, izmp_dynamics.{module}; print(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    if 'MissingDependencyError' in done.stderr:
        pytest.skip('needs a library that is not installed')
    assert done.returncode == 0, done.stderr
    loaded = {name for name in done.stdout.split() if name.split('.')[0] == PACKAGE.name}
    assert loaded <= SOURCES.closure(f'izmp_dynamics.{module}')


@pytest.mark.parametrize('file', sorted({file for some in RELIES_ON.values() for file in some}))
def test_another_byte_in_a_file_changes_the_keys_of_those_that_rely_on_it(scratch, file):
    affected = {module for module, some in RELIES_ON.items() if file in some}
    assert affected <= changed_by(file, scratch)


def one_file_per_package(module):
    """Of the closure of a module: package → a file in it, not the `__init__`."""
    found = {}
    for file in sorted(files(module)):
        package, _, name = file.rpartition('/')
        if name != '__init__.py':
            found.setdefault(package.partition('/')[0], file)
    return found


computed = []


def compute(load):
    computed.append(None)
    return {'nothing': np.zeros(1)}


@pytest.mark.parametrize(
    ('module', 'file'),
    [(module, file) for module in RELIES_ON for file in one_file_per_package(module).values()],
)
def test_another_byte_in_a_file_of_any_package_computes_anew(
    scratch, monkeypatch, tmp_path, module, file
):
    folder, sources = scratch
    monkeypatch.setattr(
        runs_module, 'code_digest', lambda own: sources.digest(f'izmp_dynamics.{module}')
    )
    run, store, path = Run(f'{__name__}:compute', {}), Store(tmp_path), folder / file
    content = path.read_bytes()
    computed.clear()
    perform_all([run, run], store)
    perform_all([run], store)
    assert len(computed) == 1
    path.write_bytes(content + b'\n')
    try:
        perform_all([run], store)
    finally:
        path.write_bytes(content)
    assert len(computed) == 2


@pytest.mark.parametrize('file', INDIFFERENT)
def test_another_byte_in_a_file_that_decides_nothing_changes_no_key(scratch, file):
    assert not changed_by(file, scratch)


def test_imports_in_functions_and_for_type_checking_count(tmp_path):
    package = tmp_path / 'outer'
    package.mkdir()
    for name in ('__init__', 'one', 'two'):
        (package / f'{name}.py').touch()
    (package / 'three.py').write_text(
        'from typing import TYPE_CHECKING\n'
        'if TYPE_CHECKING:\n    from outer.one import One\n'
        'def f():\n    import outer.two\n'
    )
    assert Sources(package).imports('outer.three') == {'outer.one', 'outer.two'}


def test_a_package_is_in_the_closure_of_its_modules(tmp_path):
    inner = tmp_path / 'outer' / 'inner'
    inner.mkdir(parents=True)
    for path, text in (
        (inner.parent / '__init__.py', 'from . import one\n'),
        (inner.parent / 'one.py', 'from .inner.two import x\n'),
        (inner / '__init__.py', ''),
        (inner / 'two.py', 'from ..three import x\n'),
        (inner.parent / 'three.py', 'import json\nfrom outer import __version__\n'),
    ):
        path.write_text(text)
    sources = Sources(inner.parent)
    assert sources.imports('outer') == {'outer.one'}
    assert sources.imports('outer.three') == {'outer'}
    assert sources.closure('outer.inner.two') == sources.files.keys()
    assert sources.closure('json') == set()


def test_all_runs_of_the_studies_are_about_modules_that_are_checked_here(tmp_path):
    subjects = {
        'paper': Campaign.of(Experiment()),
        'itu_biped': ItuStudy.quick(),
        'angular_momentum': MomentumStudy.quick(tmp_path),
        'seesaw': Study.quick(),
        'fall_alarm': FallStudy.of(3, 10_000),
    }
    found = {
        need.module
        for name, page in _PAGES.items()
        for figure, _ in importlib.import_module(f'izmp_dynamics.{page}').FIGURES.values()
        for run in figure.runs(subjects[name])
        for need in (run, *run.needs)
    }
    log = Log('a log', ROBOT_FILE.parent, ROBOT_FILE)
    found |= {run.module for run in LogFigure(log).runs(RealStudy(Logs((log,), ())))}
    assert found == {f'izmp_dynamics.{module}' for module in RELIES_ON}


def other_digest(others, module):
    return others.get(module) or code_digest(module)


def test_the_key_of_a_run_has_the_code_behind_it_and_behind_what_it_needs(monkeypatch, tmp_path):
    need = Run('izmp_lab.studies.paper.tasks:walk', {})
    run, store = Run('izmp_lab.seesaw.study.tasks:balance', {}, (need,)), Store(tmp_path)
    paths = {store.path(run.kind, run.key())}
    for module in (run.module, need.module):
        other = {module: 'changed'}
        digest = functools.partial(other_digest, other)
        monkeypatch.setattr(runs_module, 'code_digest', digest)
        paths.add(store.path(run.kind, run.key()))
    assert len(paths) == 3


def test_another_urdf_of_the_balancing_robot_is_another_run(monkeypatch):
    study = Study('biped31')
    run = study.push('mixed')
    assert run.data == robot_digest('biped31') != ''
    monkeypatch.setattr(tasks, 'robot_digest', lambda name: 'other')
    assert study.push('mixed').key() != run.key()
