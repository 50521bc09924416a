"""Random support vector problems, and an independent solver for them."""

import clarabel
import numpy as np
from scipy import sparse

from softmargin.likelihoods import EpsilonInsensitive, Hinge, SquaredHinge

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive")


def rbf(X, length=1.0):
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1) / length**2)


def random_problem(seed, loss, n_max=400):
    """Draw (K, y, likelihood, weight): n 2..n_max, C 1e-3..1e3, amplitude 1e-3..1e4, three kernels."""
    rng = np.random.default_rng(seed)
    n = round(np.exp(rng.uniform(np.log(2), np.log(n_max))))
    X = rng.standard_normal((n, rng.integers(1, 6)))
    if rng.random() < 0.2:
        X = np.round(X)  # duplicate rows, possibly with opposite labels
    shape = rng.integers(3)
    if shape == 0:
        K = X @ X.T
    elif shape == 1:
        K = rbf(X, 10 ** rng.uniform(-1, 1))
    else:
        K = np.exp(-np.abs(X[:, None] - X).sum(-1) / 10 ** rng.uniform(-1, 1))
    K = 10 ** rng.uniform(-3, 4) * K + 10 ** rng.uniform(-3, 4)
    latent = X[:, 0] + rng.choice([0.0, 0.5, 3.0]) * rng.standard_normal(n)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.3 else None
    C = 10 ** rng.uniform(-3, 3)
    if loss == "epsilon_insensitive":
        return K, latent, EpsilonInsensitive(C, rng.choice([0.01, 0.1, 1.0])), weight
    return K, np.where(latent > 0, 1.0, -1.0), (Hinge if loss == "hinge" else SquaredHinge)(C), weight


def objectives(K, y, likelihood, weight, beta):
    """Primal and dual objective, each from its textbook form."""
    w = np.ones(len(y)) if weight is None else weight
    C, f = likelihood.C * w, K @ beta
    quadratic = 0.5 * beta @ f
    if likelihood.name == "epsilon_insensitive":
        primal = C @ np.maximum(np.abs(y - f) - likelihood.epsilon, 0)
        return quadratic + primal, y @ beta - likelihood.epsilon * np.abs(beta).sum() - quadratic
    slack = np.maximum(1 - y * f, 0)
    if likelihood.name == "hinge":
        return quadratic + C @ slack, y @ beta - quadratic
    kept = C > 0
    penalty = 0.5 * np.sum(beta[kept] ** 2 / C[kept])
    return quadratic + 0.5 * C @ slack**2, y @ beta - penalty - quadratic


def reference_optimum(K, y, likelihood, weight):
    """The optimal dual value by an interior-point conic solver, in alpha (and alpha* for regression)."""
    w = np.ones(len(y)) if weight is None else weight
    rows = np.flatnonzero(w > 0)
    K, y, C = K[np.ix_(rows, rows)], y[rows], likelihood.C * w[rows]
    if likelihood.name == "epsilon_insensitive":
        P, q = np.block([[K, -K], [-K, K]]), likelihood.epsilon - np.concatenate([y, -y])
        bound = np.concatenate([C, C])
    else:
        P, q, bound = K * np.outer(y, y), -np.ones(len(y)), C
        if likelihood.name == "squared_hinge":
            P, bound = P + np.diag(1 / C), None
    eye = np.eye(len(q))
    A = -eye if bound is None else np.vstack([-eye, eye])
    b = np.zeros(len(q)) if bound is None else np.concatenate([np.zeros(len(q)), bound])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), q, sparse.csc_matrix(A), b, [clarabel.NonnegativeConeT(len(b))], settings
    )
    return -solver.solve().obj_val
