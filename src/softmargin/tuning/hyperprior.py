"""Weak log-normal priors on the hyperparameters, in units of the data.

Without them the evidence runs to the noise-free corner (amplitude -> infinity) or to the trivial one (C -> 0) on small
data sets, and per-input length scales overfit. With them nearly every start finds one optimum. All are normal in the
logarithm: C, the kernel's amplitude, the offset's variance, the common length scale relative to
sqrt(d) times each input's spread, and the deviations of the length scales from their common value. The deviations'
strength is learnt: integrating a scale out gives the multivariate t form -(d - 1 + nu)/2 ln(1 + |delta|^2/(nu s^2)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.kernels import contract_diag
from softmargin.tuning.coordinates import Coordinates

LogDensity = Callable[[Array], tuple[float, Array]]
MeanAndSd = tuple[float, float] | None


@dataclass(frozen=True)
class HyperPrior:
    """Prior on the hyperparameters; each entry is (mean, standard deviation) of a logarithm, or None for flat.

    Parameters
    ----------
    C, amplitude, offset : (mean, sd) or None
        ln C (classification), ln k0, ln k_off.
    length_scale : (mean, sd) or None
        Mean over inputs of ln(l_a / spread_a) - ln(d)/2.
    shrinkage : (scale, degrees of freedom) or None
        Scale s and nu of the multivariate t on the deviations from that mean.
    sigma, shape : (mean, sd) or None
        ln of the noise's standard deviation and of its shape epsilon C (regression, in units of the target's robust
        spread).

    Examples
    --------
    >>> HyperPrior(C=None).amplitude
    (0.0, 3.0)
    """

    C: MeanAndSd = (0.0, 0.5)
    amplitude: MeanAndSd = (0.0, 3.0)
    offset: MeanAndSd = (-1.5, 1.0)
    length_scale: MeanAndSd = (0.5, 1.0)
    shrinkage: tuple[float, float] | None = (0.3, 4.0)
    sigma: MeanAndSd = (float(np.log(0.3)), 1.5)
    shape: MeanAndSd = (0.8, 1.0)

    @classmethod
    def for_regression(cls) -> "HyperPrior":
        """The default for regression, where the likelihood is normalised and the evidence can be trusted more."""
        return cls(C=None, amplitude=(1.0, 2.0), offset=(-1.5, 1.5), length_scale=(0.5, 1.5), shrinkage=(1.0, 4.0))

    def bind(self, coordinates: Coordinates, spread: Array, log_unit: Array | None = None) -> LogDensity:
        """Return z -> (log density up to a constant, gradient) for these coordinates.

        Parameters
        ----------
        coordinates : Coordinates
            The coordinates of the search.
        spread : ndarray of shape (n_features,)
            Standard deviation of each input; inputs that do not vary (0) get no prior.
        log_unit : ndarray of shape (n_theta,), optional
            ln of the unit of each amplitude: an amplitude's prior is on the variance it gives to f, which for
            a DotProduct is its value times the size of the inputs.

        Returns
        -------
        callable
            z -> (log density, gradient).
        """
        names = coordinates.kinds
        means, sds = np.zeros(len(names)), np.full(len(names), np.inf)
        for i, name in enumerate(names):
            entry = getattr(self, name, None) if name not in ("length_scale", "shrinkage") else None
            if entry is not None:
                means[i], sds[i] = entry
                if log_unit is not None and name == "amplitude":
                    means[i] += log_unit[i]
        group = _length_scales(coordinates, spread, self.length_scale, self.shrinkage)

        def log_density(z: Array) -> tuple[float, Array]:
            u = (z - means) / sds
            value, gradient = group(z)
            return value - 0.5 * float(u @ u), gradient - u / sds

        return log_density


def _length_scales(
    coordinates: Coordinates, spread: Array, mean_prior: MeanAndSd, shrinkage: tuple[float, float] | None
) -> LogDensity:
    """The part of the prior on the length scales; their roles may be one per input, or one for all."""
    varying = spread > 0
    log_unit = np.log(np.where(varying, spread, 1.0)) + 0.5 * np.log(max(int(varying.sum()), 1))
    index, unit = [], []
    for i, role in enumerate(coordinates.roles):
        if role.kind == "length_scale" and (role.input is None or varying[role.input]):
            index.append(i)
            unit.append(log_unit[varying].mean() if role.input is None and varying.any() else log_unit[role.input or 0])
    where, units = np.array(index, dtype=int), np.array(unit)

    def log_density(z: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(z)
        value = 0.0
        if not len(where):
            return value, gradient
        relative = z[where] - units
        mean = relative.mean()
        if mean_prior is not None:
            u = (mean - mean_prior[0]) / mean_prior[1]
            value -= 0.5 * u * u
            gradient[where] -= u / mean_prior[1] / len(where)
        if shrinkage is not None and len(where) > 1:
            (scale, nu), delta = shrinkage, relative - mean
            power, total = 0.5 * (len(where) - 1 + nu), nu * scale**2 + delta @ delta
            value -= power * np.log(total / (nu * scale**2))
            gradient[where] -= 2 * power * delta / total
        return value, gradient

    return log_density


def bind_prior(hyperprior: HyperPrior | None, coordinates: Coordinates, spread: Array, X: Any) -> LogDensity | None:
    """The log density of a hyperprior in units of the data X; None without one."""
    return None if hyperprior is None else hyperprior.bind(coordinates, spread, amplitude_units(coordinates, X))


def amplitude_units(coordinates: Coordinates, X: Any) -> Array:
    """ln of amplitude over the mean variance that it gives to f: 0 for a stationary kernel; shape (n_theta,)."""
    n = X.shape[0]
    # d mean k(x, x)/d ln k0 is the mean variance of the term that k0 multiplies.
    given = contract_diag(coordinates.kernel, X, np.full(n, 1 / n))
    with np.errstate(divide="ignore"):
        unit = coordinates.kernel.theta - np.log(np.maximum(given, 0))
    return np.where(np.isfinite(unit), unit, 0.0)
