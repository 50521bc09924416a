"""The hinge solver against scikit-learn's SVC (libsvm) on the same Gram matrices, at an equal duality gap.

Run with ``python -m benchmarks.solver`` (n = 300 and 1000) or ``python -m benchmarks.solver --full`` (up to 5000).

Both solve to a relative duality gap (primal - dual) / primal of 1e-6. SVC stops on the violation of the optimality
conditions instead, so its `tol` is lowered, by factors of sqrt(10), until the gap of *its* problem (with its free
bias, set to the value that makes its primal smallest) is small enough; only the fit with that `tol` is timed. libsvm
keeps its matrix in single precision: at large C its gap ends above 1e-6 whatever the `tol`; it is then timed at the
loosest `tol` within a factor two of the best gap it reached (marked *). Its cache holds the whole matrix. Times are
CPU seconds on one thread, the best of several fits, in one process; the ratio is SVC / ours: above 1 we are faster.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from softmargin.inference import MAP
from softmargin.likelihoods import Hinge

TOL = 1e-6
SLOW = 60.0
"""CPU seconds of one fit of SVC after which no smaller tolerance is tried."""


def problem(n, seed=0):
    """Ten inputs, two of them relevant, noisy labels; RBF kernel plus offset."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    y = np.where(X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    sq = (X**2).sum(axis=1)
    return np.exp(-0.5 * np.maximum(sq[:, None] + sq - 2 * X @ X.T, 0) / 10) + 1, y


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


def fit_svc(K, y, C, repeats):
    """Time of SVC at the loosest tolerance that reaches the gap (or twice its best), that tolerance, and the gap."""
    fits = []
    for tol in 10.0 ** np.arange(-3, -6.5, -0.5):
        model = SVC(C=C, kernel="precomputed", tol=tol, cache_size=4000)
        seconds, _ = best_time(lambda model=model: model.fit(K, y), 1)
        fits.append((svc_gap(K, y, C, model), tol, seconds))
        if fits[-1][0] <= TOL or seconds > SLOW:
            break
    enough = max(TOL, 2 * min(fits)[0])
    gap, tol, seconds = next(fit for fit in fits if fit[0] <= enough)
    if seconds < SLOW / 10:
        model = SVC(C=C, kernel="precomputed", tol=tol, cache_size=4000)
        seconds = min(seconds, best_time(lambda: model.fit(K, y), repeats)[0])
    return seconds, tol, gap


def row(n, label, C, repeats):
    """One line of the table."""
    K, y = problem(n)
    ours, posterior = best_time(lambda: MAP(TOL, gradients=False).infer(K, y, Hinge(C)), repeats)
    f = posterior.mean
    primal = 0.5 * posterior.beta @ f + C * np.maximum(1 - y * f, 0).sum()
    gap = (primal - (y @ posterior.beta - 0.5 * posterior.beta @ f)) / primal
    theirs, tol, their_gap = fit_svc(K, y, C, repeats)
    mark = "*" if their_gap > TOL else " "
    print(
        f"{n:6d} {label:>6} {C:7g} {ours:10.4f} {gap:9.1e} {theirs:10.4f} {their_gap:9.1e}{mark} {tol:8.1e} "
        f"{theirs / ours:7.2f}",
        flush=True,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="n up to 5000 (minutes)")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    sizes = (300, 1000, 3000, 5000) if options.full else (300, 1000)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        MAP(TOL).infer(*problem(600), Hinge(100.0))  # compile
        print("     n   case       C     ours s       gap      SVC s       gap   SVC tol   ratio")
        for n in sizes:
            for label, C in (("easy", 0.1), ("easy", 1.0), ("middle", 30.0), ("hard", 1000.0)):
                row(n, label, C, options.repeats)


if __name__ == "__main__":
    main()
