"""What one target of 1e6 in place of a right one does to a regression, by the distance from its row.

``python -m benchmarks outlier``: 15 sinc sets of 40 rows (and 100 with ``--full``), five rows of each spoilt in turn.
The row is taken for a gross error and left out, so that what is left is the loss of a right row: where it was, the
function is less known; elsewhere, the hyperparameters move a little. The second shows in the difference between a fit
with and one without learning them. Differences of the predicted mean from that of the clean fit, in units of its
predictive sd, the largest of each interval; distances in the clean fit's length scales. Goal: below 0.1 elsewhere.
"""

import sys
import warnings
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import BayesianSVR
from softmargin.datasets import make_sinc

INSIDE = np.linspace(-10, 10, 201)[:, None]
EDGES = (0, 0.5, 1, 2, 3, 4, np.inf)
SETS, ROWS = 15, 5


def differences(n, seed):
    """For each spoilt row: distances, and differences with learnt and with the clean fit's hyperparameters."""
    X, y = make_sinc(n, random_state=seed)
    clean = BayesianSVR().fit(X, y)
    mean, std = clean.predict(INSIDE, return_std=True)
    for row in range(ROWS):
        rest = np.arange(n) != row
        spoilt = BayesianSVR().fit(X, np.where(rest, y, 1e6))
        given = BayesianSVR(clean.kernel_, C=clean.C_, epsilon=clean.epsilon_, search=None).fit(X[rest], y[rest])
        distance = np.abs(INSIDE[:, 0] - X[row, 0]) / clean.kernel_.k1.k2.length_scale
        yield distance, *(np.abs(model.predict(INSIDE) - mean) / std for model in (spoilt, given))


def summary(largest):
    """Median, maximum and the share below 0.1."""
    return [f"{np.median(largest):.3f}", f"{np.max(largest):.3f}", f"{np.mean(np.array(largest) < 0.1):.0%}"]


def main():
    """Print the table."""
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (40, 100) if "--full" in sys.argv else (40,):
            found = [found for seed in range(SETS) for found in differences(n, seed)]
            for low, high in pairwise(EDGES):
                inside = [(np.flatnonzero((low <= d) & (d < high)), learnt, given) for d, learnt, given in found]
                learnt, given = ([case[k][case[0]].max() for case in inside if len(case[0])] for k in (1, 2))
                rows.append([n, f"{low} to {high}", *summary(learnt), *summary(given)])
    header = ["rows", "distance", "median", "largest", "below 0.1"]
    header += [f"{name}, hyperparameters given" for name in ("median", "largest", "below 0.1")]
    write("outlier", rows, table(header, rows))


if __name__ == "__main__":
    main()
