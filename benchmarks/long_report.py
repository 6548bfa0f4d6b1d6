"""Write the report on a log of some hours without evaluating it; run by bench_memory.

A log of a minute (see `long_log`) is evaluated once, and its columns are repeated in files, as a
replay keeps them: `python benchmarks/long_report.py BAG ROBOT HOURS FOLDER`.
"""

import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.columns import Column, Columns
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.motion import Motion
from izmp_dynamics.report.writer import write_summary
from izmp_dynamics.results.evaluation import Evaluation, Foot, Track
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import summarise


def repeated(value: Any, count: int, times: int, period: int, columns: Columns) -> Any:
    """A value of an evaluation of `count` instants in which all columns are repeated."""

    def of(value: Any, count: int = count) -> Any:
        return repeated(value, count, times, period, columns)

    if isinstance(value, np.ndarray) and len(value) == count:
        column = Column(columns)
        for k in range(times):
            column.extend(value + k * period if value.dtype == np.int64 else value)
        return column.rows
    if isinstance(value, Motion):
        frames = len(value.stamps)
        return replace(
            value, stamps=of(value.stamps, frames), positions=of(value.positions, frames)
        )
    if isinstance(value, Evaluation | Foot | Track) and is_dataclass(value):
        parts = {field.name: of(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **parts)
    if isinstance(value, dict):
        return {key: of(entry) for key, entry in value.items()}
    return tuple(map(of, value)) if isinstance(value, tuple) else value


def main(bag: str, robot: str, hours: str, folder: str) -> None:
    """Write the report."""
    short = evaluate_bag(bag, robot)
    stamps, columns = short.stamps, Columns(Path(folder))
    period = int(stamps[-1] - stamps[0] + np.median(np.diff(stamps)))
    times = round(float(hours) * 3.6e12 / period)
    long = replace(repeated(short, len(stamps), times, period, columns), columns=columns)
    scene = Scene(long)
    write_summary(scene, summarise(scene), Path(folder))


if __name__ == '__main__':
    main(*sys.argv[1:])
