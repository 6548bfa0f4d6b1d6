"""Rows of a fleet as a campaign would make them, without one."""

import numpy as np

from izmp_dynamics.fleet.row import COLUMNS, STATES, badness

EVIL = '<img src=x onerror="window.evil=1"></script><script>window.evil=1</script>"&\''
DAY = 86_400_000_000_000


def rows_of_many(count, seed=1):
    """Rows of `count` bags of three robots over a year, the worst first."""
    draw = np.random.default_rng(seed)
    rows = []
    for k in range(count):
        state = draw.choice(STATES, p=(0.01, 0.02, 0.04, 0.08, 0.02, 0.05, 0.78))
        failed = state == 'error'
        low = {'stable': 5.0, 'marginal': -5.0, 'unclear': 0.0}.get(state, -40.0)
        rows.append(dict.fromkeys(COLUMNS) | {
            'bag': f's3://logs/2026/walk_{k:05d}', 'name': f'walk_{k:05d}', 'size': 90_000_000,
            'robot': str(draw.choice(['biped31', 'iCub', 'TALOS'])),
            'unit': f'unit {draw.integers(12):02d}', 'software': f'4.{draw.integers(6)}',
            'start': None if failed else 1_767_225_600_000_000_000 + int(draw.integers(365)) * DAY,
            'duration': None if failed else float(draw.uniform(10, 900)),
            'state': str(state), 'verdict': f'{state}: the IZMP (MR-AD) and so on, bag {k}',
            'margin': None if failed else 1e-3 * (low + float(draw.gamma(3.0, 5.0))),
            'uncertainty': 1e-3, 'outside_time': 0.0, 'excursions': int(draw.poisson(0.2)),
            'falls': 0, 'fall_alarms': 0,
            'pushes': 0, 'gap_mean': float(draw.uniform(0, 5e-3)), 'gated': 0,
            'findings': ['crossings[mr_ad]', 'settling'][: int(draw.integers(3))],
            'sentences': ['The IZMP crosses the edge.', 'It settles.'][: int(draw.integers(3))],
            'events': [], 'report': None if failed else f'reports/walk {k:05d}/report.html',
        })  # fmt: skip
    return sorted(rows, key=badness)
