"""Artificial problems whose best possible error, or true function, is known."""

from typing import Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from softmargin._linalg import Array

Labels = NDArray[np.int64]
Seed = int | RandomState | None
Noise = Literal["gaussian", "laplace", "uniform", "outliers"]

OUTLIER_RATE = 0.1
OUTLIER_FACTOR = 10.0


def make_twonorm(n_samples: int = 300, *, random_state: Seed = None) -> tuple[Array, Labels]:
    """Draw Breiman's twonorm problem: two normal clouds with the same covariance, on either side of the origin.

    Class 0 is N(a 1, I) and class 1 is N(-a 1, I) in 20 dimensions, a = 2/sqrt(20), with equal probability.
    The best classifier is the sign of the sum of the inputs; its error is Phi(-2) = 2.28 %.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    random_state : int, RandomState or None, default=None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 20)
        Inputs.
    y : ndarray of shape (n_samples,), 0 or 1
        Classes.

    Examples
    --------
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> X.shape, float(np.mean((X.sum(axis=1) < 0) == y)) > 0.96
    ((1000, 20), True)
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    mean = 2.0 / np.sqrt(20) * (1 - 2 * y)
    return mean[:, None] + rng.normal(size=(n_samples, 20)), y


def make_ringnorm(n_samples: int = 300, *, random_state: Seed = None) -> tuple[Array, Labels]:
    """Draw Breiman's ringnorm problem: a wide normal cloud around a narrow one.

    Class 0 is N(0, 4 I) and class 1 is N(a 1, I) in 20 dimensions, a = 2/sqrt(20), with equal probability.
    The best classifier is the ball of squared radius (8/3)(20 ln 2 + 2/3) around 4a/3; its error is 1.24 %.
    (Breiman's text has a = 1/sqrt(20), for which it is 1.50 %; the data in use since, DELVE's, have the a
    given here.)

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    random_state : int, RandomState or None, default=None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 20)
        Inputs.
    y : ndarray of shape (n_samples,), 0 or 1
        Classes.

    Examples
    --------
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> bool(X[y == 0].std() > 1.9 > 1.1 > X[y == 1].std())
    True
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    noise = rng.normal(size=(n_samples, 20))
    return np.where(y[:, None] == 0, 2.0 * noise, 2.0 / np.sqrt(20) + noise), y


def make_irrelevant(
    n_samples: int = 300, *, n_features: int = 15, n_relevant: int = 3, random_state: Seed = None
) -> tuple[Array, Labels]:
    """Draw a nonlinear problem in which most inputs say nothing about the class.

    Inputs are standard normal; class 1 has probability sigmoid(6 f) with a line, a parabola and products of
    neighbours, f = x_0 + (x_1^2 - 1) + x_1 x_2 + x_2 x_3 + ..., of the first `n_relevant` inputs. For three
    relevant inputs the best possible error is 5.6 %.

    Parameters
    ----------
    n_samples, n_features : int
        Numbers of rows and of columns.
    n_relevant : int
        Inputs that matter, 1 to n_features: the first ones.
    random_state : int, RandomState or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,), 0 or 1
        Classes.
    """
    if not 1 <= n_relevant <= n_features:
        raise ValueError(f"n_relevant={n_relevant} must lie between 1 and n_features={n_features}")
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_samples, n_features))
    return X, (rng.uniform(size=n_samples) < expit(6.0 * _relevant_function(X[:, :n_relevant]))).astype(np.int64)


def _relevant_function(X: Array) -> Array:
    """x_0 + (x_1^2 - 1) + sum_a x_{a-1} x_a over a >= 2, shape (n,)."""
    f = X[:, 0].copy()
    if X.shape[1] > 1:
        f += X[:, 1] ** 2 - 1.0
    return f + np.sum(X[:, 1:-1] * X[:, 2:], axis=1)


def make_sinc(
    n_samples: int = 40,
    *,
    noise: Noise = "gaussian",
    scale: float = 0.1,
    spaced: bool = False,
    random_state: Seed = None,
) -> tuple[Array, Array]:
    """Draw the sinc regression problem of Gao, Gunn & Harris: y = sin(x)/x + noise, x between -10 and 10.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    noise : {"gaussian", "laplace", "uniform", "outliers"}
        The shape of the noise, always of mean zero. "outliers" is Gaussian noise in which one row in ten, on
        average, has a standard deviation ten times as large.
    scale : float
        Standard deviation of the noise (of the ordinary rows, for "outliers").
    spaced : bool
        Whether x is evenly spaced, as in the paper's figure, rather than drawn uniformly.
    random_state : int, RandomState or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Inputs.
    y : ndarray of shape (n_samples,)
        Targets.

    Examples
    --------
    >>> X, y = make_sinc(5, scale=0.0, spaced=True)
    >>> X.ravel(), y.round(3)
    (array([-10.,  -5.,   0.,   5.,  10.]), array([-0.054, -0.192,  1.   , -0.192, -0.054]))
    """
    rng = check_random_state(random_state)
    x = np.linspace(-10.0, 10.0, n_samples) if spaced else rng.uniform(-10.0, 10.0, size=n_samples)
    # np.sinc(x) is sin(pi x)/(pi x).
    return x[:, None], np.sinc(x / np.pi) + scale * _unit_noise(noise, n_samples, rng)


def _unit_noise(noise: str, n: int, rng: RandomState) -> Array:
    """Noise of mean 0 and standard deviation 1 (of its ordinary rows, for "outliers"), shape (n,)."""
    if noise == "gaussian":
        return rng.normal(size=n)
    if noise == "laplace":
        return rng.laplace(scale=1.0 / np.sqrt(2.0), size=n)
    if noise == "uniform":
        return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=n)
    if noise == "outliers":
        return rng.normal(size=n) * np.where(rng.uniform(size=n) < OUTLIER_RATE, OUTLIER_FACTOR, 1.0)
    raise ValueError(f"noise={noise!r} is unknown; use 'gaussian', 'laplace', 'uniform' or 'outliers'")
