"""The optional libraries of this layer, imported when they are needed.

Usage::

    typesys = library('rosbags.typesys', 'Reading a bag')
"""

import importlib
from typing import Any

from izmp_dynamics.base.errors import MissingDependencyError


def library(name: str, purpose: str, package: str = '') -> Any:
    """Import the module `name`.

    Args:
        name: dotted name of a module.
        purpose: what it is needed for, as the beginning of a sentence.
        package: what a package index calls it; default: the first part of `name`.

    Raises:
        MissingDependencyError: when it is not installed; says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = package or name.partition('.')[0]
        raise MissingDependencyError(missing, purpose, f'pip install {missing}') from error


def zstandard() -> Any:
    """The zstd module of Python's standard library, or its backport (a dependency of rosbags)."""
    try:
        return importlib.import_module('compression.zstd')
    except ImportError:
        return library('backports.zstd', 'Reading a bag compressed with zstd', 'backports.zstd')
