"""BayesianSVC with default settings against its peers, over repeated splits: error, log loss, Brier, ECE, CPU time.

``python -m benchmarks classification`` (quick: two splits, no ARD Gaussian process) or ``--full``; a part of it with
``--sets=crabs,pima --models="softmargin,SVC + sigmoid" --splits=6``. Labels are 0..k-1:
scikit-learn 1.9's temperature calibration degenerates for labels -1/+1. One BLAS thread; time is CPU time.

A long run can be stopped: ``--keep=FILE`` writes every finished fit to FILE (one JSON object a line) and a later run
with the same FILE goes on from there. ``--jobs=2`` runs splits side by side. The ARD Gaussian process of scikit-learn
takes many minutes on several classes, so it runs on the binary sets only; GPy's knows two classes only.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from benchmarks._peers import PEERS
from benchmarks._report import table, write
from softmargin import datasets

BINARY = ["crabs", "pima", "wdbc", "twonorm", "ringnorm", "australian", "german", "heart", "banana", "saheart"]
BINARY += ["mammographic", "irrelevant", "housevotes", "titanic"]
MULTI = ["vehicle", "segment", "vowel", "wine", "iris", "digits", "satimage", "penbased"]
HALF = ["vehicle", "segment", "vowel", "digits", "satimage", "penbased"]
"""Large sets of many classes: half as many splits."""
BINARY_ONLY = ["GPC ARD", "GPy EP ARD"]
MAX_TEST = 2000
METRICS = ("error", "log_loss", "brier", "ece")


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels 0..k-1 of a data set; generated ones are drawn anew for every seed."""
    if name == "twonorm":
        X, y = datasets.make_twonorm(2300, random_state=seed)
    elif name == "ringnorm":
        X, y = datasets.make_ringnorm(2300, random_state=seed)
    elif name == "irrelevant":
        X, y = datasets.make_irrelevant(2300, random_state=seed)
    elif name in ("crabs", "pima", "wdbc"):
        bunch = getattr(datasets, f"load_{name}")()
        X, y = bunch.data, bunch.target
    elif name in ("wine", "digits"):
        X, y = (load_wine if name == "wine" else load_digits)(return_X_y=True)
    else:
        bunch = datasets.load_keel(name)
        X, y = bunch.data, bunch.target
    return X, np.unique(y, return_inverse=True)[1]


def train_size(name: str, n: int) -> int:
    """The papers' sizes for their sets; else 400 (multi-class) or 300 rows, at most 70 %."""
    if name in ("crabs", "pima"):
        return {"crabs": 80, "pima": 200}[name]
    return min(400 if name in MULTI else 300, int(0.7 * n))


