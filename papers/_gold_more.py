"""What Gold & Sollich (2003) and Sollich (2002, section 7) say of the five sets beside tables 1 to 4.

Insensitivity to the smoothing constants, the acceptance of the walks, ascents with the paper's own sampler, k0 on the
other sets, and the notes on Pima and Crabs at the end of Sollich (2002), section 7.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.stats import spearmanr

from papers import _gold
from papers._claims import Claim, unless, verdict
from papers._gold import SETS, SIMPLE, TABLE_3, Peak, Trial
from papers._pieces import Pieces
from softmargin.criteria import Span
from softmargin.inference import EP, Laplace
from softmargin.search import RandomWalk
from softmargin.tuning import Objective

# Bounds of the verdicts, fixed before this run, after earlier ones.
INSENSITIVE = 2.0
"""Points of test error by which the mean over walks may change with the smoothing."""
LARGE, SMALL = 30.0, 30.0
"""k0 above which it is large (crabs, WDBC), and below which it is small (Pima, ringnorm); twonorm's is 180."""
NEAR = 1.5
"""Points by which ascents with the paper's sampler may miss its mean."""
SAME_ENDS, OPTIMAL = 0.25, 0.3
"""Pima: the spread of ln l at the ends over that at the starts; points above the 18.9 % of the text."""
ROUGH, FEW, LIMITED = 1.5, 0.5, 0.6
"""Local maxima of Laplace's evidence over those of EP's, which count as FEW at least; a rank correlation that is not
close."""
WALKS_SMOOTHED = 10
"""Walks with each setting of the smoothing."""


def smoothing(pieces: Pieces) -> list[Claim]:
    """Section 4.1: the results do not depend strongly on c1, c2, eta and a."""
    data, claims = _gold.load("crabs"), []
    settings = {
        "Span": {f"c1 = {c1:g}, eta = {eta:g}": Span(c1=c1, eta=eta, gradients=False) for c1, eta in SPANS},
        "LE2": {f"a = {a:g}": Laplace(smoothing=a, gradients=False) for a in (0.01, 0.1, 1.0)},
    }
    for column, parts in settings.items():
        walks = {
            label: pieces(
                f"smoothing-{column}-{k}",
                lambda column=column, part=part: [_smoothed(column, s, part) for s in range(WALKS_SMOOTHED)],
                *(_gold.WALK, WALKS_SMOOTHED, part),
            )
            for k, (label, part) in enumerate(parts.items())
        }
        errors = {label: [t.error for t in mine] for label, mine in walks.items()}
        spread = np.ptp([np.mean(mine) for mine in errors.values()])
        agrees = verdict(spread < INSENSITIVE)
        here = _gold.objective(data, column)
        ends = {label: np.mean([here(t.z).value for t in mine]) for label, mine in walks.items()}
        claims.append(
            Claim(
                "Section 4.1",
                f"The outcome of {column} does not depend strongly on its smoothing",
                "not strongly",
                "mean test error on crabs: " + ", ".join(f"{np.mean(e):.1f} % at {k}" for k, e in errors.items()),
                agrees,
                f"{WALKS_SMOOTHED} walks each; the means differ by {spread:.1f} points, single walks of one setting by "
                f"{np.mean([np.std(e, ddof=1) for e in errors.values()]):.1f} (sd)"
                + unless(
                    agrees,
                    "the criterion with the paper's setting at the ends of the walks: "
                    + ", ".join(f"{value:.3g} ({label})" for label, value in ends.items()),
                ),
            )
        )
    return claims


def _smoothed(column: str, seed: int, part) -> Trial:
    return replace(_gold.walk(_gold.load("crabs"), column, seed, 200, part), path=[])


