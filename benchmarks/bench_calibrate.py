"""How well `izmp calibrate` finds what is wrong: planted errors in simulation, and real logs.

Run `python benchmarks/bench_calibrate.py`. With `--data FOLDER` it also uses the public logs
icub_steps, icub_walking_wrench and human_bowing in that folder (recording, robot.urdf, robot.yaml
each); nothing is tuned to them.
"""

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import from_matrices, from_rpy
from izmp_dynamics.calibration.calibrate import (
    Calibration,
    best_candidate,
    estimate_corrections,
)
from izmp_dynamics.calibration.files import with_inertials, write_calibration
from izmp_dynamics.calibration.inertias import (
    link_inertias,
    moved,
)
from izmp_dynamics.calibration.parameters import DEFAULT_GROUPS
from izmp_dynamics.calibration.residuals import Terms, decide_contacts, residuals, zmp_and_cop
from izmp_dynamics.calibration.segments import Segment, prepare, read_segments
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_lab.simulation.noisy_signals import SENSOR_NOISE, SensorErrors, WrenchErrors, with_errors
from izmp_lab.simulation.recording import record
from izmp_lab.simulation.scenarios import simulate_sway, simulate_walk
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.walk_parameters import WalkParameters

BIPED31 = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'
HALF_WIDTH = 0.04
"""Of the filter with which an unseen walk is judged [s]: a bandwidth of 8 Hz."""

NOISE = {'imu_noise': SENSOR_NOISE['xsens_mti20'], 'encoder_bits': 16}
CASES = ('planted', 'draws', 'sway', 'time', 'steps', 'walking', 'bowing')


class Bench:
    """Simulated walks of a robot, recorded with errors of one's choice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.robot = dataclasses.replace(
            load_robot_file(BIPED31), accelerometers=(), position=None
        )
        self.links = link_inertias(load_model(self.robot.read_urdf()))
        self._number = 0

    def true_robot(self, payload: float, shift: Array) -> RobotFile:
        """The robot with a payload in its trunk that the URDF lacks."""
        trunk = next(link for link in self.links if link.link == 'trunk')
        path = self.folder / f'true{self._next()}.urdf'
        text = self.robot.urdf_path.read_text(encoding='utf-8')
        path.write_text(with_inertials(text, {'trunk': moved(trunk.theta, payload, shift)}))
        return dataclasses.replace(self.robot, urdf=str(path))

    def walks(self, robot: RobotFile) -> tuple[SimulatedRun, SimulatedRun]:
        """A walk of six seconds to calibrate from, and one that turns to judge by."""
        turning = WalkParameters(steps=14, speed=0.2, turn_rate=0.3)
        return (
            simulate_walk(robot, parameters=WalkParameters(steps=8, stand=1.2)).run,
            simulate_walk(robot, parameters=turning).run,
        )

    def bag(self, run: SimulatedRun, errors: SensorErrors, seed: int = 1) -> Path:
        """Record a run with errors."""
        path = self.folder / f'bag{self._next()}'
        record(with_errors(run, self.robot, errors, seed), self.robot, path)
        return path

    def written(self, calibration: Calibration) -> RobotFile:
        """The robot file that a calibration writes."""
        folder = self.folder / f'out{self._next()}'
        write_calibration(calibration, folder)
        return load_robot_file(folder / 'robot.calibrated.yaml')

    def judge(self, robot: RobotFile, unseen: Path, ideal: Path) -> Array:
        """RMS distance (2,) of MR-AD's IZMP from the CoP of ideal sensors, same filter [mm]."""
        smooth = Filter(half_width=HALF_WIDTH)
        izmp = evaluate_bag(unseen, dataclasses.replace(robot, filter=smooth)).tracks['mr_ad']
        plain = dataclasses.replace(self.robot, filter=smooth)
        cop = evaluate_bag(ideal, plain).tracks['cop']
        rms: Array = 1e3 * np.sqrt(np.nanmean((izmp.point - cop.point)[:, :2] ** 2, axis=0))
        return rms

    def _next(self) -> int:
        self._number += 1
        return self._number


