"""Simulated recordings with the verdict that is right, by the truth of the simulation.

Two robots, biped31 and the Unitree G1 of the package example-robot-data: they stand, sway and
walk; are pushed with 5 to 25 % of their weight; fall over each edge; end at each moment of a fall;
have one fault of a sensor or of the model, alone and beside a tilted IMU and noise.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from sysconfig import get_paths
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from izmp_dynamics.base.rotations import rotated
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate, with_feed_forward
from izmp_lab.simulation.noisy_signals import (
    SENSOR_NOISE,
    SensorErrors,
    WrenchErrors,
    with_errors,
)
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.recording import record
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.plan import MotionPlan, PlannedFoot, RootMotion
from izmp_lab.walking.sway import plan_sway
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

ROBOTS = Path(__file__).resolve().parents[1] / 'robots'

STAYS_UP = frozenset({'stable', 'marginal', 'disturbed'})
FALLS = frozenset({'fell', 'unstable'})
OPEN = FALLS | {'unclear'}

BESIDE = SensorErrors(
    imu_rotation=(0.0, np.radians(2.5), 0.0),
    imu_noise=SENSOR_NOISE['xsens_mti20'],
    encoder_bits=16,
)
"""What a fault is beside of: an IMU mounted 2.5° off, the noise of an MTi-20, encoders."""

OUTSIDE = 0.005
"""Distance beyond the edge [m] from which on the point was outside for certain."""

SHARES = (0.05, 0.12, 0.25)
"""Of the weight, with which a robot is pushed; what a case gets lies within ± 20 % of one."""

MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where a recording of a fall ends, from its onset to its impact."""


@dataclass(frozen=True)
class Case:
    """One recording and what is right to say of it.

    Attributes:
        name: of the folder.
        states: verdicts that are right.
        pushes: begin [s], duration [s] and magnitude [N] of each push.
        falling: whether the robot falls, so that magnitudes are not scored.
        noted: whether a finding or a sensor event must be there too.
        bag: the recording.
        robot: the robot file to replay it with.
    """

    name: str
    states: frozenset[str]
    pushes: tuple[tuple[float, float, float], ...]
    falling: bool
    noted: bool
    bag: Path
    robot: Path


class Robot:
    """A robot that is simulated, and its files in a folder."""

    def __init__(self, name: str, folder: Path, urdf: str, described: dict[str, Any]) -> None:
        self.name, self.folder = name, folder / 'robots' / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.urdf, self.described = urdf, described
        self.file = load_robot_file(self.written('sound'))
        self.model = load_model(self.file.read_urdf(), self.file.root)
        self.plant = build_mujoco(self.file)
        self.weight = self.model.total_mass * self.file.gravity
        self.trunk = described.pop('trunk', 'trunk')

    def written(self, name: str, urdf: str | None = None, **changed) -> Path:
        """A robot file with changes beside its URDF."""
        path = self.folder / f'{name}.yaml'
        described = {k: v for k, v in self.described.items() if k != 'trunk'} | changed
        path.with_suffix('.urdf').write_text(urdf or self.urdf, 'utf-8')
        described['urdf'] = path.with_suffix('.urdf').name
        path.write_text(yaml.safe_dump(described), 'utf-8')
        return path

    def run(self, plan, pushes=()):
        """Simulate a plan."""
        return simulate(plan, self.plant, pushes=pushes)


def biped31(folder: Path) -> Robot:
    """biped31 with one IMU and two force sensors."""
    described = yaml.safe_load((ROBOTS / 'biped31/robot.yaml').read_text('utf-8'))
    described = {k: v for k, v in described.items() if k not in ('accelerometers', 'position')}
    return Robot(
        'biped31', folder, (ROBOTS / 'biped31/biped31.urdf').read_text('utf-8'), described
    )


_G1_FRAMES = """
  <link name="{side}_sole"/>
  <joint name="{side}_sole_joint" type="fixed">
    <parent link="{side}_ankle_roll_link"/><child link="{side}_sole"/>
    <origin xyz="0 0 -0.035" rpy="0 0 0"/>
  </joint>
"""