def paper_sampler(trials: dict[str, list[Trial]], pieces: Pieces, n_ascents: int, steps: int) -> Claim:
    """Ascents on crabs whose gradients are sampled as in the paper, beside ours from the same starts."""
    data = _gold.load("crabs")
    found = [
        pieces(
            f"crabs-paper-sampler-{steps}-{seed}",
            lambda seed=seed: _gold.ascend(data, seed, steps, _gold.PAPER_SAMPLER),
            *(_gold.ASCENT, _gold.PAPER_SAMPLER),
        )
        for seed in range(n_ascents)
    ]
    errors = np.array([t.error for t in found])
    # After as many steps.
    ours = [t.errors[: steps + 1][-1] for t in trials["Evid grad"][:n_ascents]]
    theirs = TABLE_3["crabs"][4]
    return Claim(
        "Table 3",
        f"Ascents on crabs with the paper's own sampler end at its mean test error (within {NEAR} points)",
        f"{theirs} %",
        ", ".join(f"{e:.1f}" for e in errors) + f" % ({n_ascents} of at most {steps} steps, "
        f"{sum(t.converged for t in found)} ended by their own rule)",
        verdict(abs(errors.mean() - float(theirs.split()[0])) < NEAR),
        f"{_gold.PAPER_SAMPLER.sampler} from the SVM, 40,000 trajectories in 8 chains, the first half discarded; step "
        "sizes are adapted to an acceptance of 80 % while they are discarded; with our sampler the ascents from the "
        "same starts are after as many steps at " + ", ".join(f"{e:.1f}" for e in ours) + " %",
    )


def acceptance(trials: dict[str, list[Trial]]) -> Claim:
    """Section 4.1: the share of the steps that walks on crabs keep, and where they end."""
    default = {
        column: [_gold.walk(_gold.load("crabs"), column, seed, 200, search=RandomWalk()) for seed in range(WALKS)]
        for column in SIMPLE
    }
    kept = {column: float(np.mean([t.kept for t in trials[column]])) for column in SIMPLE}
    low, high = HALF
    return Claim(
        "Section 4.1",
        "The acceptance rate of the walks is held close to 50 %",
        "close to 50 %",
        f"{_gold.WALK} keeps " + _shares(trials),
        verdict(*(low <= share <= high for share in kept.values())),
        f"the mean over hyperparameters of {len(trials['LE1'])} walks on crabs, of all steps within the bounds; a "
        "greedy walk near a maximum keeps less than half of any step, so the share falls as it ends; 16 settings were "
        "compared by this share on 5 or 10 walks of each criterion, and this one came nearest; the library's default "
        f"keeps {_shares(default)} ({WALKS} walks)",
    )


def _shares(walks: dict[str, list[Trial]]) -> str:
    return ", ".join(
        f"{column} {100 * np.mean([t.kept for t in mine]):.0f} % (ends at "
        f"{np.mean([max(e.value for e in t.path) for t in mine]):.3g})"
        for column, mine in walks.items()
        if column in SIMPLE
    )


HALF, WALKS = (0.45, 0.55), 5
"""What counts as close to 50 %; walks with the library's default."""
SPANS = ((5.0, 1.0), (2.0, 1.0), (10.0, 1.0), (5.0, 0.1), (5.0, 10.0))


def amplitudes(trials: Callable[[str], dict[str, list[Trial]]], peaks: Callable[[str], list[Peak]]) -> Claim:
    """Section 5.3: k0 at the ends of the ascents on every set, and at the maxima of EP's evidence above them."""
    ends = {name: [float(np.exp(t.z[0])) for t in trials(name)["Evid grad"]] for name in SETS}
    tops = {name: float(np.median([np.exp(p.z[0]) for p in peaks(name)])) for name in SETS}
    middle = {name: float(np.median(values)) for name, values in ends.items()}
    return Claim(
        "Section 5.3",
        "k0 is as large on crabs and WDBC as on twonorm, and rather smaller on pima and ringnorm",
        "about 180; similar; rather smaller",
        "median at the ends of the ascents: " + ", ".join(f"{name} {k0:.3g}" for name, k0 in middle.items()),
        verdict(
            *(middle[name] > LARGE for name in ("crabs", "wdbc", "twonorm")),
            *(middle[name] < SMALL for name in ("pima", "ringnorm")),
        ),
        "from random starts with ln k0 in [-1, 1]; ranges "
        + ", ".join(f"{name} {min(v):.2g} to {max(v):.2g}" for name, v in ends.items())
        + "; median at the maxima of EP's evidence above the ends (bound 1e+04): "
        + ", ".join(f"{name} {k0:.3g}" for name, k0 in tops.items()),
    )


def section_7(trials: Callable[[str], dict[str, list[Trial]]], peaks: Callable[[str], list[Peak]]) -> list[Claim]:
    """The notes on Pima and Crabs at the end of Sollich 2002, section 7."""
    return [_pima(trials("pima"), peaks("pima")), *(_rough(name) for name in ("pima", "crabs"))]


