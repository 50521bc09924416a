"""Classifiers, each a function of the number of inputs and a seed that returns an unfitted one. One thread each."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

CLASSIC_GRID = {"svc__C": 2.0 ** np.arange(-5, 16, 2), "svc__gamma": 2.0 ** np.arange(-15, 4, 2)}


def folds(y: np.ndarray, seed: int) -> StratifiedKFold:
    """Five folds, or as many as the rarest class has rows."""
    return StratifiedKFold(int(np.clip(np.bincount(y).min(), 2, 5)), shuffle=True, random_state=seed)


class GridSVC(ClassifierMixin, BaseEstimator):
    """SVC by 5-fold grid search over the classic grid; probabilities by sigmoid calibration, labels its own."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> "GridSVC":
        cv = folds(y, self.seed)
        self.svc_ = GridSearchCV(make_pipeline(StandardScaler(), SVC()), CLASSIC_GRID, cv=cv).fit(X, y).best_estimator_
        self.model_ = CalibratedClassifierCV(clone(self.svc_), method="sigmoid", cv=cv, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.svc_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)


class Logistic(ClassifierMixin, BaseEstimator):
    """Logistic regression, C by cross-validation."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Logistic":
        model = LogisticRegressionCV(
            Cs=10,
            l1_ratios=(0,),
            max_iter=2000,
            scoring="neg_log_loss",
            cv=folds(y, self.seed),
            use_legacy_attributes=False,
        )
        self.model_ = make_pipeline(StandardScaler(), model).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)


def gp(d: int, *, ard: bool) -> Any:
    """scikit-learn's Gaussian-process classifier, with an offset term (without it, it loses badly on some sets)."""
    length = np.full(d, np.sqrt(d)) if ard else np.sqrt(d)
    kernel = ConstantKernel(10.0, (1e-2, 1e4)) * RBF(length, (1e-2, 1e4)) + ConstantKernel(1.0, (1e-3, 1e3))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel))


def softmargin(d: int, seed: int) -> Any:
    from softmargin import BayesianSVC

    return BayesianSVC(random_state=seed)


def catboost(d: int, seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)


def lightgbm(d: int, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def xgboost(d: int, seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=seed, n_jobs=1)


def ebm(d: int, seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


def gpboost(d: int, seed: int) -> Any:
    from gpboost import GPBoostClassifier

    return GPBoostClassifier(random_state=seed, n_jobs=1, verbose=-1, silent=True)


CLASSIFIERS: dict[str, Callable[[int, int], Any]] = {
    "softmargin": softmargin,
    "CatBoost": catboost,
    "grid SVC": lambda d, seed: GridSVC(seed),
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": lambda d, seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda d, seed: RandomForestClassifier(500, random_state=seed),
    "logistic": lambda d, seed: Logistic(seed),
    "GPC": lambda d, seed: gp(d, ard=False),
    "GPC ARD": lambda d, seed: gp(d, ard=True),
    "EBM": ebm,
    "GPBoost": gpboost,
}
