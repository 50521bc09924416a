"""The single entry point to every kind of evidence and every method (Sollich 2002, sections 4 and 5)."""

from typing import Any

import numpy as np

from softmargin._checks import as_generator
from softmargin._linalg import Array
from softmargin.evidence import exact
from softmargin.evidence._estimate import EvidenceEstimate
from softmargin.evidence.chaining import Chaining, chain
from softmargin.evidence.gradients import normaliser_target
from softmargin.inference import EP, Inference, get_inference
from softmargin.likelihoods import Likelihood, get_likelihood
from softmargin.sampling import DataTarget, Reference, Schedule, Target, anneal

KINDS = ("naive", "conditional", "joint")
DETERMINISTIC = ("laplace", "ep", "variational")
METHODS = (*DETERMINISTIC, "chaining", "annealing", "exact")


def log_evidence(
    K: Array,
    y: Array,
    C: float | None = None,
    *,
    loss: str | Likelihood = "hinge",
    kind: str = "naive",
    method: str | Inference = "ep",
    random_state: Any = None,
    weight: Array | None = None,
    epsilon: float | None = None,
    K_inputs: Array | None = None,
    weight_inputs: Array | None = None,
    schedule: Schedule | None = None,
    chaining: Chaining | None = None,
    per_example: bool = False,
) -> EvidenceEstimate:
    """Estimate the log evidence in nats, normalising constants (kappa) included.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of the training inputs, the offset's constant included.
    y : ndarray of shape (n,)
        Labels -1 and +1, or regression targets.
    C : float, optional
        Inverse noise level of a `loss` given by name; None if `loss` is an object with its own parameters.
    loss : str or Likelihood, default="hinge"
        A registered likelihood, "hinge", "squared_hinge", "logistic", "epsilon_insensitive", ..., or an instance.
    kind : {"naive", "conditional", "joint"}, default="naive"
        ln Q(Y | X); that minus ln N(X), the evidence of the labels given the inputs; or that minus ln Nhat, the
        evidence of inputs and labels up to the density of the inputs. The same for normalised likelihoods.
    method : {"laplace", "ep", "variational", "chaining", "annealing", "exact"} or Inference, default="ep"
        How Q(Y | X) is found; an inference brings its settings: ``Laplace(regularised=False)``. Normalisers, which no
        Gaussian approximates, are annealed unless the method is "chaining" or "exact" (at most 6 rows). For the hinge,
        "exact" is right to 1e-6 or raises ValueError: up to four rows it answers, five or six it refuses where the
        quadrature would take too long.
    random_state : int, RandomState, Generator or None
        Seed of the draws; None: other draws at every call.
    weight : ndarray of shape (n,), optional
        A row of weight w stands for w identical rows.
    epsilon : float, optional
        For ``loss="epsilon_insensitive"``.
    K_inputs : ndarray of shape (s, s), optional
        For ``kind="joint"``: Gram matrix (same kernel) of a sample of inputs that stands for the distribution Q(x);
        default: the training inputs, that is the empirical distribution.
    weight_inputs : ndarray of shape (s,), optional
        For ``kind="joint"``: the probability of each input under Q(x), up to a common factor; default: equal, or for
        the training inputs `weight`. `input_weights` finds the best (Sollich 2002, note 6).
    schedule : Schedule, optional
        How carefully to anneal.
    chaining : Chaining, optional
        How to chain.
    per_example : bool, default=False
        Whether to divide by the number of rows (the sum of the weights), as the papers do: E(Y | X) of Sollich 2002,
        eq. 25, and E(X, Y), eq. 30. By default all rows are counted together.

    Returns
    -------
    EvidenceEstimate
        With `value` and `standard_error`.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 21, 24, 25 and 27 to 32.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([0.0, 0.4, 1.5]), np.array([1.0, 1.0, -1.0])
    >>> K = 2 * np.exp(-0.5 * (X[:, None] - X) ** 2)
    >>> round(log_evidence(K, y, C=2.0, method="exact").value, 3)
    -3.045
    """
    _check_choice("kind", kind, KINDS)
    _check_method(method)
    K, y = np.asarray(K, dtype=float), np.asarray(y, dtype=float)
    if K.shape != (len(y), len(y)):
        raise ValueError(f"K must have shape {(len(y), len(y))} to fit y; got {K.shape}")
    inputs = _inputs(K, K_inputs, weight, weight_inputs, kind)
    likelihood = _likelihood(loss, C, epsilon)
    rng = as_generator(random_state)
    n_examples = float(len(y) if weight is None else np.sum(weight))
    estimate = _naive(rng, K, y, likelihood, weight, method, schedule, chaining)
    if kind != "naive":
        target = normaliser_target(len(inputs[0]), likelihood, kind, inputs[1], n_examples)
        if target is not None:
            estimate = estimate - _normaliser(rng, inputs[0], target, likelihood, kind, method, schedule, chaining)
    return estimate.per_example(n_examples) if per_example else estimate


