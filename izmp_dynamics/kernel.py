"""Compiled functions: one typed decorator for every kernel of the package.

A kernel is compiled by numba at its first call and cached beside the source, so it is compiled
once per installation. `error_model='numpy'` makes a division by zero give inf or NaN, as numpy
does, instead of an exception.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar('Function', bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` with numba; its types stay visible to the type checker."""
    return cast(Function, njit(cache=True, error_model='numpy')(function))


def inlined(function: Function) -> Function:
    """Compile a small function into its callers; a call would cost more than its arithmetic."""
    return cast(Function, njit(cache=True, error_model='numpy', inline='always')(function))
