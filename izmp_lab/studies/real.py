"""Recordings of real robots: which there are in a folder, their figures, and the page."""

import dataclasses
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError, ReplayError, UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.body_layout import PARENT
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.pages.look import Entry, line, panels, series
from izmp_dynamics.pages.picture import Fact, Missing, Page, Picture, Table
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.recording.replay import Collector, evaluate_recording, make_evaluator
from izmp_lab.studies.publish import Figure, within
from izmp_lab.studies.runs import Arrays, Run

HALF_WIDTH = 0.08
"""Of the matched filter of the filtered evaluation [s]: a bandwidth of 4 Hz."""


@dataclass(frozen=True)
class Log:
    """A recording and a robot file.

    Attributes:
        name: short and unique, for files and headings.
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
    """

    name: str
    bag: Path
    robot: Path
    urdf: Path | None = None

    def load_robot(self) -> RobotFile:
        """Read the robot file.

        Raises:
            RobotFileError: if it cannot be read.
        """
        return load_robot_file(self.robot, self.urdf)

    def digest(self) -> str:
        """Digest of recording, robot file and URDF."""
        digest = hashlib.sha256()
        urdf = Path(self.urdf or self.load_robot().urdf_path)
        for path in (*sorted(self.bag.iterdir()), self.robot, urdf):
            is_read = path.suffix in {'.mcap', '.db3', '.zstd', '.yaml', '.urdf'}
            if is_read and path.is_file():  # and no pipe
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def _logs_of(bag: Path) -> list[Log]:
    files = sorted(bag.glob('robot*.yaml'))
    if files:
        names = [bag.name if len(files) == 1 else f'{bag.name}_{file.stem}' for file in files]
        return [Log(name, bag, file) for name, file in zip(names, files, strict=True)]
    urdf = bag / 'robot.urdf'
    try:
        robot = find_resource(f'examples/{bag.name}/robot.yaml')
    except UnknownNameError:
        return []
    return [Log(bag.name, bag, robot, urdf)] if urdf.is_file() else []


FRAMES = 7
"""Instants at which the robot is drawn."""


def evaluation(bag: str, robot: str, urdf: str | None, half_width: float | None) -> Arrays:
    """Evaluate a recording as `izmp replay` does.

    Args:
        bag: folder of the rosbag2.
        robot: robot file.
        urdf: instead of the one that it names; None to take that.
        half_width: of the matched filter [s]; None for none.

    Returns:
        times (K,) [s]; for each method M that the signals allow, M (K, 2) its point in nif [m] and
        M_margin (K,) [m]; force (K,) normal force of MR-AD over the weight [-]; shown (F,) rows;
        sticks (F, B, 3) origins of the bodies in nif [m]; parents (B,). If it cannot be evaluated,
        `refused` alone: the sentence that says why.
    """
    try:
        return _evaluation(bag, robot, urdf, half_width)
    except IzmpError as error:
        return {'refused': np.array(str(error))}


def _evaluation(bag: str, robot: str, urdf: str | None, half_width: float | None) -> Arrays:
    """Do so, or raise an IzmpError."""
    file = load_robot_file(robot, urdf)
    file = dataclasses.replace(file, filter=Filter(half_width=half_width))
    model = load_model(file.read_urdf(), file.root)
    with BagReader(Path(bag)) as reader:
        recording = Recording(reader, file, model)
        evaluator, collector, q = make_evaluator(recording), Collector(recording), []
        for part in evaluate_recording(recording, evaluator):
            collector.add(part)
            q.append(part.joints.positions)
        found = collector.evaluation(evaluator) if q else None
    mr_ad = None if found is None else found.tracks.get('mr_ad')
    if found is None or mr_ad is None or not mr_ad.valid.any():
        raise ReplayError(
            'MR-AD has an IZMP at no instant; `izmp replay` says why.', kind='nothing_came_out'
        )
    force = np.einsum('ti,ti->t', found.normal, mr_ad.wrench[:, :3])
    known = np.flatnonzero(mr_ad.valid)
    shown = known[np.linspace(0, len(known) - 1, FRAMES).round().astype(int)]
    origins = np.stack([model.body_poses(row)[1] for row in np.concatenate(q)[shown]])
    return {
        'times': found.time,
        'force': force / (model.total_mass * file.gravity),
        'shown': shown,
        'sticks': np.einsum('fij,fbj->fbi', found.nif_R_root(shown), origins),
        'parents': np.asarray(model.joints[:, PARENT]),
        **{name: found.in_nif(track.point)[:, :2] for name, track in found.tracks.items()},
        **{f'{name}_margin': track.margin for name, track in found.tracks.items()},
    }


