"""The table of a campaign."""

from .campaign import State
from .oracle import KINDS

HEADER = """# Fuzzing

Outcomes of random problems (`make fuzz`; `python -m tests.fuzz --cases N --record` writes this file). A case is fitted
and asked for predictions, and one relation (of 16) is checked; `oracle.py` says what the kinds of outcome mean.
Failures that were mended were run again (`--recheck`) and count as what they are now.

"""


def as_markdown(state: State) -> str:
    """Counts for each estimator and kind of outcome."""
    lines = [f"| estimator | cases | {' | '.join(KINDS)} |", "|---|" + "---:|" * (len(KINDS) + 1)]
    for estimator, kinds in sorted(state.counts.items()):
        counts = [kinds.get(kind, 0) for kind in KINDS]
        lines.append(f"| {estimator} | {sum(counts):,} | {' | '.join(f'{c:,}' for c in counts)} |")
    totals = [sum(kinds.get(kind, 0) for kinds in state.counts.values()) for kind in KINDS]
    lines.append(f"| both | {sum(totals):,} | {' | '.join(f'{c:,}' for c in totals)} |")
    mean = state.seconds / max(state.n_cases, 1)
    lines.append("")
    lines.append(f"CPU time of a case: mean {mean:.2f} s (compilation included), longest {state.slowest:.1f} s.")
    if state.failures:
        lines += ["", "Open (`python -m tests.fuzz --case '...'`):", ""]
        lines += [f"- {failure['kind']}, number {failure['number']}: `{failure['case']}`" for failure in state.failures]
    return "\n".join(lines) + "\n"
