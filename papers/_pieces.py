"""Long runs in pieces: each piece's result is kept in a file, so that a run can be stopped and goes on later.

``python -m papers NAME --budget 150`` works for about so many CPU seconds and stops between two pieces; run it again
until it says that nothing is left. With ``--partial`` the summary is written at once, and rows whose pieces are missing
say "not run". A piece is the same whenever it is computed: its seed is its own.
"""

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from papers._claims import Claim


class OutOfBudgetError(Exception):
    """Raised between two pieces when the CPU seconds of this run are used up."""


@dataclass
class Pieces:
    """Results by key, in a folder.

    Parameters
    ----------
    folder : Path
    budget : float
        CPU seconds that this process may use.
    """

    folder: Path
    budget: float = float("inf")
    partial: bool = False
    """Whether rows whose pieces are missing are written as "not run" instead of stopping the run."""
    started: float = field(default_factory=lambda: _seconds())
    taken: dict[str, float] = field(default_factory=dict)
    """CPU seconds of each piece that was asked for, whenever it was computed, without those of the pieces in it."""
    _now: float = 0.0
    """CPU seconds of the pieces computed by this process."""

    def __call__(self, key: str, make: Callable[[], Any]) -> Any:
        """The result of a piece: from its file, or computed now."""
        path = self.folder / f"{key}.pickle"
        if path.exists():
            self.taken[key], result = pickle.loads(path.read_bytes())
            return result
        if _seconds() - self.started > self.budget:
            raise OutOfBudgetError(key)
        before, others = _seconds(), self._now
        result = make()
        # Pieces that this one asked for count on their own.
        self.taken[key] = _seconds() - before - (self._now - others)
        self._now += self.taken[key]
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_bytes(pickle.dumps((self.taken[key], result)))
        partial.replace(path)
        return result

    @property
    def seconds(self) -> float:
        """CPU seconds of the pieces, and of what this process did besides."""
        return sum(self.taken.values()) + _seconds() - self.started - self._now

    def once(self, name: str, make: Callable[[], list[Claim]]) -> list[Claim]:
        """The claims of an experiment that is one piece; its first part up to a colon is not in the row's name."""
        key = name.lower().replace(": ", "-").replace(" ", "-")
        return self.claims(name.split(": ")[-1], lambda: self(key, make))

    def claims(self, item: str, make: Callable[[], list[Claim]]) -> list[Claim]:
        """The claims of an experiment, or one that says which piece is missing."""
        try:
            return make()
        except OutOfBudgetError as left:
            if not self.partial:
                raise
            why = "run `python -m papers` with the paper's name to go on"
            ours = f"0 rows: stopped before {left}"
            return [Claim(item, "What this experiment measures", "-", ours, "not run", why)]


def _seconds() -> float:
    return sum(os.times()[:4])
