"""Runs: parameters → result, kept when finished.

A run names the function that computes it and parameters that JSON can hold; its result is arrays.
A run that needs others loads what they kept.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.base.cache import code_digest
from izmp_lab.studies.store import Arrays, Store

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
        """Everything that decides the result, all code included."""
        return {
            'function': self.function,
            'code': code_digest(),
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
