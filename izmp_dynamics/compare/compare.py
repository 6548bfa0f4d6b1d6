"""The metrics of the paper on a user's own recording: methods against a reference.

The recording is evaluated as `izmp replay` does it. A method is compared with the reference at
every instant at which both have a point on the ground, in the frame nif.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.batch import resolve_topic
from izmp_dynamics.bags.messages import pose_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.compare.metrics import Deviation, MetricsError, deviation
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.signals.buffer import pair

METHODS = ('mr_ad', 'ir_md', 'cop')
GROUND_TRUTH = 'ground_truth'
REFERENCES = (GROUND_TRUTH, 'cop', 'mr_ad', 'ir_md')
TRUTH_TOPIC = 'ground_truth/cop'
NO_POSITION = 'The robot file states no position of the root, which IR-MD needs.'
"""Why IR-MD is not compared, a sentence."""
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
    """

    method: str
    x: Deviation
    y: Deviation
    distance_mean: float
    distance_largest: float


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
    truth = _true_cop(bag_path, robot) if reference == GROUND_TRUTH else None
    evaluation = evaluate_bag(bag_path, robot, progress)
    stamps = evaluation.stamps
    if truth is not None:
        wanted = evaluation.in_nif(pair(stamps, *truth, _MAX_GAP).values)[:, :2]
    else:
        wanted = _points(evaluation, reference, robot)
    return [
        _compared(method, reference, stamps, _points(evaluation, method, robot), wanted)
        for method in methods
    ]


def _points(evaluation: Evaluation, method: str, robot: RobotFile) -> Array:
    """(K, 2) points of a method along x and y of nif [m].

    Raises:
        MetricsError: if the recording does not allow it.
    """
    track = evaluation.tracks.get(method)
    if track is None or not track.valid.any():
        reasons = _reasons(evaluation, method, robot)
        raise MetricsError(
            f"'{method}' could not be evaluated from this recording. {reasons}".strip(),
            kind='not_evaluated',
            method=method,
            reasons=reasons,
        )
    return evaluation.in_nif(track.point)[:, :2]


def _reasons(evaluation: Evaluation, method: str, robot: RobotFile) -> str:
    """Why a method is not evaluated, and for IR-MD what to do about it."""
    if method != 'ir_md':
        return ' '.join(evaluation.missing)
    if robot.position is None:
        return f'{NO_POSITION} State it, or compare others, as with --methods mr_ad.'
    found = [each for each in evaluation.missing if each.startswith('position: ')]
    return ' '.join([*(found or evaluation.missing), 'Compare others, as with --methods mr_ad.'])


def _true_cop(bag_path: Path, robot: RobotFile) -> tuple[Stamps, Array]:
    """Read the true CoP: (T,) stamps [ns], (T, 3) in the root frame [m]."""
    with BagReader(bag_path) as bag:
        topic = resolve_topic(TRUTH_TOPIC, bag.topics)
        if topic is None or not bag.topics[topic].count:
            raise MetricsError(
                f"The recording has no ground truth: there is no topic '{TRUTH_TOPIC}', which "
                'simulations record. Compare with another one: --reference cop (the feet’s force '
                'sensors), mr_ad or ir_md.',
                kind='no_ground_truth', topic=TRUTH_TOPIC,
            )  # fmt: skip
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


def _compared(
    method: str, reference: str, stamps: Stamps, points: Array, wanted: Array
) -> Comparison:
    """Compare points (K, 2) with those that are wanted, in nif [m]."""
    if not np.isfinite(points - wanted).all(axis=1).any():
        raise MetricsError(
            _no_overlap(method, reference, stamps, (points, wanted)),
            kind='nothing_in_common',
            method=method,
            reference=reference,
        )
    distance = np.linalg.norm(points - wanted, axis=1)
    x, y = (deviation(points[:, axis], wanted[:, axis]) for axis in (0, 1))
    return Comparison(method, x, y, float(np.nanmean(distance)), float(np.nanmax(distance)))


def _no_overlap(method: str, reference: str, stamps: Stamps, both: tuple[Array, Array]) -> str:
    spans = []
    for values in both:
        known = stamps[np.isfinite(values).all(axis=1)]
        spans.append(
            f'{known[0] / NANOSECONDS:.3f} s to {known[-1] / NANOSECONDS:.3f} s'
            if len(known)
            else 'never'
        )
    return (
        f"'{method}' has values from {spans[0]}, the reference '{reference}' at these instants: "
        f'{spans[1]}. They have no instant in common, so there is nothing to compare.'
    )
