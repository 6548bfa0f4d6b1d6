"""Sensor units on links beside the root: robot file, mounting, recursion, fallback."""

from dataclasses import replace

import numpy as np
import pytest

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.rotations import angles, from_rpy
from izmp_dynamics.calibration.calibrate import CUTOFF, _with_units
from izmp_dynamics.calibration.choice import finished, make_candidate
from izmp_dynamics.calibration.files import corrected_robot
from izmp_dynamics.calibration.inertias import link_inertias
from izmp_dynamics.calibration.parameters import make_layout
from izmp_dynamics.calibration.segments import cut_segments, prepare
from izmp_dynamics.diagnosis.units import unit_findings
from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.mr_ad import MrAd, mr_ad_reference
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig, unit_rates
from izmp_dynamics.pipeline.uncertainty import izmp_covariance
from izmp_dynamics.results.topics import TOPICS
from izmp_dynamics.stability.fall_alarm import FallRisk
from izmp_dynamics.verdict.findings import FORBIDDING
from izmp_dynamics.verdict.recent import Recent

from .command_line import izmp
from .pinocchio_twin import random_state, robot_path
from .pipeline_signals import joined
from .recorded import evaluate_log
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
    mr_ad.levers[:] = 1e9
    motions[0, model.mount('trunk').body - 1, 6:] += 10.0  # neck and shoulders know better
    wrench, _ = mr_ad.of_states(wrong[None], motions)
    np.testing.assert_allclose(wrench, expected, rtol=0, atol=1e-4)
    silent, _ = mr_ad.of_states(state[None], np.full_like(motions, np.nan))
    np.testing.assert_array_equal(silent, expected)


# ---- a walk with units ----


@pytest.fixture(scope='module')
def walk(biped31, tmp_path_factory):
    """A simulated walk with a unit on every link, and its robot file."""
    from izmp_lab.simulation.scenarios import simulate_walk
    from izmp_lab.simulation.segment_units import with_units
    from izmp_lab.walking.walk_parameters import WalkParameters

    file = with_units(biped31, 'all', tmp_path_factory.mktemp('units'))
    return simulate_walk(file, parameters=WalkParameters(speed=0.3, steps=2, stand=0.5)).run, file


@pytest.fixture(scope='module')
def signals(walk):
    """With the noise of the paper and encoders of 16 bit, at 500 Hz."""
    from izmp_lab.studies.segment_units import decimated_signals

    run, file = walk
    return decimated_signals(run, 1, 16, file)


def evaluated(file, signals, **changes):
    """Results at 500 Hz, and their evaluator; feet measure nothing."""
    feet = tuple(replace(foot, wrench=None) for foot in file.feet)
    noise = replace(file.noise, encoder=2.0 * np.pi / 2**16)
    rates = replace(file.rates, bus=500.0)
    robot = replace(file, feet=feet, noise=noise, rates=rates, position=None, **changes)
    evaluator = Evaluator(make_rig(robot))
    used = {name: each for name, each in signals.items() if evaluator.stages.uses(name)}
    return joined(evaluator.push(used) + evaluator.flush()), evaluator


def errors(run, result):
    """(K, 2) of the IZMP against the true CoP in x and y [m], while the robot walks."""
    times = 1e-9 * (result.stamps - run.stamps[0])
    walks = (times > 0.5) & (times < times[-1] - 0.5)
    cop = run.truth.cop_in_root()[np.searchsorted(run.stamps, result.stamps)]
    return walks, (result.points['mr_ad'] - cop)[:, :2]


def test_units_on_all_links_err_as_little_as_their_noise_says(walk, signals):
    run, file = walk
    result, evaluator = evaluated(file, signals)
    walks, error = errors(run, result)
    assert (np.sqrt(np.nanmean(error[walks] ** 2, axis=0)) <= 0.5e-3).all()
    rows = np.flatnonzero(walks)[::20]
    some = result.select(np.isin(np.arange(len(walks)), rows))
    sigma = np.diagonal(izmp_covariance(evaluator, some), axis1=1, axis2=2)[:, :2]
    consistent = np.nanmean(error[walks] ** 2) / np.nanmean(sigma)
    assert 0.7 <= consistent <= 1.4
    none, _ = evaluated(file, signals, segments=())
    assert (np.sqrt(np.nanmean(errors(run, none)[1][walks] ** 2, axis=0)) >= 20e-3).all()