def g1(folder: Path) -> Robot:
    """Unitree's G1 with an IMU in the pelvis and six-axis sensors under the ankles."""
    place = 'cmeel.prefix/share/example-robot-data/robots/g1_description/urdf'
    found = Path(get_paths()['purelib'], place, 'g1_29dof_rev_1_0.urdf')
    urdf = found.read_text('utf-8')
    urdf = re.sub(r'<mesh [^>]*/>', '<box size="0.05 0.05 0.05"/>', urdf)
    frames = ''.join(_G1_FRAMES.format(side=side) for side in ('left', 'right'))
    feet = [
        {
            'name': side,
            'sole': f'{side}_sole',
            'polygon': [[0.12, 0.03], [-0.05, 0.03], [-0.05, -0.03], [0.12, -0.03]],
            'wrench': {
                'topic': f'{side}/wrench',
                'frame': f'{side}_ankle_roll_link',
                'below': f'{side}_ankle_roll_link',
            },
        }
        for side in ('left', 'right')
    ]
    described = {
        'root': 'pelvis',
        'joints': {'topic': 'joint_states'},
        'imu': {'topic': 'imu', 'frame': 'imu_in_pelvis'},
        'feet': feet,
        'trunk': 'torso_link',
    }
    return Robot('g1', folder, urdf.replace('</robot>', f'{frames}</robot>'), described)


def sway(robot: Robot, _) -> MotionPlan:
    """biped31 shifts its weight and squats."""
    return with_feed_forward(plan_sway(robot.model), robot.plant)


def walk(robot: Robot, random: np.random.Generator) -> MotionPlan:
    """biped31 walks ten steps."""
    speed, turn = random.uniform(0.15, 0.35), random.choice([0.0, 0.1, -0.1])
    parameters = WalkParameters(steps=10, speed=float(speed), turn_rate=float(turn))
    return plan_walk(Biped.of(robot.file, model=robot.model), parameters).plan


def bend(robot: Robot, random: np.random.Generator) -> MotionPlan:
    """G1 bends its knees and swings its arms; its soles stay where they are."""
    step, duration = robot.plant.physics.time_step, 6.0
    time = step * np.arange(round(duration / step) + 1)
    part = np.clip((time - 0.5) / 1.0, 0.0, 1.0) * np.clip((duration - 0.2 - time) / 1.0, 0.0, 1.0)
    smooth = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    angle = 0.35 + 0.1 * smooth * np.sin(2 * np.pi * random.uniform(0.3, 0.5) * time)
    q = np.zeros((len(time), robot.model.dof))
    names = list(robot.model.joint_names)
    for side in ('left', 'right'):
        for joint, factor in (('hip_pitch', -1.0), ('knee', 2.0), ('ankle_pitch', -1.0)):
            q[:, names.index(f'{side}_{joint}_joint')] = factor * angle
        swing = 0.3 * smooth * np.sin(2.0 * time) * (1 if side == 'left' else -1)
        q[:, names.index(f'{side}_shoulder_pitch_joint')] = swing
    poses = [robot.model.frame_pose(f'{side}_sole', q) for side in ('left', 'right')]
    middle = np.mean([p for _, p in poses], axis=0)
    position = -middle
    rotation = np.tile(np.eye(3), (len(time), 1, 1))
    feet = tuple(
        PlannedFoot(f'{side}_sole', position + p, R, np.ones(len(time), dtype=bool))
        for side, (R, p) in zip(('left', 'right'), poses, strict=True)
    )
    root = RootMotion.from_poses(position, rotation, step)
    plan = MotionPlan.from_positions('bend', robot.model, step, q, root, feet)
    return with_feed_forward(plan, robot.plant)


def cases(folder: Path, seed: int, held_out: bool, only: str = '') -> Iterator[Case]:
    """Simulate and record cases, one after the other.

    Args:
        folder: for bags and robots.
        seed: of what is drawn in each case.
        held_out: which half.
        only: those with this text in their name.
    """
    for number, (kind, make) in enumerate(_kinds(biped31(folder), g1(folder))):
        name = f'{number:03d}_{kind}'
        if (np.random.default_rng(number).random() < 0.5) == held_out and only in name:
            run, robot, file, found = make(np.random.default_rng([seed, number]))
            bag = folder / 'bags' / str(seed) / name
            if not bag.exists():
                record(run, robot.file, bag)
            yield Case(name, bag=bag, robot=file, **found)


def _kinds(biped: Robot, unitree: Robot):
    """Name of each case, and the function that makes it."""
    motions = ((biped, sway), (biped, walk), (unitree, bend))
    for (robot, motion), beside, _ in product(motions, (False, True), range(2)):
        yield f'calm_{motion.__name__}', functools.partial(_calm, robot, motion, beside)
    for (robot, motion), share, direction in product(motions, SHARES, range(8)):
        yield (
            f'push_{motion.__name__}_{100 * share:.0f}',
            functools.partial(_pushed, robot, motion, share, direction * np.pi / 4),
        )
    edges = (0.0, np.pi / 2, np.pi, -np.pi / 2)
    for (robot, motion), direction in product((motions[0], motions[2]), edges):
        yield f'fall_{motion.__name__}', functools.partial(_falls, robot, motion, direction, 1.0)
        for moment in MOMENTS[:: 1 if direction > 0 else 2]:
            make = functools.partial(_falls, robot, motion, direction, moment)
            yield f'end_{motion.__name__}_{100 * moment:.0f}', make
    for fault, (robot, motion), beside in product(_FAULTS, motions[::2], (False, True)):
        yield fault.__name__.strip('_'), functools.partial(_faulty, fault, robot, motion, beside)


