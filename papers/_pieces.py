"""Long runs in pieces: each piece's result is kept in a file, so that a run can be stopped and goes on later.

``python -m papers NAME --budget 150`` works for about so many CPU seconds and stops between two pieces; run it again
until it says that nothing is left. With ``--partial`` the summary is written at once, and rows whose pieces are missing
say "not run". A piece is the same whenever it is computed: its seed is its own. It knows the day and the commit it was
computed at. Its file is named after its key and a hash of its settings: changed settings make another piece.
"""

import hashlib
import os
import pickle
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from papers._claims import Claim

HERE = Path(__file__).parent
SOURCES = ("src", "papers", ":!papers/RESULTS.md", ":!papers/FULL.md")
"""What a measurement may depend on: the library and the scripts, not their results."""


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
    origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Day and commit at which each of them was computed."""
    script: str = ""
    """Hash of the script and of those that it imports: a setting of every piece that holds rows."""
    _now: float = 0.0
    """CPU seconds of the pieces computed by this process."""

    def __call__(self, key: str, make: Callable[[], Any], *settings: Any) -> Any:
        """The result of a piece with these settings: from its file, or computed now."""
        key += f"-{digest(*settings)}" if settings else ""
        path = self.folder / f"{key}.pickle"
        if path.exists():
            self.taken[key], self.origins[key], result = pickle.loads(path.read_bytes())
            return result
        if _seconds() - self.started > self.budget:
            raise OutOfBudgetError(key)
        before, others = _seconds(), self._now
        result = make()
        # Pieces that this one asked for count on their own.
        self.taken[key] = _seconds() - before - (self._now - others)
        self._now += self.taken[key]
        self.origins[key] = f"{datetime.now(UTC):%Y-%m-%d}", commit()
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_bytes(pickle.dumps((self.taken[key], self.origins[key], result)))
        partial.replace(path)
        return result

    @property
    def seconds(self) -> float:
        """CPU seconds of the pieces, and of what this process did besides."""
        return sum(self.taken.values()) + _seconds() - self.started - self._now

    @property
    def origin(self) -> str:
        """The days and the commits at which the pieces were computed, the earliest and the latest."""
        made = sorted(self.origins.values()) or [(f"{datetime.now(UTC):%Y-%m-%d}", commit())]
        days, commits = (list(dict.fromkeys(part)) for part in zip(*made))
        return f"computed {' to '.join(dict.fromkeys([days[0], days[-1]]))} at {_plural('commit', commits)}"

    def once(self, name: str, make: Callable[[], list[Claim]]) -> list[Claim]:
        """The claims of an experiment that is one piece; its first part up to a colon is not in the row's name."""
        key = name.lower().replace(": ", "-").replace(" ", "-")
        return self.claims(name.split(": ")[-1], lambda: self(key, make, self.script))

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


def digest(*settings: Any) -> str:
    """A short hash of what the settings show of themselves."""
    return hashlib.sha256(repr(settings).encode()).hexdigest()[:8]


def script(name: str) -> str:
    """Hash of a script and of the modules beside it that it imports."""
    names, texts = [name], {}
    while names:
        this = names.pop()
        texts[this] = (HERE / f"{this}.py").read_text()
        imports = re.findall(r"^from papers(?:\._\w+)? import .*$", texts[this], flags=re.MULTILINE)
        found = set(re.findall(r"\b_[a-z]\w*", " ".join(imports))) - {"_claims", "_pieces"}
        names += [other for other in found if (HERE / f"{other}.py").exists() and other not in texts]
    return digest(sorted(texts.items()))


@cache
def commit() -> str:
    """The last commit that changed the library or the scripts, with a plus if there are changes beyond it."""

    def git(*call: str) -> str:
        ran = subprocess.run(["git", *call], cwd=HERE.parent, capture_output=True, text=True, check=False)
        return ran.stdout.strip()

    found = git("log", "-1", "--format=%h", "--", *SOURCES) or "unknown"
    return found + "+" * bool(git("status", "--porcelain", "--untracked-files=no", "--", *SOURCES))


def _plural(word: str, values: list[str]) -> str:
    return f"{word} {values[0]}" if len(values) == 1 else f"{word}s {', '.join(values)}"


def _seconds() -> float:
    return sum(os.times()[:4])
