"""What a fitted model says of new rows, and what must hold of it on its own."""

from typing import Any

import numpy as np

LEVELS = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
ROUNDING = 1e-9


class Wrong(AssertionError):
    """An answer that cannot be right."""


class Differs(Wrong):
    """Answers that should agree but for rounding."""

    def __init__(self, what: str, gap: float = 0.0):
        super().__init__(what)
        self.gap = gap


def require(condition: Any, what: str) -> None:
    """Raise unless a condition holds."""
    if not bool(np.all(condition)):
        raise Wrong(what)


def ask(model: Any, new: Any, *, with_variance: bool = True) -> dict[str, np.ndarray]:
    """The answers that relations compare, after they were checked one by one.

    A precomputed kernel gives no variances (``with_variance=False``).
    """
    if hasattr(model, "classes_"):
        return _classes(model, new, with_variance)
    if with_variance:
        return _numbers(model, new)
    mean = model.predict(new)
    _finite(mean=mean)
    return {"mean": mean}


def _finite(**arrays: Any) -> None:
    for name, values in arrays.items():
        require(np.isfinite(np.asarray(values, dtype=float)), f"{name} is not finite")


def _classes(model: Any, new: Any, with_variance: bool) -> dict[str, np.ndarray]:
    p, log_p = model.predict_proba(new), model.predict_log_proba(new)
    label, score = model.predict(new), model.decision_function(new)
    _finite(predict_proba=p, predict_log_proba=log_p, decision_function=score)
    if with_variance:
        mean, variance = model.latent_mean_and_variance(new)
        _finite(latent_mean=mean, latent_variance=variance)
        require(variance >= 0, "a latent variance is negative")
    require((p >= 0) & (p <= 1), "a probability lies outside [0, 1]")
    require(np.abs(p.sum(axis=1) - 1) < ROUNDING, "probabilities do not sum to one")
    require(np.abs(np.exp(log_p) - p) < ROUNDING, "predict_log_proba is not the logarithm of predict_proba")
    chosen = np.searchsorted(model.classes_, label)
    require(p[np.arange(len(p)), chosen] >= p.max(axis=1) - ROUNDING, "predict is not the most probable class")
    odds = score[:, None] if score.ndim == 1 else score
    positive = p[:, 1:] if score.ndim == 1 else p
    clear = np.abs(positive - 0.5) > ROUNDING
    require((np.sign(odds) == np.sign(positive - 0.5)) | ~clear, "decision_function and predict_proba disagree")
    _finite(**{name: getattr(model, name) for name in ("loo_log_loss_", "loo_error_") if hasattr(model, name)})
    return {"predict_proba": p}


def _numbers(model: Any, new: Any) -> dict[str, np.ndarray]:
    mean, std = model.predict(new, return_std=True)
    quantiles = model.predict_quantiles(new, LEVELS)
    inner, outer = model.predict_interval(new, 0.5), model.predict_interval(new, 0.95)
    latent, variance = model.latent_mean_and_variance(new)
    density = model.log_predictive_density(new, mean)
    _finite(mean=mean, std=std, quantiles=quantiles, inner=inner, outer=outer, density=density)
    _finite(latent=latent, variance=variance, log_evidence=model.log_evidence_)
    require(std >= 0, "a standard deviation is negative")
    require(variance >= 0, "a latent variance is negative")
    require(np.diff(quantiles, axis=1) >= 0, "quantiles are not ordered")
    slack = ROUNDING * np.abs(outer).max(axis=1)
    require(outer[:, 0] <= inner[:, 0] + slack, "the lower ends of intervals are not nested")
    require(inner[:, 1] <= outer[:, 1] + slack, "the upper ends of intervals are not nested")
    _finite(**{name: getattr(model, name) for name in ("loo_log_density_",) if hasattr(model, name)})
    return {"mean": mean, "std": std, "quantiles": quantiles}


def compare(found: dict[str, np.ndarray], expected: dict[str, np.ndarray], tolerance: float, what: str) -> float:
    """The largest gap between two sets of answers: probabilities, or numbers in units of their standard deviation.

    Raise if it is above the tolerance.

    Huge weights make that as small as the rounding of the mean; it counts as a millionth of the largest number or more.
    """
    largest = 0.0
    for name, value in expected.items():
        unit: Any = 1.0
        if name != "predict_proba":
            unit = 1e-6 * np.abs(value).max(initial=0.0)
            unit = np.maximum(unit, expected["std"][:, None]) if "std" in expected else 1e6 * unit
        gap = np.abs(found[name] - value).reshape(len(value), -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.where(gap == 0, 0.0, gap / unit)
        largest = max(largest, float(size.max(initial=0.0)))
        if not np.all(size <= tolerance):
            message = f"{what}: {name} differs by {size.max():.2g}"
            raise Differs(message, largest) if tolerance > 0 else Wrong(message)
    return largest
