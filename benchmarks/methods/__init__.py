"""The methods compared: ours with its defaults, and what people use today."""

from benchmarks.methods._classifiers import CLASSIFIERS
from benchmarks.methods._regressors import LEVELS, REGRESSORS

__all__ = ["CLASSIFIERS", "LEVELS", "REGRESSORS"]
