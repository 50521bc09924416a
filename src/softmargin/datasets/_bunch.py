"""What every loader needs: its optional package, standardised inputs, and the Bunch it returns."""

from importlib import import_module
from types import ModuleType

import numpy as np
from sklearn.utils import Bunch

from softmargin._linalg import Array


def require(module: str, package: str) -> ModuleType:
    """Import an optional package, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this data set comes with the package {package}, which is not installed; "
            'run: pip install "softmargin[papers]"'
        ) from error


def standardise(X: Array) -> Array:
    """Give every column mean 0 and variance 1 over the whole set, as Gold & Sollich (2003, section 5.1) do."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def make_bunch(
    data: Array,
    target: Array,
    feature_names: list[str],
    descr: str,
    *,
    n_train: int | None = None,
    target_names: list[str] | None = None,
) -> Bunch:
    """Collect a data set; the first n_train rows are for training, the others for testing."""
    train = test = None
    if n_train is not None:
        train, test = np.arange(n_train), np.arange(n_train, len(target))
    return Bunch(
        data=data,
        target=target,
        train=train,
        test=test,
        feature_names=feature_names,
        target_names=target_names,
        DESCR=descr,
    )
