"""Compiled loops: numba is imported, and functions become its own, when the first of them is called.

Importing numba costs half a second that a program which only predicts labels or reads a file need not spend. What it
compiles is kept on disk, so that every machine compiles a loop once; `compiling` says how long that took.
"""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("softmargin")

_waiting: list["Later"] = []
_numba: Any = None


class Later:
    """A function that is compiled when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.options = options
        self.compiled: Any = None

    def __call__(self, *args: Any) -> Any:
        return self._ready()(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._ready(), name)

    def _ready(self) -> Any:
        if self.compiled is None:
            _start()
        return self.compiled


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function with `numba.njit`, later."""
    if function is None:
        return lambda function: njit(function, **options)
    if _numba is not None:
        return _numba.njit(**options)(function)
    _waiting.append(Later(function, options))
    return _waiting[-1]


def _start() -> None:
    """Import numba and put its functions in the place of those that wait, in every module that names one."""
    global _numba
    import numba
    from numba.core import event

    class Listener(event.Listener):
        """Tells `compiling` when a function begins and ends to be compiled."""

        def on_start(self, event: Any) -> None:
            compiling.begin()

        def on_end(self, event: Any) -> None:
            compiling.end()

    event.register("numba:compile", Listener())
    _numba = numba
    for later in _waiting:
        later.compiled = numba.njit(**later.options)(later.function)
    found = {id(later): later.compiled for later in _waiting}
    for name, module in list(sys.modules.items()):
        if name.startswith("softmargin.") and module is not None:
            values = vars(module)
            values.update({key: found[id(value)] for key, value in values.items() if id(value) in found})
    _waiting.clear()


class Compiling:
    """Listens to numba and adds up the time that it spends compiling."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._since = 0, 0.0

    def begin(self) -> None:
        """A function begins to be compiled, perhaps for another one."""
        if self._depth == 0:
            if self.seconds == 0:
                logger.info("numerical loops are compiled once on this machine; the next fit starts at once")
            self._since = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """A function is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since


compiling = Compiling()
"""The listener of this process."""
