"""A hundred random problems: only documented refusals, finite answers that agree, relations that hold."""

import subprocess
import sys
from pathlib import Path

import pytest

from .campaign import draw_case
from .known import DEAR, KNOWN
from .oracle import judge
from .shrink import shrink

N_CASES = 96
PIECES = 8
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("piece", range(PIECES))
def test_random_problems(piece):
    for number in range(piece, N_CASES, PIECES):
        case = draw_case(number)
        outcome = judge(case)
        if not outcome.is_good:
            small = shrink(case, outcome.kind)
            pytest.fail(f"case {number} is {outcome.kind} ({outcome.note}); python -m tests.fuzz --case '{small!r}'")


@pytest.mark.parametrize("case", [*KNOWN, *(pytest.param(case, marks=pytest.mark.slow) for case in DEAR)], ids=repr)
def test_mended_problems(case):
    outcome = judge(case)
    assert outcome.is_good, f"{outcome.kind}: {outcome.note}"


@pytest.mark.slow
def test_a_number_is_the_same_case_whatever_was_imported_before():
    # Drawn in a process of its own; hypothesis would mix in the constants of the modules that it finds.
    drawn = [repr(draw_case(number)) for number in range(200)]
    program = "from tests.fuzz.campaign import draw_case\nfor k in range(200): print(repr(draw_case(k)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == drawn
