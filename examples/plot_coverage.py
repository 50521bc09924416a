"""
Do the intervals hold what they promise?
========================================

Held-out coverage against promised probability. A calibrated model stays in the grey band.
"""

from sklearn.datasets import make_friedman1

from softmargin import BayesianSVR
from softmargin.displays import CoverageDisplay

X, y = make_friedman1(400, noise=1.0, random_state=0)
model = BayesianSVR().fit(X[:150], y[:150])
CoverageDisplay.from_estimator(model, X[150:], y[150:])
