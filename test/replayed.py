"""What the pipeline makes of a recording, as one piece."""

from izmp_dynamics.pipeline.evaluator import Evaluator

from .pipeline_signals import joined
from .recorded import read_bag


def evaluate_log(path, robot, **options):
    """The results of a whole bag, and the robot, prepared for evaluation."""
    recording, signals = read_bag(path, robot)
    evaluator = Evaluator(
        recording.rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        **options,
    )
    return joined(evaluator.push(signals) + evaluator.flush()), recording.rig
