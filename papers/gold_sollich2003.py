"""Gold & Sollich (2003), Model selection for support vector machine classification

Tables 1 to 5, figures 1 to 6, the local optima and the vanishing gradients. By default 10 trials of each simple
criterion (25 on crabs, as in the paper) and 3 of the gradient ascent; ``--full`` runs 25 and 10 (25 on crabs), as in
the paper, of at most 200 sweeps and 80 steps. The trials are pieces that a run with ``--budget`` computes a few at a
time. The paper gives no bounds, learning rates or thresholds; those here are ours.
"""

from pathlib import Path

from papers import _gold, _gold_figures, _gold_more, _gold_optima, _gold_tables, _sampling
from papers._claims import Claim
from papers._gold import SIMPLE, TABLE_1, Peak, Trial
from papers._pieces import Pieces
from softmargin.search import RandomWalk

# Trials and sweeps of the random walk, trials and steps of the ascent.
REDUCED = {
    "crabs": (25, 200, 3, 60),
    "pima": (10, 60, 3, 60),
    "wdbc": (10, 20, 3, 30),
    "twonorm": (10, 20, 3, 30),
    "ringnorm": (10, 20, 3, 30),
}
FULL = {name: (25, 200, 25 if name == "crabs" else 10, 80) for name in _gold.SETS}

PAPER_SAMPLER = (1, 40), (3, 40)
"""Ascents on crabs with the paper's own sampler, and steps of each: by default, and with ``--full``."""
OTHER_WALKS = 0, 5
"""Walks of each criterion with the library's own settings, beside those of table 3."""


def counts(*, full: bool) -> str:
    """What is run."""
    each = (f"{name} {a} x {b} and {c} x {d}" for name, (a, b, c, d) in (FULL if full else REDUCED).items())
    return "walks x sweeps at most and ascents x steps at most: " + ", ".join(each)


def run(out: Path, pieces: Pieces, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper."""
    sizes = FULL if full else REDUCED

    def trials(name: str) -> dict[str, list[Trial]]:
        return run_trials(name, sizes[name], pieces)

    def peaks(name: str) -> list[Peak]:
        ends, steps = trials(name)["Evid grad"], sizes[name][-1]
        tops = lambda: [_gold.peak(_gold.load(name), t.z) for t in ends]  # noqa: E731
        return pieces(f"{name}-peaks-{steps}-{len(ends)}", tops, _gold.ASCENT, _gold.SAMPLER)

    def histogram(number: int, name: str) -> list[Claim]:
        return [_gold_figures.histogram(out, number, name, trials(name), peaks(name))]

    def table(name: str) -> list[Claim]:
        rivals = _gold_tables.rivals(name, pieces)
        mine = {column: others(name, column) for column in SIMPLE} if OTHER_WALKS[full] else {}
        return _gold_tables.tables(name, trials(name), mine, peaks(name), rivals, sizes[name])

    def others(name: str, column: str) -> list[float]:
        """Test errors of walks with the library's own settings."""
        sweeps, search, seeds = sizes[name][1], RandomWalk(), range(OTHER_WALKS[full])
        walks = lambda: [_gold.walk(_gold.load(name), column, s, sweeps, search=search).error for s in seeds]  # noqa: E731
        return pieces(f"{name}-{column}-{sweeps}-others", walks, search, seeds)

    n_steps, runs = (1000, 256) if full else (300, 64)
    # The cheap experiments first, then the sets one after the other.
    more = [
        *pieces.once("Section 5.3.1", lambda: _sampling.vanishing_gradients(n_steps, runs)),
        *pieces.claims("Section 4.1", lambda: _gold_more.smoothing(pieces)),
        *pieces.once("Section 4.1 acceptance", lambda: [_gold_more.acceptance(trials("crabs"))]),
        *pieces.once("Section 7 of Sollich (2002)", lambda: _gold_more.section_7(trials, peaks)),
    ]
    rows = [
        claim for name in sizes for claim in pieces.claims("Table 5", lambda n=name: [_gold_tables.table_5(n, pieces)])
    ]
    for name in sorted(sizes, key=lambda name: TABLE_1[name][0]):
        rows += pieces.claims(f"Tables 1 to 4, {name}", lambda name=name: table(name))
    ascents = PAPER_SAMPLER[full]
    rows += pieces.claims("Table 3", lambda: [_gold_more.paper_sampler(trials("crabs"), pieces, *ascents)])
    rows.sort(key=lambda claim: claim.item)
    return [
        *rows,
        *pieces.claims("Figure 1", lambda: _gold_figures.figure_1(out, trials("twonorm")["LE1"])),
        *pieces.claims("Figure 2", lambda: histogram(2, "twonorm")),
        *pieces.claims("Figure 3", lambda: histogram(3, "pima")),
        *pieces.claims("Figure 4", lambda: histogram(4, "wdbc")),
        *pieces.claims("Figures 5 and 6", lambda: _gold_figures.figures_5_and_6(out, trials("twonorm")["Evid grad"])),
        *pieces.claims("Section 5.3", lambda: [_gold_more.amplitudes(trials, peaks)]),
        *pieces.claims("Section 5.2", lambda: _gold_optima.local_optima({n: trials(n) for n in sizes}, pieces)),
        *more,
    ]


def run_trials(name: str, counts: tuple[int, int, int, int], pieces: Pieces) -> dict[str, list[Trial]]:
    """All trials on one data set, a few at a time."""
    n_walks, sweeps, n_ascents, steps = counts
    trials: dict[str, list[Trial]] = {column: [] for column in (*SIMPLE, "Evid grad")}
    for column in SIMPLE:
        for first in range(0, n_walks, 5):
            seeds = range(first, min(first + 5, n_walks))
            trials[column] += pieces(
                f"{name}-{column}-{sweeps}-{first}",
                lambda seeds=seeds, column=column: [_gold.walk(_gold.load(name), column, s, sweeps) for s in seeds],
                _gold.WALK,
            )
    for seed in range(n_ascents):
        ascent = pieces(
            f"{name}-ascent-{steps}-{seed}",
            lambda seed=seed: _gold.ascend(_gold.load(name), seed, steps),
            _gold.ASCENT,
            _gold.SAMPLER,
        )
        trials["Evid grad"].append(ascent)
    return trials