def test_a_silent_unit_is_counted_and_its_link_follows_from_the_joints(walk, signals):
    _, file = walk
    units = tuple(unit for unit in file.segments if unit.link in ('trunk', 'l_foot'))
    stamps = signals['segments[l_foot]'].stamps
    heard = (stamps < stamps[500]) | (stamps > stamps[650])
    silent = signals | {'segments[l_foot]': signals['segments[l_foot]'].select(heard)}
    both, _ = evaluated(file, signals, segments=units)
    result, evaluator = evaluated(file, silent, segments=units)
    trunk = tuple(unit for unit in units if unit.link == 'trunk')
    alone, _ = evaluated(file, signals, segments=trunk)
    off = (result.stamps > stamps[530]) & (result.stamps < stamps[620])
    on = (result.stamps < stamps[480]) | (result.stamps > stamps[670])
    assert off.any()
    for rows, expected in ((off, alone), (on, both)):
        found, wanted = (each.wrenches['mr_ad'][rows] for each in (result, expected))
        np.testing.assert_array_equal(found, wanted)
    faults = evaluator.faults['segments[l_foot]']
    assert 100 <= faults[Fault(Reason.NO_SAMPLE)] <= 151
    assert not evaluator.faults['segments[trunk]']


def joint_rates(file, signals, **changes):
    """Rates of the units and of their links, as a replay collects them."""
    result, evaluator = evaluated(file, signals, **changes)
    rates = unit_rates(
        evaluator.rig, result.joints.positions, result.joints.velocities,
        result.root.angular_velocity, result.units,
    )[::10]  # fmt: skip
    return tuple(evaluator.rig.units), rates[:, 0], rates[:, 1]


def test_where_a_joint_is_not_known_its_links_have_no_rates(walk, signals):
    _, file = walk
    result, evaluator = evaluated(file, signals)
    q = result.joints.positions
    torn = q.copy()
    torn[5, 0] = np.nan
    others = result.joints.velocities, result.root.angular_velocity, result.units
    whole, rates = (unit_rates(evaluator.rig, each, *others) for each in (q, torn))
    assert np.isnan(rates[5, 1]).all()
    whole[5, 1] = np.nan
    np.testing.assert_array_equal(rates, whole)


def judged_live(file, signals, **changes):
    """Findings of the last seconds, as a node judges them: the fall alarm until nobody asks."""
    result, evaluator = evaluated(file, signals, **changes)
    count, recent = len(result.stamps), Recent()
    rows = [result.select(slice(k, k + 1)) for k in range(count)]
    asked = FallRisk.nothing(1, '')
    rows = [replace(row, fall=asked if 2 * k < count else None) for k, row in enumerate(rows)]
    for row in rows:
        recent.see(row, evaluator.rig)
    return recent.judge(tuple(rows)).findings


def test_exchanged_and_turned_units_are_named(walk, signals):
    _, file = walk
    legs = ('l_thigh', 'r_thigh', 'l_shank')
    some = tuple(bare(unit) for unit in file.segments if unit.link in legs)
    assert not list(unit_findings(*joint_rates(file, signals, segments=some)))
    one, other = (f'segments[{link}]' for link in legs[:2])
    exchanged = signals | {one: signals[other], other: signals[one]}
    (found,) = unit_findings(*joint_rates(file, exchanged, segments=some))
    assert found.kind == 'units_exchanged'
    assert "'l_thigh' and 'r_thigh'" in found.sentence
    turned = tuple(
        replace(unit, rotation=(0.6, 0.0, 0.0)) if unit.link == 'l_shank' else unit
        for unit in some
    )
    (found,) = unit_findings(*joint_rates(file, signals, segments=turned))
    assert (found.kind, found.subject) == ('unit_turned', 'l_shank')
    (live,) = [f for f in judged_live(file, signals, segments=turned) if f.subject == 'l_shank']
    assert live.sentence[:60] == found.sentence[:60]
    assert {'unit_turned', 'units_exchanged'} <= set(FORBIDDING)


def bare(unit):
    return replace(unit, accelerometers=())