def _pima(trials: dict[str, list[Trial]], peaks: list[Peak]) -> Claim:
    ends, tops = np.array([t.z for t in trials["Evid grad"]]), np.array([p.z for p in peaks])
    data = _gold.load("pima")
    found = _gold.objective(data, "Evid grad")
    best = []
    for z in ends:
        # The SVM depends on C K alone: with all length scales kept, C is chosen best by its test error, as in the text.
        scaled = (np.concatenate([z[:-1], [z[-1] + shift]]) for shift in np.linspace(-2, 2, 9))
        best.append(min(_gold.svm_error(found, other, data) for other in scaled))
    spread, at_tops = (float(np.mean(z[:, 1:-2].std(axis=0, ddof=1))) for z in (ends, tops))
    start = 3 / np.sqrt(12)
    return Claim(
        "Section 7 of Sollich (2002)",
        "Ascents on the naive evidence of pima end at the same length scales wherever they start; with the best C the "
        "error is 18.9 %",
        "initialisation independent; 18.9 %",
        f"sd of ln l over {len(ends)} ascents {spread:.2f} (at the starts {start:.2f}); test error with the best C "
        f"{min(best):.1f} to {max(best):.1f} %",
        verdict(spread < SAME_ENDS * start, min(best) <= 18.9 + OPTIMAL),
        'our ascents are Gold & Sollich\'s; C is chosen on the test set, as "optimally chosen" suggests; sd of ln l '
        f"at the maxima of EP's evidence above the ends {at_tops:.2f}, whose evidence differs by "
        f"{np.ptp(_heights(found, tops)):.2f} nats",
    )


def _heights(found: Objective, points: np.ndarray) -> list[float]:
    """EP's evidence at some points."""
    found.inference = EP(gradients=False)
    return [found(z).value for z in points]


def _rough(name: str) -> Claim:
    """Local maxima of the Laplace evidence against EP's along lines in the space of length scales."""
    data = _gold.load(name)
    surfaces = {
        "Laplace": _gold.objective(data, "LE1"),
        "EP": _gold.objective(data, "LE1", EP(gradients=False)),
        "eq. 31": _gold.objective(data, "LE1", Laplace(regularised=False, gradients=False)),
    }
    laplace = surfaces["Laplace"]
    rng, pairs = np.random.RandomState(0), []
    coarse: dict[str, list[int]] = {label: [] for label in surfaces}
    fine: dict[str, list[int]] = {label: [] for label in surfaces}
    for _ in range(6):
        z = laplace.coordinates.start.copy()
        other = z.copy()
        z[1:-2], other[1:-2] = rng.uniform(-1, 2, len(z) - 3), rng.uniform(-1, 2, len(z) - 3)
        line = [(1 - t) * z + t * other for t in np.linspace(0, 1, 401)]
        for label, found in surfaces.items():
            values = np.array([found(point).value for point in line])
            coarse[label].append(_count_maxima(values[::10]))
            fine[label].append(_count_maxima(values))
            if label == "Laplace":
                pairs += [(v, _gold.svm_error(found, point, data)) for v, point in zip(values[::100], line[::100])]
    rank = float(spearmanr(*np.array(pairs).T).statistic)
    means = {label: float(np.mean(c)) for label, c in coarse.items()}
    agrees = verdict(means["Laplace"] > ROUGH * max(means["EP"], FEW), abs(rank) < LIMITED)
    return Claim(
        "Section 7 of Sollich (2002)",
        f"The Laplace evidence is a rough function of the length scales on {name}, with little relation to the error",
        "rough; limited correlation",
        f"local maxima on a line between two random points: Laplace {means['Laplace']:.1f}, EP {means['EP']:.1f}; rank "
        f"correlation of Laplace's evidence with the test error {rank:.2f}",
        agrees,
        "6 lines of 41 points, ln l in [-1, 2], the rest at the paper's start; on 401 points of the same lines "
        f"Laplace has {np.mean(fine['Laplace']):.1f}, EP {np.mean(fine['EP']):.1f}; eq. 31, without the heuristic of "
        f"eq. 32, has {means['eq. 31']:.1f} (401 points: {np.mean(fine['eq. 31']):.1f})",
    )


def _count_maxima(values: np.ndarray) -> int:
    return int(np.sum((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])))
