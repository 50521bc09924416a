"""What most people do today: a grid-searched SVC with Platt's sigmoid, or SVR with the spread of its residuals."""

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from softmargin.rows import ColumnEncoder
from softmargin.tables import Table

FOLDS = 5
GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0)
COSTS = (0.3, 1.0, 3.0, 10.0, 100.0)


def fit_classifier(table: Table, train: np.ndarray, seed: int) -> Any:
    """Choose C and gamma by 5-fold cross-validation, then calibrate with a sigmoid on the folds."""
    columns, X, y = _prepared(table, train)
    folds = StratifiedKFold(min(FOLDS, int(np.unique(y, return_counts=True)[1].min())), shuffle=True, random_state=seed)
    scaled = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    best = GridSearchCV(scaled, _grid("svc", X.shape[1]), cv=folds).fit(X, y).best_estimator_
    calibrated = CalibratedClassifierCV(best, method="sigmoid", cv=folds, ensemble=False).fit(X, y)
    return Pipeline([("columns", columns), ("model", calibrated)])


def fit_regressor(table: Table, train: np.ndarray, seed: int) -> tuple[Any, float]:
    """Choose C, gamma and epsilon by 5-fold cross-validation; the spread of the left-out residuals is the error bar."""
    columns, X, y = _prepared(table, train)
    folds = KFold(min(FOLDS, len(y)), shuffle=True, random_state=seed)
    scaled = Pipeline([("scale", StandardScaler()), ("svr", SVR())])
    target = TransformedTargetRegressor(scaled, transformer=StandardScaler())
    grid = {**_grid("regressor__svr", X.shape[1]), "regressor__svr__epsilon": (0.03, 0.1, 0.3)}
    best = GridSearchCV(target, grid, cv=folds, scoring="neg_mean_squared_error").fit(X, y).best_estimator_
    residuals = y - cross_val_predict(best, X, y, cv=folds)
    return Pipeline([("columns", columns), ("model", best)]), float(max(np.std(residuals), 1e-12))


def _prepared(table: Table, train: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The fitted preprocessing, once for all folds (the medians of a fold hardly differ), its output and the target."""
    X = table.X.iloc[train]
    encoder = ColumnEncoder.of(X)
    return FunctionTransformer(encoder.transform), encoder.transform(X), table.y.iloc[train].to_numpy()


def _grid(prefix: str, n_columns: int) -> dict[str, Any]:
    return {f"{prefix}__C": COSTS, f"{prefix}__gamma": tuple(2 * g / max(n_columns, 1) ** 0.5 for g in GAMMAS)}
