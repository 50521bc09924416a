"""What a classification is asked for, and what its fit is: two records."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import log_softmax

from softmargin._linalg import Array
from softmargin.kernels import Coefficients, Layout, PrecomputedKernel, make_kernel
from softmargin.machines.classification.pairwise import LeftOut, PairwiseFit, PairwiseMachine
from softmargin.machines.classification.stack import Stack
from softmargin.machines.importance import importance
from softmargin.machines.reservoir import Reservoir
from softmargin.machines.sampled_rows import RawSample, Source
from softmargin.machines.support import ClassSupport, class_support
from softmargin.machines.warp import Warp
from softmargin.policy import POLICY, LeastSquaresPolicy
from softmargin.rows import TrainingRows, spread_of
from softmargin.tuning import LikelihoodCoordinates, Probability, Tuning

Composition = Literal["hinge", "stack", "least_squares"]
"""Which machines: the hinge machine alone; by default a stack, for two classes of hinge and least-squares machines, for
more of least-squares machines with several kernels; or the least-squares machine alone."""


@dataclass(frozen=True)
class ClassificationSettings:
    """What a classifier asks of its fit."""

    kernel: Any
    """None, a name or a kernel object."""
    likelihood: LikelihoodCoordinates
    tuning: Tuning
    default_prior: bool
    multi_class: str
    probability: Probability
    n_inducing: int | None
    through_inducing_points: bool
    """Whether the rows are seen through sums over them only."""
    composition: Composition = "hinge"
    least_squares: LeastSquaresPolicy = POLICY.least_squares
    class_weight: Any = None
    previous: "ClassificationFit | None" = None
    """An earlier fit to start the search from."""
    layout: Layout | None = None
    """Where the columns of the table are in the rows; None: each has its own place."""

    @property
    def precomputed(self) -> bool:
        """Whether the inputs are kernel values."""
        return isinstance(self.kernel, PrecomputedKernel) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def is_joint(self, n_classes: int) -> bool:
        """Whether least-squares machines predict alone."""
        return self.composition == "least_squares" or (self.composition == "stack" and n_classes > 2)

    def fits_memory(self, source: Source) -> bool:
        """Whether the rows are few enough to be fetched; a part that was chosen is used where it was asked for."""
        return self.composition != "hinge" and source.n_rows <= POLICY.size.sparse_above

    def pairwise(self, X: Any, n_features: int, weight: Array) -> PairwiseFit:
        """How the binary problems of rows with inputs X are fitted."""
        spread = np.empty(0) if self.precomputed else spread_of(X, weight, self.layout)
        kernel = make_kernel(self._hinge_kernel(X), n_features, None if self.precomputed else spread, self.layout)
        previous = None if self.previous is None else self.previous.machine
        starts = None if previous is None else [model.z for model in previous.models]
        prior, inducing = self.default_prior, self.n_inducing
        return PairwiseFit(kernel, self.likelihood, spread, self.tuning, prior, self.multi_class, inducing, starts)

    def _hinge_kernel(self, X: Any) -> Any:
        """The kernel asked for; in the stack a rougher one than the default where rows are many."""
        many = self.composition == "stack" and X.shape[0] > POLICY.stack.rough_above
        return POLICY.stack.rough_kernel if many and self.kernel is None else self.kernel


@dataclass(frozen=True)
class ClassificationFit:
    """A fitted classification."""

    classes: np.ndarray
    spread: Array = field(repr=False)
    probability: Probability
    log_class_weight: Array | None
    """ln of the factor of each class's posterior odds, shape (n_classes,); None without class weights."""
    stack: Stack
    """The machines that predict."""
    machine: PairwiseMachine | None = None
    """The hinge machine: the support vector machines and their posteriors; None where other machines predict."""
    left_out: LeftOut | None = field(default=None, repr=False)
    """Leave-one-out predictions of training rows; None where a machine has none."""
    rows: TrainingRows | None = field(default=None, repr=False)
    """The merged training rows; None through inducing points."""
    later: PairwiseFit | None = field(default=None, repr=False)
    """How to fit the hinge machine when it is asked for, where other machines predict."""
    sample: RawSample | None = field(default=None, repr=False)
    """Some training rows; None where `rows` has them all."""
    layout: Layout | None = field(default=None, repr=False)
    """Where the columns of the table are in the rows; None: each has its own place."""
    reservoir: Reservoir | None = field(default=None, repr=False)
    """Rows that a stream keeps; None where there is no stream."""

    @cached_property
    def hinge(self) -> PairwiseMachine | None:
        """The hinge machine; where other machines predict it is fitted, one-vs-one, when it is first asked for."""
        if self.machine is not None or self.later is None or self.rows is None:
            return self.machine
        return self.later.from_rows(self.rows, len(self.classes))

    @cached_property
    def support_record(self) -> ClassSupport | None:
        """The support vectors among the training rows; None through inducing points."""
        machine, rows = self.hinge, self.rows
        if machine is None or rows is None or any(model.svm is None for model in machine.models):
            return None
        precomputed = isinstance(machine.models[0].kernel, PrecomputedKernel)
        return class_support(machine.models, rows, precomputed=precomputed)

    def log_proba(self, X: Any) -> Array:
        """ln of the class probabilities, shape (n, n_classes)."""
        log_p = self.stack.log_proba(X)
        if self.log_class_weight is None:
            return log_p
        # P'(y | x) proportional to w_y P(y | x): a change of the classes' prior probabilities.
        weighted: Array = log_softmax(log_p + self.log_class_weight, axis=1)
        return weighted

    def winners(self, X: Any) -> np.ndarray:
        """The number of the most probable class of each row, shape (n,)."""
        if len(self.classes) > 2:
            return np.asarray(self.log_proba(X).argmax(axis=1))
        # Another prior of the classes moves the threshold away from the sign.
        odds = self.stack.signs(X) if self.log_class_weight is None else self.log_odds(X)
        return (odds > 0).astype(np.intp)

    def log_odds(self, X: Any) -> Array:
        """Log-odds, shape (n,) of the second of two classes or (n, n_classes) of each class against the rest."""
        if len(self.classes) == 2:
            odds, shift = self.stack.log_odds(X), self.log_class_weight
            return odds if shift is None else odds + (shift[1] - shift[0])
        log_p = self.log_proba(X)
        # ln p - ln(1 - p); 1 - p from the other classes would cancel only where p is 1 to rounding.
        return log_p - np.log(np.maximum(-np.expm1(log_p), 1e-300))

    def pair_log_odds(self, X: Any) -> Array:
        """Log-odds of the first class of every pair against the second, shape (n, n_pairs)."""
        first, second = np.triu_indices(len(self.classes), 1)
        machine = self.stack.members[0].machine
        if isinstance(machine, PairwiseMachine) and machine.pairs[0][0] >= 0:
            shift = (
                0.0 if self.log_class_weight is None else self.log_class_weight[first] - self.log_class_weight[second]
            )
            return shift - machine.log_odds(X)
        log_p = self.log_proba(X)
        return log_p[:, first] - log_p[:, second]

    def outputs(self, X: Any) -> Array:
        """The log-odds of two classes, shape (n, 1), or log-probabilities, shape (n, n_classes)."""
        return self.log_odds(X)[:, None] if len(self.classes) == 2 else self.log_proba(X)

    def slopes(self, X: Any) -> Array:
        """Their derivatives with respect to the inputs, shape (n, 1, d) or (n, n_classes, d)."""
        found = self.stack.slopes(X)
        if self.log_class_weight is None or len(self.classes) == 2:
            return found
        # d ln p'_c = d ln p_c - sum_k p'_k d ln p_k for p' proportional to w p.
        return found - np.einsum("ik,ikd->id", np.exp(self.log_proba(X)), found)[:, None, :]

    def linear(self) -> Coefficients | None:
        """Those of the first machine that predicts; None if its kernel is not linear."""
        found: Coefficients | None = self.stack.members[0].machine.linear()
        return found

    @property
    def warp(self) -> Warp | None:
        """What maps the inputs of one of the machines; None if none is mapped."""
        return next((member.warp for member in self.stack.members if member.warp is not None), None)

    @cached_property
    def importance(self) -> Array | None:
        """Importance of every column of the table, shape (d,), sums to 1; None for kernel values."""
        seen = self.rows if self.sample is None else self.sample
        if seen is None or len(self.spread) == 0:
            return None
        return importance(self.outputs, self.slopes, seen.X, seen.weight, self.spread, self.layout, self.warp)
