"""A fitted regression as nodes of a graph: mean and standard deviation of y by the whole stack."""

import numpy as np

from softmargin._linalg import Array
from softmargin.deployment.graph import Tensor
from softmargin.deployment.kernels import ExportError
from softmargin.deployment.latent import latent, warped
from softmargin.deployment.noise import varying_moments
from softmargin.machines import RegressionFit, TargetWarp
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.varying import VaryingPredictive
from softmargin.machines.regression.warped_target import N_LATENT, WarpedPredictive, tube_nodes


def mean_and_std(fitted: RegressionFit, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of y, noise included, shape (n,) each."""
    moments = []
    for member in fitted.members:
        inner = warped(member.warp, X, len(fitted.spread))
        if isinstance(member.predictive, WarpedPredictive):
            moments.append(_warped_target(member.predictive, inner))
        elif isinstance(member.predictive, VaryingPredictive):
            moments.append(varying_moments(member.predictive, inner))
        elif type(member.predictive) is Predictive:
            moments.append(_plain(member.predictive, inner))
        else:
            raise ExportError(f"the member {member.name!r} of the regression has no ONNX graph; fit with stack=False")
    weights = [float(w) for w in fitted.weights]
    mean = _total([w * m for w, (m, _) in zip(weights, moments)])
    second = [w * (v + (m - mean) * (m - mean)) for w, (m, v) in zip(weights, moments)]
    return mean.squeeze(), (fitted.width * _total(second).sqrt()).squeeze()


def _total(parts: list[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _latent(predictive: Predictive, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of f in the units of the target, without a nugget; shape (n, 1) each."""
    mean, variance = latent(predictive.smooth, X, unit=predictive.units.scale)
    return predictive.units.center + mean, 0.0 * mean if variance is None else variance


def _plain(predictive: Predictive, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of y, shape (n, 1) each."""
    mean, variance = _latent(predictive, X)
    model = predictive.model
    noise = model.likelihood.noise_variance + float(model.nugget(model.rows.X[:1])[0])
    return mean, variance + predictive.units.scale**2 * noise


def _warped_target(predictive: WarpedPredictive, X: Tensor) -> tuple[Tensor, Tensor]:
    """The same where y is a function of the target: averages over nodes of the latent value and of the noise."""
    mean, variance = _latent(predictive.inner, X)
    x, weight = np.polynomial.hermite_e.hermegauss(N_LATENT)
    noise = predictive.inner.model.likelihood.in_units(predictive.inner.units.scale)
    e, share = tube_nodes(noise)  # type: ignore[arg-type]
    steps, joint = np.repeat(x, len(e)), np.outer(weight / weight.sum(), share).ravel()
    # Nodes of shape (n, n_latent n_noise).
    y = _inverse(predictive.warp, mean + variance.sqrt() * steps[None, :] + np.tile(e, len(x))[None, :])
    center = y @ joint[:, None]
    return center, ((y - center) * (y - center)) @ joint[:, None]


def _inverse(warp: TargetWarp, t: Tensor) -> Tensor:
    """The targets of warped ones; see `TargetWarp.inverse`."""
    ends: Array = warp(warp.center + warp.scale * np.array([warp.low, warp.high]))
    inside = t.clip(float(ends[0]), float(ends[1]))
    size = inside.abs()
    above, below = _inverse_box_cox(size, warp.power), _inverse_box_cox(size, 2 - warp.power)
    v = (inside >= 0.0).where(above, -below)
    log_slope = (warp.power - 1) * t.graph.call("Sign", v) * (v.abs() + 1.0).log()
    return warp.center + warp.scale * (v + (t - inside) * (-log_slope).exp())


def _inverse_box_cox(t: Tensor, power: float) -> Tensor:
    """u >= 0 for t >= 0; where t is out of range, which only the branch of the other sign asks for, anything finite."""
    exponent = t if abs(power) < 1e-9 else ((power * t).maximum(-1 + 1e-12) + 1.0).log() / power
    return exponent.clip(-700.0, 700.0).exp() - 1.0
