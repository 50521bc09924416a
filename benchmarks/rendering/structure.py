"""Table of ``python -m benchmarks structure``."""

import numpy as np

from benchmarks._results import Row
from benchmarks._tables import table

NEAR = 0.5
"""Nats within the best known optimum that count as having found it."""


def render(rows: list[Row]) -> str:
    """Shares that are near the best known optimum, CPU ratio and held-out losses for each kind of problem."""
    structured = [row for row in rows if row["set"] != "nothing"]
    parts = {str(row["set"]): [r for r in rows if r["set"] == row["set"]] for row in rows}
    lines = [_line(kind, of) for kind, of in (parts | {"all with structure": structured}).items() if of]
    header = ["problem", "number", f"climb within {NEAR}", f"switches within {NEAR}", "CPU ratio"]
    return table([*header, "held-out loss, switches - climb", "worst", "better by .01", "worse by .01"], lines)


def _line(kind: str, of: list[Row]) -> list[object]:
    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in of], dtype=float)

    share = {search: np.mean(column(f"{search} gap") <= NEAR) for search in ("climb", "switches")}
    cpu = np.exp(np.mean(np.log(column("switches seconds") / column("climb seconds"))))
    gain = column("switches loss") - column("climb loss")
    found = [f"{100 * share[search]:.0f} %" for search in ("climb", "switches")]
    worse_better = [int((gain < -0.01).sum()), int((gain > 0.01).sum())]
    return [kind, len(of), *found, f"{cpu:.2f}", f"{gain.mean():+.4f}", f"{gain.max():+.4f}", *worse_better]
