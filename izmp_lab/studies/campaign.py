"""All runs of a study: each once, after those that it needs; here, in processes, on a cluster.

Finished runs are kept, so a campaign that was interrupted goes on where it stopped.
"""

import functools
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing

from izmp_dynamics.engine.cluster import HERE, Cluster, connected, is_here
from izmp_dynamics.engine.tasks import outcomes
from izmp_dynamics.pages.files import StoreError
from izmp_lab.studies.runs import Run, Store, perform

APPEARS = 60.0
"""Time within which a file that another computer wrote is seen here [s]."""

Progress = Callable[[float], None]
"""Called with the fraction that is done."""


def perform_all(
    runs: Iterable[Run],
    store: Store,
    cluster: Cluster = HERE,
    progress: Progress = lambda fraction: None,
) -> None:
    """Do all runs, and first those that they need.

    Args:
        runs: what is wanted.
        store: keeps the results; what it has is not done again.
        cluster: where; its computers must reach the store by the same path.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: if a run cannot be done; the finished ones are kept.
        KeyboardInterrupt: likewise.
    """
    ordered = _in_order(runs)
    waiting = [run for run in ordered if not _is_kept(run, store)]
    effort = sum(run.effort for run in ordered) or 1.0
    done = effort - sum(run.effort for run in waiting)
    progress(done / effort)
    here = is_here(cluster, len(waiting))
    ended = _here(waiting, store) if here else _on_cluster(waiting, store, cluster)
    with closing(ended):
        for run in ended:
            done += run.effort
            progress(done / effort)


def _in_order(runs: Iterable[Run]) -> list[Run]:
    ordered: dict[Run, None] = {}

    def visit(run: Run) -> None:
        for need in run.needs:
            visit(need)
        ordered.setdefault(run)

    for run in runs:
        visit(run)
    return list(ordered)


def _is_kept(run: Run, store: Store) -> bool:
    return store.path(run.kind, run.key()).is_file()


def _appears(run: Run, store: Store) -> bool:
    """Whether a run is kept, or soon is: NFS remembers for a while what was not there."""
    end = time.monotonic() + APPEARS
    while not _is_kept(run, store):
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def _here(runs: Sequence[Run], store: Store) -> Generator[Run, None, None]:
    for run in runs:
        perform(run, store)
        yield run


def _on_cluster(runs: Sequence[Run], store: Store, cluster: Cluster) -> Generator[Run, None, None]:
    missing = set(runs)

    def needs(run: Run) -> list[Run]:
        return [need for need in run.needs if need in missing]

    keep = functools.partial(_keep, store=Store(store.folder.absolute()))
    with connected(cluster, len(runs)) as client:
        for run, outcome in outcomes(client, keep, runs, needs=needs):
            if isinstance(outcome, Exception):
                raise _said(outcome) from outcome
            if not _appears(run, store):
                raise StoreError(
                    f"A worker keeps its results elsewhere than in '{store.folder}', or has other "
                    'code; all computers of the cluster need the same folder and the same version '
                    'of izmp_dynamics.',
                    kind='kept_elsewhere', folder=store.folder,
                )  # fmt: skip
            yield run


def _keep(run: Run, store: Store) -> None:
    perform(run, store)


def _said(error: Exception) -> Exception:
    """The error of a run; a sentence if its processes ended unexpectedly."""
    if type(error).__name__ != 'KilledWorker':
        return error
    return StoreError(
        'Every process that computed a run ended unexpectedly (out of memory?); the finished runs '
        'are kept, so start again with --jobs 1.',
        kind='process_lost',
    )
