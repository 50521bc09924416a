"""Low-rank EP under the default policy, beside full EP (n = 1200) and the sparse path (n = 4000).

Run with ``python -m benchmarks low_rank [NAME:ROWS ...]``. CPU seconds on one thread, log loss on the rows left over.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import BayesianSVC
from softmargin.datasets import load_keel
from softmargin.kernels import diag, gram, make_kernel
from softmargin.likelihoods import Hinge
from softmargin.rows import LocalRows, spread_of
from softmargin.tuning import Coordinates, LogParameters, bind_prior, classifier_prior, plan_stages
from softmargin.tuning.large.low_rank import final_posterior, learn

CASES = ("phoneme:1200", "magic:1200", "banana:1200", "phoneme:4000", "magic:4000")


def split(name, n, seed=0):
    """Standardised training and test rows of a KEEL set, labels 0 and 1."""
    bunch = load_keel(name)
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    train, test = order[:n], order[n : n + 3000]
    X = (bunch.data - bunch.data[train].mean(axis=0)) / bunch.data[train].std(axis=0)
    return X[train], bunch.target[train], X[test], bunch.target[test]


def low_rank(X, y, new):
    """Log-odds of new rows."""
    signs = np.where(y > 0, 1.0, -1.0)
    weight = np.ones(len(y))
    spread = spread_of(X, weight)
    coordinates = Coordinates(make_kernel(None, X.shape[1], spread), _noise(), n_features=X.shape[1])
    log_prior = bind_prior(classifier_prior(signs, weight), coordinates, spread, X)
    learnt = learn(X, signs, None, coordinates, plan_stages(None, coordinates, spread), log_prior)
    posterior = final_posterior(LocalRows(X, signs, None), learnt, X)
    K, k_diag = gram(learnt.kernel, new, posterior.Z), diag(learnt.kernel, new)
    return posterior.log_odds(learnt.likelihood, K, k_diag)


def _noise():
    return LogParameters(Hinge(1.0), ("C",), ((1e-2, 1e3),))


def main():
    rows = []
    for case in sys.argv[1:] or CASES:
        name, n = case.split(":")
        X, y, new, truth = split(name, int(n))
        for method in ("low rank", "today"):
            start = time.process_time()
            if method == "today":
                log_odds = BayesianSVC(random_state=0).fit(X, y).decision_function(new)
            else:
                log_odds = low_rank(X, y, new)
            cpu = time.process_time() - start
            loss = np.mean(np.logaddexp(0, -np.where(truth > 0, 1, -1) * log_odds))
            rows.append([name, n, method, f"{cpu:.1f}", f"{loss:.4f}"])
            print(*rows[-1], flush=True)
    write("low_rank", rows, table(["set", "rows", "method", "CPU s", "log loss"], rows))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
