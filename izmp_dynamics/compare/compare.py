"""The metrics of the paper on a user's own recording: methods against a reference.

The recording is evaluated as `izmp replay` does it. A method is compared with the reference at
every instant at which both have a point on the ground, in the frame nif.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.batch import resolve_topic
from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.compare.metrics import Deviation, MetricsError, deviation
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pipeline.uncertainty import izmp_covariance, joint_speeds
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import evaluate_recording, make_evaluator
from izmp_dynamics.signals.buffer import pair
from izmp_dynamics.stability.support_polygon import plane_axes

METHODS = ('mr_ad', 'ir_md', 'cop')
GROUND_TRUTH = 'ground_truth'
REFERENCES = (GROUND_TRUTH, 'cop', 'mr_ad', 'ir_md')
TRUTH_TOPIC = 'ground_truth/cop'
_MAX_GAP = 0.05  # [s]


@dataclass(frozen=True)
class Comparison:
    """One method against the reference.

    Attributes:
        method: its name.
        x: deviation in x of nif, lengths in m.
        y: deviation in y.
        distance_mean: mean distance in the plane of the ground [m].
        distance_largest: largest distance [m].
        predicted_sigma: σ of x and y that the noise densities of the robot file alone explain
            (RMS over time) [m]; None for other methods than mr_ad.
    """

    method: str
    x: Deviation
    y: Deviation
    distance_mean: float
    distance_largest: float
    predicted_sigma: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Points:
    """Points on the ground over a recording, in the root frame.

    Attributes:
        stamps: (K,) [ns].
        methods: name → (K, 3) [m].
        nif_R_root: (K, 2, 3) x and y axes of nif.
        variances: (K, 2) predicted variances of MR-AD's x and y in nif [m²].
        missing: why signals are not there, one sentence each.
    """

    stamps: Stamps
    methods: Mapping[str, Array]
    nif_R_root: Array
    variances: Array
    missing: tuple[str, ...]

    def of(self, method: str) -> Array:
        """Return the points of a method.

        Raises:
            MetricsError: if the recording does not allow it.
        """
        if method not in self.methods or not np.isfinite(self.methods[method]).any():
            reasons = ' '.join(self.missing)
            raise MetricsError(
                f"'{method}' could not be evaluated from this recording. {reasons}".strip(),
                kind='not_evaluated',
                method=method,
                reasons=reasons,
            )
        return self.methods[method]


def compare_bag(
    bag_path: Path,
    robot: RobotFile,
    methods: Sequence[str],
    reference: str,
    progress: Callable[[float], None] = lambda fraction: None,
) -> list[Comparison]:
    """Compare methods with a reference.

    Args:
        bag_path: rosbag2, folder or file.
        robot: robot file.
        methods: some of `METHODS`.
        reference: one of `REFERENCES`; ground_truth is the true CoP that a simulation records.
        progress: called with the fraction that is done.

    Raises:
        UnknownNameError: if a method or the reference is none of those.
        MetricsError: if there is no ground truth, or no instant in common.
        IzmpError: if the recording cannot be evaluated.
    """
    for method in methods:
        if method not in METHODS:
            raise UnknownNameError('method', method, METHODS)
    if reference not in REFERENCES:
        raise UnknownNameError('reference', reference, REFERENCES)
    with BagReader(bag_path) as bag:
        truth = _true_cop(bag, robot) if reference == GROUND_TRUTH else None
        points = _evaluate(bag, robot, progress)
    if truth is not None:
        wanted = pair(points.stamps, *truth, _MAX_GAP).values
    else:
        wanted = points.of(reference)
    return [_compared(method, reference, points, wanted) for method in methods]


def _evaluate(bag: BagReader, robot: RobotFile, progress: Callable[[float], None]) -> _Points:
    recording = Recording(bag, robot, load_model(robot.read_urdf(), robot.root))
    evaluator = make_evaluator(recording)
    parts = list(evaluate_recording(recording, evaluator, progress))
    if not parts:
        raise MetricsError(
            'The recording has no instant at which anything can be evaluated; `izmp check` says '
            'why.',
            kind='no_instant',
        )
    axes = [plane_axes(part.plane.normal) for part in parts]
    speeds = joint_speeds(evaluator.joints.groups, robot.filter.half_width)
    covariances = [izmp_covariance(evaluator, part, speeds=speeds) for part in parts]
    names = {name for part in parts for name in part.points}
    nothing = {len(part.stamps): np.full((len(part.stamps), 3), np.nan) for part in parts}
    return _Points(
        stamps=np.concatenate([part.stamps for part in parts]),
        methods={
            name: np.concatenate(
                [part.points.get(name, nothing[len(part.stamps)]) for part in parts]
            )
            for name in names
        },
        nif_R_root=np.concatenate(axes),
        variances=np.concatenate(
            [np.einsum('tai,tij,taj->ta', R, C, R) for R, C in zip(axes, covariances, strict=True)]
        ),
        missing=tuple(map(str, recording.missing)),
    )


def _true_cop(bag: BagReader, robot: RobotFile) -> tuple[Stamps, Array]:
    """Read the true CoP: (T,) stamps [ns], (T, 3) in the root frame [m]."""
    topic = resolve_topic(TRUTH_TOPIC, bag.topics)
    if topic is None or not bag.topics[topic].count:
        raise MetricsError(
            f"The recording has no ground truth: there is no topic '{TRUTH_TOPIC}', which "
            'simulations record. Compare with another one: --reference cop (the feet’s force '
            'sensors), mr_ad or ir_md.',
            kind='no_ground_truth',
            topic=TRUTH_TOPIC,
        )
    batches = [pose_batch(batch[topic]) for batch in bag.batches([topic])]
    frames = sorted({frame for batch in batches for frame in batch.frame_ids})
    root = load_model(robot.read_urdf(), robot.root).root
    if frames != [root]:
        raise MetricsError(
            f"The points of '{topic}' are given in {', '.join(frames) or 'no frame'}; they must "
            f"be given in the root link of the robot file, '{root}'.",
            kind='frame',
            topic=topic,
            frames=tuple(frames),
            root=root,
        )
    stamps = np.concatenate([batch.stamps for batch in batches])
    points = np.concatenate([batch.positions for batch in batches])
    stamps, first = np.unique(stamps, return_index=True)
    return stamps, points[first]


def _compared(method: str, reference: str, points: _Points, wanted: Array) -> Comparison:
    in_nif = [
        np.einsum('tij,tj->ti', points.nif_R_root, values)
        for values in (points.of(method), wanted)
    ]
    if not np.isfinite(in_nif[0] - in_nif[1]).all(axis=1).any():
        raise MetricsError(
            _no_overlap(method, reference, points, wanted),
            kind='nothing_in_common',
            method=method,
            reference=reference,
        )
    distance = np.linalg.norm(in_nif[0] - in_nif[1], axis=1)
    x, y = (deviation(in_nif[0][:, axis], in_nif[1][:, axis]) for axis in (0, 1))
    sigma = np.sqrt(np.nanmean(points.variances, axis=0)) if method == 'mr_ad' else None
    return Comparison(
        method,
        x,
        y,
        float(np.nanmean(distance)),
        float(np.nanmax(distance)),
        None if sigma is None else (float(sigma[0]), float(sigma[1])),
    )


def _no_overlap(method: str, reference: str, points: _Points, wanted: Array) -> str:
    spans = []
    for values in (points.of(method), wanted):
        known = points.stamps[np.isfinite(values).all(axis=1)]
        spans.append(
            f'{known[0] / NANOSECONDS:.3f} s to {known[-1] / NANOSECONDS:.3f} s'
            if len(known)
            else 'never'
        )
    return (
        f"'{method}' has values from {spans[0]}, the reference '{reference}' at these instants: "
        f'{spans[1]}. They have no instant in common, so there is nothing to compare.'
    )