def _naive(
    rng: np.random.Generator,
    K: Array,
    y: Array,
    likelihood: Likelihood,
    weight: Array | None,
    method: str | Inference,
    schedule: Schedule | None,
    chaining: Chaining | None,
) -> EvidenceEstimate:
    target = DataTarget(y, likelihood, weight)
    if not isinstance(method, str) or method in DETERMINISTIC:
        inference: Inference = get_inference(method)() if isinstance(method, str) else method
        posterior: Any = inference.infer(K, y, likelihood, weight)
        # nan: sampling took the value from EP.
        error = np.nan_to_num(getattr(posterior, "log_evidence_error", 0.0))
        return EvidenceEstimate(float(posterior.log_evidence), float(error))
    if method == "exact":
        if likelihood.slack_power == 1:
            return EvidenceEstimate(exact.hinge_evidence(K, y, likelihood, weight))
        return exact.integrate_prior(K, target)
    if method == "chaining":
        return chain(rng, K, target, chaining)
    return _anneal(rng, Reference.posterior(K, EP().infer(K, y, likelihood, weight)), target, schedule)


def _normaliser(
    rng: np.random.Generator,
    K: Array,
    target: Target,
    likelihood: Likelihood,
    kind: str,
    method: str | Inference,
    schedule: Schedule | None,
    chaining: Chaining | None,
) -> EvidenceEstimate:
    if method == "exact":
        return exact.integrate_prior(K, target)
    if method == "chaining":
        return chain(rng, K, target, chaining)
    return _anneal(rng, Reference.prior(K), target, schedule)


def _anneal(
    rng: np.random.Generator, reference: Reference, target: Target, schedule: Schedule | None
) -> EvidenceEstimate:
    annealed = anneal(rng, reference, target, schedule)
    return EvidenceEstimate(annealed.log_z, annealed.standard_error)


def _likelihood(loss: str | Likelihood, C: float | None, epsilon: float | None) -> Likelihood:
    if not isinstance(loss, str):
        if C is not None or epsilon is not None:
            raise ValueError(f"C and epsilon belong to a loss given by name; {loss!r} has its own parameters")
        return loss
    cls = get_likelihood(loss)
    given = {name: value for name, value in (("C", C), ("epsilon", epsilon)) if value is not None}
    for name in given:
        if name not in cls.param_names:
            raise ValueError(
                f"loss {loss!r} has no {name}; got {name}={given[name]}. Its parameters are {cls.param_names}: "
                "give an instance of the likelihood as `loss`"
            )
    for name in cls.param_names:
        if name not in given:
            raise ValueError(f"loss {loss!r} needs {name}; give it, or an instance of the likelihood as `loss`")
    made: Likelihood = cls(**given)
    return made


def _inputs(
    K: Array, K_inputs: Array | None, weight: Array | None, weight_inputs: Array | None, kind: str
) -> tuple[Array, Array | None]:
    """The Gram matrix of the inputs that a normaliser averages over, and their weights."""
    for name, given in (("K_inputs", K_inputs), ("weight_inputs", weight_inputs)):
        if given is not None and kind != "joint":
            raise ValueError(f"{name} is used by kind='joint' only; got kind={kind!r}")
    if K_inputs is not None:
        K, weight = np.asarray(K_inputs, dtype=float), None
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K_inputs must be square; got shape {K.shape}")
    if weight_inputs is None:
        return K, weight
    shares = np.asarray(weight_inputs, dtype=float)
    if shares.shape != (len(K),):
        raise ValueError(f"weight_inputs must have shape {(len(K),)}, one for each input; got {shares.shape}")
    if not (np.all(np.isfinite(shares)) and np.all(shares >= 0) and np.any(shares > 0)):
        raise ValueError("weight_inputs must be finite numbers >= 0, and not all zero")
    return K, shares


def _check_method(method: Any) -> None:
    if isinstance(method, str):
        _check_choice("method", method, METHODS)
    elif isinstance(method, type) or not callable(getattr(method, "infer", None)):
        raise ValueError(
            f"method={method!r} must be one of {METHODS} or an inference that works on the Gram matrix, such as "
            "Laplace(regularised=False)"
        )


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"unknown {name} {value!r}; choose one of {allowed}")
