"""Latent functions and averaged class probabilities as nodes of a graph.

The class probability averaged over f ~ N(m, s^2) is an integral of sigmoid(C r(f)) with kinks at +-1 and a steep middle
of width 1/C. It is summed by Gauss-Legendre panels whose edges are those places and multiples of s around m, clipped to
m +- 9 s: no panel is longer than 3 s, nor than the distance to the sigmoid's poles allows.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from softmargin._linalg import Array
from softmargin.deployment.graph import Tensor, concat
from softmargin.deployment.kernels import ExportError, diagonal, gram
from softmargin.inference import Posterior, SampledPosterior, SparsePosterior
from softmargin.likelihoods import Likelihood, Link, Logistic, SquaredLink
from softmargin.machines.warp import Warp
from softmargin.tuning import LatentModel, Probability

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
STEPS = np.array([-9.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0])
"""Edges in standard deviations from the mean."""
KINKS = np.array([0.0, 1.0, 4.0, 12.0, 40.0, 120.0])
"""Edges in f, to either side: the kink and panels that double their distance to the pole behind it."""
MIDDLE = np.array([2.0, 6.0, 16.0, 40.0])
"""Edges in the log-odds of the steep middle, to either side."""


def latent(
    model: LatentModel, X: Tensor, *, unit: float = 1.0, mean_only: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Mean and variance of unit x f at rows, shape (n, 1) each."""
    posterior: Any = model.posterior
    K = gram(model.kernel, X, model.rows.X if model.basis is None else model.basis)
    # The unit goes into the weights: onnxruntime keeps a factor of a matrix product in single precision.
    mean = K @ (unit * posterior.beta[:, None])
    if mean_only or not posterior.has_variance:
        return mean, None
    prior = diagonal(model.kernel, X)
    added, removed = _roots(posterior)
    variance = prior - _squares(K, removed)
    if added is not None:
        variance = variance.maximum(0.0) + _squares(K, added)
    return mean, unit**2 * variance.maximum(1e-12 * prior)


def _squares(K: Tensor, root: Array) -> Tensor:
    """|root' k|^2 of every row k of K, shape (n, 1)."""
    V = K @ root
    return (V * V).sum()


def _roots(posterior: Any) -> tuple[Array | None, Array]:
    """R+ and R- of shape (m, m) so that the variance is k(x, x) - |R-' k|^2 + |R+' k|^2."""
    if isinstance(posterior, SampledPosterior):
        raise ExportError("a sampled posterior (inference='hmc') has no ONNX graph; use inference='ep'")
    if isinstance(posterior, SparsePosterior):
        removed = solve_triangular(posterior.prior_factor, np.eye(len(posterior.beta)), lower=True).T
        return solve_triangular(posterior.precision_factor, removed.T, lower=True).T.copy(), removed.copy()
    assert isinstance(posterior, Posterior) and posterior.site_precision is not None
    if posterior.precision_gap is None:
        root = solve_triangular(posterior.factor, np.diag(np.sqrt(posterior.site_precision)), lower=True)
        return None, root.T.copy()
    # Some sites are negative: k' G k by the eigenvectors of G, whose negative eigenvalues add variance.
    values, vectors = np.linalg.eigh(posterior.precision_gap)
    up, down = values < 0, values >= 0
    added = vectors[:, up] * np.sqrt(-values[up])
    return (added if np.any(up) else None), vectors[:, down] * np.sqrt(values[down])


def odds(likelihood: Likelihood, f: Tensor) -> Tensor:
    """ln P(+1 | f)/P(-1 | f)."""
    link: Any = likelihood.normalised()
    C = float(link.C)
    if type(link) is Link:
        return C * (f + f.clip(-1.0, 1.0))
    if type(link) is SquaredLink:
        size = f.abs() + 1.0
        outside = 0.5 * (size * size) * f.graph.call("Sign", f)
        return C * (f.abs() >= 1.0).where(outside, 2.0 * f)
    if type(link) is Logistic:
        return C * f
    raise ExportError(f"loss {likelihood.name!r} has no ONNX graph; use 'hinge', 'squared_hinge' or 'logistic'")


def up_probability(model: LatentModel, X: Tensor, probability: Probability) -> Tensor:
    """P(+1 | x), shape (n, 1)."""
    averaged = probability == "average" and model.posterior.has_variance
    if probability == "map" and model.svm is not None:
        K = gram(model.kernel, X, model.rows.X if model.basis is None else model.basis)
        return odds(model.likelihood, K @ model.svm.beta[:, None]).sigmoid()
    mean, variance = latent(model, X, mean_only=not averaged)
    if variance is None:
        return odds(model.likelihood, mean).sigmoid()
    return averaged_probability(model.likelihood, mean, variance)


def averaged_probability(likelihood: Likelihood, mean: Tensor, variance: Tensor) -> Tensor:
    """Average P(+1 | f) over f ~ N(mean, variance), shape (n, 1)."""
    link: Any = likelihood.normalised()
    edges = np.concatenate([KINKS, MIDDLE / (2.0 * float(getattr(link, "C", 1.0)))])
    fixed = np.unique(np.concatenate([-edges, edges]))
    s = variance.sqrt()
    around = mean + s * STEPS[None, :]
    inside = (0.0 * mean + fixed[None, :]).clip(around.columns(0, 1), around.columns(len(STEPS) - 1, len(STEPS)))
    size = len(STEPS) + len(fixed)
    ends = mean.graph.sort(concat([around, inside]), size)
    low, high = ends.columns(0, size - 1), ends.columns(1, size)
    half = 0.5 * (high - low)
    # Nodes of shape (n, n_panels, 12).
    f = (0.5 * (high + low)).unsqueeze() + half.unsqueeze() * NODES
    z = (f - mean.unsqueeze()) / s.unsqueeze()
    density = (half.unsqueeze() * WEIGHTS) * (-0.5 * (z * z)).exp()
    up = (density * odds(likelihood, f).sigmoid()).sum().squeeze().sum()
    down = (density * (-odds(likelihood, f)).sigmoid()).sum().squeeze().sum()
    return up / (up + down)


def warped(warp: Warp | None, X: Tensor, n_features: int) -> Tensor:
    """The inputs that a member sees: linear interpolation between the knots of each warped column."""
    if warp is None:
        return X
    columns = [X.columns(j, j + 1) for j in range(n_features)]
    for j, (values, scores) in warp.tables.items():
        below = (columns[j] >= np.asarray(values)[None, :]).as_float().sum()
        left = (below - 1.0).clip(0.0, float(len(values) - 2)).as_index()
        share = (columns[j] - _take(values, left)) / _take(np.diff(values), left)
        columns[j] = _take(scores, left) + share.clip(0.0, 1.0) * _take(np.diff(scores), left)
    return concat(columns)


def _take(table: Array, index: Tensor) -> Tensor:
    return index.graph.call("Gather", index.graph.constant(np.asarray(table, dtype=np.float64)), index)
