"""Fuzz both estimators: ``python -m tests.fuzz --cases 20000`` continues where the last call ended.

``--case "Case(...)"`` runs one case again, with its traceback. The table of the last finished run is in RESULTS.md.
"""

import argparse
import os
import sys
from pathlib import Path

from . import campaign, table
from .case import read_case
from .oracle import judge
from .problem import make_problem
from .relations import answers, check_relation, fit

STATE = Path(__file__).parents[2] / "build" / "fuzz.json"
RESULTS = Path(__file__).with_name("RESULTS.md")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code is 1 if a case fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="stop after so many, earlier calls included")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop this call after so much time")
    parser.add_argument("--state", type=Path, default=STATE, help="file of the state between calls (build/fuzz*.json)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of a new state")
    parser.add_argument("--record", action="store_true", help="write the table to tests/fuzz/RESULTS.md")
    parser.add_argument("--recheck", action="store_true", help="run the failures again, forget the mended ones")
    parser.add_argument("--case", help="run one case, given as text, and show its traceback")
    options = parser.parse_args(arguments)
    if options.case:
        return _one(options.case)
    if options.recheck:
        state = campaign.recheck(options.state, say=_say)
    else:
        state = campaign.run(options.cases, options.state, seconds=options.seconds, say=_say, first=options.first)
    if options.record:
        # Several processes may have run a range of numbers each.
        state = campaign.merge(list(options.state.parent.glob("fuzz*.json")))
    text = table.as_markdown(state)
    _say(text)
    if options.record:
        RESULTS.write_text(table.HEADER + text)
    return 1 if state.n_failures else 0


def _one(text: str) -> int:
    case = read_case(text)
    outcome = judge(case)
    _say(f"{outcome.kind}: {outcome.note} ({outcome.seconds:.2f} CPU s)")
    if not outcome.is_good:
        problem = make_problem(case)
        model = fit(case, problem)
        check_relation(case, problem, model, answers(case, problem, model))
    return 0 if outcome.is_good else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
