"""The cost of one evaluation of the objective (value and full gradient), in units of one Cholesky factorisation.

``python -m benchmarks evaluation``: n = 500, 1000 (and 2000 with ``--full``), d = 20, one thread, CPU time. Cold: no
start. Warm: from the posterior at hyperparameters 10 % away. Goals: cold <= 60, warm <= 30.
"""

import sys
import time

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin.criteria import Evidence, LeaveOneOut, LinkEvidence, Problem
from softmargin.datasets import make_twonorm
from softmargin.inference import EP
from softmargin.kernels import evaluate, make_kernel
from softmargin.likelihoods import Hinge


def seconds(function, repeats=5):
    """The best CPU time of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def one(criterion, kernel, X, y, start=None):
    """One evaluation with its gradient, as a search does it; returns the posterior."""
    evaluation = evaluate(kernel, X)
    likelihood = criterion.likelihood(Hinge(2.0))
    posterior = EP().for_search(criterion).infer(evaluation.K, y, likelihood, start=start)
    value = criterion(posterior, Problem(evaluation.K, y, likelihood))
    evaluation.contract(value.d_gram)
    return posterior


def main() -> None:
    sizes = (500, 1000, 2000) if "--full" in sys.argv else (500, 1000)
    rows, results = [], []
    with threadpool_limits(1):
        for n in sizes:
            X, labels = make_twonorm(n, random_state=0)
            y = np.where(labels == labels[0], 1.0, -1.0)
            kernel = make_kernel(None, X.shape[1], X.std(axis=0))
            near = kernel.clone_with_theta(kernel.theta + 0.1)
            A = np.asfortranarray(evaluate(kernel, X).K + np.eye(n))
            unit = seconds(lambda A=A: lapack.dpotrf(A, lower=1), 7)
            for criterion in (Evidence(), LinkEvidence(), LeaveOneOut()):
                start = one(criterion, near, X, y)
                cold = seconds(lambda c=criterion, k=kernel, X=X, y=y: one(c, k, X, y)) / unit
                warm = seconds(lambda c=criterion, k=kernel, X=X, y=y, s=start: one(c, k, X, y, s)) / unit
                rows.append([n, criterion.name, f"{cold:.1f}", f"{warm:.1f}"])
                results.append({"n": n, "criterion": criterion.name, "cold": cold, "warm": warm})
    write("evaluation", results, table(["n", "criterion", "cold / Cholesky", "warm / Cholesky"], rows))


if __name__ == "__main__":
    main()
