"""The distribution of a new target: Gaussian latent value plus epsilon-insensitive noise, in closed form.

Gao, Gunn & Harris, eq. 5.2. The noise is a uniform variable on [-epsilon, epsilon] with probability q/(1 + q),
q = epsilon C, and otherwise +-(epsilon + an exponential variable of rate C). With d = t - m, s = sqrt(v),
A(u) = u Phi(u/s) + s phi(u/s) and E(u) = exp(C u + C^2 v/2) Phi(-u/s - C s) the distribution function is

    F(d) = c [A(d + epsilon) - A(d - epsilon)]
         + [Phi((d + epsilon)/s) + E(d + epsilon) + Phi((d - epsilon)/s) - E(epsilon - d)] / (2 (1 + q)),

c = C/(2 (1 + q)). E is written with erfcx, and F is only ever evaluated for d <= 0, where nothing cancels:
F(-d) = 1 - F(d).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from softmargin.likelihoods._gauss import rho
from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.epsilon_insensitive import EpsilonInsensitive, log_tail

NARROWEST = 1e-8
"""Smallest standard deviation of the latent value, in units of the noise's: less cannot be told from a point."""
MAX_NEWTON = 100


@dataclass(frozen=True)
class NoiseMixture:
    """Predictive distributions of the target at n rows.

    Parameters
    ----------
    likelihood : EpsilonInsensitive
    mean, variance : ndarrays of shape (n,)
        Of the Gaussian part (the latent value, and a nugget where there is one).

    Examples
    --------
    >>> import numpy as np
    >>> mixture = NoiseMixture(EpsilonInsensitive(C=10.0, epsilon=0.1), np.zeros(1), np.full(1, 0.01))
    >>> mixture.quantile(np.array([0.025, 0.5, 0.975])).round(4) + 0.0
    array([[-0.38,  0.  ,  0.38]])
    """

    likelihood: EpsilonInsensitive
    mean: Array = field(repr=False)
    variance: Array = field(repr=False)

    @property
    def std(self) -> Array:
        """Standard deviation of the target, shape (n,)."""
        return np.sqrt(self.variance + self.likelihood.noise_variance)

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return self.likelihood.tilted_moments(y, self.mean, self._width() ** 2).log_z

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        d = y - self.mean
        lower = _lower_cdf(self.likelihood, -np.abs(d), self._width())
        return np.where(d <= 0, lower, 1 - lower)

    def quantile(self, q: Array) -> Array:
        """Invert the distribution function; shape (n, n_q) for levels 0 < q < 1 of shape (n_q,)."""
        s = self._width()
        out = np.empty((len(self.mean), len(q)))
        for k, level in enumerate(q):
            d = _invert(self.likelihood, min(float(level), 1 - float(level)), s)
            out[:, k] = self.mean + (d if level <= 0.5 else -d)
        return out

    def _width(self) -> Array:
        floor = NARROWEST * np.sqrt(self.likelihood.noise_variance)
        return np.maximum(np.sqrt(self.variance), floor)