def test_calibration_finds_how_units_are_mounted(walk, signals):
    """Within 0.5°, 0.3 ms and 2 cm, from any rotation; one that is where it is stated stays."""
    _, file = walk
    stated = {
        'trunk': {'rotation': (0.02, 0.03, -0.05), 'delay': 0.004},
        'l_thigh': {'rotation': (1.2, -0.4, 2.0), 'xyz': (0.03, 0.02, -0.05)},
        'r_shank': {'delay': -0.012, 'rotation': (-3.0, 0.7, 0.5)},
        'l_shank': {},  # where it is
    }
    units = tuple(
        replace(bare(unit), **stated[unit.link]) for unit in file.segments if unit.link in stated
    )
    feet = tuple(replace(foot, wrench=None) for foot in file.feet)
    robot = replace(file, segments=units, feet=feet, position=None)

    def prepared(robot):
        rig = make_rig(robot)
        links = link_inertias(rig.model)
        return rig, links, [prepare(p, rig, links, CUTOFF) for p in cut_segments(rig, signals)]

    rig, _, parts = prepared(robot)
    robot, notes = _with_units(robot, rig, parts)
    assert len(notes) == 2
    rig, links, parts = prepared(robot)
    layout = make_layout(rig, links, 'trunk', ('units', 'unit_places'))
    candidate = make_candidate(parts, layout)
    for unit in corrected_robot(robot, layout, candidate.solution.x).segments:
        assert angles(from_rpy(unit.rotation)[None])[0] < np.radians(0.5)
        assert abs(unit.delay) < 0.3e-3  # gyroscopes are half a step of the simulation late
        assert np.linalg.norm(unit.xyz) < 0.02
    corrected = finished(candidate, parts).corrected
    moved = {layout.parameters[k].segment for k in np.flatnonzero(corrected)}
    assert {'l_thigh', 'r_shank'} <= moved <= {'trunk', 'l_thigh', 'r_shank'}


def test_a_silent_unit_takes_no_segment_from_a_calibration(walk, signals):
    _, file = walk
    feet = tuple(replace(foot, wrench=None) for foot in file.feet)
    rig = make_rig(replace(file, segments=tuple(map(bare, file.segments[:2])), feet=feet))
    silent, other = rig.units
    few = signals[f'segments[{silent}]'].select(slice(0, 400))
    for heard in (few, few.select(slice(0))):
        (part,) = cut_segments(rig, signals | {f'segments[{silent}]': heard})
        assert list(part.units) == [other]
        assert part.duration == cut_segments(rig, signals)[0].duration


@pytest.mark.usefixtures('ros')
def test_live_gives_the_numbers_of_the_replay(walk, tmp_path):
    from izmp_dynamics.nodes.messages import vector
    from izmp_lab.simulation.recording import record
    from izmp_lab.simulation.segment_units import files_of

    from .played_graph import COMPOSED, PlayedGraph, parameters

    run, file = walk
    chosen = tuple(unit for unit in file.segments if unit.link in ('trunk', 'l_foot'))
    feet = tuple(replace(foot, wrench=None) for foot in file.feet)  # contact is estimated
    file = replace(file, segments=chosen, feet=feet)
    record(run, file, tmp_path / 'walk', files=files_of(file, noisy=False))
    path = tmp_path / 'walk' / 'robot.yaml'
    robot = load_robot_file(path)
    expected, rig = evaluate_log(path.parent, robot)
    with PlayedGraph(robot, parameters(robot=str(path)), COMPOSED) as graph:
        graph.play(path.parent)
    topic = TOPICS['feet/contact_probability']  # no foot has a sensor here
    (chances,) = topic.values(expected, rig)
    chances = chances[topic.known(expected, (chances,))]
    live = [message.data for message in graph.unstamped['/feet/contact_probability']]
    np.testing.assert_allclose(live, chances, rtol=0, atol=1e-9)
    assert 0.1 < chances.mean() < 0.9
    points = graph.messages['/mr_ad/izmp']
    known = np.isfinite(expected.points['mr_ad']).all(axis=1)
    np.testing.assert_array_equal(sorted(points), expected.stamps[known])
    found = [vector(points[stamp].point) for stamp in sorted(points)]
    np.testing.assert_allclose(found, expected.points['mr_ad'][known], rtol=0, atol=1e-9)
    text = path.read_text()
    assert 'segments/l_foot/imu' in text
    part = tmp_path / 'walk' / 'part.yaml'
    part.write_text(text.replace('segments/l_foot/imu', 'nowhere'))
    checked = izmp('check', tmp_path / 'walk', '--robot', part)
    assert checked.status == 0
    assert 'segments[l_foot]: topic' in checked.out
    assert 'segment_accelerometers[l_foot]' not in checked.out  # they go with it
