"""Kwok's evidence framework for the support vector machine, levels 1 to 3 (Kwok 1999).

His C is the amplitude of the prior and his hinge has slope 1: with our C and K, his model is the prior covariance C K
with the likelihood exp(-xi). Level 1 is the SVM itself. The step in the hinge is smoothed to the sigmoid s(eta u),
u = 1 - y f, which gives the curvature r(u) = u s'' + 2 s' (clipped at 0, where it is negative). Then

    level 2   -|w|^2/(2C) - sum xi - ln det(I + C R K)/2          the evidence of C
    gamma     sum_l rho_l/(1/C + rho_l), rho the eigenvalues of R K   the effective number of parameters
    level 3   level 2 at its maximum - ln(gamma)/2                the evidence of the kernel
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from softmargin._linalg import Array, inverse_from_cholesky, log_det_from_cholesky, shifted_cholesky
from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.criteria._svm import SVMCriterion, margins, solution
from softmargin.inference import Posterior
from softmargin.likelihoods import Hinge
from softmargin.svm import ActiveSet

ETA = 4.0
"""Steepness of the smoothed step; the paper gives none."""


@dataclass(frozen=True)
class KwokLevels:
    """The three levels at one C."""

    C: float
    """The C in effect: the largest alpha where no row reaches its bound (Kwok's reading of the separable case)."""
    level_2: float
    """ln p(D | C, kernel) in nats."""
    gamma: float
    """Effective number of parameters."""
    squared_norm: float
    """``|w|^2 = b'Kb``."""
    posterior: Posterior
    """The posterior of his model: prior covariance C K, likelihood `Hinge(1.0)`, site precisions r."""

    @property
    def level_3(self) -> float:
        """ln p(D | kernel) up to a constant: meaningful at the C that maximises level 2."""
        return self.level_2 - 0.5 * float(np.log(max(self.gamma, np.finfo(float).tiny)))

    @property
    def next_C(self) -> float:
        """The fixed point's update ``C = |w|^2/gamma`` (MacKay)."""
        return self.squared_norm / max(self.gamma, np.finfo(float).tiny)

    def moderated_output(self, K_star: Array, k_diag: Array, *, average: bool = False) -> Array:
        """P(y = 1) at new rows of cross-covariance ``K_star = k(X_new, X)``, shape (n_new,).

        MacKay's moderation sigmoid(2 m / sqrt(1 + pi (2s)^2/8)) as Kwok uses it, with the slope 2 that his hinge's
        log-odds have inside the margin; or, with `average`, the exact average of the hinge's class probability
        (Sollich 2002, eq. 33).
        """
        K_star, k_diag = self.C * K_star, self.C * k_diag
        if average:
            return np.exp(self.posterior.log_predictive(Hinge(1.0), np.ones(len(K_star)), K_star, k_diag))
        m, v = self.posterior.latent_mean(K_star), self.posterior.latent_variance(K_star, k_diag)
        return expit(2 * m / np.sqrt(1 + np.pi * 4 * v / 8))


def curvature(u: Array, eta: float) -> tuple[Array, Array]:
    """r(u) = eta s (1 - s) [2 - x tanh(x/2)], x = eta u, clipped at 0, and its derivative in u."""
    x = eta * u
    s, t = expit(x), np.tanh(x / 2)
    bell = s * expit(-x)
    r = eta * bell * (2 - x * t)
    slope = eta**2 * bell * (-t * (3 - x * t) - 0.5 * x * (1 - t**2))
    return np.where(r > 0, r, 0.0), np.where(r > 0, slope, 0.0)


def kwok_levels(posterior: Posterior, problem: Problem, eta: float = ETA) -> KwokLevels:
    """Evaluate the levels at the SVM's solution (a posterior of inference "map" with the hinge).

    References
    ----------
    Kwok (1999), Integrating the evidence framework and the support vector machine, eqs. 3 and 4, sections 3.3 and 4.1
    to 4.3.
    """
    return _evaluate(solution(posterior, problem), problem, eta)[0]


@dataclass(frozen=True, repr=False)
class Kwok(SVMCriterion):
    """Kwok's level 2: the evidence of C, and of the kernel's parameters along with it, in nats.

    Parameters
    ----------
    eta : float
        Steepness of the smoothed step.

    See Also
    --------
    kwok_levels : All three levels.
    Evidence : The evidence of the Gaussian process.

    References
    ----------
    Kwok (1999), Integrating the evidence framework and the support vector machine, eqs. 3 and 4, sections 4.1 to 4.3.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=Kwok())
    BayesianSVC(criterion=Kwok())
    """

    eta: float = ETA

    name: ClassVar[str] = "kwok"
    greater_is_better: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    slack_powers: ClassVar[tuple[int, ...]] = (1,)

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return level 2 and its gradient."""
        active = solution(posterior, problem)
        levels, on_f = _evaluate(active, problem, self.eta)
        assert levels.posterior.d_gram is not None
        C = levels.C
        # K' = C K: the explicit part, then f = K b with b through the active set.
        explicit = levels.posterior.d_gram
        half = np.outer(on_f, 0.5 * active.beta)
        on_beta, by_C = problem.K @ on_f, float(np.sum(explicit * problem.K))
        if C != active.C:
            # The C in effect is the largest alpha, not the given one.
            largest = int(np.argmax(active.alpha / _weight(problem)))
            on_beta[largest] += np.sign(active.beta[largest]) * by_C / _weight(problem)[largest]
            by_C = 0.0
        through, d_params = active.pull_back(on_beta)
        return CriterionValue(levels.level_2, C * explicit + half + half.T + through, np.array([by_C + d_params[0]]))


def _evaluate(active: ActiveSet, problem: Problem, eta: float) -> tuple[KwokLevels, Array]:
    """The levels, with d level 2/dK' at fixed f in the posterior, and d level 2/df through r alone, shape (n,)."""
    weight = _weight(problem)
    reached = len(active.hard) > 0 or not active.beta.any()
    C = active.C if reached else float(np.max(active.alpha / weight))
    u = 1 - margins(active, problem)
    r, slope = curvature(u, eta)
    tau, root = weight * r, np.sqrt(weight * r)
    K = C * problem.K
    L = shifted_cholesky(np.eye(len(u)) + root[:, None] * K * root)
    P = inverse_from_cholesky(L)
    rows = root > 0
    # Sigma_ii = K_ii - sum_jk K_ij r_j P_jk r_k K_ki; where r is positive by the form that does not cancel.
    variance = np.diag(K) - np.einsum("ij,ij->i", (K * root) @ P, K * root)
    variance[rows] = np.einsum("ij,j,ij->i", K[rows], root, P[rows]) / root[rows]
    b = active.beta / C
    norm2 = float(active.beta @ active.mean)
    level_2 = -0.5 * norm2 / C - float(weight @ np.maximum(u, 0)) - 0.5 * log_det_from_cholesky(L)
    posterior = Posterior(
        beta=b,
        mean=active.mean,
        log_evidence=level_2,
        method="kwok",
        variance=variance,
        site_precision=tau,
        site_shift=b + tau * active.mean,
        factor=L,
        d_gram=0.5 * (np.outer(b, b) - root[:, None] * P * root),
    )
    gamma = len(u) - float(np.trace(P))
    # d/df = -Sigma_ii/2 w r'(u) (-y)
    return KwokLevels(C, level_2, gamma, norm2, posterior), 0.5 * variance * weight * slope * problem.y


def _weight(problem: Problem) -> Array:
    """Weights of the rows, those of removed rows as small as can be divided by."""
    return np.ones_like(problem.y) if problem.weight is None else np.maximum(problem.weight, 1e-300)
