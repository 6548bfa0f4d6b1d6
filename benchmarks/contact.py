"""How well contact is estimated without foot sensors: recordings judged by their own sensors.

    python benchmarks/contact.py [NAME:BAG:ROBOT.yaml …]

Each recording is evaluated with its foot sensors, whose forces say which feet carry 5 % of the
weight or more, and without them: by the motion alone, by the torques of the joints if there are
any, and by torques to which the friction and the rotors of a Go2 are added. Without arguments
walks are simulated: level, on a slope, over bumps, pushed, with the noise of an MTi-20; then a
trot and a crawl of Go2. The probability of contact is judged by its Brier score, and by how often
there is contact where it is 0 to 20 %, and so on.
"""

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.signals.samples import Samples

ROBOTS = Path(__file__).resolve().parents[1] / 'robots' / 'biped31'
WALKS = {
    'level': '',
    'slope of 6 deg': '--slope-deg 6',
    'bumps': '--uneven 3 --ankle-feedback',
    'pushes of 40 N': '--push 40:lateral:3.0 --push 40:forward:4.5 --ankle-feedback',
    'noise': '--noise xsens_mti20',
}
GAITS = ('trot', 'crawl')
COULOMB, VISCOUS, ROTOR = 0.2, 0.1, 0.01
"""Friction [N·m], [N·m·s/rad], rotor [kg·m²] of a joint; but for VISCOUS as in Menagerie's Go2."""

LOADED = 0.05
NEAR = 0.15
"""A change of contact is found if the same change of the estimate is this near [s]."""

BOUNCE = 0.03
"""Contact or its loss counts as a phase if it lasts so long [s]."""


def without_sensors(robot):
    """The robot file with feet that measure nothing."""
    feet = [dataclasses.replace(foot, wrench=None) for foot in robot.feet]
    return dataclasses.replace(robot, feet=tuple(feet))


def delays(time, true, found, becomes):
    """Delay of each change to `becomes` [s]; NaN if the estimate has none near."""
    changes, others = (_changes(time, on, becomes) for on in (true, found))
    nearest = [others[np.abs(others - at).argmin()] - at if len(others) else np.nan
               for at in changes]  # fmt: skip
    return [delay if abs(delay) <= NEAR else np.nan for delay in nearest]


def _changes(time, on, becomes):
    """When phases begin in which a mask is `becomes` [s]."""
    at = np.flatnonzero(np.diff(on.astype(int))) + 1
    while len(at) > 1 and np.diff(time[at]).min() < BOUNCE:
        short = np.diff(time[at]).argmin()
        at = np.delete(at, [short, short + 1])
    return time[at[on[at] == becomes]]


def none(signals):
    """No torques."""
    return signals['efforts'].select(slice(0))


def rough(signals):
    """Torques of motors that have to overcome friction and turn their rotors as well."""
    joints, efforts = signals['joints'], signals['efforts']
    if len(efforts) < 3:
        return efforts
    speed = np.gradient(joints.values, joints.stamps * 1e-9, axis=0)
    force = COULOMB * np.tanh(speed / 0.05) + VISCOUS * speed
    force += ROTOR * np.gradient(speed, joints.stamps * 1e-9, axis=0)
    return Samples(efforts.stamps, efforts.values + force)


def scores(bag, robot, torques=lambda signals: signals['efforts']):
    """Name → figure of one recording, with torques as a function of the signals gives them."""
    read = Recording._joints

    def joints(recording, batch):
        signals = read(recording, batch)
        return signals | ({'efforts': torques(signals)} if 'efforts' in signals else {})

    measured = evaluate_bag(bag, robot)
    with mock.patch.object(Recording, '_joints', joints):
        estimated = evaluate_bag(bag, without_sensors(robot))
    stamps, one, other = np.intersect1d(measured.stamps, estimated.stamps, return_indices=True)
    force = np.stack([foot.normal_force for foot in measured.feet], axis=1)[one]
    share = np.stack([foot.share for foot in estimated.feet], axis=1)[other]
    found = np.stack([foot.loaded for foot in estimated.feet], axis=1)[other].astype(bool)
    known = np.isfinite(force).all(axis=1) & np.isfinite(share).all(axis=1)
    time, force, share, found = ((stamps * 1e-9)[known], force[known], share[known], found[known])
    true = force >= LOADED * measured.total_mass * measured.gravity
    chance = np.stack([foot.chance for foot in estimated.feet], axis=1)[other][known]
    both = true.sum(axis=1) > 1
    normal = np.einsum('ki,ki->k', estimated.tracks['mr_ad'].wrench[:, :3], estimated.normal)[
        other
    ][known]
    figures = {
        'all feet right %': 100.0 * (true == found).all(axis=1).mean(),
        'each foot right %': 100.0 * (true == found).mean(),
        'Brier score': np.mean((chance - true) ** 2),
        'Brier score of yes/no': np.mean(found != true),
        'load r, both feet': np.corrcoef(force[both, 0], (share[:, 0] * normal)[both])[0, 1],
        'load r, always': np.corrcoef(force[:, 0], share[:, 0] * normal)[0, 1],
    }
    fifth = np.minimum((5 * chance).astype(int), 4)
    for k in range(5):
        of = fifth == k
        figures[f'at {20 * k} to {20 * k + 20} %'] = true[of].mean() if of.any() else np.nan
    for name, becomes in (('touchdown', True), ('lift-off', False)):
        times = np.concatenate(
            [delays(time, true[:, f], found[:, f], becomes) for f in range(true.shape[1])]
        )
        size = np.abs(1e3 * times[np.isfinite(times)])
        if len(size):
            figures |= {
                f'{name} median ms': np.nanmedian(1e3 * times),
                f'{name} |p95| ms': np.percentile(size, 95),
                f'{name} found %': 100.0 * np.isfinite(times).mean(),
            }
    return figures


def simulated(folder):
    """Name → bag and robot file of each walk and gait."""
    for name, options in WALKS.items():
        bag = simulate(folder / name.replace(' ', '_'), 'walk', '--steps', '12', *options.split())
        yield name, bag, ROBOTS / ('robot_noisy.yaml' if name == 'noise' else 'robot.yaml')
    for name in GAITS:
        bag = simulate(folder / name, 'quadruped', '--gait', name)
        yield name, bag, bag / 'robot.yaml'


def simulate(bag, *what):
    """Record a simulation."""
    command = [sys.executable, '-m', 'izmp_dynamics', 'simulate', *what, '--quiet', '-o', bag]
    subprocess.run(command, check=True)
    return bag


def main():
    """Print a line for each recording and figure."""
    with tempfile.TemporaryDirectory() as folder:
        given = [each.split(':') for each in sys.argv[1:]]
        for name, bag, file in given or simulated(Path(folder)):
            robot = load_robot_file(Path(file), with_urdf=True)
            ways = [scores(bag, robot, none), scores(bag, robot), scores(bag, robot, rough)]
            print(f'{name:24} motion alone, torques, torques with friction')
            for figure in ways[0]:
                values = ' '.join(f'{way.get(figure, np.nan):8.3f}' for way in ways)
                print(f'  {figure:22} {values}', flush=True)


if __name__ == '__main__':
    main()
