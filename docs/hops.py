"""Follow ``BayesianSVC().fit(X, y)`` and print which room calls which, in order of first appearance.

``python docs/hops.py`` follows a small fit with two classes and one skewed column; ``--regressor`` follows
`BayesianSVR`, and ``--files`` prints the calls between files instead. Layers are those that import-linter holds
(``pyproject.toml``). A call is

- a *hop* if it goes to a lower layer;
- a call *through a protocol* if it goes to a higher layer, and is of a method that a `typing.Protocol` of the calling
  room declares, on an object whose class has that protocol as a base: a search calls the objective it was given, and
  does not know who wrote it;
- a *jump back* if it goes to a higher layer in any other way.

`docs/architecture.md` shows the list, and `tests/test_hops.py` compares it with a real fit.
"""

import sys
import tomllib
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import softmargin
from softmargin import BayesianSVC, BayesianSVR

ROOT = Path(softmargin.__file__).parent
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


class Hop(NamedTuple):
    """A call from one place to another."""

    kind: str
    """"hop", "protocol" or "jump"."""
    source: str
    target: str
    caller: str
    callee: str

    def __str__(self) -> str:
        through = "" if self.kind == "hop" else "  (through a protocol)" if self.kind == "protocol" else "  (jump back)"
        return f"{self.source} -> {self.target}: {self.caller} calls {self.callee}{through}"


def layers() -> dict[str, int]:
    """The height of every room, from the contract of import-linter."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    rows = reversed(contracts[0]["layers"])
    return {room.strip().removeprefix("softmargin."): n for n, row in enumerate(rows) for room in row.split("|")}


def place(frame: FrameType | None, *, files: bool) -> str | None:
    """The room (or file) of a frame; None outside the library."""
    return None if frame is None else place_of_file(frame.f_code.co_filename, files=files)


@cache
def place_of_file(name: str, *, files: bool) -> str | None:
    """The room (or file) of a source file; None outside the library."""
    if not Path(name).is_relative_to(ROOT):
        return None
    path = Path(name).relative_to(ROOT)
    return path.as_posix() if files else path.parts[0].removesuffix(".py")


def room_of(name: str) -> str:
    """The room of a file or of a module."""
    return name.removeprefix("softmargin.").split("/")[0].split(".")[0]


def is_through_protocol(frame: FrameType, source: str) -> bool:
    """Whether a frame is that of a method which a protocol of the calling room declares."""
    bases = type(frame.f_locals.get("self")).__mro__
    protocols = [
        base for base in bases if getattr(base, "_is_protocol", False) and room_of(base.__module__) == room_of(source)
    ]
    return any(frame.f_code.co_name in vars(base) for base in protocols)


class Tracer:
    """Collects the first call of each kind between every two places."""

    def __init__(self, *, files: bool) -> None:
        self.files = files
        self.levels = layers()
        self.hops: dict[tuple[str, ...], Hop] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; for `sys.setprofile`."""
        target = place(frame, files=self.files)
        if event != "call" or target is None:
            return
        caller = frame.f_back
        while caller is not None and place(caller, files=self.files) is None:
            caller = caller.f_back
        source = place(caller, files=self.files)
        if caller is None or source is None or source == target:
            return
        kind = "hop"
        if self.levels.get(room_of(target), -1) > self.levels.get(room_of(source), -1):
            kind = "protocol" if is_through_protocol(frame, source) else "jump"
        hop = Hop(kind, source, target, caller.f_code.co_qualname, frame.f_code.co_qualname)
        self.hops.setdefault(hop if self.files else hop[:3], hop)


def trace(*, files: bool = False, regressor: bool = False) -> list[Hop]:
    """The first call of each kind between every two places, in order."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(60, 2)))
    f = X[:, 0] + 0.5 * rng.normal(size=60)
    model, y = (BayesianSVR(), f) if regressor else (BayesianSVC(), f > 1)
    # Compiled loops are loaded by the first fit.
    model.fit(X, y)
    tracer = Tracer(files=files)
    sys.setprofile(tracer)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    return list(tracer.hops.values())


def listing(hops: list[Hop]) -> str:
    """The list as text, with its counts."""
    lines = [f"{n:3} {hop}" for n, hop in enumerate(hops, 1)]
    n = {kind: sum(hop.kind == kind for hop in hops) for kind in ("hop", "protocol", "jump")}
    lines.append(f"{n['hop']} hops down, {n['protocol']} calls through a protocol, {n['jump']} jumps back")
    return "\n".join(lines)


def main() -> None:
    """Print the list."""
    hops = trace(files="--files" in sys.argv, regressor="--regressor" in sys.argv)
    sys.stdout.write(listing(hops) + "\n")


if __name__ == "__main__":
    main()
