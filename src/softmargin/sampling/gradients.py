"""Gradients of ln Z, Z = <w(f)> over the prior, from samples of the prior times w (Gold & Sollich, eqs. 18-20).

d ln Z / d lambda = <g' (dK/d lambda) K^-1 f> / 2 with g = grad ln w, so the matrix M = <K^-1 f g'> gives the
gradient for every kernel parameter: W = M / 2. M is symmetric (it is <g g' + grad grad ln w>, by parts). In the
eigenvectors of K, M_ab = <z_a g_b> / sqrt(lambda_a): of the two estimates M_ab and M_ba the one divided by
the larger eigenvalue has far less noise and is kept for both.
"""

import numpy as np

from softmargin._linalg import Array
from softmargin.sampling.reference import Spectrum


def gram_gradient(spectrum: Spectrum, z: Array, slope: Array, share: Array | None = None) -> Array:
    """Estimate W = d ln Z / dK from samples.

    Parameters
    ----------
    spectrum : Spectrum of K
        Eigenvalues and eigenvectors of the Gram matrix.
    z : ndarray of shape (n_samples, n)
        Whitened samples, f = K^1/2 z.
    slope : ndarray of shape (n_samples, n)
        Gradient of ln w at the samples.
    share : ndarray of shape (n_samples,), optional
        Importance weights that add up to one.

    Returns
    -------
    W : ndarray of shape (n, n)
        Symmetric: d ln Z = sum_ij W_ij dK_ij.
    """
    z = z / len(z) if share is None else z * share[:, None]
    U, inverse_root = spectrum.vectors, spectrum.inverse_root_values
    # T_ab = <z_a g_b> in the eigenvectors' basis; eigenvalues ascend, so the larger one has the larger index.
    T = inverse_root[:, None] * (U.T @ (z.T @ slope) @ U)
    lower = np.tril(T)
    M = lower + np.tril(T, -1).T
    W = 0.5 * (U @ M @ U.T)
    return 0.5 * (W + W.T)


def mean_weights(spectrum: Spectrum, z: Array, slope: Array) -> Array:
    """Estimate the posterior mean weights <K^-1 f>, shape (n,), from samples.

    By parts <K^-1 f> = <g>. Along an eigenvector of K the first average has the variance var(z_a)/lambda_a, the
    second var(g_a): each direction takes the two in proportion to their precision, so that neither small
    eigenvalues nor a rough slope spoil the estimate. Parameters are those of `gram_gradient`.
    """
    z, slope = z @ spectrum.vectors, slope @ spectrum.vectors
    keep = spectrum.inverse_root_values > 0
    noise_z = np.where(keep, z.var(axis=0) * spectrum.inverse_root_values**2, np.inf)
    noise_g = slope.var(axis=0)
    share = np.where(keep, noise_g / np.where(keep, noise_g + noise_z, 1.0), 0.0)
    weights = share * spectrum.inverse_root_values * z.mean(axis=0) + (1 - share) * slope.mean(axis=0)
    return spectrum.vectors @ weights
