"""A recording through the pipeline, in large chunks."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.kernel import announced_compilation
from izmp_dynamics.model.robot_file import Filter, LowPass
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.standstill import compile_stages
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.sensing.vertical import Vertical
from izmp_dynamics.stability.support_polygon import outlines

CHUNK = 5.0
"""Time that is read at once [s]."""

SLOW_BUS = 250.0
"""Up to this rate of the bus two chunks are evaluated at once, which takes less time [Hz]."""

LATE = 1.0
"""A message may arrive so much later than the joints' messages of its time [s]."""

Progress = Callable[[float], None]
"""Called with the fraction that is done."""


def make_evaluator(recording: Recording, half_width: float | None = None) -> Evaluator:
    """Make the evaluator of a recording, ready to run.

    Args:
        recording: the recording.
        half_width: of a matched filter in place of the filter that its robot file states [s].

    Raises:
        SensingError: if the sensors do not suffice; the message says what is missing.
    """
    rig = recording.rig
    if half_width is not None:
        robot = replace(rig.robot, filter=Filter(half_width=half_width), low_pass=LowPass())
        rig = replace(rig, robot=robot)
    with announced_compilation():
        compile_stages(rig, live=False)
        nowhere = np.zeros((1, 3))
        outlines((nowhere[None],), np.ones((1, 1), np.bool_), nowhere, nowhere)
        Vertical(1.0).push(np.zeros(1, np.int64), nowhere, nowhere, nowhere)
    return Evaluator(
        rig,
        recording.groups,
        recording.periods,
        orientation=recording.orientation,
        patience=LATE,
        only_ir_md=recording.only_ir_md,
    )


def evaluate_recording(
    recording: Recording, evaluator: Evaluator, progress: Progress = lambda fraction: None
) -> Iterator[Evaluated]:
    """Evaluate a recording piece by piece, in the order of time.

    If the clock was set back in the recording, what repeats a time that is evaluated already is
    left out and counted.
    """
    begin, end = recording.bag.start or 0, recording.bag.end or 1
    newest = 0
    for results, received in _pieces(recording, evaluator):
        later = results.stamps > newest
        if not later.all():
            repeated = int(np.count_nonzero(~later))
            recording.uses['joints'].faults[Fault(Reason.TIME_REPEATED)] += repeated
        if later.any():
            piece = results if later.all() else results.select(np.asarray(later))
            if not newest:
                recording.origin = int(piece.stamps[0])
            newest = int(piece.stamps[-1])
            yield piece
        progress(min(1.0, (received - begin) / max(end - begin, 1)))
    recording.restored = {signal: clock.latest for signal, clock in evaluator.clocks.items()}


def _pieces(recording: Recording, evaluator: Evaluator) -> Iterator[tuple[Evaluated, int]]:
    together = 2 if recording.rig.robot.rates.bus <= SLOW_BUS else 1
    for number, (signals, received) in enumerate(recording.spans(CHUNK), start=1):
        evaluator.take(signals)
        del signals  # what is read next takes its place in memory
        if number % together == 0 or evaluator.is_set_back:
            for results in evaluator.advance():
                yield results, received
    for results in evaluator.flush():
        yield results, recording.bag.end or 1
