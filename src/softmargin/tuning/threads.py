"""How many threads BLAS and OpenMP may use."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def blas_threads(n: int | None) -> AbstractContextManager[Any]:
    """At most n threads of BLAS and OpenMP inside a `with` block; None: as many as there are outside.

    The libraries are looked up once: that takes milliseconds, and a small fit has a dozen such blocks.
    """
    limited: AbstractContextManager[Any] = _thread_pools().limit(limits=n)
    return limited


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()