def drawn(random: np.random.Generator) -> tuple[SensorErrors, float, Array]:
    """Errors of random directions and fixed sizes: sensors, payload [kg], shift [m]."""

    def direction(size: float, count: int = 3) -> tuple[float, ...]:
        vector = random.normal(size=count)
        return tuple((size * vector / np.linalg.norm(vector)).tolist())

    feet = {
        name: WrenchErrors(offset=(*direction(3.0), *direction(0.2)), noise=0.3)
        for name in ('l_foot', 'r_foot')
    }
    errors = SensorErrors(
        imu_delay=float(random.uniform(-0.01, 0.01)),
        imu_rotation=direction(np.radians(3.0)),  # type: ignore[arg-type]
        gyroscope_bias=direction(np.radians(0.5)),  # type: ignore[arg-type]
        accelerometer_bias=direction(0.05),  # type: ignore[arg-type]
        feet=feet,
        **NOISE,  # type: ignore[arg-type]
    )
    x, y = direction(0.01, 2)
    return errors, float(random.uniform(-0.23, 0.23)), np.array([x, y, 0.0])


def truth(errors: SensorErrors, payload: float, shift: Array) -> dict[str, float]:
    """Name → what a calibration must find."""
    turn = from_matrices(from_rpy(errors.imu_rotation)).as_rotvec()
    found = {'imu.delay': errors.imu_delay, 'payload.mass': payload}
    for k, axis in enumerate('xyz'):
        found[f'imu.rotation.{axis}'] = float(turn[k])
        found[f'imu.gyroscope_bias.{axis}'] = errors.gyroscope_bias[k]
        found[f'imu.accelerometer_bias.{axis}'] = errors.accelerometer_bias[k]
        found[f'payload.com.{axis}'] = float(shift[k])
    for foot, wrong in errors.feet.items():
        found[f'feet[{foot}].wrench.delay'] = 0.0
        for k, axis in enumerate(('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')):
            found[f'feet[{foot}].wrench.offset.{axis}'] = wrong.offset[k]
    return found


def planted(bench: Bench) -> None:
    """The errors of one draw, and the unseen walk before and after."""
    errors, payload, shift = drawn(np.random.default_rng(1))
    payload = 0.23
    straight, turning = bench.walks(bench.true_robot(payload, shift))
    begin = time.perf_counter()
    calibration = estimate_corrections([bench.bag(straight, errors)], bench.robot)
    elapsed = time.perf_counter() - begin
    unseen, ideal = bench.bag(turning, errors, 2), bench.bag(turning, SensorErrors())
    clean = bench.bag(turning, SensorErrors(**NOISE), 2)  # type: ignore[arg-type]
    right = bench.true_robot(payload, shift)
    print(f'planted: calibrated in {elapsed:.1f} s; IZMP of the unseen walk, x / y:')
    for name, robot, bag in (
        ('uncorrected', bench.robot, unseen),
        ('calibrated', bench.written(calibration), unseen),
        ('nothing wrong', right, clean),
    ):
        x, y = bench.judge(robot, bag, ideal)
        print(f'  {name:14s} {x:6.2f} / {y:6.2f} mm')
    wanted = truth(errors, payload, shift)
    for e in calibration.result.estimates:
        if e.name in wanted:
            print(f'  {e.name:28s} {e.value:+.5f} ± {e.sigma:.5f}, planted {wanted[e.name]:+.5f}')


def draws(bench: Bench, count: int) -> None:
    """Errors against their standard deviations over random draws of everything."""
    worst: dict[str, list[float]] = {}
    left: dict[str, list[float]] = {}
    for seed in range(count):
        errors, payload, shift = drawn(np.random.default_rng(100 + seed))
        walk = WalkParameters(steps=8, stand=1.2)
        run = simulate_walk(bench.true_robot(payload, shift), parameters=walk).run
        bag = bench.bag(run, errors, seed)
        result = estimate_corrections([bag], bench.robot, groups=DEFAULT_GROUPS).result
        wanted = truth(errors, payload, shift)
        for e in result.estimates:
            if e.name in wanted and e.used:
                worst.setdefault(e.name, []).append(abs(e.value - wanted[e.name]) / e.sigma)
            elif e.name in wanted and wanted[e.name] != 0.0:
                left.setdefault(e.name, []).append(abs(wanted[e.name]))
    print(f'draws: |error| / σ over {count} random draws, median and largest:')
    for name, ratios in worst.items():
        print(f'  {name:28s} {np.median(ratios):5.1f} {max(ratios):5.1f} ({len(ratios)} times)')
    for name, sizes in left.items():
        print(f'  left alone {len(sizes)} times: {name}, at most {max(sizes):.4g}')
    every = np.concatenate(list(worst.values()))
    print(f'  within 3 σ: {100.0 * np.mean(every <= 3.0):.1f} % of {len(every)}')


