"""Loops over letters and seeds, compiled to machine code when they are first called (numba).

What was compiled is kept for the next run beside the module, or in the user's cache where that cannot be written; where
neither can, it is compiled anew in each process. A compiled function lets go of the interpreter, so threads run it side
by side, and computes with whole numbers only: the same result on every machine.
"""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Return the function, to be compiled at its first call; it may use numpy arrays, numbers, compiled functions."""
    try:
        return cast(Function, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # there is no place to keep it
        return cast(Function, njit(nogil=True)(function))
