"""The local optima of Gold & Sollich (2003), section 5.2: the criteria on the lines between the ends of walks."""

from dataclasses import dataclass, replace

import numpy as np

from papers import _gold
from papers._claims import Claim, unless, verdict
from papers._gold import SIMPLE, Trial
from papers._pieces import Pieces

# Bounds of the verdicts, fixed before this run, after earlier ones on crabs.
ALWAYS = 0.95
"""Share of the pairs between whose ends the criterion is worse: the paper says always."""
SAME_ORDER = 0.3
"""Standard deviation over mean of the hyperparameters: the paper says of the same order."""
FURTHER, GAIN = 10, 0.01
"""Ends from which a new walk starts, and what it must gain to have been on a slope."""
LINE = (0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85)
"""Points of the line between two ends."""
NEAR = 0.02
"""A point of the line so near an end that a criterion that is better there has no local optimum at the end."""


@dataclass(frozen=True)
class Optima:
    """The ends of a criterion's walks on one set."""

    n_ends: int
    worse: float
    """Share of the pairs between whose ends the criterion is worse than at both."""
    rising: float
    """Share of the other pairs whose worse end has a better point beside it on the line; nan without such pairs."""
    spread: float
    """Standard deviation over mean of the hyperparameters, the median over them."""
    gains: list[float]
    """What new walks gain from some of the ends."""


def local_optima(trials: dict[str, dict[str, list[Trial]]], pieces: Pieces) -> list[Claim]:
    """One row for each criterion, over the sets on which at least two walks ended by their own rule."""
    return [_claim(column, {name: mine[column] for name, mine in trials.items()}, pieces) for column in SIMPLE]


def _claim(column: str, walks: dict[str, list[Trial]], pieces: Pieces) -> Claim:
    ended = {name: [t for t in mine if t.converged] for name, mine in walks.items()}
    found = {
        name: pieces(
            f"{name}-{column}-optima-{len(walks[name])}",
            lambda name=name, mine=mine: optima(_gold.objective(_gold.load(name), column), mine),
            *(_gold.WALK, [t.z.tolist() for t in mine], LINE, NEAR, FURTHER),
        )
        for name, mine in ended.items()
        if len(mine) > 1
    }
    if not found:
        return Claim("Section 5.2", f"{_TITLE} ({column})", _PAPER, "0 sets", "not run", "no two walks ended: --full")
    agrees = verdict(min(o.worse for o in found.values()) > ALWAYS, min(o.spread for o in found.values()) > SAME_ORDER)
    gains = np.concatenate([o.gains for o in found.values()])
    slopes = int(np.sum(gains > GAIN))
    return Claim(
        "Section 5.2",
        f"{_TITLE} ({column})",
        _PAPER,
        "worse than at both ends somewhere between "
        + ", ".join(f"{name} {100 * o.worse:.0f} %" for name, o in found.items())
        + " of all pairs; sd/mean of hyperparameters (median) "
        + ", ".join(f"{name} {o.spread:.2f}" for name, o in found.items()),
        agrees,
        "walks that ended by their own rule: "
        + ", ".join(f"{name} {len(ended[name])} of {len(mine)}" for name, mine in walks.items())
        + f"; a new walk of 20 sweeps with fresh step sizes goes up by more than {GAIN} from {slopes} of {len(gains)} "
        f"ends (median gain {np.median(gains):.2g})"
        + (": those had stopped on a slope" if slopes else "")
        + unless(agrees, _no_optimum(found)),
    )


_TITLE = "Repeated walks end in genuine local optima: the criterion is worse between two ends"
_PAPER = "always worse; sd of hyperparameters of the order of their mean"


def _no_optimum(found: dict[str, Optima]) -> str:
    """What the ends of pairs without a valley are."""
    open_pairs = {name: o.rising for name, o in found.items() if o.worse < 1}
    if not open_pairs:
        return "every pair of ends has a valley: the hyperparameters vary less than the bound asks for"
    return (
        f"of the pairs without a valley, the criterion is better {100 * NEAR:.0f} % of the way from the worse end in "
        + ", ".join(f"{name} {100 * rising:.0f} %" for name, rising in open_pairs.items())
        + ": there the walk stopped short of an optimum"
    )


def optima(found, trials: list[Trial]) -> Optima:
    """Analyse the ends of some walks."""
    points = [t.z for t in trials]
    worse, rising = between(found, points)
    ends = np.exp(points)
    spread = float(np.median(ends.std(axis=0, ddof=1) / ends.mean(axis=0)))
    return Optima(len(trials), worse, rising, spread, [_further(found, z) for z in points[:FURTHER]])


def between(found, ends: list[np.ndarray]) -> tuple[float, float]:
    """Share of the pairs of ends with a worse point between them; share of the others that rise from the worse end."""
    values, worse, rising = [found(z).value for z in ends], [], []
    for i in range(len(ends)):
        for j in range(i):
            low, high = (i, j) if values[i] <= values[j] else (j, i)
            points = (found((1 - t) * ends[low] + t * ends[high]).value for t in LINE)
            worse.append(any(value < values[low] - 1e-9 for value in points))
            if not worse[-1]:
                beside = found((1 - NEAR) * ends[low] + NEAR * ends[high]).value
                rising.append(beside > values[low] + 1e-9)
    return float(np.mean(worse)), float(np.mean(rising)) if rising else float("nan")


def _further(found, z: np.ndarray) -> float:
    """How much a walk with fresh step sizes gains from an end."""
    search = replace(_gold.WALK, max_iter=20)
    end = search.maximise(found, z, found.coordinates.bounds, np.random.RandomState(0))
    return float(end.best.value - found(z).value)
