"""Hybrid Monte Carlo as an inference (Gold & Sollich 2003, section 4.2; Sollich 2002, sections 5 and 6)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from softmargin._linalg import Array
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.ep import EP
from softmargin.inference.map import MAP
from softmargin.inference.posterior import Posterior
from softmargin.inference.sampled import SampledPosterior
from softmargin.likelihoods import Likelihood
from softmargin.sampling import (
    DataTarget,
    Draws,
    Reference,
    Sampler,
    Schedule,
    Settings,
    Spectrum,
    anneal,
    can_diagnose,
    diagnose,
    gram_gradient,
    mean_weights,
    sample,
    warn_if_failed,
)

REFERENCES = ("ep", "prior")
INITIAL = ("reference", "svm")


@dataclass(frozen=True, repr=False)
class HMC(InferenceDefaults):
    """Sample the posterior; evidence by annealing, its gradient by averages over the samples.

    Parameters
    ----------
    sampler : {"rotation", "slice", "paper"} or Sampler
        Hamiltonian Monte Carlo with the Gaussian part solved exactly; elliptical slice sampling; or the algorithm
        of Gold & Sollich. An object of `softmargin.sampling` (`Rotation`, `Slice`, `Leapfrog`) has its own settings.
    reference : {"ep", "prior"}
        The Gaussian that guides the first two, and from which the evidence is annealed.
    initial : {"reference", "svm"}
        Where the chains start: at draws from the reference, or where an earlier run at nearby hyperparameters ended;
        or every time at the support vector machine, as in the paper.
    n_chains, n_warmup, n_draws, thin : int
        Chains, steps before recording, recorded draws of each chain, steps between two of them.
    evidence : bool
        Whether to anneal for the evidence. If not, `log_evidence` is EP's value (nan with ``reference="prior"``).
    schedule : Schedule
        How carefully to anneal.
    random_state : int or None
        Seed of the draws; None: other draws at every call.
    reuse_random_numbers : bool
        Whether runs that go on from an earlier one use its random numbers again: then neighbouring hyperparameters
        are compared without most of the noise. If not, every run draws new ones: then the average over the steps of
        a gradient ascent removes the noise, which reused numbers leave the same at every step.
    check : bool
        Whether to compute the diagnostics (with arviz-stats installed) and warn when they fail.

    See Also
    --------
    EP : The Gaussian approximation, for far less time.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, section 4.2, eqs. 18 to 23;
    Sollich (2002), Bayesian methods for support vector machines, eqs. 33 to 35.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.likelihoods import Hinge
    >>> X, y = np.array([0.0, 0.4, 1.5]), np.array([1.0, 1.0, -1.0])
    >>> K = 2 * np.exp(-0.5 * (X[:, None] - X) ** 2)
    >>> posterior = HMC(check=False).infer(K, y, Hinge(C=2.0))
    >>> posterior.latent_mean(K).round(0)
    array([ 2.,  1., -1.])
    """

    sampler: str | Sampler = "rotation"
    reference: str = "ep"
    initial: str = "reference"
    n_chains: int = 64
    n_warmup: int = 100
    n_draws: int = 200
    thin: int = 1
    evidence: bool = True
    schedule: Schedule = field(default_factory=Schedule)
    random_state: int | None = 0
    reuse_random_numbers: bool = True
    check: bool = True

    name: ClassVar[str] = "hmc"
    requires: ClassVar[tuple[str, ...]] = ("log_prob", "derivatives", "d_log_prob_d_params")

    def with_fresh_noise(self) -> Self:
        """Return the sampler that draws new numbers in every run: averages over runs then remove the noise."""
        return replace(self, reuse_random_numbers=False)

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> SampledPosterior:
        """Sample the posterior over the latent values; see `Inference.infer`.

        A `SampledPosterior` with the same number of chains as `start` lends its last positions.
        """
        check_likelihood(self, likelihood)
        if self.reference not in REFERENCES:
            raise ValueError(f"unknown reference {self.reference!r}; choose one of {REFERENCES}")
        if self.initial not in INITIAL:
            raise ValueError(f"unknown initial {self.initial!r}; choose one of {INITIAL}")
        run = 0 if self.reuse_random_numbers or not isinstance(start, SampledPosterior) else start.run + 1
        seed = self.random_state if run == 0 or self.random_state is None else (self.random_state, run)
        rng = np.random.default_rng(seed)
        spectrum = Spectrum.of(K)
        guide = EP().infer(K, y, likelihood, weight, start) if self.reference == "ep" else None
        reference = Reference.posterior(spectrum, guide) if guide is not None else Reference.prior(spectrum)
        target = DataTarget(y, likelihood, weight)
        settings = Settings(self.sampler, self.n_chains, self.n_warmup, self.n_draws, self.thin)
        first = _positions(start, self.n_chains, len(y))
        if self.initial == "svm":
            first = self._svm(K, y, likelihood, weight, spectrum)
        draws = sample(rng, reference, target, settings, start=first)
        log_z, error = guide.log_evidence if guide is not None else np.nan, np.nan
        if self.evidence:
            annealed = anneal(rng, reference, target, self.schedule)
            log_z, error = annealed.log_z, annealed.standard_error
        return replace(self._posterior(draws, likelihood, guide, log_z, error), run=run)

    def _svm(self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, spectrum: Spectrum) -> Array:
        """Whitened positions of the most probable f = K b, z = K^1/2 b, the same for every chain."""
        beta = MAP(gradients=False).infer(K, y, likelihood, weight).beta
        return np.tile(spectrum.root @ beta, (self.n_chains, 1))

    def _posterior(
        self, draws: Draws, likelihood: Likelihood, guide: Posterior | None, log_z: float, error: float
    ) -> SampledPosterior:
        n = draws.f.shape[-1]
        z, f, slope = (a.reshape(-1, n) for a in (draws.z, draws.f, draws.slope))
        diagnostics = diagnose(draws, likelihood.param_names) if self.check and can_diagnose() else None
        if diagnostics is not None:
            warn_if_failed(diagnostics)
        return SampledPosterior(
            beta=mean_weights(draws.spectrum, z, slope),
            mean=f.mean(axis=0),
            log_evidence=log_z,
            log_evidence_error=error,
            method=self.name,
            variance=f.var(axis=0),
            site_precision=np.zeros(n) if guide is None else guide.site_precision,
            site_shift=np.zeros(n) if guide is None else guide.site_shift,
            d_gram=gram_gradient(draws.spectrum, z, slope),
            d_params=draws.d_params.mean(axis=(1, 2)),
            converged=diagnostics is None or diagnostics.passed,
            n_iter=self.n_warmup + self.n_draws * self.thin,
            draws=draws,
            diagnostics=diagnostics,
        )


def _positions(start: Posterior | None, n_chains: int, n: int) -> Array | None:
    """Whitened positions of an earlier run, if they fit."""
    if isinstance(start, SampledPosterior) and start.draws.z.shape[1:] == (n_chains, n):
        return start.draws.z[-1]
    return None
