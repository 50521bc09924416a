"""The distribution of inputs that maximises the joint evidence (Sollich 2002, note 6).

The joint evidence depends on the distribution Q(x) of the unnormalised model. Taken as a hyperparameter, its best value
has weights w_i at the training inputs, P(X, Y) = Q(Y | X) prod_i w_i / Nhat(w) with Nhat(w) = <(sum_j w_j v(f_j))^n>.
The derivative in ln w_i vanishes, with the constraint that the weights add up to one, where

    <w_i v(f_i) / sum_j w_j v(f_j)> = 1/n,

the average over the distribution proportional to the prior times (sum_j w_j v(f_j))^n: every training input is to be as
frequent in the normalised model as in the data. The paper calls this "a complicated nonlinear equation" and takes all
weights equal; here it is solved by iteration, w_i <- w_i (1/n) / <...>, with samples from annealing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from softmargin._checks import as_generator
from softmargin._linalg import Array
from softmargin.sampling import JointNormaliser, Reference, Schedule, anneal


@dataclass(frozen=True)
class InputWeights:
    """The weights and what they are worth."""

    weight: Array
    """w_i, shape (n,), adding up to one."""
    gain: float
    """How much larger the log joint evidence is than with equal weights, in nats."""
    residual: float
    """Largest relative deviation of an input's frequency in the model from 1/n."""
    n_iter: int


def input_weights(
    K: Array,
    likelihood: Any,
    *,
    tol: float = 0.02,
    max_iter: int = 50,
    schedule: Schedule | None = None,
    random_state: Any = None,
) -> InputWeights:
    """Find the weights of the training inputs that maximise the joint evidence.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of the training inputs, the offset's constant included.
    likelihood : Hinge or SquaredHinge
    tol : float, default=0.02
        Largest relative deviation of the frequencies from 1/n to stop at; samples are too few for much less.
    max_iter : int, default=50
    schedule : Schedule, optional
        How carefully to anneal.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    InputWeights

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, note 6 and eq. 29.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.likelihoods import Hinge
    >>> x = np.array([0.0, 0.1, 0.2, 3.0])
    >>> found = input_weights(2 * np.exp(-0.5 * (x[:, None] - x) ** 2), Hinge(2.0), random_state=0)
    >>> bool(found.weight[3] > found.weight[1]), bool(found.gain > 0)
    (True, True)
    """
    n, seed = len(K), int(as_generator(random_state).integers(2**31 - 1))
    reference, equal = Reference.prior(K), np.full(n, 1 / n)

    def target(weight: Array) -> JointNormaliser:
        return JointNormaliser(likelihood, float(n), weight)

    def functions(weight: Array) -> Array:
        """Functions from the normalised model, shape (n_samples, n); the same random numbers every time."""
        return anneal(np.random.default_rng(seed), reference, target(weight), schedule).f

    weight, n_iter = equal, 0
    first = f = functions(equal)
    frequency = target(weight).shares(f).mean(axis=0)
    while np.max(np.abs(n * frequency - 1)) > tol and n_iter < max_iter:
        weight = weight / (n * frequency)
        weight /= weight.sum()
        f = functions(weight)
        frequency = target(weight).shares(f).mean(axis=0)
        n_iter += 1
    # Nhat(w)/Nhat(1/n) is the average of (sum_j w_j v_j / mean v)^n over the model with equal weights.
    change = target(weight).log_weight(first) - target(equal).log_weight(first)
    gain = float(np.sum(np.log(n * weight)) - logsumexp(change) + np.log(len(first)))
    return InputWeights(weight, gain, float(np.max(np.abs(n * frequency - 1))), n_iter)
