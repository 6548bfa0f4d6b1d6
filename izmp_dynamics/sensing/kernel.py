"""Compiled functions: one typed decorator for every kernel of this layer.

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