def scores(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Error, log loss, Brier score and expected calibration error (10 bins of the top probability)."""
    top, hit = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    gaps = [abs(hit[bins == b].mean() - top[bins == b].mean()) * np.mean(bins == b) for b in np.unique(bins)]
    one_hot = np.eye(p.shape[1])[y]
    return {
        "error": 100 * float(np.mean(~hit)),
        "log_loss": float(-np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1)))),
        "brier": float(np.mean(np.sum((p - one_hot) ** 2, axis=1))),
        "ece": 100 * float(np.sum(gaps)),
    }


def fit_and_score(name: str, seed: int, model: str) -> dict:
    """Fit one model on one split; return a row of the results."""
    X, y = load(name, seed)
    split = StratifiedShuffleSplit(1, train_size=train_size(name, len(y)), random_state=seed)
    train, test = next(split.split(X, y))
    test = test[:MAX_TEST]
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = PEERS[model](X.shape[1], seed).fit(X[train], y[train])
    seconds = time.process_time() - start + getattr(fitted, "borrowed_seconds_", 0.0)
    row = scores(y[test], fitted.predict_proba(X[test]))
    return {"set": name, "split": seed, "model": model, "seconds": seconds, **row}


def one_split(name: str, seed: int, models: list[str], keep: Path | None) -> list[dict]:
    """Fit every model on one split. Models share the process, so that the two calibrations share one search."""
    rows = []
    for model in models:
        row = fit_and_score(name, seed, model)
        rows.append(row)
        print(f"{name:13s} {seed} {model:18s} " + " ".join(f"{k}={row[k]:.4g}" for k in METRICS), flush=True)
        if keep is not None:
            with keep.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return rows


def run(names: list[str], models: list[str], n_splits: int, keep: Path | None = None, n_jobs: int = 1) -> list[dict]:
    """Fit every model on every split; one row each. Rows that are in `keep` already are not fitted again."""
    old = [json.loads(line) for line in keep.read_text().splitlines()] if keep and keep.exists() else []
    done = {(r["set"], r["split"], r["model"]): r for r in old}
    tasks, cases = [], [(name, seed) for name in names for seed in range(n_splits // 2 if name in HALF else n_splits)]
    for name, seed in cases:
        missing = [model for model in models if (name, seed, model) not in done]
        tasks.append((name, seed, missing))
    for rows in Parallel(n_jobs=n_jobs)(delayed(one_split)(*task, keep) for task in tasks if task[2]):
        done.update({(r["set"], r["split"], r["model"]): r for r in rows})
    return [done[case + (model,)] for case, model in product(cases, models)]


def summarise(results: list[dict], title: str) -> str:
    """Means over sets, and paired differences to softmargin with their standard errors over splits."""
    models = list(dict.fromkeys(r["model"] for r in results))
    key = {(r["set"], r["split"], r["model"]): r for r in results}
    cases = list(dict.fromkeys((r["set"], r["split"]) for r in results))
    sets = list(dict.fromkeys(s for s, _ in cases))
    rows = []
    for model in models:
        mean = {
            m: np.mean([np.mean([key[c + (model,)][m] for c in cases if c[0] == s]) for s in sets]) for m in METRICS
        }
        gap = np.array([key[c + (model,)]["log_loss"] - key[c + ("softmargin",)]["log_loss"] for c in cases])
        each = [gap[[c[0] == s for c in cases]] for s in sets]
        se = np.sqrt(sum(np.var(g, ddof=1) / len(g) if len(g) > 1 else 0 for g in each)) / len(sets)
        wins = sum(g.mean() > 2 * np.std(g, ddof=1) / np.sqrt(len(g)) for g in each if len(g) > 1)
        losses = sum(-g.mean() > 2 * np.std(g, ddof=1) / np.sqrt(len(g)) for g in each if len(g) > 1)
        ratio = np.exp(
            np.mean([np.log(key[c + (model,)]["seconds"] / key[c + ("softmargin",)]["seconds"]) for c in cases])
        )
        paired = f"{np.mean([g.mean() for g in each]):+.4f} ({se:.4f})" if model != "softmargin" else ""
        record = f"{wins}/{len(sets) - wins - losses}/{losses}" if model != "softmargin" else ""
        rows.append(
            [model, f"{mean['error']:.2f}", f"{mean['log_loss']:.4f}", f"{mean['brier']:.4f}", f"{mean['ece']:.2f}"]
            + [paired, record, f"{ratio:.1f}"]
        )
    header = ["model", "error %", "log loss", "Brier", "ECE %", "log loss - ours (se)", "our wins/ties/losses"]
    per_set = table(
        ["log loss", *models],
        [
            [s, *[f"{np.mean([key[c + (m,)]['log_loss'] for c in cases if c[0] == s]):.4f}" for m in models]]
            for s in sets
        ],
    )
    return f"### {title}\n\n{table([*header, 'CPU time / ours'], rows)}\n\n{per_set}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classification")
    parser.add_argument("--full", action="store_true", help="ten splits and every peer")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=BINARY + MULTI)
    parser.add_argument("--models", type=lambda text: text.split(","), default=None)
    parser.add_argument("--splits", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=None, help="file of finished fits, to go on from")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    models = asked.models or [m for m in PEERS if asked.full or m not in BINARY_ONLY]
    if "softmargin" not in models:
        # Every difference in the tables is one to it.
        models = ["softmargin", *models]
    n_splits = max(asked.splits or (10 if asked.full else 2), 2)
    # Compile first, so that no fit pays for it.
    PEERS["softmargin"](2, 0).fit(*datasets.make_twonorm(40, random_state=0))
    results, parts = [], []
    for title, group in (("Binary", BINARY), ("Multi-class", MULTI)):
        names = [name for name in asked.sets if name in group]
        chosen = [m for m in models if group is BINARY or m not in BINARY_ONLY]
        if names:
            rows = run(names, chosen, n_splits, asked.keep, asked.jobs)
            results += rows
            parts.append(summarise(rows, title))
    if len(parts) == 2:
        everywhere = [r for r in results if r["model"] not in BINARY_ONLY]
        parts.append(summarise(everywhere, "All sets"))
    write("classification", results, "\n\n".join(parts))


if __name__ == "__main__":
    main()