def _right(states, *pushes, falling=False, noted=False):
    return {
        'states': frozenset(states), 'pushes': pushes, 'falling': falling, 'noted': noted
    }  # fmt: skip


def _calm(robot, motion, beside, random):
    run = robot.run(motion(robot, random))
    if beside:
        run = with_errors(run, robot.file, BESIDE, int(random.integers(1000)))
    states = {'stable', 'marginal', 'unclear'} if beside else {'stable'}
    return run, robot, robot.written('sound'), _right(states)


def _pushed(robot, motion, share, direction, random):
    size = share * robot.weight * random.uniform(0.8, 1.2)
    start, duration = random.uniform(2.0, 3.5), random.choice([0.1, 0.2])
    plan = motion(robot, random)
    push = Push(robot.trunk, size * _level(direction), float(start), float(duration))
    run = robot.run(plan, [push])
    applied = (push.start, push.duration, size)
    if run.fall:
        found = _right(FALLS, applied, falling=True)
    elif _onset(run, robot) < len(run):
        found = _right(OPEN, applied, falling=True)
    else:
        outside = _went_outside(run, robot)
        found = _right({'disturbed'} if outside else STAYS_UP, applied)
    return run, robot, robot.written('sound'), found


def _falls(robot, motion, direction, moment, random):
    """The recording of a fall, up to a moment of it."""
    run, push = _fall(robot, motion, direction)
    applied = (push.start, push.duration, float(np.linalg.norm(push.force)))
    if moment < 1.0:
        time = 1e-9 * (run.stamps - run.stamps[0])
        onset = float(time[_onset(run, robot)])
        end = onset + moment * (float(time[-1]) - onset)
        run = _sliced(run, len(run), slice(0, int(np.searchsorted(time, end))))
    states = OPEN if moment < 1.0 else FALLS
    return run, robot, robot.written('sound'), _right(states, applied, falling=True)


@functools.cache
def _fall(robot, motion, direction):
    """The run with the least push, in tenths of the weight, that fells the robot."""
    plan = motion(robot, np.random.default_rng(0))
    for share in np.arange(0.2, 3.0, 0.1):
        push = Push(robot.trunk, share * robot.weight * _level(direction), 2.0, 0.2)
        run = robot.run(plan, [push])
        if run.fall:
            return run, push
    raise RuntimeError(f'{robot.name} does not fall')


def _level(direction: float):
    return np.array([np.cos(direction), np.sin(direction), 0.0])


def _faulty(fault, robot, motion, beside, random):
    run = robot.run(motion(robot, random))
    if beside:
        run = with_errors(run, robot.file, BESIDE, int(random.integers(1000)))
    run, file, noted = fault(run, robot)
    states = STAYS_UP | {'unclear'} if noted else {'unclear'}
    return run, robot, file, _right(states, noted=True)


# ---- Faults: run, robot → run, robot file, and whether it may be judged all the same -----------


def _feet_exchanged(run, robot):
    feet = [dict(foot) for foot in robot.described['feet']]
    feet[0]['wrench'], feet[1]['wrench'] = feet[1]['wrench'], feet[0]['wrench']
    one, other = feet
    one['wrench'] = robot.described['feet'][0]['wrench'] | {'topic': one['wrench']['topic']}
    other['wrench'] = robot.described['feet'][1]['wrench'] | {'topic': other['wrench']['topic']}
    return run, robot.written('feet_exchanged', feet=feet), False


def _degrees(run, robot):
    return dataclasses.replace(run, q=np.degrees(run.q)), robot.written('sound'), False


def _imu_turned(run, robot):
    errors = SensorErrors(imu_rotation=(0.0, 0.0, np.pi))
    return with_errors(run, robot.file, errors), robot.written('sound'), False


def _no_inertial(run, robot):
    tree = ElementTree.fromstring(robot.urdf)
    (link,) = (link for link in tree.iter('link') if link.get('name') == robot.trunk)
    link.remove(link.find('inertial'))
    return run, robot.written('no_inertial', ElementTree.tostring(tree, 'unicode')), False