@dataclass(frozen=True)
class LogStudy:
    """The recordings below a folder.

    Attributes:
        found: those that can be evaluated.
        skipped: why others cannot, one sentence each.
    """

    found: tuple[Log, ...] = ()
    skipped: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path | None, robot: Path | None = None) -> 'LogStudy':
        """Find the recordings.

        A recording is a folder with a metadata.yaml. Its robot files are the `robot*.yaml` beside
        it; without one the robot file `examples/NAME/robot.yaml` of this package is taken, with
        the recording's robot.urdf.

        Args:
            folder: where to look; None for nowhere.
            robot: robot file of all recordings; None for those beside them.
        """
        if folder is None:
            return cls()
        found, skipped = [], []
        for metadata in sorted(Path(folder).rglob('metadata.yaml')):
            bag = metadata.parent
            logs = _logs_of(bag) if robot is None else [Log(bag.name, bag, robot)]
            if not logs:
                skipped.append(
                    f"'{bag}' has no robot*.yaml, so its topics and soles are not known; put one "
                    'beside it (config/robot_example.yaml explains every key).'
                )
            for log in logs:
                try:
                    log.digest()
                except (IzmpError, OSError) as error:
                    skipped.append(f"'{bag}' is left out: {error}")
                else:
                    found.append(log)
        return cls(tuple(found), tuple(skipped))

    def evaluation(self, log: Log, *, filtered: bool) -> Run:
        """Describe the evaluation of a recording."""
        parameters = {
            'bag': str(log.bag.resolve()), 'robot': str(log.robot.resolve()),
            'urdf': str(log.urdf.resolve()) if log.urdf else None,
            'half_width': HALF_WIDTH if filtered else None,
        }  # fmt: skip
        return Run(evaluation, parameters, data=log.digest())


WINDOW = 4.0
"""How much of a recording the upper panels show: where y moves most [s]."""

FORCE = (0.95, 1.05)
"""Mean normal force over the weight: who ends as upright as at the start has changed no momentum,
so what is left are the accelerometer's offset and the mass of the model."""

_LABELS = {'mr_ad': 'MR-AD', 'ir_md': 'IR-MD', 'cop': 'CoP'}


def log_figure(log: Log) -> Figure:
    """Return the figure of a recording."""
    return Figure(
        lambda study: {
            'raw': study.evaluation(log, filtered=False),
            'filtered': study.evaluation(log, filtered=True),
        },
        lambda study, found: _picture(log, found['raw'], found['filtered']),
    )


