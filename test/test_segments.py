"""Sensor units on links beside the root: robot file, mounting, recursion, fallback."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.mr_ad import MrAd, mr_ad_reference
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import make_rig

from .pinocchio_twin import random_state, robot_path
from .small_robot import SMALL_ROBOT


def loaded(folder, segments, urdf=SMALL_ROBOT):
    (folder / 'small.urdf').write_text(urdf)
    path = folder / 'small.yaml'
    path.write_text(f'urdf: small.urdf\nimu: {{frame: base}}\nsegments: {segments}\n')
    return load_robot_file(path, with_urdf=True)


def test_a_mapping_by_link_is_a_list_of_units(tmp_path):
    unit = 'topic: thigh/imu, frame: sole, delay: 0.002'
    robot = loaded(tmp_path, f'{{thigh: {{{unit}}}}}')
    assert robot.segments == loaded(tmp_path, f'[{{link: thigh, {unit}}}]').segments
    signal = next(each for each in robot.signals() if each.kind == 'segments')
    assert (signal.name, signal.topic, signal.frame) == ('segments[thigh]', 'thigh/imu', 'sole')
    (unit,) = make_rig(robot).segments
    assert (unit.imu.name, unit.body) == ('segments[thigh]', 1)
    assert unit.imu.correction.delay == 2_000_000


@pytest.mark.parametrize(
    ('segments', 'sentence'),
    [
        ('{shank: {topic: a, frame: sole}}', "no link 'shank'"),
        ('{thigh: {topic: a, frame: soul}}', "no link 'soul'"),
        ('{thigh: {topic: a, frame: base}}', "frame 'base' moves against 'thigh'"),
        ('{base: {topic: a, frame: base}}', "'base' is the root link 'base'"),
        ('{thigh: {topic: a, frame: sole}, sole: {topic: b, frame: sole}}', 'one of the two'),
        ('{thigh: {topic: a, frame: sole}, thigh: {topic: b}}', "segment 'thigh' is used more"),
        ('{thigh: {topic: a}, sole: {topic: a}}', "topic 'a' is used more than once"),
        ('{thigh: {frame: sole}}', "lacks 'topic'"),
        ('{thigh: imu}', 'must be a mapping with keys: link, topic'),
        (
            '{thigh: {topic: a, frame: sole, accelerometers: [{topic: b, frame: base}]}}',
            "segment_accelerometers[thigh][0]: the frame 'base' moves against 'thigh'",
        ),
        ('{thigh: {topic: a}}', 'name no frame_id, and the robot file does not state one'),
    ],
)  # fmt: skip
def test_a_unit_that_cannot_be_is_refused_in_a_sentence(tmp_path, segments, sentence):
    with pytest.raises(IzmpError) as caught:
        make_rig(loaded(tmp_path, segments))
    assert sentence in str(caught.value)


def outward(model, state):
    """(B, 9) φ, ω, ω̇ of all bodies by the recursion, in the axes of each body, and rotations."""
    out, work = np.empty(9), np.empty((len(model.joints), kernels.WORK))
    kernels.mr_ad(model.joints, model.bodies, state, work, out)
    R = work[:, :9].reshape(-1, 3, 3)
    motions = np.einsum('bji,bmj->bmi', R, work[:, 12:].reshape(-1, 3, 3))
    return motions.reshape(-1, 9), R


def test_kernel_and_reference_take_what_units_measure():
    """Also where links between two units have none, and where one link's unit is silent."""
    model = load_model(robot_path('biped31'))
    rng = np.random.default_rng(21)
    links = [s.link for s in model.tree.segments if s.kind != 'fixed']
    bodies = [model.mount(link).body for link in links]
    for _ in range(20):
        chosen = sorted(rng.choice(len(links), rng.integers(1, len(links)), replace=False))
        mr_ad = MrAd(model, [bodies[k] for k in chosen])
        state = random_state(rng, model.dof)
        motions = rng.normal(size=(1, len(chosen), 9))
        motions[0, 0, rng.integers(9)] = np.nan
        wrench, com = mr_ad.of_states(np.concatenate(state)[None], motions)
        mounts = [model.mount(links[k]) for k in chosen]
        measured = {  # links of biped31 have the origin of their body, in other axes
            links[k]: mount.body_R_frame.T @ motion.reshape(3, 3).T
            for k, mount, motion in zip(chosen, mounts, motions[0], strict=True)
            if np.isfinite(motion).all()
        }
        named = [dict(zip(model.joint_names, part, strict=True)) for part in state[3:]]
        expected = mr_ad_reference(
            model.tree, *state[:3], *named, {link: tuple(m.T) for link, m in measured.items()}
        )
        np.testing.assert_allclose(wrench[0], expected.as_array(), rtol=0, atol=1e-8)
        np.testing.assert_allclose(com[0], model.com(state[3]), atol=1e-12)


def test_units_that_agree_with_the_joints_change_nothing_and_replace_their_derivatives():
    model = load_model(robot_path('biped31'))
    rng = np.random.default_rng(22)
    state = np.concatenate(random_state(rng, model.dof))
    expected, _ = MrAd(model).of_states(state[None])
    motions = outward(model, state)[0][None, 1:]
    mr_ad = MrAd(model, range(1, len(model.joints)))
    wrong = state.copy()
    wrong[kernels.ROOT + model.dof :] = np.nan  # encoders give positions alone
    for given in (state, wrong):
        wrench, _ = mr_ad.of_states(given[None], motions)
        np.testing.assert_allclose(wrench, expected, rtol=0, atol=1e-9)
    silent, _ = mr_ad.of_states(state[None], np.full_like(motions, np.nan))
    np.testing.assert_array_equal(silent, expected)
