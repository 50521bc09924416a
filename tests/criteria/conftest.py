"""A small classification problem as a function of its hyperparameters."""

from dataclasses import replace

import numpy as np
import pytest

from softmargin.criteria import Problem
from softmargin.inference import MAP, Laplace


class Case:
    """Sixty rows in two dimensions; `problem(theta, C)` has ln amplitude and ln length scale theta."""

    def __init__(self, loss, n=60, seed=3, weighted=False):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        self.y = np.where(X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n) > -0.3, 1.0, -1.0)
        self.distance = ((X[:, None] - X[None]) ** 2).sum(-1)
        self.weight = rng.integers(1, 4, n).astype(float) if weighted else None
        self.loss = loss

    def problem(self, theta=(1.0, 0.0), C=2.0):
        K = np.exp(theta[0]) * np.exp(-0.5 * self.distance * np.exp(-2 * theta[1])) + 0.3
        return Problem(K, self.y, self.loss(C), self.weight)

    @staticmethod
    def evaluate(criterion, problem):
        """Infer and evaluate; also returns the posterior."""
        inference = {MAP: MAP(tol=1e-12), Laplace: Laplace()}[criterion.inference]
        posterior = inference.infer(problem.K, problem.y, problem.likelihood, problem.weight)
        return criterion(posterior, problem), posterior


@pytest.fixture
def make_case():
    return Case


@pytest.fixture
def svm():
    """The SVM's posterior of a problem."""
    return lambda problem: MAP(tol=1e-12).infer(problem.K, problem.y, problem.likelihood, problem.weight)


@pytest.fixture
def without():
    """The problem without some rows."""

    def remove(problem, rows):
        keep = np.setdiff1d(np.arange(len(problem.y)), rows)
        weight = None if problem.weight is None else problem.weight[keep]
        return replace(problem, K=problem.K[np.ix_(keep, keep)], y=problem.y[keep], weight=weight), keep

    return remove
