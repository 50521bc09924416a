"""What the displays share: axes, colours, and text that cannot break a figure."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin.machines import ClassificationFit
from softmargin.tuning import LatentModel

BLUE, ORANGE, GREEN, GREY = "#2f7fc1", "#e0762f", "#2a9d6f", "#8a8f98"
"""Distinguishable for colour-blind readers, on white and on dark paper."""
LONGEST = 28


class Drawn:
    """Keeps `ax_` and `figure_`."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("displays need matplotlib: pip install 'softmargin[plots]'") from error
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def label(text: Any) -> str:
    """A name as one short line; matplotlib would read a dollar sign as mathematics."""
    line = " ".join(str(text)[: 4 * LONGEST].split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return line.replace("$", r"\$")


def latent_model(estimator: Any, pair: int) -> LatentModel:
    """One latent function of a fitted estimator; classifiers with more than two classes have one for each pair."""
    check_is_fitted(estimator)
    fitted = estimator._fit
    machine = fitted.hinge if isinstance(fitted, ClassificationFit) else None
    models: list[LatentModel] = [fitted.model] if machine is None else machine.models
    if not 0 <= pair < len(models):
        raise ValueError(f"pair={pair} must be between 0 and {len(models) - 1}: the estimator has {len(models)}")
    return models[pair]


def latent_pair(estimator: Any, pair: int) -> tuple[int, int]:
    """The classes of one binary problem of a fitted classifier."""
    classes: tuple[int, int] = estimator._fit.hinge.pairs[pair]
    return classes


def slice_through(X: Any, features: tuple[int, ...], resolution: int) -> tuple[list[Array], Array]:
    """A grid over one or two inputs, the others at their medians.

    Returns
    -------
    axes : list of ndarray of shape (resolution,)
    points : ndarray of shape (resolution ** len(features), n_features)
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if any(not 0 <= f < X.shape[1] for f in features):
        raise ValueError(f"features={features} must be column numbers between 0 and {X.shape[1] - 1}")
    axes = []
    for f in features:
        low, high = X[:, f].min(), X[:, f].max()
        margin = 0.08 * (high - low or 1.0)
        axes.append(np.linspace(low - margin, high + margin, resolution))
    mesh = np.meshgrid(*axes, indexing="ij")
    points = np.tile(np.median(X, axis=0), (mesh[0].size, 1))
    for f, values in zip(features, mesh):
        points[:, f] = values.ravel()
    return axes, points


def number_of(estimator: Any, feature: int | str) -> int:
    """The number of an input that is given by its name or its number."""
    if not isinstance(feature, str):
        return feature
    names = list(getattr(estimator, "feature_names_in_", []))
    if feature not in names:
        known = f"choose from {', '.join(map(repr, names))}" if names else "the estimator was fitted without names"
        raise ValueError(f"there is no input {feature!r}; {known}")
    return names.index(feature)


def name_of(estimator: Any, feature: int) -> str:
    """The name of an input, if the estimator was fitted with names."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"input {feature}" if names is None else label(names[feature])
