"""Samples from the model itself: latent functions and whole data sets (Sollich 2002, sections 2 and 3, figures 1-3).

The normalised model is P(f) proportional to Q(f) N(f)^n, where N(f) is the average of
v = Q(+1 | f(x)) + Q(-1 | f(x)) over the inputs: functions that would cause many rejections are rarer in it than
in the prior. A data set is drawn from it by the rejection procedure (draw f, then inputs and labels with
Q(y | f), and start again with a new f with probability 1 - v at every example), which succeeds about once
in 1/N^n attempts; annealing from the prior to the effective prior does the same at any n.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin import kernels
from softmargin._checks import as_generator
from softmargin._linalg import Array
from softmargin.likelihoods import Likelihood
from softmargin.sampling import JointNormaliser, Reference, Schedule, Spectrum, anneal

METHODS = ("annealing", "rejection")
MAX_BATCHES = 2000


class Dataset(NamedTuple):
    """One draw from the model.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 6.
    """

    X: Array
    """Inputs, shape (n_examples, n_features)."""
    y: Array
    """Labels -1 and +1 (or regression targets), shape (n_examples,)."""
    f: Array
    """The latent function at the inputs, shape (n_examples,)."""
    pool_f: Array
    """The latent function at every candidate input, shape (n_pool,)."""


def sample_prior(kernel: Kernel, X: Array, n_samples: int = 1, random_state: Any = None) -> Array:
    """Draw latent functions from the Gaussian-process prior Q(f).

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance of the prior.
    X : ndarray of shape (n, n_features)
        Inputs at which the functions are drawn.
    n_samples : int
        Number of functions.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    ndarray of shape (n_samples, n)
        One function per row.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 3 and figure 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> sample_prior(RBF(0.1), np.linspace(0, 1, 5)[:, None], n_samples=3, random_state=0).shape
    (3, 5)
    """
    root = Spectrum.of(kernels.gram(kernel, X)).root
    return as_generator(random_state).standard_normal((n_samples, len(root))) @ root


def sample_effective_prior(
    kernel: Kernel,
    X: Array,
    likelihood: Likelihood,
    n_examples: int,
    n_samples: int = 1,
    *,
    inputs: Array | None = None,
    schedule: Schedule | None = None,
    random_state: Any = None,
) -> Array:
    """Draw latent functions from the effective prior P(f) of a data set of `n_examples`.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance of the prior.
    X : ndarray of shape (n, n_features)
        Where to evaluate the functions.
    likelihood : Likelihood
        For a normalised one (and for ``n_examples=0``) this is the prior.
    n_examples : int
        Number of examples of a data set.
    n_samples : int
        Number of functions.
    inputs : ndarray of shape (s, n_features), optional
        A sample of the distribution of inputs; default: X itself.
    schedule : Schedule, optional
        How carefully to anneal.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    ndarray of shape (n_samples, n)
        One function per row.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 8 and figure 3.
    """
    if likelihood.is_normalised or n_examples == 0:
        return sample_prior(kernel, X, n_samples, random_state)
    rng = as_generator(random_state)
    everywhere, weight = X, np.ones(len(X))
    if inputs is not None:
        everywhere = np.concatenate([X, inputs])
        weight = np.concatenate([np.zeros(len(X)), np.ones(len(inputs))])
    reference = Reference.prior(kernels.gram(kernel, everywhere))
    f = _annealed(rng, reference, JointNormaliser(likelihood, float(n_examples), weight), n_samples, schedule)
    return f[:, : len(X)]


def sample_datasets(
    kernel: Kernel,
    inputs: Array,
    likelihood: Likelihood,
    n_examples: int,
    n_datasets: int = 1,
    *,
    method: str = "annealing",
    schedule: Schedule | None = None,
    random_state: Any = None,
) -> list[Dataset]:
    """Draw whole data sets from the model.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Covariance of the prior.
    inputs : ndarray of shape (n_pool, n_features)
        Candidates from the distribution of inputs Q(x); examples are drawn from them with replacement.
    likelihood : Likelihood
        A classifier's, or one of regression, which is normalised: the function is then a draw from the prior, inputs
        are drawn evenly, and targets are its values plus noise.
    n_examples, n_datasets : int
        Number of examples of a data set, and number of data sets.
    method : {"annealing", "rejection"}
        Rejection is the definition, and hopeless beyond some ten examples.
    schedule : Schedule, optional
        How carefully to anneal.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    list of Dataset
        `n_datasets` of them, each with its own latent function.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 6 and the procedure below eq. 7.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; choose one of {METHODS}")
    rng = as_generator(random_state)
    if not likelihood.is_classifier:
        functions = sample_prior(kernel, inputs, n_datasets, rng)
        return [_targets(rng, inputs, f, likelihood, n_examples) for f in functions]
    if method == "rejection":
        return _by_rejection(rng, kernel, inputs, likelihood, n_examples, n_datasets)
    functions = sample_effective_prior(
        kernel, inputs, likelihood, n_examples, n_datasets, schedule=schedule, random_state=rng
    )
    return [_examples(rng, inputs, f, likelihood, n_examples) for f in functions]


