"""Estimators in scikit-learn's form: validation, the fit loop, prediction."""

from softmargin.estimators.classifier import BayesianSVC

__all__ = ["BayesianSVC"]
