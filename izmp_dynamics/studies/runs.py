"""Runs: parameters → result. Done in processes, kept when finished, resumable, Ctrl-C safe.

A run names the function that computes it and parameters that JSON can hold; its result is arrays.
A run that needs others waits for them and loads what they kept.
"""

import importlib
import multiprocessing
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.studies.interrupts import held_back, leave_to_parent
from izmp_dynamics.studies.source_closure import code_digest
from izmp_dynamics.studies.store import Arrays, Store, StoreError

Progress = Callable[[float], None]
"""Called with the fraction that is done."""

Load = Callable[['Run'], Arrays]
"""Gives the result of a run that has been done."""


@dataclass(frozen=True)
class Run:
    """One computation.

    Attributes:
        function: 'module:name' of a function (load, **parameters) → arrays.
        parameters: what decides the result, as JSON can hold it.
        needs: runs whose results it loads.
        data: digest of the files that it reads, if the parameters do not have it.
        effort: how long it takes, relative to others; for the progress bar.
    """

    function: str
    parameters: Mapping[str, Any]
    needs: tuple['Run', ...] = ()
    data: str = field(default='', kw_only=True)
    effort: float = field(default=1.0, compare=False)

    @property
    def module(self) -> str:
        """Module of the function."""
        return self.function.partition(':')[0]

    @property
    def kind(self) -> str:
        """Name of the function."""
        return self.function.partition(':')[2]

    def key(self) -> dict[str, Any]:
        """Everything that decides the result, the code behind the function included."""
        return {
            'function': self.function,
            'code': code_digest(self.module),
            'data': self.data,
            'parameters': dict(self.parameters),
            'needs': [need.key() for need in self.needs],
        }

    def __hash__(self) -> int:
        return hash(repr(self.key()))


def perform(run: Run, store: Store) -> Arrays:
    """Return the result of a run: the one that is kept, or a new one, which is then kept."""
    kept = store.load(run.kind, run.key())
    if kept is not None:
        return kept
    function = getattr(importlib.import_module(run.module), run.kind)
    arrays: Arrays = function(lambda need: perform(need, store), **run.parameters)
    store.keep(run.kind, run.key(), arrays)
    return arrays


def perform_all(
    runs: Iterable[Run], store: Store, jobs: int = 1, progress: Progress = lambda fraction: None
) -> None:
    """Do all runs, and first those that they need.

    Args:
        runs: what is wanted.
        store: keeps the results; what it has is not done again.
        jobs: number of processes.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: if a run cannot be done; the finished ones are kept.
        KeyboardInterrupt: likewise.
    """
    store.tidy()
    ordered = _in_order(runs)
    effort = sum(run.effort for run in ordered) or 1.0
    done = 0.0
    open_runs = []
    for run in ordered:
        if store.path(run.kind, run.key()).is_file():
            done += run.effort
        else:
            open_runs.append(run)
    progress(done / effort)

    def finished(run: Run) -> None:
        nonlocal done
        done += run.effort
        progress(done / effort)

    if jobs <= 1 or len(open_runs) <= 1:
        for run in open_runs:
            perform(run, store)
            finished(run)
    else:
        _in_processes(open_runs, store, min(jobs, len(open_runs)), finished)


def _in_order(runs: Iterable[Run]) -> list[Run]:
    """All runs, each once and after those that it needs."""
    ordered: dict[Run, None] = {}

    def visit(run: Run) -> None:
        for need in run.needs:
            visit(need)
        ordered.setdefault(run)

    for run in runs:
        visit(run)
    return list(ordered)


def _in_processes(
    runs: list[Run], store: Store, jobs: int, finished: Callable[[Run], None]
) -> None:
    context = multiprocessing.get_context('spawn')
    pool = ProcessPoolExecutor(jobs, context, initializer=leave_to_parent)
    waiting, running = list(runs), dict[Future[None], Run]()
    try:
        while waiting or running:
            blocked = {*waiting, *running.values()}
            ready = [run for run in waiting if not blocked & set(run.needs)]
            for run in ready[: jobs + 1 - len(running)]:
                waiting.remove(run)
                with held_back():
                    running[pool.submit(_perform, run, store)] = run
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                run = running.pop(future)
                future.result()
                finished(run)
    except BaseException as error:
        with held_back():
            for process in list((getattr(pool, '_processes', None) or {}).values()):
                process.kill()  # one that still starts holds SIGTERM back
            pool.shutdown(wait=True, cancel_futures=True)
            store.tidy()
        if isinstance(error, multiprocessing.ProcessError | _broken_pool()):
            raise StoreError(
                'A process that computed a run ended unexpectedly (out of memory?); the finished '
                'runs are kept, so start again with --jobs 1.',
                kind='process_lost',
            ) from error
        raise
    pool.shutdown()


def _broken_pool() -> type[Exception]:
    from concurrent.futures.process import BrokenProcessPool

    return BrokenProcessPool


def _perform(run: Run, store: Store) -> None:
    perform(run, store)
