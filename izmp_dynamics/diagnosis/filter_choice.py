"""Which half-width the matched filter needs for a recording, from the noise measured in it.

The smallest one at which the scatter of the IZMP is as small as wanted, in steps of the slowest
signal that is differentiated; a smaller one if from there on it takes more off the CoP than off
the noise. A robot that flies gets none that would fill its flights with the forces beside.

The scatter is predicted from the white noise of the signals. Markers on skin and poses that move
in stairs have noise that goes on from sample to sample, which is no white noise: so that of an IMU
derived from poses is at least what the longest half-width would still take off the gap between
the IZMP and a measured CoP. A constant gap does not count, nor what happens in less than a quarter
of the time, as pushes do. Of a measured IMU such a gap is an error of feet or model, which a
filter would hide.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from statistics import NormalDist

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array, Stamps, finite_rows
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.base.robust import finite
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.joints import JointGroup, enough_of
from izmp_dynamics.pipeline.uncertainty import (
    SampleNoise,
    filtered_covariance,
    point_covariance,
)
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import CHUNK, make_evaluator
from izmp_dynamics.sensing.noise import noise_floor
from izmp_dynamics.signals.differences import Mask
from izmp_dynamics.signals.imu import rotations
from izmp_dynamics.signals.matched_filter import bandwidth, matched_means
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.samples import Samples, Signals

SEEN = 30.0
"""Time at the beginning of a recording in which the noise is measured [s]."""

LONGEST = 0.25
"""A half-width beyond which no motion would be left [s]: 1.3 Hz."""

TRIAL = 0.05
"""Half-width with which the motion is evaluated that the prediction is made for [s]."""

FLIES = 0.01
"""Part of the time without force on the feet from which on a robot runs or jumps [-]."""

USUAL = 0.75
"""Quantile of what is taken off the gap between IZMP and CoP that its scatter follows from [-]."""

LONG = 4.0
"""Time with a CoP from which on a push, seen by `LONGEST`, is no quarter of it any more [s]."""

INSTANTS = 40
"""Instants at which the scatter is predicted; their median counts."""


@dataclass(frozen=True)
class FilterChoice:
    """A half-width, and what it is chosen by.

    Attributes:
        half_width: of the matched filter [s]; None: none is needed.
        scatter: standard deviation of the IZMP with it, in the worst direction [m].
        unfiltered: the same without a filter [m].
        wanted: below which it was to be [m].
        cut: root mean square of what it takes off the CoP, motion and noise, in the worse axis
            [m]; of a CoP that was smoothed for the trial; NaN without a CoP or a filter.
        unknown: why no scatter can be predicted, which is NaN then; '' if it can.
        flies: whether the robot is at times without contact, which limits the half-width.
    """

    half_width: float | None
    scatter: float
    unfiltered: float
    wanted: float
    cut: float = np.nan
    unknown: str = ''
    flies: bool = False

    @property
    def notable(self) -> bool:
        """Whether it changes the results, or may be wrong to leave them unfiltered."""
        return self.half_width is not None or bool(self.unknown)

    @property
    def text(self) -> str:
        """What was chosen and why, as a sentence."""
        if self.unknown:
            return (
                f'No filter was chosen: {self.unknown}, so that the scatter of the IZMP cannot '
                'be predicted. If it is too noisy, state filter.half_width in the robot file.'
            )
        if self.half_width is None:
            return (
                f'No filter is needed: the noise of the signals scatters the IZMP by '
                f'{_mm(self.unfiltered)}; {_mm(self.wanted)} is allowed (filter.scatter).'
            )
        text = (
            f'Matched filter of half-width {1e3 * self.half_width:.0f} ms '
            f'(bandwidth {bandwidth(self.half_width):.1f} Hz): the noise of the signals '
            f'scatters the IZMP by {_mm(self.unfiltered)} without it and by '
            f'{_mm(self.scatter)} with it'
        )
        if np.isfinite(self.cut):
            text += f'; it removes about {_mm(self.cut)} (RMS) from the CoP, noise included'
        if self.scatter > self.wanted:
            worse = ', as a longer one removes more of the CoP than of the noise'
            worse = ', as a longer one hides flights' if self.flies else worse
            return (
                f'{text}; {_mm(self.wanted)} (filter.scatter) is out of reach'
                f'{worse * (self.flies or bool(self.cut > 0))}.'
            )
        return f'{text}; {_mm(self.wanted)} is allowed (filter.scatter).'


class Trial:
    """The beginning of a recording, evaluated with a filter of half-width `TRIAL` or more.

    That is done when it is asked for; it needs an IMU, measured or derived.

    Attributes:
        recording: the recording.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @cached_property
    @announced_compilation()
    def results(self) -> tuple[Evaluator, Evaluated | None, '_MeasuredNoise']:
        """Evaluator of the first `SEEN`, its results, if any, and noise of the signals."""
        recording = self.recording
        derived = recording.robot.imu.from_position
        evaluator = make_evaluator(recording, max(TRIAL, 2.0 * _slowest(recording)))
        evaluator.judges, evaluator.locates = False, derived  # MR-AD is all that is needed
        clocked = evaluator.rig.robot.joints.stamps == 'publisher_clock'
        measured = _MeasuredNoise(recording.groups, clocked, derived)
        parts: list[Evaluated] = []
        begin = recording.bag.start or 0
        for signals, received in recording.spans(CHUNK):
            measured.add(signals)
            parts += evaluator.push(signals)
            if received - begin > 1e9 * SEEN:
                break
        parts += evaluator.flush()
        return evaluator, Evaluated.joined(parts) if parts else None, measured


