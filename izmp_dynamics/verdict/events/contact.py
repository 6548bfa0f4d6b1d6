"""When each foot carries load, without chatter at the threshold."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.store import Store
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.verdict.timeline import WINDOW, Mask, Timeline


@dataclass(frozen=True)
class Contact:
    """A foot over K instants.

    Attributes:
        foot: which.
        carries: (K,) whether it carries load, for most of `WINDOW` around the instant.
        known: (K,) whether that is known throughout that time, which has neither a gap nor an end
            of the recording in it.
    """

    foot: Foot
    carries: Mask
    known: Mask


def contacts_of(evaluation: Evaluation, timeline: Timeline) -> list[Contact]:
    """Follow each foot of an evaluation."""
    return [_contact(foot, timeline, evaluation.store) for foot in evaluation.feet]


def _contact(foot: Foot, timeline: Timeline, store: Store) -> Contact:
    time, gap_after, by_rows = timeline.time, timeline.gap_after, timeline.by_rows
    known: Mask = by_rows(lambda rows: np.isfinite(foot.normal_force[rows]))
    if not known.any():
        known = by_rows(lambda rows: np.isfinite(foot.sole[rows]).all(axis=(1, 2)))

    def missing(rows: slice) -> Mask:
        before = np.maximum(np.arange(rows.start, rows.stop) - 1, 0)
        lacking: Mask = ~known[rows] | gap_after[rows] | gap_after[before]
        return lacking

    lost = store.running_sum(len(time), missing)

    def whole(rows: slice) -> Mask:
        here = time[rows]
        first = np.searchsorted(time, here - WINDOW / 2 - 1e-9, side='left')
        stop = np.searchsorted(time, here + WINDOW / 2 + 1e-9, side='right')
        inside = (here >= WINDOW / 2) & (here <= timeline.duration - WINDOW / 2)
        return np.asarray((lost[stop] == lost[first]) & inside)

    carries = timeline.sustained(by_rows(lambda rows: foot.loaded[rows] & known[rows]))
    return Contact(foot, carries, by_rows(whole))
