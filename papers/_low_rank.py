"""Hybrid Monte Carlo in the leading eigenvectors of the Gram matrix (Gold & Sollich 2003, section 4.4)."""

import time
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.gaussian_process.kernels import RBF

from papers import _gold
from papers._claims import Claim, verdict
from softmargin.inference import EP, Posterior
from softmargin.likelihoods import Hinge
from softmargin.sampling import DataTarget, Reference, Settings, Spectrum, sample

RANKS, ENOUGH = (10, 25, 50, 100), 50
"""Numbers of eigenvectors, and the one that is judged."""
SETTINGS = Settings(n_chains=64, n_warmup=40, n_draws=200)

# Bounds of the verdict, fixed before this run; the first after earlier ones.
SAME_GRADIENT, CLEARLY = 0.1, 2.0
"""Share of the gradient, and standard errors beside it, by which the one in fewer coordinates may differ."""
CHEAPER = 1.0
"""CPU time for an effective draw over that with all coordinates, of the library's sampler or this one."""


@dataclass(frozen=True)
class InCoordinates:
    """A target of f = mean + x basis with x ~ N(0, I): the prior times EP's sites, in as many coordinates as its rank.

    With K = F'F and sites of precision tau and shift nu, P = I + F T F' = LL', basis = L^-1 F, shape (r, n).
    """

    data: DataTarget
    tau: np.ndarray = field(repr=False)
    nu: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    basis: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, data: DataTarget, F: np.ndarray, guide: Posterior) -> "InCoordinates":
        """The coordinates of a factor F of shape (r, n), guided by EP's sites."""
        tau, nu = guide.site_precision, guide.site_shift
        L = np.linalg.cholesky(np.eye(len(F)) + (F * tau) @ F.T)
        basis = solve_triangular(L, F, lower=True)
        return cls(data, tau, nu, (basis @ nu) @ basis, basis)

    def latent(self, x: np.ndarray) -> np.ndarray:
        """f, shape (..., n)."""
        return self.mean + x @ self.basis

    def log_weight(self, x: np.ndarray) -> np.ndarray:
        """What EP's Gaussian leaves over: ln w + tau f^2/2 - nu f."""
        f = self.latent(x)
        return self.data.log_weight(f) + f**2 @ (0.5 * self.tau) - f @ self.nu

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Its gradient with respect to x."""
        f = self.latent(x)
        return (self.data.slope(f) + self.tau * f - self.nu) @ self.basis.T

    def d_params(self, x: np.ndarray) -> np.ndarray:
        """d ln w/dC."""
        return self.data.d_params(self.latent(x))


@dataclass(frozen=True)
class Found:
    """d ln Z/d ln(amplitude of K), its standard error, and the CPU milliseconds of an effective draw of it."""

    gradient: float
    error: float
    cost: float


def low_rank_sampler() -> Claim:
    """Gradients of the evidence by sampling in the leading eigenvectors of K."""
    data, likelihood = _gold.load("pima"), Hinge(1.0)
    K, target = 3.0 * RBF(np.sqrt(7.0))(data.X) + 0.1, DataTarget(data.y, likelihood)
    whole = Spectrum.of(K)
    n, found, by_ep = len(K), {}, {}
    for rank in (*RANKS, n):
        F = (whole.vectors[:, -rank:] * np.sqrt(whole.values[-rank:])).T
        guide = EP().infer(F.T @ F, data.y, likelihood)
        by_ep[rank] = float(np.sum(guide.d_gram * (F.T @ F)))
        found[rank] = _sampled(InCoordinates.of(target, F, guide))
    dense = _dense(K, target, EP().infer(K, data.y, likelihood))
    values = whole.values[::-1]
    few, all_ = found[ENOUGH], found[n]
    gap = abs(few.gradient - all_.gradient)
    return Claim(
        "Gold & Sollich (2003), section 4.4",
        "Can Hybrid Monte Carlo sample a space of lower dimension?",
        "hinted at (Nystroem)",
        "d ln Z/d ln(amplitude of K) on pima, and CPU ms for an effective draw: "
        + ", ".join(
            f"{f.gradient:.2f} +- {f.error:.2f}, {f.cost:.3f} ms in {rank} coordinates" for rank, f in found.items()
        ),
        verdict(
            gap < SAME_GRADIENT * abs(all_.gradient) + CLEARLY * np.hypot(few.error, all_.error)
            and few.cost < CHEAPER * min(all_.cost, dense.cost)
        ),
        f"yes asks for the same gradient and a lower cost at {ENOUGH} of {n} eigenvectors; the library's sampler, in "
        f"all coordinates: {dense.gradient:.2f} +- {dense.error:.2f}, {dense.cost:.3f} ms; share of the trace: "
        + ", ".join(f"{100 * values[:rank].sum() / values.sum():.1f} % with {rank}" for rank in RANKS)
        + "; EP, without samples, on the same truncated matrices: "
        + ", ".join(f"{value:.2f} with {rank}" for rank, value in by_ep.items())
        + ": the eigenvectors that are left out move the gradient, not the sampling",
    )


def _sampled(target: InCoordinates) -> Found:
    reference = Reference.prior(Spectrum.of(np.eye(len(target.basis))))
    start = time.process_time()
    draws = sample(np.random.default_rng(0), reference, target, SETTINGS)
    seconds = time.process_time() - start
    f = target.latent(draws.f)
    return _summary(0.5 * np.sum(target.data.slope(f) * f, axis=-1), seconds)


def _dense(K: np.ndarray, target: DataTarget, guide: Posterior) -> Found:
    start = time.process_time()
    draws = sample(np.random.default_rng(0), Reference.posterior(K, guide), target, SETTINGS)
    return _summary(draws.d_log_amplitude, time.process_time() - start)


def _summary(values: np.ndarray, seconds: float) -> Found:
    """Values of shape (n_draws, n_chains); the effective draws follow from the spread of the chains' means."""
    means = values.mean(axis=0)
    error = float(means.std(ddof=1) / np.sqrt(len(means)))
    return Found(float(means.mean()), error, 1e3 * seconds * error**2 / float(values.var()))
