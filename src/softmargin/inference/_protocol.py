"""What an inference is: Gram matrix, targets and likelihood in, posterior out."""

from typing import ClassVar, Protocol

from softmargin._linalg import Array
from softmargin.inference.posterior import Posterior
from softmargin.likelihoods import Likelihood


class Inference(Protocol):
    """A small dataclass of its own settings (tolerance, iteration cap)."""

    name: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    """The methods it needs of a likelihood; `check_likelihood` turns a mismatch into a clear error."""

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
        weight : ndarray of shape (n,), optional
            A row of weight w stands for w identical rows.
        start : Posterior, optional
            A posterior at nearby hyperparameters, to warm start from.
        """
        ...


def check_likelihood(inference: Inference, likelihood: object) -> None:
    """Raise a TypeError that names what is missing if the inference cannot use the likelihood."""
    missing = [name for name in inference.requires if not callable(getattr(likelihood, name, None))]
    if missing:
        raise TypeError(
            f"inference {inference.name!r} needs a likelihood with {', '.join(inference.requires)}; "
            f"{type(likelihood).__name__} does not implement {', '.join(missing)}"
        )