def sway(bench: Bench) -> None:
    """What swaying cannot tell."""
    errors, payload, shift = drawn(np.random.default_rng(1))
    run = simulate_sway(bench.true_robot(payload, shift))
    result = estimate_corrections([bench.bag(run, errors)], bench.robot).result
    assert result.before is not None
    assert result.after is not None
    ratios = result.after.against(result.before)
    print(f'sway: held-out wrench and IZMP against before: {ratios.round(3)}')
    for note in result.notes:
        print(f'  {note}')


def duration(bench: Bench) -> None:
    """A minute of walking, everything estimated."""
    walk = WalkParameters(steps=125, stand=2.0)
    run = simulate_walk(bench.robot, parameters=walk).run
    bag = bench.bag(run, SensorErrors(**NOISE))  # type: ignore[arg-type]
    length = 1e-9 * float(run.stamps[-1] - run.stamps[0])
    wall, cpu = time.perf_counter(), time.process_time()
    estimate_corrections([bag], bench.robot)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f'time: {length:.0f} s of walking: wall {wall:.0f} s, CPU {cpu:.0f} s')


def prepared(folder: Path, robot: RobotFile) -> tuple[Rig, tuple[Segment, ...]]:
    """A real log."""
    return read_segments(folder, robot, load_model(robot.read_urdf(), robot.root))


def split(folder: Path, robot: RobotFile, last: float, wanted: tuple[str, ...] | None) -> None:
    """Calibrate on the beginning of a log at 4 Hz, print the errors on the rest."""
    rig, segments = prepared(folder, robot)
    links = link_inertias(rig.model)
    end = segments[0].begin + nanoseconds(last)
    seen = [dataclasses.replace(s, end=min(s.end, end)) for s in segments if s.begin < end]
    rest = [dataclasses.replace(s, begin=max(s.begin, end)) for s in segments if s.end > end]
    train, test = ([prepare(part, rig, links, 4.0) for part in half] for half in (seen, rest))
    heavy = max(links, key=lambda link: float(link.theta[0])).link
    best = best_candidate(rig, train, links, heavy, wanted)
    layout, x = best.layout, best.solution.x
    groups = dict.fromkeys(
        p.group for p, used in zip(layout.parameters, best.corrected, strict=True) if used
    )
    print(f'  accepted: {best.accepted}; corrected: {", ".join(groups)}')
    for name, values in (('before', 0.0 * x), ('after', x)):
        wrench, gaps, pairs = [], [], []
        for part in test:
            decide_contacts(part, layout, values)
            terms = Terms.of(part, layout, values)
            wrench += [b.values for b in residuals(part, terms) if b.name == 'wrench']
            izmp, cop = zmp_and_cop(part, terms)
            known = np.isfinite(izmp[:, 0]) & np.isfinite(cop[:, 0])
            gaps.append((izmp - cop)[known, :2])
            pairs.append(np.stack([izmp[known, :2], cop[known, :2]]))
        gap, pair = 1e3 * np.concatenate(gaps), np.concatenate(pairs, axis=1)
        r = [np.corrcoef(pair[0, :, k], pair[1, :, k])[0, 1] for k in range(2)]
        rms = np.sqrt((np.concatenate(wrench) ** 2).mean(axis=0))
        distance = np.sqrt((gap**2).mean(axis=0))
        print(
            f'  {name:6s} wrench {rms.round(2)}; IZMP to CoP {distance.round(1)} mm RMS, '
            f'mean {gap.mean(axis=0).round(1)} mm, r {np.round(r, 3)}'
        )
    for p, value, sigma in zip(layout.parameters, x, best.sigma, strict=True):
        if value != 0.0 and '.matrix.' not in p.name:
            print(f'    {p.name:28s} {value:+.4f} ± {sigma:.4f} {p.unit}')


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--data', type=Path, help='folder of the public logs')
    parser.add_argument('--only', choices=CASES, nargs='+', default=CASES)
    parser.add_argument('--draws', type=int, default=20)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        simulated = {
            'planted': lambda: planted(bench), 'draws': lambda: draws(bench, options.draws),
            'sway': lambda: sway(bench), 'time': lambda: duration(bench),
        }  # fmt: skip
        for name, case in simulated.items():
            if name in options.only:
                case()
    if options.data is None:
        return
    real = {
        'steps': ('icub_steps', 20.0, None),
        'walking': ('icub_walking_wrench', 9.2, None),
        'bowing': ('human_bowing', 10.0, ('imu_rotation',)),
    }
    for name, (log, last, groups) in real.items():
        if name in options.only:
            print(f'{log}: calibrated on the first {last:g} s, judged on the rest')
            folder = options.data / log
            split(folder, load_robot_file(folder / 'robot.yaml'), last, groups)


if __name__ == '__main__':
    main()