def _sole_off(run, robot):
    """Every sole is 35 mm too high."""
    tree = ElementTree.fromstring(robot.urdf)
    soles = {foot['sole'] for foot in robot.described['feet']}
    for joint in tree.iter('joint'):
        if (child := joint.find('child')) is not None and child.get('link') in soles:
            origin = joint.find('origin')
            x, y, z = origin.get('xyz').split()
            origin.set('xyz', f'{x} {y} {float(z) + 0.035:.4f}')
    urdf = ElementTree.tostring(tree, 'unicode')
    return run, robot.written('sole_off', urdf), False


def _cut_short(run, robot):
    time = 1e-9 * (run.stamps - run.stamps[0])
    rows = slice(0, int(np.searchsorted(time, 0.69)))
    return _sliced(run, len(run), rows), robot.written('sound'), False


def _force_turned(run, robot):
    errors = {foot.name: WrenchErrors(rotation=(0.0, 0.0, np.pi / 2)) for foot in robot.file.feet}
    return with_errors(run, robot.file, SensorErrors(feet=errors)), robot.written('sound'), True


def _force_negative(run, robot):
    errors = {foot.name: WrenchErrors(scale=-1.0) for foot in robot.file.feet}
    return with_errors(run, robot.file, SensorErrors(feet=errors)), robot.written('sound'), False


def _force_constant(run, robot):
    wrenches = dict(run.wrenches)
    topic = robot.file.feet[0].wrench.topic
    wrenches[topic] = np.tile(wrenches[topic][0], (len(run), 1))
    return dataclasses.replace(run, wrenches=wrenches), robot.written('sound'), True


def _force_stuck(run, robot):
    wrenches = {topic: np.array(values) for topic, values in run.wrenches.items()}
    time = 1e-9 * (run.stamps - run.stamps[0])
    rows = np.flatnonzero((time > 2.0) & (time < 3.0))
    held = wrenches[robot.file.feet[0].wrench.topic]
    held[rows] = held[rows[0]]
    return dataclasses.replace(run, wrenches=wrenches), robot.written('sound'), True


_FAULTS = (
    _feet_exchanged, _degrees, _imu_turned, _no_inertial, _sole_off, _cut_short, _force_turned,
    _force_negative, _force_constant, _force_stuck,
)  # fmt: skip


# ---- Truth --------------------------------------------------------------------------------------


def _margins_of(run, point):
    """(T,) margin of points (T, 3) of the world in the loaded soles [m]."""
    feet = run.truth.feet.values()
    loaded = np.stack([foot.loaded for foot in feet], axis=1)
    (margin,) = margins(
        (point,), tuple(foot.corners for foot in feet), loaded, run.truth.ground_normal
    )
    return margin


def _time_constant(run, robot):
    return float(np.sqrt(run.truth.com[0, 2] / robot.file.gravity))


def _went_outside(run, robot) -> bool:
    """Whether the true IZMP was outside, on average over half of the time constant of tipping."""
    truth, n = run.truth, len(run)
    R, p = truth.root.rotation, truth.root.position
    normal, cop = truth.ground_normal_in_root(), truth.cop_in_root()
    wrench = ContactWrench.from_array(truth.contact_wrench)
    izmp = zero_moment_point(wrench, normal, cop, minimum_force=1.0)
    margin = _margins_of(run, rotated(R, izmp) + p)
    step = 1e-9 * float(run.stamps[1] - run.stamps[0])
    rows = max(1, round(_time_constant(run, robot) / 2 / step))
    kernel = np.ones(rows) / rows
    known = np.nan_to_num(margin, nan=1.0)
    averaged = np.convolve(known, kernel, 'same')[rows : n - rows]
    return float(averaged.min()) < -OUTSIDE


def _onset(run, robot) -> int:
    """Row from which on the capture point stays outside the soles."""
    com = run.truth.com
    step = 1e-9 * float(run.stamps[1] - run.stamps[0])
    capture = com + np.gradient(com, step, axis=0) * _time_constant(run, robot)
    inside = np.flatnonzero(_margins_of(run, capture) > 0.0)
    return int(inside[-1]) + 1 if len(inside) else 0


def _sliced(value, count, rows):
    """A run, or a part of it, at some of its instants."""
    if isinstance(value, np.ndarray):
        return value[rows] if len(value) == count else value
    if isinstance(value, Mapping):
        return {name: _sliced(part, count, rows) for name, part in value.items()}
    if dataclasses.is_dataclass(value):
        parts = {
            field.name: _sliced(getattr(value, field.name), count, rows)
            for field in dataclasses.fields(value)
            if field.init
        }
        return dataclasses.replace(value, **parts)
    return value
