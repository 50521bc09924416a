"""The distributions that are sampled: prior N(f; 0, K) times a weight w(f).

Sollich 2002, eqs. 27-29: the posterior Q(f | D) with w = prod Q(y_i | f_i); the two normalisers'
distributions with w = prod v(f_i) and w = (mean of v(f_i))^n. Gold & Sollich 2003, section 3.3: the
gradients of ln Z, Z = <w>, need the slope of ln w and its derivatives with respect to the likelihood's parameters.

Every method is vectorised over leading axes: `f` has shape (..., n), one row for each chain.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softmargin._linalg import Array
from softmargin.likelihoods import Likelihood


class Target(Protocol):
    """The weight function w(f) of a distribution proportional to N(f; 0, K) w(f)."""

    def log_weight(self, f: Array) -> Array:
        """ln w, shape (...,)."""
        ...

    def slope(self, f: Array) -> Array:
        """Gradient of ln w with respect to f, shape (..., n)."""
        ...

    def d_params(self, f: Array) -> Array:
        """d ln w / d likelihood parameter, shape (n_params, ...)."""
        ...


@dataclass(frozen=True)
class DataTarget:
    """w = prod Q(y_i | f_i)^weight_i: the posterior Q(f | D); <w> is the naive evidence.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Targets of the rows.
    likelihood : Likelihood
        p(y given f), with its parameters.
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.
    """

    y: Array
    likelihood: Likelihood
    weight: Array | None = None

    def log_weight(self, f: Array) -> Array:
        """Sum of w_i ln Q(y_i | f_i)."""
        return np.asarray(self.likelihood.log_prob(self.y, f, self.weight)).sum(axis=-1)

    def slope(self, f: Array) -> Array:
        """For the hinge: C y_i 1[y_i f_i < 1]."""
        return self.likelihood.derivatives(self.y, f, self.weight).slope

    def d_params(self, f: Array) -> Array:
        """Sum of the rows' derivatives."""
        # The likelihood's own method wants flat arrays.
        y = np.broadcast_to(self.y, f.shape).ravel()
        weight = None if self.weight is None else np.broadcast_to(self.weight, f.shape).ravel()
        likelihood: Any = self.likelihood
        return likelihood.d_log_prob_d_params(y, f.ravel(), weight).reshape(-1, *f.shape).sum(axis=-1)


@dataclass(frozen=True)
class ConditionalNormaliser:
    """w = prod v(f_i)^weight_i, v = Q(+1 | f) + Q(-1 | f): <w> = N(X) (Sollich 2002, eq. 28).

    Parameters
    ----------
    likelihood : Hinge or SquaredHinge
        p(y given f), with its parameters.
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 28.
    """

    likelihood: Any
    weight: Array | None = None

    def log_weight(self, f: Array) -> Array:
        """Sum of w_i ln v(f_i)."""
        return _weighted(self.likelihood.log_v(f), self.weight).sum(axis=-1)

    def slope(self, f: Array) -> Array:
        """v'/v."""
        return _weighted(self.likelihood.d_log_v(f)[0], self.weight)

    def d_params(self, f: Array) -> Array:
        """Sum of w_i d ln v(f_i)/dC."""
        return _weighted(self.likelihood.d_log_v(f)[1], self.weight).sum(axis=-1)[None]


@dataclass(frozen=True)
class JointNormaliser:
    """w = (average of v over a sample of inputs)^n: <w> = Nhat (Sollich 2002, eq. 29).

    Parameters
    ----------
    likelihood : Hinge or SquaredHinge
        p(y given f), with its parameters.
    n_examples : float
        n, the number of training examples (the sum of their weights).
    weight : ndarray of shape (n_inputs,), optional
        How often each input of the sample counts in the average.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 29.
    """

    likelihood: Any
    n_examples: float
    weight: Array | None = None

    def _shares(self, f: Array) -> tuple[Array, Array]:
        """ln of the average of v, shape (...,), and every input's share in it, shape (..., n)."""
        share = self.likelihood.log_v(f)
        top = share.max(axis=-1, keepdims=True)
        share -= top
        np.exp(share, out=share)
        share *= 1 / share.shape[-1] if self.weight is None else self.weight / np.sum(self.weight)
        mean = share.sum(axis=-1, keepdims=True)
        share /= mean
        return (top + np.log(mean))[..., 0], share

    def shares(self, f: Array) -> Array:
        """Return v(f_i) of every input, with its weight, as a share of their sum, shape (..., n)."""
        return self._shares(f)[1]

    def log_weight(self, f: Array) -> Array:
        """N times ln of the average of v."""
        return self.n_examples * self._shares(f)[0]

    def slope(self, f: Array) -> Array:
        """N v'_i / sum_j v_j."""
        return self.n_examples * self._shares(f)[1] * self.likelihood.d_log_v(f)[0]

    def d_params(self, f: Array) -> Array:
        """N times the v-weighted average of d ln v/dC."""
        return self.n_examples * (self._shares(f)[1] * self.likelihood.d_log_v(f)[1]).sum(axis=-1)[None]


def _weighted(values: Array, weight: Array | None) -> Array:
    return values if weight is None else values * weight
