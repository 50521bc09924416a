"""The hinge solver against scikit-learn's SVC (libsvm), on the same Gram matrices and from X, at an equal duality gap.

Run with ``python -m benchmarks solver`` (n = 300 and 1000) or with other sizes: ``--rows 3000 10000``; ``--keep`` adds
the rows to those of benchmarks/results/solver.json. From X the kernel matrix is part of our time, and SVC computes the
rows that it needs.

Both solve to a relative duality gap (primal - dual) / primal of 1e-6. SVC stops on the violation of the optimality
conditions instead, so its `tol` is lowered, by factors of sqrt(10), until the gap of *its* problem (with its free
bias, set to the value that makes its primal smallest) is small enough; only the fit with that `tol` is timed. libsvm
keeps its matrix in single precision: at large C its gap ends above 1e-6 whatever the `tol`; it is then timed at the
loosest `tol` within a factor two of the best gap it reached (marked *). Its cache holds the whole matrix. Times are
CPU seconds on one thread, the best of several fits, in one process; the ratio is SVC / ours: above 1 we are faster.
"""

import argparse
import json
import time
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks._results import RESULTS
from benchmarks.studies._report import table, write
from softmargin.inference import MAP
from softmargin.kernels import gram
from softmargin.likelihoods import Hinge

TOL = 1e-6
SLOW = 60.0
"""CPU seconds of one fit of SVC after which no smaller tolerance is tried."""


KERNEL = RBF(10**0.5) + ConstantKernel(1.0)


def problem(n, seed=0):
    """Ten inputs, two of them relevant, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    y = np.where(X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def best_time(fit, repeats):
    """Shortest CPU time of several calls, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = fit()
        times.append(time.process_time() - start)
    return min(times), result


def svc_gap(K, y, C, model):
    """Relative duality gap of the problem with a free bias, the bias chosen in SVC's favour."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    f = K @ beta
    quadratic = 0.5 * beta @ f

    def loss(b):
        return C * np.maximum(1 - y * (f + b), 0).sum()

    # The primal is convex and piecewise linear in the bias, with kinks where a margin is one: search them.
    kinks = np.sort(y - f)
    left, right = 0, len(kinks) - 1
    while right - left > 2:
        third = (right - left) // 3
        if loss(kinks[left + third]) <= loss(kinks[right - third]):
            right -= third
        else:
            left += third
    primal = quadratic + min(loss(b) for b in (*kinks[left : right + 1], model.intercept_[0]))
    return (primal - (y @ beta - quadratic)) / primal


def fit_svc(X, K, y, C, from_x, repeats):
    """Time of SVC at the loosest tolerance that reaches the gap (or twice its best), that tolerance, and the gap."""

    def fitted(tol, repeats):
        kernel = {"kernel": "rbf", "gamma": 0.05} if from_x else {"kernel": "precomputed"}
        model = SVC(C=C, tol=tol, cache_size=4000, **kernel)
        return best_time(lambda: model.fit(X if from_x else K, y), repeats)

    fits = []
    for tol in 10.0 ** np.arange(-3, -6.5, -0.5):
        seconds, model = fitted(tol, 1)
        fits.append((svc_gap(K, y, C, model), tol, seconds))
        if fits[-1][0] <= TOL or seconds > SLOW:
            break
    enough = max(TOL, 2 * min(fits)[0])
    gap, tol, seconds = next(fit for fit in fits if fit[0] <= enough)
    if seconds < SLOW / 10 and repeats > 1:
        seconds = min(seconds, fitted(tol, repeats - 1)[0])
    return seconds, tol, gap


def row(n, C, from_x, repeats):
    """One line of the table."""
    X, y = problem(n)
    K = gram(KERNEL, X)
    solver, likelihood = MAP(TOL, gradients=False), Hinge(C)
    ours, posterior = best_time(lambda: solver.infer(gram(KERNEL, X) if from_x else K, y, likelihood), repeats)
    f = posterior.mean
    primal = 0.5 * posterior.beta @ f + C * np.maximum(1 - y * f, 0).sum()
    gap = (primal - (y @ posterior.beta - 0.5 * posterior.beta @ f)) / primal
    theirs, tol, their_gap = fit_svc(X, K, y, C, from_x, repeats)
    found = {"ours": ours, "gap": gap, "svc": theirs, "svc_gap": their_gap, "svc_tol": tol}
    return {"n": n, "from": "X" if from_x else "Gram matrix", "C": C} | found


def summary(rows):
    """The table."""
    lines = [
        [row["n"], row["from"], f"{row['C']:g}", f"{row['ours']:.3f}", f"{row['gap']:.0e}", f"{row['svc']:.3f}",
         f"{row['svc_gap']:.0e}" + ("*" if row["svc_gap"] > TOL else ""), f"{row['svc'] / row['ours']:.2f}"]
        for row in sorted(rows, key=lambda row: (row["from"], row["n"], row["C"]))
    ]  # fmt: skip
    heads = ["rows", "from", "C", "our CPU s", "gap", "SVC CPU s", "its gap", "SVC / ours"]
    return table(heads, lines)


def main():
    """Measure, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000], help="numbers of rows")
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help="add to the tracked results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    path, rows = RESULTS / "solver.json", {}
    if options.keep and path.exists():
        rows = {(row["n"], row["from"], row["C"]): row for row in json.loads(path.read_text())["results"]}
    with threadpool_limits(1):
        X, y = problem(600)
        MAP(TOL).infer(gram(KERNEL, X), y, Hinge(100.0))  # compile
        for n in options.rows:
            for C in options.C:
                for from_x in (False, True):
                    made = row(n, C, from_x, options.repeats)
                    rows[n, made["from"], C] = made
    (write if options.keep else lambda _, __, text: print(text))("solver", list(rows.values()), summary(rows.values()))


if __name__ == "__main__":
    main()
