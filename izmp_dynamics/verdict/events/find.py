"""All events of an evaluation in the order of time."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.robust import MAD_TO_SIGMA
from izmp_dynamics.diagnosis.legs import in_air
from izmp_dynamics.results.evaluation import Foot, Outage
from izmp_dynamics.stability.support_polygon import from_edge, outlines
from izmp_dynamics.verdict.errors import Excursion, excursions_of
from izmp_dynamics.verdict.events.contact import contacts_of, flights, steps
from izmp_dynamics.verdict.events.event import Event, edge_towards
from izmp_dynamics.verdict.events.fall import alarms, falls
from izmp_dynamics.verdict.events.slip import slips
from izmp_dynamics.verdict.formatting import instant, margin_mm, mm, newtons, seconds
from izmp_dynamics.verdict.pushes import ExternalForces
from izmp_dynamics.verdict.reasons import Case
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics
from izmp_dynamics.verdict.verdict import Verdict

LEAST_OFFSET = 0.02
"""Share of the weight from which on the force on a foot in the air is a fault [-]."""

LEAST_TIME = 0.3
"""Time in the air that is needed to judge a force sensor [s]."""

_SENTENCES = {
    'hangs': 'repeats one value for {} while the robot moves',
    'stops': 'sends no message for {}',
    'lacks': 'has no value for {}',
}


def find_events(case: Case, verdict: Verdict) -> tuple[Event, ...]:
    """Find the events of a case, given the verdict.

    Of a robot that lies on the ground there are no steps, pushes, slips and flights; where robot
    file or sensors are wrong, there are faults of sensors alone.
    """
    scene, forces, judged = case.scene, case.forces, case.tracks.get(verdict.judged_by or '')
    faults = [fault for outage in scene.evaluation.outages for fault in _outage(scene, outage)]
    if verdict.reason == 'input_wrong':
        return tuple(faults)
    contacts = contacts_of(scene.evaluation, scene.timeline)
    fallen = falls(scene, verdict)
    down = _down(scene, fallen)
    upright_at = np.ones(len(scene.timeline.time), dtype=np.bool_)
    for onset, _, up in down:
        upright_at[scene.timeline.within(onset, up)] = False
    standing = [*steps(contacts, scene.timeline), *_pushes(forces), *alarms(scene)]
    found = [
        *(event for event in standing if not any(hit < event.begin < up for _, hit, up in down)),
        *flights(scene, contacts, upright_at),
        *slips(scene, contacts, upright_at),
        *fallen,
        *faults,
        *(fault for foot in scene.evaluation.feet for fault in _offset(scene, foot)),
    ]
    if judged is not None:
        found += [*_excursions(scene, judged, forces), _lowest_margin(scene, judged, verdict)]
    return tuple(sorted(found, key=lambda event: (event.begin, event.kind, event.subject)))


def _down(scene: Scene, fallen: list[Event]) -> list[tuple[float, float, float]]:
    """Onset and impact of each fall, and when the robot is up again [s]."""
    time = scene.timeline.time
    stops = [float(time[rows.stop]) if rows.stop < len(time) else np.inf for rows in scene.lying]
    stops = stops or [np.inf]
    found = [event for event in fallen if event.kind == 'fall']
    return [(fall.begin, fall.end, up) for fall, up in zip(found, stops, strict=False)]


def _pushes(forces: ExternalForces) -> Iterator[Event]:
    for push in forces.pushes:
        end = push.start + push.duration
        sentence = f'Pushed {push.described} for {seconds(push.duration)}{push.place}'
        yield Event(
            push.start, end, 'push', sentence, '', push.size, 'N', push.significance,
            push.time_sigma, (push.forward, push.left, push.up),
        )  # fmt: skip


def _excursions(scene: Scene, judged: TrackStatistics, forces: ExternalForces) -> Iterator[Event]:
    """Make an event of each excursion of the judged track that its error does not explain.

    An average reaches half of its base to either side, so an excursion may begin as long before
    its cause; a push is named if it acted meanwhile, or if it is within that of an excursion.
    """
    name = 'CoP' if judged.name == 'cop' else 'IZMP'
    for found in excursions_of(scene, judged.name, judged.error, forces.about(scene)):
        error = judged.error
        known = error.usual if found.cause == 'push' else error.uncertainty  # pushes enter that
        if found.cause == 'error' or found.depth < known:
            continue
        edge = _edge(scene, judged.name, found)
        outside = (
            f'{name}, averaged over {seconds(scene.averaging_time)}, outside {edge} for '
            f'{seconds(found.duration)}, by up to {mm(found.depth)}'
        )
        push = forces.largest_within(*found.cause_within(scene.averaging_time))
        reason = f'; pushed {push.described}' if push else ''
        if found.cause == 'edge' and np.isfinite(found.cop_margin):
            reason = f'; the measured CoP is at the edge too{reason}'
        yield Event(
            found.start, found.start + found.duration, 'excursion', f'{outside}{reason}',
            judged.name, found.depth, 'm', found.significance,
        )  # fmt: skip


def _edge(scene: Scene, name: str, found: Excursion) -> str:
    """Which edge it is, seen from the robot, where the point is farthest outside."""
    averaged, time = scene.averaged[name], scene.timeline.time
    end = found.start + found.duration
    first = int(np.searchsorted(time, found.start - 1e-6))
    stop = int(np.searchsorted(time, end + 1e-6, side='right'))
    row = first + int(np.nanargmin(averaged.margin[first:stop]))
    evaluation = scene.evaluation
    one = slice(row, row + 1)
    soles = tuple(foot.sole[one] for foot in evaluation.feet)
    loaded = np.stack([foot.loaded[one] for foot in evaluation.feet], axis=1)
    hulls, (count,) = outlines(soles, loaded, evaluation.normal[one], evaluation.ground_point[one])
    if not count:
        return 'the support polygon'
    rows = np.full(count + 1, row)
    seen = scene.seen_ahead(np.vstack([hulls[0, :count], averaged.point[row]]), rows)[:, :2]
    return f'the {edge_towards(from_edge(seen[:-1], seen[-1]))} edge'


def _lowest_margin(scene: Scene, judged: TrackStatistics, verdict: Verdict) -> Event:
    """The instant at which the averaged point is nearest to the edge, errors left out."""
    margin, at = verdict.averaged_margin(judged)
    over = seconds(scene.averaging_time)
    sentence = f'Smallest margin of {judged.described}, averaged over {over}: {margin_mm(margin)}'
    if judged.name != 'cop':  # nothing measures the error of the CoP
        sentence += f' (± {mm(judged.error.uncertainty)})'
    if judged.averaged_margin_time != at:
        sentence += (
            f'; {margin_mm(judged.averaged_margin)} at {instant(judged.averaged_margin_time)} is '
            'put down to an error'
        )
    if verdict.margin_of == 'averaged point' and verdict.state == 'stable' and margin < 0.0:
        sentence += ': within its error it is inside'
    return Event(at, at, 'lowest margin', sentence, judged.name, margin, 'm')


def _outage(scene: Scene, outage: Outage) -> Iterator[Event]:
    """An outage, of which begin and end are cut to the evaluation, unless it is over before."""
    stamps = scene.evaluation.stamps
    if not len(stamps) or outage.end <= stamps[0]:
        return
    first, last = int(stamps[0]), int(stamps[-1])
    begin, end = (
        (min(max(stamp, first), last) - first) / NANOSECONDS
        for stamp in (outage.begin, outage.end)
    )
    lasts = (outage.end - outage.begin) / NANOSECONDS
    sentence = f'{outage.topic} {_SENTENCES[outage.reason].format(seconds(lasts))}'
    yield Event(begin, end, 'sensor fault', sentence, outage.topic, lasts, 's')


def _offset(scene: Scene, foot: Foot) -> Iterator[Event]:
    """The force that a foot measures in the air, where the joints say that it is there."""
    lifted = in_air(scene.evaluation, foot) & np.isfinite(foot.normal_force)
    if scene.timeline.total(lifted) < LEAST_TIME:
        return
    force = foot.normal_force[lifted]
    offset = float(np.median(force))
    spread = MAD_TO_SIGMA * float(np.median(np.abs(force - offset)))
    sigma = max(spread, 1e-3 * scene.weight)
    if not abs(offset) > max(LEAST_OFFSET * scene.weight, 3.0 * sigma):
        return
    rows = np.flatnonzero(lifted)
    begin, end = scene.timeline.time[rows[[0, -1]]].tolist()
    sentence = f'The force sensor of {foot.name} measures {newtons(offset)} while it is in the air'
    size = abs(offset)
    yield Event(begin, end, 'sensor fault', sentence, foot.name, size, 'N', size / sigma)
