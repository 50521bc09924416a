"""Estimators in scikit-learn's form: validation, the fit loop, prediction."""

from softmargin.estimators.classifier import BayesianSVC
from softmargin.estimators.regressor import BayesianSVR

__all__ = ["BayesianSVC", "BayesianSVR"]
