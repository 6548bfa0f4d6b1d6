"""`izmp plan walk`: its summary, its plot, and what it refuses."""

import numpy as np
import pytest
from matplotlib.image import imread

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.cli.main import main
from izmp_lab.cli.plan import summary_lines
from izmp_lab.cli.walk_figure import save_walk_figure, walk_figure

from ..raising import raising
from .walking import SLOPE_10_DEG, biped31, planned


def test_command_plans_and_plots(tmp_path, capsys):
    plot = tmp_path / 'plots' / 'plan.png'
    options = ['plan', 'walk', '--speed', '0.25', '--steps', '6', '--plot', str(plot)]
    assert main(options) == 0
    said = capsys.readouterr()
    assert 'Walk:    6 steps of 0.112 m in 0.448 s' in said.out
    assert f'Plot:    {plot}' in said.out
    assert not said.err
    assert imread(plot).std() > 0.1
    assert main([*options, '--quiet']) == 0
    assert not capsys.readouterr().out


def test_summary_names_the_joints_that_are_nearest_to_their_limits():
    walk, model = planned(steps=6), biped31().model
    lines = '\n'.join(summary_lines(walk, biped31()))
    speed = np.abs(walk.plan.qd).max(axis=0) / model.velocity_limit
    assert (
        f'{100 * speed.max():.0f} % of its limit, at {model.joint_names[speed.argmax()]}' in lines
    )
    torque = np.abs(walk.plan.feed_forward).max(axis=0) / model.effort_limit
    assert f'largest torque {100 * torque.max():.0f} %' in lines
    room = np.minimum(walk.plan.q - model.position_lower, model.position_upper - walk.plan.q)
    room = room.min(axis=0)[np.ptp(walk.plan.q, axis=0) > 0.0].min()
    assert f'{np.degrees(room):.1f}° at ' in lines
    passes = walk.parameters.filter_passes
    assert f'after {passes} passes' in lines


@pytest.mark.parametrize('parameters', [{'steps': 6, 'slope': SLOPE_10_DEG}, {'steps': 6}])
def test_the_figure_shows_the_plan(parameters):
    walk, biped = planned(**parameters), biped31()
    figure = walk_figure(walk, biped)
    ground, x, y, ranges, speeds, torques = figure.axes
    soles = len(walk.footsteps.steps) + 2
    assert len(ground.patches) == soles
    drawn = {line.get_label(): line for line in ground.lines}
    for label, points in (('desired ZMP', walk.zmp_reference.point),
                          ('ZMP of all bodies', walk.plan.zmp),
                          ('centre of mass', walk.plan.com)):  # fmt: skip
        assert np.array_equal(drawn[label].get_xydata(), points[:, :2])
    for axes, column in ((x, 0), (y, 1)):
        assert np.array_equal(axes.lines[1].get_ydata(), walk.plan.zmp[:, column])
    moving = [text.get_text() for text in ranges.get_yticklabels()]
    assert set(moving) <= set(biped.model.joint_names)
    assert {'l_knee', 'r_ankle_roll'} <= set(moving)
    knee = ranges.patches[len(moving) + moving.index('l_knee')]
    q = np.degrees(walk.plan.q[:, biped.model.joint_names.index('l_knee')])
    assert [knee.get_x(), knee.get_x() + knee.get_width()] == pytest.approx([q.min(), q.max()])
    for axes in (speeds, torques):
        assert 0.0 < max(bar.get_width() for bar in axes.patches) <= 100.0
    assert ('slope' in figure.get_suptitle()) == ('slope' in parameters)


def test_a_plot_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / 'file').touch()
    walk = planned(steps=6)
    for place, kind in (
        ('plan', 'no_file_ending'), ('plan.docx', 'not_written'), ('file/plan.png', 'not_written'),
    ):  # fmt: skip
        with raising(IzmpError, kind, path=tmp_path / place):
            save_walk_figure(walk, biped31(), tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ['file']


@pytest.mark.parametrize(
    ('options', 'datum'),
    [
        (['--speed', '0.9'], 'l_knee'),
        (['--steps', '0'], '1000'),
        (['--slope-deg', '10', '--turn', '0.2'], 'ramp'),
        (['--robot', 'nowhere.yaml'], 'nowhere.yaml'),
    ],
    ids=str,
)
def test_command_refuses_in_a_sentence(capsys, options, datum):
    assert main(['plan', 'walk', *options]) == 1
    said = capsys.readouterr().err
    assert datum in said
    assert said.count('\n') == 1
