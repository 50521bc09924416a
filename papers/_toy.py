"""Sollich's toy: data drawn from the model itself, so that the true hyperparameters and probabilities are known.

Inputs uniform on the unit interval, C = 2, RBF kernel of amplitude 1.25 and length scale 0.05, n = 50 examples (Sollich
2002, section 7; Sollich 2000, figure 2). The papers' own samples are unknown: from forty draws with a fixed seed we
take the first in which every label has the sign of the target, and the first with exactly one label on the far side
of the margin (y theta < -1) and no other wrong one: the "visibly corrupted" label of the second data set.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.evidence import Schedule, naive_evidence, normaliser
from softmargin.generative import Dataset, sample_datasets
from softmargin.inference import Laplace
from softmargin.likelihoods import Hinge

C, K0, LENGTH, N = 2.0, 1.25, 0.05, 50
KINDS = ("naive", "joint", "conditional")
DRAWS = 40
POOL = 300


@cache
def draws(n_datasets: int = DRAWS, seed: int = 0) -> tuple[Dataset, ...]:
    """Data sets from the model."""
    rng = np.random.default_rng(seed)
    pool = np.sort(rng.random((POOL, 1)), axis=0)
    kernel = ConstantKernel(K0) * RBF(LENGTH)
    return tuple(sample_datasets(kernel, pool, Hinge(C), N, n_datasets, random_state=rng))


def pool(seed: int = 0) -> np.ndarray:
    """The candidate inputs of `draws`, at which the targets are known, shape (POOL,)."""
    return np.sort(np.random.default_rng(seed).random((POOL, 1)), axis=0).ravel()


def clean() -> Dataset:
    """The data set of figure 4: no label contradicts the target."""
    return next(d for d in draws() if np.all(d.y * d.f > 0))


def corrupted() -> Dataset:
    """The data set of figure 7: one label lies beyond the margin on the wrong side."""
    return next(d for d in draws() if np.sum(d.y * d.f < 0) == 1 and np.min(d.y * d.f) < -1)


@dataclass(frozen=True)
class Point:
    """Per example: the naive evidence by sampling and by Laplace, the two normalisers, and the standard errors."""

    naive: float
    laplace: float
    joint_normaliser: float
    conditional_normaliser: float
    error: float
    """Largest Monte Carlo standard error of an evidence."""

    def evidence(self, kind: str, *, laplace: bool = False) -> float:
        """E_nv, Ehat(X, Y) or E(Y | X)."""
        normaliser = {"naive": 0.0, "joint": self.joint_normaliser, "conditional": self.conditional_normaliser}[kind]
        return (self.laplace if laplace else self.naive) - normaliser


def point(data: Dataset, C: float, K0: float, length: float, *, careful: bool = False, seed: int = 0) -> Point:
    """Evaluate every kind of evidence at one setting; the same random numbers at every setting."""
    schedule = Schedule(n_islands=8, n_particles=64 if careful else 32, n_moves=6 if careful else 3)
    K, likelihood, n = K0 * RBF(length)(data.X), Hinge(C), len(data.y)
    naive = naive_evidence(K, data.y, likelihood, schedule=schedule, random_state=seed)
    joint, conditional = (
        normaliser(K, likelihood, kind, schedule=schedule, random_state=seed) for kind in ("joint", "conditional")
    )
    error = np.hypot(naive.standard_error, max(joint.standard_error, conditional.standard_error)) / n
    laplace = Laplace().infer(K, data.y, likelihood).log_evidence
    return Point(naive.value / n, laplace / n, joint.value / n, conditional.value / n, float(error))


def draw_target(ax, data: Dataset) -> None:
    """Draw the target and the examples."""
    ax.plot(pool(), data.pool_f, "k", linewidth=1, label="target")
    ax.plot(data.X.ravel(), data.y, "o", markersize=4, fillstyle="none", label="examples")


def peak(x: np.ndarray, values: np.ndarray) -> float:
    """Where a curve over x is largest: the parabola through the best grid point and its neighbours."""
    best = int(np.argmax(values))
    if best in (0, len(x) - 1):
        return float(x[best])
    a, b, _ = np.polyfit(x[best - 1 : best + 2] - x[best], values[best - 1 : best + 2], 2)
    return float(x[best] - b / (2 * a))
