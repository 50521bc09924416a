"""Regressors, each made with a seed: fit, predict, log_density (nan if there is none) and interval. One thread each."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

LEVELS = (0.5, 0.8, 0.95)
GRID = {
    "regressor__svr__C": 2.0 ** np.arange(-2, 9, 2),
    "regressor__svr__gamma": 2.0 ** np.arange(-8, 3, 2),
    "regressor__svr__epsilon": [0.02, 0.1, 0.3],
}


class Regressor(Protocol):
    """What a method of the regression benchmark does."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None: ...
    def predict(self, X: np.ndarray) -> np.ndarray: ...
    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray: ...
    def interval(self, X: np.ndarray, level: float) -> np.ndarray: ...


class Softmargin:
    """BayesianSVR with its defaults."""

    def __init__(self, seed: int, **settings: Any) -> None:
        from softmargin import BayesianSVR

        self.model = BayesianSVR(random_state=seed, **settings)

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.model.log_predictive_density(X, y)

    def interval(self, X: np.ndarray, level: float) -> np.ndarray:
        return self.model.predict_interval(X, level)


class Normal:
    """A regressor whose prediction is a normal distribution: a fitted `model`, and its `moments`."""

    model: Any

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation."""
        return self.model.predict(X, return_std=True)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.moments(X)[0]

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return stats.norm.logpdf(y, *self.moments(X))

    def interval(self, X: np.ndarray, level: float) -> np.ndarray:
        mean, std = self.moments(X)
        z = stats.norm.ppf((1 + level) / 2)
        return np.stack([mean - z * std, mean + z * std], axis=1)


class GaussianProcess(Normal):
    """scikit-learn's Gaussian process: a length scale per input, white noise."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        d = X.shape[1]
        kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(np.full(d, np.sqrt(d)), (1e-2, 1e4)) + WhiteKernel(0.1)
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=self.seed)
        self.model = make_pipeline(StandardScaler(), model).fit(X, y)


class Ridge(Normal):
    """Bayesian linear regression."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)


class GridSVR(Normal):
    """SVR tuned by 5-fold grid search over C, gamma and epsilon; one sd from its cross-validated residuals."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        folds = KFold(5, shuffle=True, random_state=self.seed)
        svr = TransformedTargetRegressor(make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler())
        search = GridSearchCV(svr, GRID, cv=folds, scoring="neg_mean_squared_error").fit(X, y)
        self.model = search.best_estimator_
        self.std = np.std(y - cross_val_predict(clone(self.model), X, y, cv=folds))

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.model.predict(X), np.full(X.shape[0], self.std)


class CatBoost(Normal):
    """CatBoost that predicts a mean and a variance."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        from catboost import CatBoostRegressor

        self.unit = (float(np.mean(y)), float(np.std(y)))
        self.model = CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            random_seed=self.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        ).fit(X, (y - self.unit[0]) / self.unit[1])

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, variance = self.model.predict(X).T
        return self.unit[0] + self.unit[1] * mean, self.unit[1] * np.sqrt(variance)


class WithResiduals(Normal):
    """A regressor that `make` makes with a seed; one sd from its 5-fold cross-validated residuals."""

    def __init__(self, seed: int, make: Callable[[int], Any]) -> None:
        super().__init__(seed)
        self.make = make

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        folds = KFold(5, shuffle=True, random_state=self.seed)
        self.std = np.std(y - cross_val_predict(self.make(self.seed), X, y, cv=folds))
        self.model = self.make(self.seed).fit(X, y)

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.model.predict(X), np.full(X.shape[0], self.std)


def catboost(seed: int) -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1)


def xgboost(seed: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=seed, n_jobs=1)


def hist_gradient_boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(random_state=seed)


class NGBoost(Normal):
    """Natural-gradient boosting of a normal distribution."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        from ngboost import NGBRegressor

        self.model = NGBRegressor(random_state=self.seed, verbose=False).fit(X, y)

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = self.model.pred_dist(X).params
        return found["loc"], found["scale"]


class QuantileBoosting:
    """Gradient boosting of seven quantiles; it has no density."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        tails = [(1 - level) / 2 for level in LEVELS]
        self.models = {
            q: HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=self.seed).fit(X, y)
            for q in [0.5, *tails, *(1 - t for t in tails)]
        }

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.models[0.5].predict(X)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.full(len(y), np.nan)

    def interval(self, X: np.ndarray, level: float) -> np.ndarray:
        tail = (1 - level) / 2
        return np.sort(np.stack([self.models[q].predict(X) for q in (tail, 1 - tail)], axis=1), axis=1)


REGRESSORS: dict[str, Callable[[int], Regressor]] = {
    "softmargin": Softmargin,
    "GPR ARD": GaussianProcess,
    "CatBoost": CatBoost,
    "CatBoost + CV sd": lambda seed: WithResiduals(seed, catboost),
    "LightGBM + CV sd": lambda seed: WithResiduals(seed, lightgbm),
    "XGBoost + CV sd": lambda seed: WithResiduals(seed, xgboost),
    "HistGradientBoosting + CV sd": lambda seed: WithResiduals(seed, hist_gradient_boosting),
    "grid SVR": GridSVR,
    "NGBoost": NGBoost,
    "quantile boosting": QuantileBoosting,
    "BayesianRidge": Ridge,
}
