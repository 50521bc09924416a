"""What the hinge and the squared hinge share: Q(y | f) = kappa(C) exp(-C l(y f)), l a penalty on the slack 1 - y f.

Sollich 2002, eq. 4; Gold & Sollich 2003, eq. 6. Q sums over y to v(f) <= 1: kappa is the largest
constant for which it does, and the missing 1 - v(f) is the probability that the model gives no label at all.
A subclass supplies kappa, the loss and the loss's integrals against a Gaussian in the margin z = y f.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments, power
from softmargin.likelihoods.defaults.label import LabelDefaults
from softmargin.likelihoods.defaults.sigmoid import SigmoidDefaults
from softmargin.likelihoods.integrals.label_mass import log_mass, mass_slopes


class TiltedLoss(NamedTuple):
    """ln of the integral of N(z; m, v) exp(-C l(z)), its derivatives in m, and the tilted average of l."""

    log_z: Array
    slope: Array
    curvature: Array
    mean_loss: Array


class ExpectedLoss(NamedTuple):
    """The average of l(z) over z ~ N(m, v), and its derivatives in m and v."""

    value: Array
    d_mean: Array
    d_var: Array


@dataclass(frozen=True)
class SlackDefaults(LabelDefaults, ABC):
    """Unnormalised likelihood of a soft-margin classifier; `C` weighs the loss."""

    is_smooth: ClassVar[bool] = False
    is_normalised: ClassVar[bool] = False

    @property
    @abstractmethod
    def log_kappa(self) -> float:
        """ln kappa."""

    @property
    @abstractmethod
    def d_log_kappa(self) -> float:
        """d ln kappa / dC."""

    @abstractmethod
    def loss(self, z: Array) -> Array:
        """l(z)."""

    @abstractmethod
    def d_loss(self, z: Array) -> tuple[Array, Array]:
        """First and second derivative of l(z); a kink counts as flat."""

    @abstractmethod
    def tilted_loss(self, m: Array, v: Array, C: Array) -> TiltedLoss:
        """Integrate exp(-C l(z)) against N(z; m, v); `C` has shape (n,): a weight multiplies it."""

    @abstractmethod
    def expected_loss(self, m: Array, v: Array) -> ExpectedLoss:
        """Average l(z) over z ~ N(m, v)."""

    @abstractmethod
    def normalised(self) -> SigmoidDefaults:
        """Return the class probability P(y | f) = Q(y | f) / v(f)."""

    def log_prob(self, y: Array | float, f: Array, weight: Array | None = None) -> Array:
        """Return w ln Q(y | f)."""
        w = power(weight)
        return w * (self.log_kappa - self.C * self.loss(y * f))

    def derivatives(self, y: Array | float, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope and curvature of `log_prob` in f; a kink counts as flat."""
        w = power(weight)
        first, second = self.d_loss(y * f)
        return Derivatives(-w * self.C * y * first, -w * self.C * second)

    def d_log_prob_d_params(self, y: Array | float, f: Array, weight: Array | None = None) -> Array:
        """Return d log_prob / dC, shape (1, n)."""
        w = power(weight)
        return (w * (self.d_log_kappa - self.loss(y * f)))[None]

    def log_odds(self, f: Array) -> Array:
        """ln Q(+1 | f)/Q(-1 | f), which is that of the class probability."""
        return self.normalised().log_odds(f)

    def log_v(self, f: Array) -> Array:
        """ln v(f) = ln[Q(+1 | f) + Q(-1 | f)] <= 0."""
        return log_mass(f, self.C, self.log_kappa, self.slack_power == 2)

    def d_log_v(self, f: Array) -> tuple[Array, Array]:
        """Return the derivatives of ln v(f) with respect to f and to C."""
        return mass_slopes(f, self.C, self.d_log_kappa, self.slack_power == 2)

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate Q(y | f)^w against N(f; m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        tilted = self.tilted_loss(y * m, v, self.C * w)
        return TiltedMoments(
            # A row of weight zero is no row: exactly 0, where rounding would leave 1e-17.
            log_z=np.where(w > 0, tilted.log_z, 0.0) + w * self.log_kappa,
            d_mean=y * tilted.slope,
            d2_mean=tilted.curvature,
            d_params=(w * (self.d_log_kappa - tilted.mean_loss))[None],
        )

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln Q(y | f) over f ~ N(m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        loss = self.expected_loss(y * m, v)
        return ExpectedLogProb(
            value=w * (self.log_kappa - self.C * loss.value),
            d_mean=-w * self.C * y * loss.d_mean,
            d_var=-w * self.C * loss.d_var,
            d_params=(w * (self.d_log_kappa - loss.value))[None],
        )