def chosen_filter(trial: Trial, though_stated: bool = False) -> FilterChoice | None:
    """Choose the filter of a recording, and set it if the robot file leaves the choice open.

    Args:
        trial: of the recording.
        though_stated: whether one is proposed, too, where the robot file states it.

    Returns:
        The choice; None if the robot file states a filter, or if nothing can be predicted
        (without feet there is no IZMP).
    """
    stated = trial.recording.robot.filter
    is_open = stated.method == 'auto' and stated.half_width is None
    choice = propose_filter(trial) if is_open or though_stated else None
    if choice is not None and is_open:
        trial.recording.set_half_width(choice.half_width)
    return choice


def with_filter(bag: str | PathLike[str], robot: RobotFile, model: RobotModel) -> Filter:
    """The filter of a robot file; the one that a recording needs, if that is left open."""
    with BagReader(bag) as reader:
        recording = Recording(reader, robot, model)
        chosen_filter(Trial(recording))
        return recording.robot.filter


def filter_findings(choice: FilterChoice | None) -> Iterator[Finding]:
    """Propose the half-width of a matched filter."""
    if choice is not None:
        remedy = (
            'izmp replay chooses this by itself; for the nodes state filter: {half_width: '
            f'{choice.half_width:.4g}}} in the robot file.'
            if choice.half_width is not None
            else ''
        )
        yield Finding('filter', 'note', choice.text, remedy)


