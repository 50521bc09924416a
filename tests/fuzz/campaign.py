"""Many cases in batches, with a state that survives an interrupt."""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import HypothesisProvider

from .case import Case, read_case
from .oracle import GOOD, KINDS, LIMIT, Outcome, judge
from .shrink import shrink
from .strategies import cases

NOTED = 1e-8
"""Gap of a relation that is kept in the state."""
SLOW = 2.0


@dataclass
class State:
    """What is known so far."""

    start: int = 0
    """Number of the first case."""
    seconds: float = 0.0
    """CPU time of all cases."""
    slowest: float = 0.0
    slow: dict[str, float] = field(default_factory=dict)
    """CPU time of each case that took more than `SLOW` seconds."""
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Number of cases of each estimator and kind of outcome."""
    refusals: dict[str, int] = field(default_factory=dict)
    """How often each refusal was met, by the start of its message."""
    running: int | None = None
    """Number of the case that is being judged: if the process ends meanwhile, it was killed there."""
    checked: int = 0
    """Cases whose relation applied and was measured."""
    gaps: dict[str, float] = field(default_factory=dict)
    """Number of each case whose relation held but left more than `NOTED`, and what it left."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Number, kind, note and case of each failure, as it was found and shrunk."""

    @classmethod
    def read(cls, path: Path, start: int = 0) -> "State":
        """The state in a file, or a new one."""
        return cls(**json.loads(path.read_text())) if path.exists() else cls(start)

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(asdict(self), indent=1))
        part.replace(path)

    @property
    def n_cases(self) -> int:
        """Cases run."""
        return sum(sum(kinds.values()) for kinds in self.counts.values())

    @property
    def n_failures(self) -> int:
        """Cases whose outcome is not good."""
        return sum(n for kinds in self.counts.values() for kind, n in kinds.items() if kind not in GOOD)

    def note(self, number: int, case: Case, outcome: Outcome) -> None:
        """Count one case."""
        self.checked += outcome.gap is not None
        if outcome.gap is not None and outcome.gap > NOTED:
            self.gaps[str(number)] = outcome.gap
        kinds = self.counts.setdefault(case.estimator, dict.fromkeys(KINDS, 0))
        kinds[outcome.kind] += 1
        self.seconds += outcome.seconds
        self.slowest = max(self.slowest, outcome.seconds)
        if outcome.seconds > SLOW:
            self.slow[str(number)] = outcome.seconds
        if outcome.kind == "refused":
            refusals = Counter(self.refusals)
            refusals[outcome.note[:60]] += 1
            self.refusals = dict(refusals)


class _Plain(HypothesisProvider):
    """Draws that depend on the random numbers alone, and not on the constants of all modules imported so far."""

    def _maybe_draw_constant(self, *args: Any, **kwargs: Any) -> None:
        return None


def draw_case(number: int) -> Case:
    """The case of a number; each number draws afresh, while `hypothesis.given` varies what it has drawn before."""
    return ConjectureData(random=Random(number), provider=_Plain).draw(cases())


def run(n_cases: int, path: Path, *, seconds: float, say: Callable[[str], object], first: int = 0) -> State:
    """Continue until `n_cases` have been run, or for some time; a new state begins with the case `first`."""
    state, start = State.read(path, first), time.monotonic()
    while state.n_cases < n_cases and time.monotonic() - start < seconds:
        number = state.start + state.n_cases
        case = draw_case(number)
        if state.running == number:
            # Compiled code that never ends cannot be interrupted from inside.
            outcome = Outcome("hang", "the process was killed in this case", LIMIT)
        else:
            state.running = number
            state.write(path)
            outcome = judge(case)
        state.note(number, case, outcome)
        state.running = None
        if not outcome.is_good:
            state.failures.append(describe(number, case, outcome))
            say(f"{outcome.kind}: {state.failures[-1]['note']}\n    {state.failures[-1]['case']}")
    state.write(path)
    return state


def describe(number: int, case: Case, outcome: Outcome) -> dict[str, Any]:
    """A failure, shrunk; what hangs is as it was found, since every trial would hang too."""
    small = case if outcome.kind == "hang" else shrink(case, outcome.kind)
    return {"number": number, "kind": outcome.kind, "note": outcome.note, "found": repr(case), "case": repr(small)}


def merge(paths: list[Path]) -> State:
    """What the states of several ranges of numbers come to together."""
    states = [State.read(path) for path in sorted(paths)]
    total = State(min(state.start for state in states))
    for state in states:
        total.seconds += state.seconds
        total.slowest = max(total.slowest, state.slowest)
        total.checked += state.checked
        total.gaps |= state.gaps
        total.slow |= state.slow
        total.failures += state.failures
        total.refusals = dict(Counter(total.refusals) + Counter(state.refusals))
        for estimator, kinds in state.counts.items():
            total.counts[estimator] = dict(Counter(total.counts.get(estimator, {})) + Counter(kinds))
    return total


def recheck(path: Path, *, say: Callable[[str], object]) -> State:
    """Run the failures again, dear ones last; those that are mended count as what they are now."""
    state = State.read(path)
    for failure in sorted(state.failures, key=lambda failure: failure["kind"] == "hang"):
        number = int(failure["number"])
        case = read_case(failure.get("found", failure["case"]))
        outcome = judge(case)
        state.counts[case.estimator][failure["kind"]] -= 1
        state.counts[case.estimator][outcome.kind] += 1
        state.failures.remove(failure)
        if not outcome.is_good:
            state.failures.append(describe(number, case, outcome))
            say(f"{outcome.kind}: {state.failures[-1]['note']}\n    {state.failures[-1]['case']}")
        state.write(path)
    return state
