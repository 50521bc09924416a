"""The search: the surface it climbed and the path it took."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria import Problem, get_criterion
from softmargin.displays._base import BLUE, GREEN, GREY, ORANGE, Drawn, latent_model, latent_pair
from softmargin.inference import get_inference
from softmargin.kernels import gram, roles


@dataclass
class EvidenceSurfaceDisplay(Drawn):
    """A criterion over C and the kernel's amplitude, everything else as learnt.

    See Also
    --------
    SearchPathDisplay : What the search saw on its way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import EvidenceSurfaceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC(max_iter=5).fit(X[50::4], y[50::4])
    >>> display = EvidenceSurfaceDisplay.from_estimator(model, resolution=4)
    >>> display.value.shape
    (4, 4)
    """

    C: Array = field(repr=False)
    """Shape (n_C,)."""
    amplitude: Array = field(repr=False)
    """Prior variance of the latent function, shape (n_amplitude,)."""
    value: Array = field(repr=False)
    """The criterion, in nats, shape (n_amplitude, n_C)."""
    learnt: tuple[float, float]
    """(C, amplitude) of the estimator."""
    name: str = "evidence"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        criterion: str = "evidence",
        resolution: int = 15,
        factor: float = 12.0,
        pair: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> "EvidenceSurfaceDisplay":
        """Evaluate the criterion on a grid around the learnt values and draw it.

        Parameters
        ----------
        estimator : fitted BayesianSVC or BayesianSVR
        criterion : str
            "evidence", or any registered criterion ("loo", "link_evidence", ...).
        resolution : int
            Grid points along each axis; the cost is its square times one inference.
        factor : float
            The grid reaches from learnt/factor to learnt*factor.
        pair : int
            Which latent function, with more than two classes.
        """
        model = latent_model(estimator, pair)
        kinds = [role.kind for role in roles(model.kernel, model.rows.X.shape[1])]
        if "amplitude" not in kinds:
            raise ValueError("the kernel has no learnt amplitude; multiply it by a ConstantKernel with free bounds")
        index = kinds.index("amplitude")
        theta = model.kernel.theta
        C, amplitude = model.likelihood.C, float(np.exp(theta[index]))  # type: ignore[attr-defined]
        steps = np.geomspace(1 / factor, factor, resolution)
        chosen = get_criterion(criterion)()
        inference = chosen.inference_for(get_inference(estimator.inference)())
        value = np.empty((resolution, resolution))
        for i, a in enumerate(amplitude * steps):
            moved = theta.copy()
            moved[index] = np.log(a)
            K = gram(model.kernel.clone_with_theta(moved), model.rows.X)
            start = None
            for j, c in enumerate(C * steps):
                likelihood = chosen.likelihood(replace(model.likelihood, C=float(c)))  # type: ignore[type-var]
                # Neighbours on the grid have similar posteriors.
                posterior = inference.infer(K, model.rows.y, likelihood, model.rows.weight, start)
                start = posterior if posterior.method == inference.name and posterior.converged else None
                value[i, j] = chosen(posterior, Problem(K, model.rows.y, likelihood, model.rows.weight)).value
        # A regressor works on a scaled target: y = center + scale t.
        scale, n = getattr(estimator, "y_scale_", 1.0), float(np.sum(model.rows.weight))
        C, amplitude = C / scale, amplitude * scale**2
        return cls(C * steps, amplitude * steps, value - n * np.log(scale), (C, amplitude), criterion).plot(
            ax=ax, **kwargs
        )

    def plot(self, ax: Any = None, *, depth: float = 30.0, cmap: str = "viridis") -> "EvidenceSurfaceDisplay":
        """Draw the surface as filled contours down to `depth` nats below its top."""
        ax = self._axes(ax)
        top = float(np.nanmax(self.value))
        # Steps that grow with the distance from the top: the top is what matters.
        levels = top - depth * np.linspace(1, 0, 13) ** 2
        drawn = ax.contourf(self.C, self.amplitude, np.maximum(self.value, levels[0]), levels=levels, cmap=cmap)
        i, j = np.unravel_index(np.nanargmax(self.value), self.value.shape)
        ax.plot(self.C[j], self.amplitude[i], "x", color="white", markersize=8, label="top of the surface")
        ax.plot(*self.learnt, "*", color=ORANGE, markeredgecolor="white", markersize=14, label="learnt")
        ax.set(xscale="log", yscale="log", xlabel="C", ylabel="amplitude (prior variance)")
        legend = ax.legend(loc="lower left", fontsize="small", facecolor="#33415c", edgecolor="none", framealpha=0.8)
        for text in legend.get_texts():
            text.set_color("white")
        bar = self.figure_.colorbar(drawn, ax=ax, label=f"{self.name.replace('_', ' ')} (nats)")
        bar.ax.set_yticks([levels[0], top], [f"≤ {levels[0]:.0f}", f"{top:.1f}"])
        return self


@dataclass
class SearchPathDisplay(Drawn):
    """The objective at every evaluation of the search, one line for each stage.

    See Also
    --------
    EvidenceSurfaceDisplay : The surface around the end of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import SearchPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC(max_iter=5).fit(X[50::4], y[50::4])
    >>> display = SearchPathDisplay.from_estimator(model)
    >>> len(display.objective) == len(model.search_path_)
    True
    """

    objective: Array = field(repr=False)
    """Shape (n_evaluations,)."""
    stage: list[str] = field(repr=False)
    start: list[int] = field(repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, *, pair: int = 0, ax: Any = None) -> "SearchPathDisplay":
        """Read the search path of a fitted estimator and draw it."""
        path = estimator.search_path_
        if path and "pair" in path[0]:
            latent_model(estimator, pair)
            path = [row for row in path if row["pair"] == latent_pair(estimator, pair)]
        if not path:
            raise ValueError("the estimator made no search (search=None, or nothing was free)")
        values = np.array([row["objective"] for row in path], dtype=float)
        return cls(values, [row["stage"] for row in path], [row.get("start", 0) for row in path]).plot(ax=ax)

    def plot(self, ax: Any = None) -> "SearchPathDisplay":
        """Draw value against evaluation."""
        ax = self._axes(ax)
        names = {"link_evidence": "link evidence", "loo": "leave-one-out log loss, negative"}
        names |= dict.fromkeys(("dense", "low_rank", "refine"), "leave-one-out of least squares")
        colours = dict(zip(dict.fromkeys(self.stage), [BLUE, ORANGE, GREEN, GREY] * 3))
        begins = [0, *(k for k in range(1, len(self.stage)) if self._key(k) != self._key(k - 1)), len(self.stage)]
        for a, b in pairwise(begins):
            stage = self.stage[a]
            name = names.get(stage, stage.replace("_", " "))
            seen = any(line.get_label() == name for line in ax.lines)
            ax.plot(np.arange(a, b) + 1, self.objective[a:b], ".-", color=colours[stage], label=None if seen else name)
        low = np.quantile(self.objective, 0.1)
        top = self.objective.max()
        # A wild first step must not hide the rest.
        ax.set_ylim(bottom=min(low - 0.5 * (top - low), top - 1.0))
        ax.set(xlabel="evaluation", ylabel="objective (nats)")
        ax.legend(loc="best", fontsize="small", frameon=False)
        return self

    def _key(self, k: int) -> tuple[str, int]:
        return self.stage[k], self.start[k]
