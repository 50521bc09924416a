"""The span estimate of the leave-one-out error (Chapelle & Vapnik; Gold & Sollich 2003, eqs. 11 and 12).

If leaving row i out does not change which rows are free, its margin falls by alpha_i times a squared distance, the
span: that of its feature vector from the linear space of the free support vectors' (K + D)_FF, D = 1/C_i for the
squared hinge and 0 for the hinge.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit

from softmargin._linalg import Array, inverse_from_cholesky, inverse_of_triangle, shifted_cholesky
from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.criteria._svm import SVMCriterion, margins, shares, solution
from softmargin.inference import Posterior
from softmargin.svm import gather


def span_margins(posterior: Posterior, problem: Problem) -> Array:
    """Predict every row's margin y f when it is left out, shape (n,).

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eqs. 11 and 12.
    """
    active = solution(posterior, problem)
    F, U, alpha = active.free, active.hard, active.alpha
    margin = margins(active, problem)
    fall = np.zeros_like(margin)
    if len(F):
        # Free rows: S^2 = 1/[(K + D)_FF^-1]_ii, of which D is no distance of f.
        inverse = np.diag(inverse_from_cholesky(active.factor))
        fall[F] = alpha[F] * (1 / inverse - active.problem.ridge[F])
    # Hard rows (hinge): K_ii - K_iF K_FF^-1 K_Fi.
    K_FU = problem.K[np.ix_(F, U)]
    explained = np.einsum("ij,ij->j", K_FU, active.solve(K_FU)) if len(F) else 0.0
    fall[U] = alpha[U] * (np.diag(problem.K)[U] - explained)
    return margin - fall


@dataclass(frozen=True, repr=False)
class SharpSpan(SVMCriterion):
    """The span estimate of the leave-one-out error, a step function of the hyperparameters.

    See Also
    --------
    Span : The same, smoothed.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eqs. 11 and 12.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=SharpSpan(), search='random_walk')
    BayesianSVC(criterion=SharpSpan(), search='random_walk')
    """

    name: ClassVar[str] = "sharp_span"

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the estimated error."""
        return CriterionValue(float(shares(problem) @ (span_margins(posterior, problem) <= 0)))


@dataclass(frozen=True, repr=False)
class Span(SVMCriterion):
    """The smoothed span estimate for the squared hinge: continuous where the support set changes.

    The average of H(alpha S^2 - 1) with the step H(z) as 1/(1 + exp(-c1 z + c2)) and a penalty eta/alpha_j on the use
    of row j in the span. With N = A^1/2 (K + D) A^1/2, A = diag(alpha):  alpha_i S_i^2 = 1/[(eta + N)^-1]_ii - eta.

    Parameters
    ----------
    c1, c2 : float
        Steepness and shift of the smoothed step.
    eta : float
        Penalty; eta -> 0 is the span itself, eta -> infinity the bound of Jaakkola & Haussler.
    gradients : bool
        Whether to give the gradient too.

    See Also
    --------
    SharpSpan : The step function.
    GACV : The paper's other rival of the evidence.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eqs. 11 and 12.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=Span(eta=0.1))
    BayesianSVC(criterion=Span(eta=0.1))
    """

    c1: float = 5.0
    c2: float = 0.0
    eta: float = 1.0
    gradients: bool = True

    name: ClassVar[str] = "span"
    smooth: ClassVar[bool] = True
    slack_powers: ClassVar[tuple[int, ...]] = (2,)

    def without_gradients(self) -> Self:
        """Return the same criterion without its gradient."""
        return replace(self, gradients=False)

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the smoothed error and its gradient."""
        active, share = solution(posterior, problem), shares(problem)
        S, C = active.free, active.C
        alpha, share_S = active.alpha[S], share[S]
        root = np.sqrt(alpha)
        # eta + N with N = A^1/2 (K + D) A^1/2
        system = root[:, None] * gather(problem.K, S)
        system *= root
        system[np.diag_indices(len(S))] += alpha * active.problem.ridge[S] + self.eta
        half = inverse_of_triangle(shifted_cholesky(system)) if len(S) else system
        # h_i = [(eta + N)^-1]_ii
        h = np.einsum("ij,ij->j", half, half)
        step = np.full(len(share), expit(-self.c1 - self.c2))
        step[S] = expit(self.c1 * (1 / h - self.eta - 1) - self.c2)
        if not self.gradients:
            return CriterionValue(float(share @ step))
        H = half.T @ half
        # d(1/h_i) = (H dN H)_ii/h_i^2, so with Q = H diag(q) H the value changes by tr(Q dN)
        q = share_S * self.c1 * step[S] * (1 - step[S]) / h**2
        Q = H @ (q[:, None] * H)
        # dN = A^1/2 (dK + dD) A^1/2 + (dA A^-1 N + N A^-1 dA)/2, (N Q)_jj = q_j h_j - eta Q_jj
        on_beta, d_gram = np.zeros_like(share), np.zeros_like(problem.K)
        on_beta[S] = np.sign(active.beta[S]) * (q * h - self.eta * np.diag(Q)) / alpha
        d_gram[np.ix_(S, S)] = root[:, None] * Q * root
        by_C = -np.sum(alpha * np.diag(Q) * active.problem.ridge[S]) / C
        through, d_params = active.pull_back(on_beta)
        return CriterionValue(float(share @ step), d_gram + through, np.array([by_C + d_params[0]]))
