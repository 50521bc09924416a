"""The support vector machine itself: the most probable latent function (Sollich 2002, section 3; MAP).

For likelihoods with kinks (hinge, squared hinge, epsilon-insensitive) the dual problem that they give is solved to a
relative duality gap; for smooth ones, Newton's equations; for the normalised hinge both in turn. The value is ln Q* of
Gold & Sollich 2003, section 3, in nats for all rows together: sum_i ln p(y_i | f_i) - beta'K beta / 2, normalising
constants included.
"""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.modes import kinked_newton_map, newton_map
from softmargin.inference.posterior import Posterior
from softmargin.likelihoods import Likelihood
from softmargin.svm import BoxProblem, DualSolution, solve_dual

Mask = NDArray[np.bool_]


class Support(NamedTuple):
    """Masks of shape (n,); every row is in exactly one of them."""

    easy: Mask
    """alpha = 0: outside the margin, without influence."""
    marginal: Mask
    """0 < alpha < upper: exactly on the margin (hinge)."""
    hard: Mask
    """alpha = upper: inside the margin or misclassified."""


def classify_support(beta: Array, upper: Array | float) -> Support:
    """Sort the rows by their weight ``alpha = |beta|``, not by the rounding of their margin.

    Parameters
    ----------
    beta : ndarray of shape (n,)
        Dual coefficients, signed by the target.
    upper : float or ndarray of shape (n,)
        The bound of alpha: C times the row's weight; infinite for the squared hinge.

    Examples
    --------
    >>> classify_support(np.array([0.0, -0.5, 1.0]), 1.0).marginal
    array([False,  True, False])
    """
    alpha = np.abs(beta)
    easy = alpha == 0
    hard = ~easy & (alpha >= upper)
    return Support(easy, ~easy & ~hard, hard)


UNBOUNDED = 1e120
"""Coefficients as large as this are on their way to infinity."""


@dataclass(frozen=True, repr=False)
class MAP(InferenceDefaults):
    """The support vector machine: the posterior's mode, without a variance.

    Parameters
    ----------
    tol : float
        Largest relative duality gap, (primal - dual) / primal, with primal = beta'K beta / 2 + sum of losses.
        It is measured with a freshly computed K beta; a gap that double precision cannot resolve counts as zero.
    max_iter : int
        Cap on the number of working sets; a ConvergenceWarning says what to do when it is reached.
    gradients : bool
        Whether to fill `d_gram` (n^2 numbers) and `d_params`.

    See Also
    --------
    Laplace : The same mode, with a variance.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 13 and 14; Gold & Sollich (2003), Model selection
    for support vector machine classification, eqs. 3 to 5 and 7; Gao, Gunn & Harris (2003), Mean field method for the
    support vector machine regression, eq. 2.7.

    Examples
    --------
    >>> from softmargin.likelihoods import Hinge
    >>> K, y = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> MAP().infer(K, y, Hinge(C=1.0)).beta
    array([ 0.5, -0.5])
    """

    tol: float = 1e-6
    max_iter: int = 1000
    gradients: bool = True

    name: ClassVar[str] = "map"
    requires: ClassVar[tuple[str, ...]] = ("log_prob", "derivatives", "d_map_value_d_params")

    def without_gradients(self) -> Self:
        """Return the same inference without `d_gram`."""
        return replace(self, gradients=False)

    def for_prediction(self) -> Self:
        """Return the same inference with more digits.

        The latent values are off by up to the root of the duality gap, which `tol` leaves large.
        """
        return replace(self, tol=self.tol**2)

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Find the most probable latent values; see `Inference.infer`. A row of weight 0 is a removed row."""
        check_likelihood(self, likelihood)
        beta0 = None if start is None else start.beta
        kink = likelihood.kink(y, weight)
        if likelihood.is_smooth or kink is not None:
            settings = weight, beta0, self.tol, self.max_iter
            if kink is None:
                beta, mean, n_iter, converged = newton_map(K, y, likelihood, *settings)
            else:
                beta, mean, n_iter, converged = kinked_newton_map(K, y, likelihood, kink, *settings)
            if not converged:
                _warn(f"Newton's method did not converge in {n_iter} steps")
        else:
            solution = solve_dual(K, dual_problem(likelihood, y, weight), beta0, self.tol, self.max_iter)
            beta, mean, n_iter, converged = self._checked(solution)
        if not np.all(np.abs(beta) < UNBOUNDED):
            raise ValueError(
                "the most probable function has no bound: the kernel's Gram matrix is not positive semi-definite (its "
                f"smallest eigenvalue is {np.linalg.eigvalsh(K)[0]:.2g}). Use a kernel that is a covariance function; "
                "ExpSineSquared is one for a single input only"
            )
        posterior = _posterior(y, likelihood, weight, beta, mean, n_iter, converged)
        if not self.gradients:
            return posterior
        # Envelope theorem: at the optimum d ln Q*/dK = beta beta'/2, and parameters act through ln p alone.
        d_params = likelihood.d_map_value_d_params(y, mean, weight, beta)
        return replace(posterior, d_gram=np.outer(0.5 * beta, beta), d_params=d_params)

    def _checked(self, solution: DualSolution) -> tuple[Array, Array, int, bool]:
        if not solution.converged:
            _warn(
                f"the SVM's relative duality gap is {solution.measure.relative:.1e}, above tol={self.tol:.1e}, "
                f"after {solution.n_iter} working sets"
            )
        return solution.beta, solution.mean, solution.n_iter, solution.converged


def dual_problem(likelihood: Likelihood, y: Array, weight: Array | None = None) -> BoxProblem:
    """Write down the SVM's dual; a TypeError says what a likelihood without one can do."""
    problem = likelihood.dual(y, weight)
    if problem is None:
        raise TypeError(
            f"inference 'map' needs a likelihood with kinks to give its dual problem, and {type(likelihood).__name__} "
            "does not implement dual. Use inference='ep' with it, a loss with a dual ('hinge', 'squared_hinge', "
            "'epsilon_insensitive'), or, if its second derivative is continuous, set is_smooth = True"
        )
    return problem


def _warn(what: str) -> None:
    warnings.warn(
        f"{what}. Standardise the inputs, lower C or the kernel's amplitude, raise max_iter, or accept a larger tol.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _posterior(
    y: Array,
    likelihood: Likelihood,
    weight: Array | None,
    beta: Array,
    mean: Array,
    n_iter: int,
    converged: bool,
) -> Posterior:
    value = float(likelihood.log_prob(y, mean, weight).sum() - 0.5 * beta @ mean)
    return Posterior(beta, mean, value, "map", converged=converged, n_iter=n_iter)