def _picture(log: Log, raw: Arrays, smooth: Arrays) -> Picture | Missing:
    runs = (raw, smooth)
    for run in runs:
        if 'refused' in run:
            return Missing(log.name, str(run['refused']), 'See there.')
    methods = [name for name in _LABELS
               if all(np.isfinite(run.get(name, np.nan)).any() for run in runs)]  # fmt: skip
    measured = 'cop' in methods
    common = np.isin(raw['times'], smooth['times']), np.isin(smooth['times'], raw['times'])
    start = _liveliest(smooth['times'], smooth['mr_ad'][:, 1])

    def draw(width: float) -> Any:
        legend = [Entry(_LABELS[name], line(name.replace('_', '-'), linewidth=1.4))
                  for name in methods]  # fmt: skip
        legend.append(Entry('raw', line('muted', linewidth=0.6, alpha=0.6)))
        canvas, axes = panels(width, 4, legend, height=2.4)
        shown = [(run['times'] >= start) & (run['times'] <= start + WINDOW) for run in runs]
        for axis, ax in enumerate(axes[:2]):
            for name in methods:
                style = series(name)
                styles = {'linewidth': 0.6, 'alpha': 0.4, 'color': style['color']}, style
                for run, rows, each in zip(runs, shown, styles, strict=True):
                    ax.plot(run['times'][rows], run[name][rows, axis], **each)
            ax.set(xlabel='time [s]', ylabel=f'{"xy"[axis]} in nif [m]')
            ax.set(xlim=(start, start + WINDOW), ylim=_limits(smooth, methods, axis))
        for name in methods:
            axes[2].plot(smooth['times'], smooth[name][:, 1], **series(name))
        axes[2].set(xlabel='time [s]', ylabel='y in nif [m]', ylim=_limits(smooth, methods, 1))
        _draw_robot(axes[3], smooth)
        return canvas

    return Picture(
        name=log.name,
        title=log.name.replace('_', ' '),
        source='Fig. 12, another robot',
        draw=draw,
        facts=_facts(raw, smooth, methods),
        seen='Above, x and y of the IZMP of MR-AD, and what else the sensors allow, where y '
        'moves most: thin as recorded, thick by the matched filter of '
        f'half-width {1e3 * HALF_WIDTH:g} ms. Below, y of the whole recording, filtered, and the '
        'robot from its side at seven instants, with the IZMP on the ground.',
        paper='Sweaty’s IZMP is like that of the simulation, less regular, with smoother '
        'changes of the foot; no numbers.',
        ours=_ours(measured),
        why='',
        data=Table(
            ('time [s]', *(f'{_LABELS[name]} {kind} {axis} [m]' for name in methods
                           for kind in ('raw', 'filtered') for axis in 'xy')),
            np.column_stack([raw['times'][common[0]], *(
                run[name][rows] for name in methods
                for run, rows in zip(runs, common, strict=True)
            )]).tolist(),
        ),
    )  # fmt: skip


def _ours(measured: bool) -> str:
    text = (
        'MR-AD has a point at {valid} of the instants. Its mean normal force is {force} of the '
        'weight; y varies by {y_raw} raw and {y_filtered} filtered (standard deviation).'
    )
    if measured:
        text += (
            ' Its distance to the measured CoP is {gap_raw} raw and {gap_filtered} filtered in '
            'the median.'
        )
    return text


def _facts(raw: Arrays, smooth: Arrays, methods: list[str]) -> tuple[Fact, ...]:
    valid = 100.0 * float(np.isfinite(raw['mr_ad'][:, 0]).mean())
    force = float(np.nanmean(smooth['force']))
    facts = [
        Fact('duration', 'duration', float(raw['times'][-1] - raw['times'][0]), 's', 1),
        Fact('rate', 'instants per second', 1.0 / float(np.median(np.diff(raw['times']))), 'Hz',
             1),
        Fact('valid', 'instants at which MR-AD has a point', valid, '%', 1),
        within('force', 'mean normal force of MR-AD over the weight, filtered', force, FORCE, '',
               3),
    ]  # fmt: skip
    for kind, run in (('raw', raw), ('filtered', smooth)):
        facts.append(Fact(f'y_{kind}', f'standard deviation of y, MR-AD, {kind}',
                          1e3 * float(np.nanstd(run['mr_ad'][:, 1])), 'mm', 1))  # fmt: skip
        for other in methods:
            if other != 'mr_ad':
                gap = np.linalg.norm(run['mr_ad'] - run[other], axis=1)
                key = f'gap_{kind}' if other == 'cop' else f'{other}_{kind}'
                median = 1e3 * float(np.nanmedian(gap)) if np.isfinite(gap).any() else math.nan
                facts.append(Fact(key, f'median distance MR-AD to {_LABELS[other]}, {kind}',
                                  median, 'mm', 1))  # fmt: skip
    return tuple(facts)


