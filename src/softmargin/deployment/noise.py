"""A noise scale that varies with x, and predictions with it, as nodes of a graph; see `VaryingPredictive`."""

from softmargin.deployment.graph import Tensor
from softmargin.deployment.latent import latent
from softmargin.machines.regression.noise_scale import NOISE, NoiseScale
from softmargin.machines.regression.varying import VaryingPredictive, nodes


def log_scale(scale: NoiseScale, X: Tensor) -> Tensor:
    """The posterior mean of ln s, shape (n, 1)."""
    return _bounded(scale, latent(scale.model, X, mean_only=True)[0])


def _bounded(scale: NoiseScale, mean: Tensor) -> Tensor:
    return (mean - scale.shift).clip(-NOISE.reach, NOISE.reach)


def varying_moments(predictive: VaryingPredictive, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of y, shape (n, 1) each."""
    unit, model = predictive.inner.units.scale, predictive.inner.model
    mean, variance = latent(predictive.inner.smooth, X, unit=unit)
    log_mean, log_variance = latent(predictive.scale.model, X)
    assert variance is not None and log_variance is not None
    s = _bounded(predictive.scale, log_mean).exp()
    x, weights = nodes()
    # E q^2 for ln q of mean 0 and deviation sd, at the nodes of Gauss and Hermite.
    square = ((NOISE.widen * log_variance.sqrt()) * (2.0 * x[None, :])).exp() @ weights[:, None]
    nugget = float(model.nugget(model.rows.X[:1])[0])
    noise = unit**2 * (model.likelihood.noise_variance * square + nugget)
    return predictive.center + s * mean, s * s * (variance + noise)
