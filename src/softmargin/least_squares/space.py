"""Coordinates of the least-squares machine, z = (kernel.theta, ln s2, ln b), and the prior on them.

The prior is normal in the logarithms, in units of the data; deviations of the length scales from their common value
have the multivariate t form -(d - 1 + nu)/2 ln(1 + |delta|^2/(nu s^2)), whose strength is learnt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern

from softmargin._linalg import Array
from softmargin._typing import KernelLike
from softmargin.kernels import Anova, Layout, PrecomputedKernel, contract_diag, diag, make_kernel, roles, theta_setter
from softmargin.policy import POLICY, LeastSquaresPolicy


def default_kernel(spread: Array, policy: LeastSquaresPolicy, layout: Layout | None = None) -> Kernel:
    """Offset + Matern-3/2 (or ANOVA) kernel of variance one with a length scale for each input.

    s2 and b carry the scale.

    Parameters
    ----------
    spread : ndarray of shape (d,)
        Standard deviation of each input, at the first of its columns, 0 for a constant one.
    policy : LeastSquaresPolicy
        Constants of the default.
    layout : Layout, optional
        Which columns are one input; None: each is one of its own.
    """
    if layout is not None and not layout.is_plain:
        return make_kernel(default_kernel(spread[layout.leaders], policy), len(spread), spread, layout)
    n_varying = max(int(np.sum(spread > 0)), 1)
    unit = np.where(spread > 0, spread, 1.0) * n_varying**policy.crowding
    length_scale = unit * np.exp(policy.length_start)
    offset = ConstantKernel(float(np.exp(policy.offset[0])), POLICY.kernel.offset_bounds)
    low, high = POLICY.kernel.length_bounds
    bounds: Any = np.outer(unit, (low, high))
    if len(unit) == 1:
        length_scale, bounds = float(length_scale[0]), tuple(bounds[0])
    if policy.interaction is not None:
        return offset + Anova(length_scale, bounds, policy.interaction / n_varying)
    return offset + Matern(length_scale, bounds, nu=policy.smoothness)


@dataclass(frozen=True)
class SearchSpace:
    """The vector z: its start, bounds, names and prior."""

    kernel: Kernel
    policy: LeastSquaresPolicy
    unit: float
    """Mean of k(x, x) at the start: the unit of s2."""
    start: Array = field(repr=False)
    bounds: Array = field(repr=False)
    names: list[str] = field(repr=False)
    mean: Array = field(repr=False)
    """Prior means of z, 0 where the prior is flat; shape (n_z,)."""
    sd: Array = field(repr=False)
    """Prior standard deviations, infinite where the prior is flat; shape (n_z,)."""
    scales: Any = field(repr=False)
    """Indices of the length scales that the prior knows."""
    log_units: Array = field(repr=False)
    """ln of the unit of each of them."""
    kernel_at: Callable[[Array], Kernel] = field(repr=False)
    """The kernel as a function of its theta."""

    @classmethod
    def build(
        cls,
        kernel: KernelLike,
        X: Any,
        weight: Array,
        spread: Array,
        policy: LeastSquaresPolicy,
        layout: Layout | None = None,
    ) -> "SearchSpace":
        """Lay out the space for rows X (the Gram matrix, for a precomputed kernel) with these weights and spreads."""
        if kernel is None:
            made = default_kernel(spread, policy, layout)
        else:
            made = make_kernel(kernel, X.shape[1], spread, layout)
        share = weight / weight.sum()
        if isinstance(made, PrecomputedKernel):
            unit = float(share @ np.diagonal(X))
        else:
            unit = float(share @ diag(made, X))
        if not unit > 0:
            raise ValueError(f"the mean of k(x, x) over the training rows is {unit:.3g}; it must be positive")
        kinds = roles(made, X.shape[1])
        mean, sd = np.zeros(len(kinds)), np.full(len(kinds), np.inf)
        for i, role in enumerate(kinds):
            if role.kind in ("offset", "amplitude"):
                mean[i], sd[i] = getattr(policy, role.kind)
        if any(role.kind == "amplitude" for role in kinds):
            mean += np.where(np.isfinite(sd), _amplitude_units(made, X, share, kinds), 0.0)
        varying = spread > 0
        log_unit = np.log(np.where(varying, spread, 1.0)) + policy.crowding * np.log(max(int(varying.sum()), 1))
        common = float(log_unit[varying].mean()) if varying.any() else 0.0
        known = [
            (i, common if role.input is None else float(log_unit[role.input]))
            for i, role in enumerate(kinds)
            if role.kind == "length_scale" and (role.input is None or varying[role.input])
        ]
        link_mean = np.array([policy.noise[0] + np.log(unit), policy.slope[0]])
        limits = link_mean[:, None] + np.array([-policy.log_range, policy.log_range])
        return cls(
            made,
            policy,
            unit,
            np.concatenate([made.theta, link_mean]),
            np.concatenate([made.bounds.reshape(-1, 2), limits]),
            [r.kind if r.input is None else f"{r.kind}_{r.input}" for r in kinds] + ["noise_variance", "slope"],
            np.concatenate([mean, link_mean]),
            np.concatenate([sd, [policy.noise[1], policy.slope[1]]]),
            np.array([i for i, _ in known], dtype=int),
            np.array([u for _, u in known]),
            theta_setter(made),
        )

    @property
    def short_start(self) -> Array:
        """The start with shorter length scales, shape (n_z,)."""
        z = self.start.copy()
        z[self.scales] += self.policy.short_start - self.policy.length_start
        short: Array = np.clip(z, *self.bounds.T)
        return short

    def log_prior(self, z: Array) -> tuple[float, Array]:
        """Log density up to a constant, and its gradient of shape (n_z,)."""
        u = (z - self.mean) / self.sd
        value, gradient = -0.5 * float(u @ u), -u / self.sd
        if not len(self.scales):
            return value, gradient
        relative = z[self.scales] - self.log_units
        centre, (mean, sd) = float(relative.mean()), self.policy.length_scale
        value -= 0.5 * ((centre - mean) / sd) ** 2
        gradient[self.scales] -= (centre - mean) / sd**2 / len(relative)
        if len(relative) > 1:
            (scale, nu), delta = self.policy.shrinkage, relative - centre
            power, total = 0.5 * (len(relative) - 1 + nu), nu * scale**2 + float(delta @ delta)
            value -= power * float(np.log(total / (nu * scale**2)))
            gradient[self.scales] -= 2.0 * power * delta / total
        return value, gradient


def _amplitude_units(kernel: Kernel, X: Any, share: Array, kinds: list[Any]) -> Array:
    """ln of an amplitude over the mean variance that it gives to f (0 for a stationary kernel), shape (n_theta,)."""
    given = contract_diag(kernel, X, share)
    unit = np.zeros(len(kinds))
    for i, role in enumerate(kinds):
        if role.kind == "amplitude" and given[i] > 0:
            unit[i] = kernel.theta[i] - np.log(given[i])
    return unit
