"""Which columns matter on held-out rows, and how the prediction changes along them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from softmargin._linalg import Array
from softmargin.experiment.run import Experiment, is_joint
from softmargin.tables import importance_by_column

ROWS, SHUFFLES, MOST = 500, 3, 20
"""Held-out rows, permutations of each column and columns that permutation importance looks at."""
CURVES, POINTS, AVERAGED, DRAWS = 4, 21, 60, 200
"""Columns that have an effect curve, its points, training rows it averages over, functions drawn for its band."""
CATEGORIES = 8


@dataclass(frozen=True)
class ColumnImportance:
    """What one column does."""

    name: str
    importance: float
    """Share of the prediction's change along all columns: `importance_`."""
    rise: float | None = None
    """Rise of the loss of held-out rows, in nats a row, when the column is shuffled; None if no rows were held out."""
    error: float | None = None
    """Its standard error over the rows."""


@dataclass(frozen=True)
class Effect:
    """The average prediction as a function of one column."""

    name: str
    values: list[Any]
    """Numbers, or categories."""
    curves: dict[str, Array] = field(repr=False)
    """What is predicted -> averages, shape (n_values,)."""
    bands: dict[str, tuple[Array, Array]] = field(default_factory=dict, repr=False)
    """The same -> ends of the central 90 % of the posterior, each of shape (n_values,); empty if there is none."""

    @property
    def is_number(self) -> bool:
        """Whether the column has numbers, or dates."""
        return not isinstance(self.values[0], str)

    @property
    def is_date(self) -> bool:
        """Whether the column has dates."""
        return isinstance(self.values[0], np.datetime64)


def column_importances(experiment: Experiment, seed: int = 0) -> list[ColumnImportance]:
    """Importance of every column, the largest first, with that of shuffling it among held-out rows."""
    found = importance_by_column(experiment.model) or {}
    rng, rises = np.random.default_rng(seed), {}
    if len(experiment.test):
        some = experiment.test[np.sort(rng.permutation(len(experiment.test))[:ROWS])]
        X, y = experiment.table.X.iloc[some], experiment.table.y.iloc[some].to_numpy()
        before = _losses(experiment, X, y)
        for name in list(found)[:MOST]:
            change = np.mean(
                [_losses(experiment, _shuffled(X, name, rng), y) - before for _ in range(SHUFFLES)], axis=0
            )
            rises[name] = (float(change.mean()), float(change.std() / np.sqrt(len(change))))
    return [ColumnImportance(name, value, *rises.get(name, ())) for name, value in found.items()]


def _shuffled(X: Any, name: str, rng: np.random.Generator) -> Any:
    return X.assign(**{name: X[name].to_numpy()[rng.permutation(len(X))]})


def _losses(experiment: Experiment, X: Any, y: np.ndarray) -> Array:
    """-ln of the probability (density) of the truth at every row, shape (n,)."""
    if experiment.regression:
        return -np.asarray(experiment.model.log_predictive_density(X, y))
    p = experiment.model.predict_proba(X)[np.arange(len(y)), np.searchsorted(experiment.model.classes_, y)]
    return -np.log(np.clip(p, 1e-15, None))


def effects(experiment: Experiment, importances: list[ColumnImportance], seed: int = 0) -> list[Effect]:
    """Effect curves of the most important columns."""
    return [_effect(experiment, entry.name, seed) for entry in importances[:CURVES] if entry.importance > 0]


def _effect(experiment: Experiment, name: str, seed: int) -> Effect:
    """Average the prediction over training rows whose column is set to each of some values."""
    X, rng = experiment.table.X.iloc[experiment.train], np.random.RandomState(seed)
    values = _values(X[name])
    rows = X.iloc[np.sort(rng.permutation(len(X))[:AVERAGED])]
    curves: list[Any] = []
    bands = []
    for value in values:
        inputs = rows.assign(**{name: [value] * len(rows)})
        curves.append(_average(experiment, inputs))
        # The same random numbers at every value: the band is smooth.
        bands.append(_spread(experiment, inputs, np.random.RandomState(seed)))
    table = np.array(curves)
    named = dict(zip(_curve_names(experiment), table.T))
    if any(band is None for band in bands):
        return Effect(name, values, named)
    # Shape (n_curves, n_values) each.
    low, high = np.moveaxis(np.array(bands), 0, -1)
    if experiment.regression:
        ends = [(curve + down, curve + up) for curve, down, up in zip(table.T, low, high)]
    else:
        # The band is that of the log-odds: probabilities stay between 0 and 1.
        odds = logit(np.clip(table.T, 1e-9, 1 - 1e-9))
        ends = list(zip(expit(odds + low), expit(odds + high)))
    return Effect(name, values, named, dict(zip(named, ends)))


def _values(column: Any) -> list[Any]:
    known = column.dropna()
    if known.dtype.kind == "M":
        # Dates: evenly spaced between the first and the last.
        first, last = known.min(), known.max()
        return [(first + (last - first) * k / (POINTS - 1)).to_datetime64() for k in range(POINTS)]
    if known.dtype.kind in "iuf":
        low, high = np.quantile(known.to_numpy(dtype=float), [0.02, 0.98])
        distinct = np.unique(known.to_numpy(dtype=float))
        if len(distinct) <= POINTS:
            return [float(v) for v in distinct]
        return [float(v) for v in np.linspace(float(low), float(high), POINTS)]
    return [str(v) for v in known.value_counts().index[:CATEGORIES]]


def _curve_names(experiment: Experiment) -> list[str]:
    if experiment.regression:
        return [str(experiment.table.y.name)]
    classes = [str(c) for c in experiment.model.classes_]
    return classes[1:] if len(classes) == 2 else classes


def _average(experiment: Experiment, inputs: Any) -> Array:
    """What is predicted on average, shape (n_curves,)."""
    model = experiment.model
    if experiment.regression:
        return np.array([float(np.mean(model.predict(inputs)))])
    p = np.asarray(model.predict_proba(inputs)).mean(axis=0)
    return p[1:] if len(p) == 2 else p


def _spread(experiment: Experiment, inputs: Any, rng: np.random.RandomState) -> Array | None:
    """5 % and 95 % quantiles of the averages of functions drawn from the posterior, relative to their median.

    Of log-odds in classification. Shape (2, n_curves); None for several classes that are told apart in pairs.
    """
    model = experiment.model
    if experiment.regression:
        average = np.asarray(model.sample_latent(inputs, DRAWS, rng)).mean(axis=0)[:, None]
    elif is_joint(model):
        rows = model.encoder_.transform(inputs)
        p = sum(w * member.sample_proba(rows, DRAWS, rng) for member, w in zip(model.members_, model.weights_))
        average = _log_odds(np.asarray(p).mean(axis=1))
    elif len(model.classes_) > 2:
        return None
    else:
        latent = np.asarray(model.sample_latent(inputs, DRAWS, rng))
        average = _log_odds(expit(model.likelihood_.normalised().log_odds(latent)).mean(axis=0))[:, None]
    low, middle, high = np.quantile(average, [0.05, 0.5, 0.95], axis=0)
    return np.stack([low - middle, high - middle])


def _log_odds(p: Array) -> Array:
    return np.asarray(logit(np.clip(p, 1e-9, 1 - 1e-9)))
