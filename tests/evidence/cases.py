"""Four rows for exact values, fifty for Sollich's toy (2002, section 7)."""

import numpy as np

X4 = np.array([0.0, 0.5, 1.4, 2.0])
K4 = 1.7 * np.exp(-((X4[:, None] - X4) ** 2) / 2) + 0.3
Y4 = np.array([1.0, 1.0, -1.0, -1.0])


def toy(n=50, seed=0):
    """Inputs on the unit interval, RBF kernel of amplitude 1.25 and length scale 0.05, labels from a prior draw."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(n))
    K = 1.25 * np.exp(-((x[:, None] - x) ** 2) / (2 * 0.05**2))
    values, vectors = np.linalg.eigh(K)
    f = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.standard_normal(n))
    return K, np.sign(f)