def _liveliest(times: Array, y: Array) -> float:
    """When the `WINDOW` begins in which y moves most [s]."""
    step = 0.25 * WINDOW  # only where there are instants: one stamp may be years off
    starts = times[0] + step * np.unique((times - times[0]) // step)
    starts = starts[starts <= max(times[0], times[-1] - WINDOW)]

    def travel(start: float) -> float:
        part = y[(times >= start) & (times <= start + WINDOW)]
        part = part[np.isfinite(part)]
        return float(np.abs(np.diff(part)).sum()) if len(part) else 0.0

    return float(max(starts, key=travel))


def _limits(run: Arrays, methods: list[str], axis: int) -> tuple[float, float]:
    """Ends of an axis that hold nearly all of a coordinate [m]."""
    values = np.concatenate([run[name][:, axis] for name in methods])
    low, high = np.nanquantile(values, (0.005, 0.995))
    room = 0.15 * (high - low) + 0.01
    return float(low - room), float(high + room)


def _draw_robot(ax: Any, run: Arrays) -> None:
    apart = 1.1 * float(np.ptp(run['sticks'][..., 0])) + 0.1
    for place, (row, origins) in enumerate(zip(run['shown'], run['sticks'], strict=True)):
        shift = place * apart
        for body in range(1, len(origins)):
            ends = origins[[int(run['parents'][body]), body]]
            ax.plot(ends[:, 0] + shift, ends[:, 2], color=LIGHT['muted'], linewidth=1.4)
        x = float(run['mr_ad'][row, 0]) + shift
        ax.plot(x, float(origins[:, 2].min()), 'v', color=LIGHT['mr-ad'], markersize=5)
    ax.set(xlabel='x [m], one instant beside the other', ylabel='z in nif [m]', aspect='equal')
    ax.set_adjustable('datalim')


FIGURES: dict[str, tuple[Figure, str]] = {}
"""Depends on the recordings: see `figures`."""

NOTHING = (
    'There are no recordings to evaluate: name a folder with --logs FOLDER. Every folder below it '
    'with a metadata.yaml (rosbag2) and a robot.yaml is evaluated.'
)

_LEAD = (
    'Fig. 12 of Gießler and Waltersberger (2023) is the IZMP of their real robot. Its recording '
    'is not public; here are {count} recordings of other robots and of a human being, evaluated '
    'by MR-AD as “izmp replay” does it, as they were recorded and filtered.'
)
_METHOD = (
    f'Raw: without any filter. Filtered: by the matched filter (filter.half_width: {HALF_WIDTH:g} '
    's, a bandwidth of 4 Hz). Derivatives, ground plane and soles are those of the robot files.'
)
_SWEATY = Missing(
    'Fig. 12: Sweaty’s IZMP',
    'There is no public recording of Sweaty.',
    'Its recording, and its model.',
)


def figures(study: LogStudy) -> dict[str, tuple[Figure, str]]:
    """Return the figures of the recordings that there are."""
    return {log.name: (log_figure(log), str(log.bag)) for log in study.found}


def page(study: LogStudy) -> Page:
    """Return what `study` shows and says."""
    skipped = (Missing('A recording', sentence, 'See there.') for sentence in study.skipped)
    return Page(
        figures=figures(study),
        title='Real robots',
        lead=_LEAD.format(count=len(study.found)),
        method=_METHOD,
        settings={'half-width of the filter': f'{HALF_WIDTH:g} s'},
        missing=(_SWEATY, *skipped),
    )