def _annealed(
    rng: np.random.Generator, reference: Reference, target: JointNormaliser, n_samples: int, schedule: Schedule | None
) -> Array:
    """Samples from different islands first, so that few of them share an ancestor."""
    if schedule is None:
        schedule = Schedule(n_particles=max(32, -(-n_samples // 16) * 2), n_moves=5)
    particles = anneal(rng, reference, target, schedule).f
    shape = (schedule.n_islands, schedule.n_particles)
    if n_samples > shape[0] * shape[1]:
        raise ValueError(f"the schedule has {shape[0] * shape[1]} particles for {n_samples} samples; raise n_particles")
    order = rng.permuted(np.arange(shape[0] * shape[1]).reshape(shape), axis=1).T.ravel()
    return particles[order[:n_samples]]


def _examples(rng: np.random.Generator, inputs: Array, f: Array, likelihood: Any, n_examples: int) -> Dataset:
    """Inputs with probability proportional to v(f(x)), then labels with P(y | x, f)."""
    share = np.ones(len(f)) if likelihood.is_normalised else np.exp(likelihood.log_v(f))
    index = rng.choice(len(inputs), size=n_examples, p=share / share.sum())
    up = np.exp(likelihood.normalised().log_prob(np.ones(n_examples), f[index]))
    y = np.where(rng.random(n_examples) < up, 1.0, -1.0)
    return Dataset(inputs[index], y, f[index], f)


def _targets(rng: np.random.Generator, inputs: Array, f: Array, likelihood: Any, n_examples: int) -> Dataset:
    """Inputs at random, and the function there plus noise."""
    index = rng.integers(len(inputs), size=n_examples)
    noise = likelihood.sample_noise((n_examples,), np.random.RandomState(rng.integers(2**31 - 1)))
    return Dataset(inputs[index], f[index] + noise, f[index], f)


def _by_rejection(
    rng: np.random.Generator, kernel: Kernel, inputs: Array, likelihood: Any, n_examples: int, n_datasets: int
) -> list[Dataset]:
    """The procedure as Sollich states it, many attempts at a time."""
    root = Spectrum.of(kernels.gram(kernel, inputs)).root
    found: list[Dataset] = []
    for _ in range(MAX_BATCHES):
        f = rng.standard_normal((256, len(root))) @ root
        index = rng.integers(len(inputs), size=(256, n_examples))
        latent = np.take_along_axis(f, index, axis=1)
        up, down = (np.exp(likelihood.log_prob(label, latent)) for label in (1.0, -1.0))
        uniform = rng.random(latent.shape)
        # Label +1 with probability Q(+1 | f), -1 with Q(-1 | f), otherwise start again.
        y = np.where(uniform < up, 1.0, -1.0)
        for i in np.flatnonzero(np.all(uniform < up + down, axis=1)):
            found.append(Dataset(inputs[index[i]], y[i], latent[i], f[i]))
            if len(found) == n_datasets:
                return found
    raise RuntimeError(
        f"rejection found {len(found)} of {n_datasets} data sets of {n_examples} examples in {MAX_BATCHES * 256} "
        "attempts; use method='annealing'"
    )
