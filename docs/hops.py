"""Print which calls of ``BayesianSVC().fit(X, y)`` go from one room to another, in order of first appearance.

``python docs/hops.py`` follows a small fit with two classes and one skewed column; ``--files`` prints the calls between
files instead. A call goes up where a room calls an object or a function that a higher room gave it (an objective, a
callback). `docs/architecture.md` explains the list.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import softmargin
from softmargin import BayesianSVC

ROOT = Path(softmargin.__file__).parent
LEVELS = (
    ("_linalg", "_parts", "policy"), ("svm",), ("likelihoods", "kernels"), ("sampling", "rows"), ("inference",),
    ("evidence",), ("criteria",), ("search",), ("tuning", "least_squares"), ("machines",), ("estimators",),
)  # fmt: skip
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


class Hop(NamedTuple):
    """A call from one place to another."""

    source: str
    target: str
    caller: str
    callee: str


def place(frame: FrameType | None, *, files: bool) -> str | None:
    """The room (or file) of a frame; None outside the library."""
    if frame is None or not Path(frame.f_code.co_filename).is_relative_to(ROOT):
        return None
    path = Path(frame.f_code.co_filename).relative_to(ROOT)
    return path.as_posix() if files else path.parts[0].removesuffix(".py")


def trace(*, files: bool) -> list[Hop]:
    """The first call between every two places, in order."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(60, 2)))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 1
    hops: dict[tuple[str, ...], Hop] = {}

    def called(frame: FrameType, event: str, _: Any) -> None:
        target = place(frame, files=files)
        if event != "call" or target is None:
            return
        caller = frame.f_back
        while caller is not None and place(caller, files=files) is None:
            caller = caller.f_back
        source = place(caller, files=files)
        if caller is None or source is None or source == target:
            return
        hop = Hop(source, target, caller.f_code.co_qualname, frame.f_code.co_qualname)
        hops.setdefault(hop if files else hop[:2], hop)

    # Compiled loops are loaded by the first fit.
    BayesianSVC().fit(X, y)
    sys.setprofile(called)
    BayesianSVC().fit(X, y)
    sys.setprofile(None)
    return list(hops.values())


def main() -> None:
    """Print the list."""
    files = "--files" in sys.argv
    hops = trace(files=files)
    lines = [f"{n:3} {hop.source} -> {hop.target}: {hop.caller} calls {hop.callee}" for n, hop in enumerate(hops, 1)]
    if not files:
        up = [f"{hop.source} -> {hop.target}" for hop in hops if LEVEL[hop.target] > LEVEL[hop.source]]
        lines.append(f"{len(hops) - len(up)} ways down, {len(up)} up through what a higher room gave: {'; '.join(up)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
