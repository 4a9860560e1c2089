"""No look for garbage while a great many objects are made: each look goes over every chunk of the corpus."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Leave garbage alone for a while; for a block that makes none that refers to itself."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
