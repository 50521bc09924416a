"""Three-row problems small enough for quasi-Monte Carlo integration over the prior."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, qmc

from softmargin.likelihoods import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from softmargin.sampling import ConditionalNormaliser, DataTarget, JointNormaliser, Reference, Spectrum

X = np.array([0.0, 0.5, 1.4])
K = 1.7 * np.exp(-((X[:, None] - X) ** 2) / 2) + 0.3
Y = np.array([1.0, 1.0, -1.0])
NOISE = norm.ppf(qmc.Sobol(3, seed=1).random_base2(16))

TARGETS = {
    "hinge": DataTarget(Y, Hinge(2.0)),
    "weighted": DataTarget(Y, Hinge(2.0), np.array([2.0, 1.0, 0.5])),
    "squared_hinge": DataTarget(Y, SquaredHinge(2.0)),
    "logistic": DataTarget(Y, Logistic(2.0)),
    "epsilon_insensitive": DataTarget(np.array([0.5, 1.0, -1.0]), EpsilonInsensitive(3.0, 0.2)),
    "conditional": ConditionalNormaliser(Hinge(2.0)),
    "joint": JointNormaliser(Hinge(2.0), 3.0),
}

REFERENCES = {
    "prior": Reference.prior(K),
    "sites": Reference.sites(K, np.array([0.5, 0.2, 0.4]), np.array([0.6, 0.5, -0.3])),
}


@dataclass(frozen=True)
class Exact:
    """Averages over prior x weight by quasi-Monte Carlo (relative error about 1e-4)."""

    log_z: float
    mean: np.ndarray
    square: np.ndarray
    d_params: np.ndarray


def exact(target, gram=K):
    f = NOISE @ Spectrum.of(gram).root
    w = np.exp(target.log_weight(f))
    share = w / w.sum()
    return Exact(float(np.log(w.mean())), share @ f, share @ f**2, target.d_params(f) @ share)


def gram_gradient_by_differences(target, h=1e-2):
    """d ln Z / dK_ij, symmetric."""
    gradient = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            move = np.zeros((3, 3))
            move[i, j] += h / 2
            move[j, i] += h / 2
            gradient[i, j] = (exact(target, K + move).log_z - exact(target, K - move).log_z) / (2 * h)
    return gradient