@dataclass(frozen=True)
class SampledMixture:
    """Averages of `NoiseMixture`s: predictive distributions when the posterior is a set of samples.

    Parameters
    ----------
    likelihood : EpsilonInsensitive
    means : ndarray of shape (n, n_samples)
        Mean of the Gaussian part at each row under each sample.
    variance : ndarray of shape (n,)
        Its variance, the same for all samples.
    """

    likelihood: EpsilonInsensitive
    means: Array = field(repr=False)
    variance: Array = field(repr=False)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        flat, t = self._flat(y)
        return flat.cdf(t).reshape(self.means.shape).mean(axis=1)

    def density(self, y: Array) -> Array:
        """Density at y, shape (n,)."""
        flat, t = self._flat(y)
        return np.exp(flat.log_density(t)).reshape(self.means.shape).mean(axis=1)

    def quantile(self, q: Array) -> Array:
        """Invert the distribution function; shape (n, n_q) for levels 0 < q < 1 of shape (n_q,)."""
        shift = NoiseMixture(self.likelihood, np.zeros(len(self.means)), self.variance).quantile(q)
        return np.stack([self._invert(float(level), d) for level, d in zip(q, shift.T)], axis=1)

    def _invert(self, level: float, shift: Array) -> Array:
        """Newton's method between the smallest and the largest quantile of the samples' own distributions."""
        low, high = self.means.min(axis=1) + shift, self.means.max(axis=1) + shift
        unit = np.sqrt(self.variance + self.likelihood.noise_variance)
        t = self.means.mean(axis=1) + shift
        for _ in range(MAX_NEWTON):
            excess = self.cdf(t) - level
            low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
            proposal = t - excess / np.maximum(self.density(t), 1e-280)
            inside = (proposal >= low) & (proposal <= high)
            proposal = np.where(inside, proposal, 0.5 * (low + high))
            moved, t = np.abs(proposal - t), proposal
            if np.all(moved <= 1e-9 * unit):
                break
        return t

    def _flat(self, y: Array) -> tuple[NoiseMixture, Array]:
        """Every component as a row of its own, and the targets likewise."""
        variance, t = (np.broadcast_to(a[:, None], self.means.shape).ravel() for a in (self.variance, y))
        return NoiseMixture(self.likelihood, self.means.ravel(), variance), t


def sample_noise(likelihood: EpsilonInsensitive, shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
    """Draw from the noise density."""
    q = likelihood.epsilon * likelihood.C
    top = rng.uniform(-likelihood.epsilon, likelihood.epsilon, size=shape)
    tail = likelihood.epsilon + rng.exponential(1 / likelihood.C, size=shape)
    sign = np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)
    return np.where(rng.uniform(size=shape) < q / (1 + q), top, sign * tail)


def _lower_cdf(likelihood: EpsilonInsensitive, d: Array, s: Array) -> Array:
    """F(d) for d <= 0, shape (n,), with full relative accuracy."""
    C, epsilon = likelihood.C, likelihood.epsilon
    near, far = (d + epsilon) / s, (d - epsilon) / s
    near_phi, far_phi = ndtr(near), ndtr(far)
    # A(u) = s Phi(u/s) rho(u/s)
    top = C * s * (near_phi * rho(near) - far_phi * rho(far))
    below = near_phi + np.exp(log_tail(-near, C * s))
    above = far_phi - np.exp(log_tail(far, C * s))
    return 0.5 * (top + below + above) / (1 + epsilon * C)


def _invert(likelihood: EpsilonInsensitive, level: float, s: Array) -> Array:
    """Solve F(d) = level <= 1/2 for d <= 0, shape (n,).

    The density is log-concave, hence so is F, and Newton's method on ln F converges: from the right its first step
    lands left of the root (the tangent lies above), and from there it climbs. A bracket catches steps too far out.
    """
    mean = np.zeros_like(s)
    unit = np.sqrt(s**2 + likelihood.noise_variance)
    low, high = np.full_like(s, -np.inf), np.zeros_like(s)
    d = np.zeros_like(s)
    for _ in range(MAX_NEWTON):
        F = _lower_cdf(likelihood, d, s)
        low, high = np.where(level > F, d, low), np.where(level > F, high, d)
        safe = np.maximum(F, 1e-280)
        slope = np.exp(likelihood.tilted_moments(d, mean, s**2).log_z) / safe
        step = (np.log(level) - np.log(safe)) / np.maximum(slope, 1e-280)
        inside = (F > 1e-280) & (d + step >= low) & (d + step <= high)
        proposal = np.where(inside, d + step, 0.5 * (low + high))
        moved = np.abs(proposal - d)
        d = proposal
        if np.all(moved <= 1e-12 * (unit + np.abs(d))):
            break
    return d
