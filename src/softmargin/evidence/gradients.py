"""Evidence values with gradients by annealing: ln Q(Y | X), ln N(X), ln Nhat (Gold & Sollich 2003, eqs. 18-20).

The particles that annealing leaves are samples of the prior times the weight; averages over them give the gradient for
every kernel parameter and every parameter of the likelihood at the price of one matrix product.
"""

from typing import Any

import numpy as np

from softmargin._checks import as_generator
from softmargin._linalg import Array
from softmargin.evidence._estimate import EvidenceGradient
from softmargin.inference.ep import EP
from softmargin.likelihoods import Likelihood
from softmargin.sampling import (
    ConditionalNormaliser,
    DataTarget,
    JointNormaliser,
    Reference,
    Schedule,
    Spectrum,
    Target,
    anneal,
    gram_gradient,
)

NORMALISERS = ("conditional", "joint")


def naive_evidence(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    *,
    weight: Array | None = None,
    schedule: Schedule | None = None,
    random_state: Any = None,
) -> EvidenceGradient:
    """ln Q(Y | X) and its gradient, annealed from the EP Gaussian.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of the rows.
    y : ndarray of shape (n,)
        Targets.
    likelihood : Likelihood
        p(y given f), with its parameters.
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.
    schedule : Schedule, optional
        How carefully to anneal.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 21 and 27; Gold & Sollich (2003), Model selection
    for support vector machine classification, eqs. 18 to 20.
    """
    spectrum = Spectrum.of(K)
    reference = Reference.posterior(spectrum, EP().infer(K, y, likelihood, weight))
    return _with_gradient(reference, DataTarget(y, likelihood, weight), schedule, random_state)


def normaliser(
    K: Array,
    likelihood: Likelihood,
    kind: str,
    *,
    weight: Array | None = None,
    n_examples: float | None = None,
    schedule: Schedule | None = None,
    random_state: Any = None,
) -> EvidenceGradient:
    """ln N(X) (``kind="conditional"``) or ln Nhat (``kind="joint"``) and its gradient, annealed from the prior.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of the training inputs; for "joint" of any sample of inputs.
    likelihood : Likelihood
        p(y given f), with its parameters.
    kind : {"conditional", "joint"}
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.
    n_examples : float, optional
        For "joint": the number of training examples; default: the sum of the weights.
    schedule : Schedule, optional
        How carefully to anneal.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 28 and 29.
    """
    target = normaliser_target(len(K), likelihood, kind, weight, n_examples)
    if target is None:
        return EvidenceGradient(0.0, 0.0, np.zeros_like(K), np.zeros(len(likelihood.param_names)))
    return _with_gradient(Reference.prior(K), target, schedule, random_state)


def normaliser_target(
    n: int, likelihood: Likelihood, kind: str, weight: Array | None, n_examples: float | None = None
) -> Target | None:
    """The weight whose prior average is the normaliser; None if the likelihood is normalised (it is then one)."""
    if kind not in NORMALISERS:
        raise ValueError(f"unknown normaliser {kind!r}; choose one of {NORMALISERS}")
    if likelihood.is_normalised:
        return None
    if kind == "conditional":
        return ConditionalNormaliser(likelihood, weight)
    if n_examples is None:
        n_examples = float(n if weight is None else np.sum(weight))
    return JointNormaliser(likelihood, n_examples, weight)


def _with_gradient(
    reference: Reference, target: Target, schedule: Schedule | None, random_state: Any
) -> EvidenceGradient:
    annealed = anneal(as_generator(random_state), reference, target, schedule)
    return EvidenceGradient(
        annealed.log_z,
        annealed.standard_error,
        gram_gradient(reference.spectrum, annealed.z, target.slope(annealed.f)),
        target.d_params(annealed.f).mean(axis=1),
        annealed.is_reliable,
    )
