"""How exact IZMP and pushes of motion and feet together are, by walks whose truth is known.

    python benchmarks/fusion.py FOLDER [--kinds calm push40 …] [--walks 8] [--seed 1000]

biped31 walks with encoders of 16 bit, the noise of an MTi-20, 1 N of offset in each force sensor
and 1 % too much mass of the trunk in its model, at a bus of 125 Hz: without a push, with three of
40 or 10 N for 0.1 s, with 12 N for 10 s, and falling after 150 N while 20 N push again; and over
floors without a push: every third up a slope of at most 6°, the others over bumps of 2 to 10 mm,
with friction of 0.5 to 1. Prints for each kind how many pushes are found within 15 ms, the largest
and median errors of magnitude, direction, begin, duration and line of action, how long after the
begin is the first instant that the fused estimate counts as pushed, how many more are reported in
how much time and by what size, and how many fell without being pushed; then the RMS error (x, y)
of the IZMP by MR-AD, of the CoP and of both together about the true ZMP seen through the filter,
and mean squares in their own standard deviations from 4 s on: of that error (2 would be right), of
the contact wrench and of the external wrench (6).
"""

import argparse
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
from verdict_cases import biped31

from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.estimation.fusion import Fused
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.pipeline.fusing import FusionStage
from izmp_dynamics.signals.matched_filter import bandwidth, matched_means
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.pushes import external_forces
from izmp_dynamics.verdict.scene import Scene
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import AnkleFeedback, simulate
from izmp_lab.simulation.noisy_signals import (
    SENSOR_NOISE,
    SensorErrors,
    WrenchErrors,
    with_errors,
)
from izmp_lab.simulation.physics import Physics, Push
from izmp_lab.simulation.recording import record
from izmp_lab.simulation.terrain import Slope, Uneven
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.footsteps import Ramp
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

KINDS = {
    'calm': (),
    'push40': ((40.0, 2.0, 0.1), (40.0, 6.0, 0.1), (40.0, 10.0, 0.1)),
    'push10': ((10.0, 2.0, 0.1), (10.0, 6.0, 0.1), (10.0, 10.0, 0.1)),
    'constant': ((12.0, 5.0, 10.0),),
    'falling': ((150.0, 4.5, 0.1), (20.0, 4.8, 0.1)),
    'floors': (),
}
"""Magnitude [N], earliest begin [s] and duration [s] of the pushes; all begin up to 1 s later."""

LEARNED = 4.0
"""From then on each foot has had a swing [s]."""

NEAR = 0.015
"""A push is found where one begins so near to it [s]."""


