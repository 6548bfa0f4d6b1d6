"""When each foot carries load, without chatter at the threshold."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.report.timeline import WINDOW, Mask, Timeline
from izmp_dynamics.stability.evaluation import Evaluation, Foot
from izmp_dynamics.store import Store


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
    known: Mask = np.asarray(np.isfinite(foot.normal_force))
    if not known.any():
        known = store.by_rows(
            len(known), lambda rows: np.isfinite(foot.sole[rows]).all(axis=(1, 2))
        )
    after_gap = np.append(False, timeline.gap_after[:-1]) if len(known) else known
    whole = known & ~timeline.gap_after & ~after_gap
    lost = np.concatenate([[0], np.cumsum(~whole)])
    time = timeline.time
    first = np.searchsorted(time, time - WINDOW / 2 - 1e-9, side='left')
    stop = np.searchsorted(time, time + WINDOW / 2 + 1e-9, side='right')
    carries = timeline.sustained(np.asarray(foot.loaded & known, dtype=bool))
    inside = (time >= WINDOW / 2) & (time <= timeline.duration - WINDOW / 2)
    return Contact(foot, carries, np.asarray((lost[stop] == lost[first]) & inside))
