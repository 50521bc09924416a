"""What an inference is: Gram matrix, targets and likelihood in, posterior out."""

from typing import Any, ClassVar, Protocol, Self

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.inference.posterior import Posterior
from softmargin.likelihoods import Likelihood


class Inference(Protocol):
    """A small frozen dataclass of its own settings (tolerance, iteration cap); see `InferenceDefaults`."""

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    """The methods it needs of a likelihood; `check_likelihood` turns a mismatch into a clear error."""
    needs_gram: ClassVar[bool]
    """Whether it works with the Gram matrix of all rows; if not, with inducing points."""
    gives_cavities: ClassVar[bool]
    """Whether its posteriors hold exact leave-one-out cavities, on which the default policy relies."""

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values.

        Parameters
        ----------
        K : ndarray of shape (n, n)
            Gram matrix, the offset's constant included.
        y : ndarray of shape (n,)
            Labels -1 and +1, or regression targets.
        likelihood : Likelihood
            p(y given f), with its parameters.
        weight : ndarray of shape (n,), optional
            A row of weight w stands for w identical rows.
        start : Posterior, optional
            A posterior at nearby hyperparameters, to warm start from.
        """
        ...

    def without_gradients(self) -> "Inference":
        """Return the same inference without the gradient of the evidence, where leaving it out saves time."""
        ...

    def for_prediction(self) -> "Inference":
        """Return the inference for a final posterior: all that predictions need, and nothing else."""
        ...

    def for_search(self, criterion: Any) -> "Inference":
        """Return the inference to use at every step of a search for the best value of a criterion."""
        ...

    def with_fresh_noise(self) -> "Inference":
        """Return the inference that draws new random numbers in every run; itself if it draws none."""
        ...


class InferenceDefaults(Part):
    """What most inferences share; a subclass overrides what differs."""

    needs_gram: ClassVar[bool] = True
    gives_cavities: ClassVar[bool] = False

    def without_gradients(self) -> Self:
        """Return itself: the gradient costs nothing extra, or nothing that can be saved."""
        return self

    def for_prediction(self) -> Self:
        """Return itself."""
        return self

    def for_search(self, criterion: Any) -> Self:
        """Return itself: a search needs the same digits as the final posterior.

        Parameters
        ----------
        criterion : Criterion
            What the search optimises; its `uses_evidence` says whether it reads the posterior's own evidence.
        """
        return self

    def with_fresh_noise(self) -> Self:
        """Return itself: it draws no random numbers."""
        return self


def check_likelihood(inference: Any, likelihood: object) -> None:
    """Raise a TypeError that names what is missing if the inference cannot use the likelihood."""
    missing = [name for name in inference.requires if not callable(getattr(likelihood, name, None))]
    if missing:
        raise TypeError(
            f"inference {inference.name!r} needs a likelihood with {', '.join(inference.requires)}; "
            f"{type(likelihood).__name__} does not implement {', '.join(missing)}. Derive it from "
            "softmargin.likelihoods.LikelihoodDefaults, which computes them from log_prob"
        )