def walked(robot, file, kind, seed, bag):
    """Evaluation of a walk, its pushes with their begins [s], and the truth."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    parameters = WalkParameters(
        steps=50 if kind == 'constant' else 24,
        speed=float(rng.uniform(0.15, 0.35)),
        turn_rate=float(rng.choice([0.0, 0.1, -0.1])),
    )
    if kind == 'floors' and seed % 3 == 0:
        slope = float(np.radians(rng.uniform(0.0, 6.0)))
        parameters = replace(parameters, turn_rate=0.0, slope=slope)
    plan = plan_walk(Biped.of(robot.file, model=robot.model), parameters).plan
    later, pushes = rng.uniform(0.0, 1.0), []
    for size, begin, duration in KINDS[kind]:
        angle = rng.uniform(-np.pi, np.pi)
        force = size * np.array([np.cos(angle), np.sin(angle), 0.0])
        pushes.append(Push(robot.trunk, force, begin + later, duration))
    if kind == 'floors':
        run = over_floor(robot, parameters, plan, seed, rng)
    else:
        run = robot.run(plan, pushes)
    feet = robot.file.feet
    offsets = rng.normal(size=(len(feet), 3))
    offsets /= np.linalg.norm(offsets, axis=1)[:, None]
    errors = SensorErrors(
        imu_noise=SENSOR_NOISE['xsens_mti20'],
        encoder_bits=16,
        feet={
            foot.name: WrenchErrors(offset=(*offset, 0.0, 0.0, 0.0))
            for foot, offset in zip(feet, offsets, strict=True)
        },
    )
    shutil.rmtree(bag, ignore_errors=True)
    record(with_errors(run, robot.file, errors, seed), robot.file, bag)
    evaluation, fused = fused_of(bag, file)
    step = robot.plant.physics.time_step
    first = (int(evaluation.stamps[0]) - int(run.stamps[0])) * 1e-9
    truth = []
    for push in pushes:
        row = push.steps(step)[0]
        if row < len(run):
            heading = run.truth.root.rotation[row, :, 0]  # the soles' too
            truth.append((row * step - first, push.duration, push.force, heading))
    return evaluation, truth, Checked(run, evaluation, fused)


def over_floor(robot, parameters, plan, seed, rng):
    """A walk up the slope of its plan, or over bumps."""
    floor = Slope(Ramp(parameters.slope, parameters.slope_start))
    if not parameters.slope:
        floor = Uneven(seed, amplitude=float(rng.uniform(0.002, 0.01)), half_size=8.0)
    physics = Physics(friction=float(rng.uniform(0.5, 1.0)))
    plant = build_mujoco(robot.file, physics, terrain=floor)
    return simulate(plan, plant, feedback=AnkleFeedback())


def fused_of(bag, file):
    """Evaluation and fused estimate of a bag."""
    parts, push = [], FusionStage.push

    def kept(stage, *given):
        results = push(stage, *given)
        if results.fused is not None:
            parts.append(replace(results.fused, point_covariance=None))
        return results

    with patch.object(FusionStage, 'push', kept):
        evaluation = evaluate_bag(bag, file)
    return evaluation, Fused.joined(parts)


class Checked:
    """Estimates of a walk beside the truth, seen through the filter."""

    def __init__(self, run, evaluation, fused):
        rows = np.minimum(np.searchsorted(run.stamps, evaluation.stamps), len(run) - 1)
        width = bandwidth(evaluation.filter_bandwidth)
        ground, self.applied = (
            matched_means(run.stamps, wrench, width, 0.1, second=False).value[rows]
            for wrench in (run.truth.ground_wrench, run.truth.applied_wrench)
        )
        self.evaluation, self.fused, self.fall = evaluation, fused, run.fall
        zmp = zero_moment_point(
            ContactWrench.from_array(ground), evaluation.normal, evaluation.ground_point, 5.0
        )
        tracks = evaluation.tracks | {'fusion': evaluation.fusion}
        self.points = {name: tracks[name].point - zmp for name in ('mr_ad', 'cop', 'fusion')}
        late = evaluation.time > LEARNED
        self.squares = tuple(
            squares_of(error[late], covariance[late])
            for error, covariance in (
                (self.points['fusion'][:, :2], evaluation.fusion_covariance[:, :2, :2]),
                (fused.contact - ground, fused.covariance),
                (fused.external - self.applied, fused.external_covariance),
            )
        )

    def line(self, begin, duration):
        """Where the true line of action is nearest to the CoM, forward, left and up [m]."""
        row = np.searchsorted(self.evaluation.time, begin + 0.5 * duration)
        force, moment = self.applied[row].reshape(2, 3)
        moment = moment - np.cross(self.evaluation.com[row], force)
        return self.evaluation.nif_R_root()[row] @ np.cross(force, moment) / (force @ force)

    def seen_after(self, begin, duration):
        """Time from the begin of a push to the first instant that counts as pushed [s]."""
        time = self.evaluation.time
        acts = (time > begin - NEAR) & (time < begin + duration + NEAR) & self.fused.pushed
        return time[acts][0] - begin if acts.any() else np.nan


def squares_of(error, covariance):
    """Squares of errors (K, n) in standard deviations, where they are known."""
    known = np.isfinite(error).all(axis=1) & np.isfinite(covariance).all(axis=(1, 2))
    solved = np.linalg.solve(covariance[known], error[known, :, None])[:, :, 0]
    return np.sum(solved * error[known], axis=1)


def print_points(checked):
    """Errors of the IZMP, and mean squares of errors in standard deviations."""
    for name in ('mr_ad', 'cop', 'fusion'):
        errors = np.concatenate([points[name] for points, _ in checked])
        x, y, _ = 1e3 * np.sqrt(np.nanmean(errors**2, axis=0))
        print(f'  {name}: {x:.2f}, {y:.2f} mm', end='')
    squares = zip(*(squares for _, squares in checked), strict=True)
    izmp, contact, external = (np.concatenate(part).mean() for part in squares)
    print(f'; mean squares {izmp:.2f} of 2, {contact:.1f} and {external:.1f} of 6', flush=True)


def main():
    """Measure each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--kinds', nargs='+', choices=KINDS, default=list(KINDS))
    parser.add_argument('--walks', type=int, default=8)
    parser.add_argument('--seed', type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter('ignore')
    robot = biped31(options.folder.resolve())
    tree = ElementTree.fromstring(robot.urdf)
    for link in tree.iter('link'):
        if link.get('name') == robot.trunk:
            mass = link.find('inertial/mass')
            mass.set('value', str(1.01 * float(mass.get('value'))))
    noise = {'accelerometer': 60.0, 'gyroscope': 0.01, 'encoder': float(2.0 * np.pi / 2**16)}
    file = robot.written('wrong_trunk', ElementTree.tostring(tree, 'unicode'), noise=noise)
    for kind in options.kinds:
        errors, count, more, falls, minutes, points = [], 0, [], 0, 0.0, []
        for seed in range(options.seed, options.seed + options.walks):
            evaluation, truth, checked = walked(
                robot, file, kind, seed, options.folder / f'bag_{kind}'
            )
            falls += bool(checked.fall) and not truth
            left = list(external_forces(Scene(evaluation)).pushes)
            minutes += float(evaluation.time[-1]) / 60.0
            count += len(truth)
            for begin, duration, force, ahead in truth:
                near = [push for push in left if abs(push.start - begin) < NEAR]
                if near:
                    left.remove(push := near[0])
                    size, yaw = np.linalg.norm(force), np.arctan2(ahead[1], ahead[0])
                    angle = np.arctan2(push.left, push.forward) + yaw
                    off = angle - np.arctan2(force[1], force[0])
                    errors.append((
                        abs(push.size - size),
                        abs(np.degrees((off + np.pi) % (2.0 * np.pi) - np.pi)),
                        1e3 * abs(push.start - begin),
                        1e3 * abs(push.duration - duration),
                        1e3 * np.linalg.norm(push.point - checked.line(begin, duration)),
                        1e3 * checked.seen_after(begin, duration),
                    ))  # fmt: skip
            more += [f'{push.size:.0f} N at {push.start:.1f} s of seed {seed}' for push in left]
            points.append((checked.points, checked.squares))
        print(
            f'{kind}: {len(errors)} of {count} found; {len(more)} more in {minutes:.1f} min',
            end='',
        )
        print(f', {falls} fell' * bool(falls), *more, sep=', ', end='')
        units = ('N', '°', 'ms begin', 'ms duration', 'mm line', 'ms seen')
        for unit, column in zip(units, zip(*errors, strict=True), strict=bool(errors)):
            print(f'; {np.median(column):.2f}, ≤ {max(column):.2f} {unit}', end='')
        print()
        print_points(points)


if __name__ == '__main__':
    main()