def propose_filter(trial: Trial) -> FilterChoice | None:
    """Find the smallest half-width that makes the IZMP of a recording as quiet as wanted.

    Args:
        trial: of what is evaluated; filters that its robot file states are left out.

    Returns:
        The choice, without a half-width if the noise is not known; None if there is no IZMP to
        predict anything for.
    """
    recording = trial.recording
    robot, model = recording.robot, recording.model
    if recording.only_ir_md:
        return _unknown('without an IMU there is no IZMP of MR-AD', robot)
    derived = robot.imu.from_position
    if derived and recording.rig.accelerometers:
        return _unknown('there are accelerometers beside a derived IMU', robot)
    evaluator, results, measured = trial.results
    if results is None:
        return None
    known = np.flatnonzero(finite_rows(results.points['mr_ad']))
    if not len(known):
        return None
    some = results.select(known[:: max(1, len(known) // INSTANTS)])
    unmeasured = measured.unmeasured
    if unmeasured:
        signals_of = ' and '.join(unmeasured)
        return _unknown(
            f'in the first {SEEN:.0f} s the noise of {signals_of} could not be measured '
            '(too few samples without a gap)',
            robot,
        )
    noise = measured.noise(model.dof)
    flies = _flies(results, recording.rig.minimum_force)
    longest = TRIAL if flies else LONGEST
    slowest = _slowest(recording)
    widths = slowest * np.arange(1, max(1, int(longest / slowest)) + 1)
    gap = _CopGap(evaluator.rig.robot, results)
    choice = _smallest(evaluator, some, noise, widths.tolist(), robot.filter.scatter, gap)
    return dataclasses.replace(choice, flies=flies)


def _flies(results: Evaluated, minimum_force: float) -> bool:
    """Whether nothing carries the robot at times, by the wrench of the trial."""
    forces = finite(np.einsum('ki,ki->k', results.wrenches['mr_ad'][:, :3], results.up))
    return bool(np.count_nonzero(forces < minimum_force) > FLIES * len(forces))


def _unknown(reason: str, robot: RobotFile) -> FilterChoice:
    return FilterChoice(None, np.nan, np.nan, robot.filter.scatter, unknown=reason)


def later(stamps: Stamps) -> Mask:
    """(T,) which stamps are later than all before; others follow where a clock is set back."""
    found: Mask = np.ones(len(stamps), dtype=np.bool_)
    found[1:] = np.diff(np.maximum.accumulate(stamps)) > 0
    return found


class _CopGap:
    """What half-widths [s] do to a measured CoP and to the gap between it and the IZMP; else NaN.

    The gap counts for an IMU that is derived from poses.

    Args:
        robot: with the filter of the trial.
        results: of the trial.
    """

    def __init__(self, robot: RobotFile, results: Evaluated) -> None:
        stamps, izmp = results.stamps, results.points['mr_ad']
        cop = results.points.get('cop', np.full_like(izmp, np.nan))
        known = finite_rows(cop) & later(stamps)
        self._stamps, self._cop = stamps[known], cop[known]
        self._gap: Array = izmp[known] - self._cop
        self._trial, self._max_gap = robot.filter.half_width or 0.0, robot.pairing.max_gap
        self._derived = robot.imu.from_position

    def cut(self, half_width: float) -> float:
        """What it takes off the CoP, root mean square in the worse axis [m]."""
        off = self._means(self._cop, half_width) - self._cop
        off = off[np.isfinite(off).all(axis=1)]
        return float(np.sqrt(np.mean(off * off, axis=0).max())) if len(off) else np.nan

    def scatter(self, half_width: float) -> float:
        """What `LONGEST` would still take off the gap, as a standard deviation [m]."""
        if not self._derived or not len(self._stamps):
            return np.nan
        off = self._beyond(half_width) - self._beyond(LONGEST)
        off = np.abs(off[np.isfinite(off).all(axis=1)])
        if not len(off) or len(self._stamps) * np.median(np.diff(self._stamps)) < 1e9 * LONG:
            return np.nan
        usual = np.quantile(off, USUAL, axis=0).max()
        return float(usual / NormalDist().inv_cdf((1.0 + USUAL) / 2.0))

    def _beyond(self, half_width: float) -> Array:
        """The gap with a filter in place of that of the trial; their variances add up."""
        if half_width <= self._trial:
            return self._gap
        return self._means(self._gap, math.sqrt(half_width**2 - self._trial**2))

    def _means(self, values: Array, half_width: float) -> Array:
        return matched_means(self._stamps, values, half_width, self._max_gap, second=False).value


def _smallest(
    evaluator: Evaluator,
    some: Evaluated,
    noise: SampleNoise,
    widths: Sequence[float],
    wanted: float,
    gap: _CopGap,
) -> FilterChoice:
    """The first of the half-widths [s] at which the scatter is as wanted [m], or the best."""
    unfiltered = float(np.fmax(_scatter(evaluator, some, noise, None), gap.scatter(0.0)))
    if unfiltered <= wanted:
        return FilterChoice(None, unfiltered, unfiltered, wanted)
    choices = []
    for half_width in widths:
        predicted = _scatter(evaluator, some, noise, half_width)
        scatter = float(np.fmax(predicted, gap.scatter(half_width)))
        cut = gap.cut(half_width)
        choices.append(FilterChoice(half_width, scatter, unfiltered, wanted, cut))
        if scatter <= wanted:
            break
    return min(choices, key=lambda c: np.hypot(c.scatter, np.nan_to_num(c.cut)))


def _scatter(
    evaluator: Evaluator, some: Evaluated, noise: SampleNoise, half_width: float | None
) -> float:
    """Predicted standard deviation of the IZMP in the worst direction, median [m]."""
    of_wrench = filtered_covariance(evaluator, some, noise, half_width)
    of_point = point_covariance(some, of_wrench)
    of_point = of_point[np.isfinite(of_point).all(axis=(1, 2))]
    return float(np.sqrt(max(np.median(np.linalg.eigvalsh(of_point)[:, -1]), 0.0)))


def _slowest(recording: Recording) -> float:
    """Longest period of the signals that are differentiated [s]."""
    imu = 'position' if recording.robot.imu.from_position else 'imu'
    return max(recording.periods[imu], *(group.period for group in recording.groups))


class _MeasuredNoise:
    """Noise of the signals, span by span.

    Args:
        groups: joints that are published together.
        clocked: whether stamps that came in bursts are put back onto the publisher's clock first.
        derived: whether the IMU is derived from a pose, of which the noise is measured then.
    """

    def __init__(self, groups: tuple[JointGroup, ...], clocked: bool, derived: bool) -> None:
        self._groups = groups
        self._clocked = clocked
        self._imu = {'position': 3, 'orientation': 9} if derived else {'imu': 6}
        self._clocks: dict[str, PublisherClock] = {}
        self._variances: defaultdict[str, list[Array]] = defaultdict(list)

    def add(self, signals: Signals) -> None:
        """Take the signals of a span."""
        for k, group in enumerate(self._groups):
            columns = list(group.columns)
            joints = signals['joints']
            rows = enough_of(~np.isnan(joints.values[:, columns]))
            self._measure(f'joints[{k}]', Samples(joints.stamps, joints.values[:, columns]), rows)
        for name, samples in signals.items():
            if name == 'orientation' and name in self._imu:  # as matrices, which have one sign
                samples = Samples(samples.stamps, rotations(samples.values)[0].reshape(-1, 9))
            if name in self._imu or name.startswith('accelerometers'):
                self._measure(name, samples, np.ones(len(samples), dtype=np.bool_))

    @property
    def unmeasured(self) -> list[str]:
        """Signals of which the noise of some number is not known."""
        wanted = {f'joints[{k}]': len(group.columns) for k, group in enumerate(self._groups)}
        wanted |= self._imu | {name: 3 for name in self._variances if name.startswith('acc')}
        found = {name: self._variance(name, width) for name, width in wanted.items()}
        unknown = [name for name, variance in found.items() if np.isnan(variance).any()]
        named = ('joints' if name.startswith('joints[') else name for name in unknown)
        return list(dict.fromkeys(named))

    def noise(self, dof: int) -> SampleNoise:
        """What was measured so far, NaN where that is nothing; for n = `dof` joints."""
        joints = np.zeros(dof)
        for k, group in enumerate(self._groups):
            joints[list(group.columns)] = self._variance(f'joints[{k}]', len(group.columns))
        if 'position' in self._imu:  # δR = R [δθ]×, of which each axis is in six entries
            angle = np.full(3, np.sum(self._variance('orientation', 9)) / 6.0)
            place = np.full((1, 3), np.mean(self._variance('position', 3)))
            return SampleNoise(np.sqrt(place), np.sqrt(angle), np.sqrt(joints), of_pose=True)
        imu = self._variance('imu', 6)
        further = sum(name.startswith('accelerometers') for name in self._variances)
        others = (self._variance(f'accelerometers[{k}]', 3) for k in range(further))
        force = np.stack([imu[3:], *others])
        return SampleNoise(np.sqrt(force), np.sqrt(imu[:3]), np.sqrt(joints))

    def _measure(self, name: str, samples: Samples, rows: Mask) -> None:
        used = samples.select(rows)
        if self._clocked:
            clock = self._clocks.setdefault(name, PublisherClock(used.values.shape[1]))
            used = clock.push(used)
        if len(used):
            self._variances[name].append(noise_floor(used.stamps, used.values) ** 2)

    def _variance(self, name: str, width: int) -> Array:
        """(width,) mean over the spans in which it could be measured; NaN if in none."""
        spans = np.reshape(self._variances.get(name, []), (-1, width))
        count = np.isfinite(spans).sum(axis=0)
        return np.asarray(np.nansum(spans, axis=0) / np.where(count, count, np.nan))


def _mm(metres: float) -> str:
    return f'{1e3 * metres:.2g} mm' if metres < 0.1 else f'{1e3 * metres:.0f} mm'
