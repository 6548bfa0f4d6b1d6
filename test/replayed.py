"""What the pipeline makes of a recording, as one piece."""

from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.fusing import FusionStage

from .pipeline_signals import joined
from .recorded import read_bag


def evaluate_log(path, robot, fuses=False, **options):
    """The results of a whole bag, and the robot, prepared for evaluation."""
    recording, signals = read_bag(path, robot)
    evaluator = Evaluator(
        recording.rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        **options,
    )
    results = joined(evaluator.push(signals) + evaluator.flush())
    if fuses:
        results = FusionStage(recording.rig).push(evaluator, results)
    return results, recording.rig
