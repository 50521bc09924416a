"""
Support vectors and margins
===========================

The support vector machine itself, at the learnt settings. Rows beyond 1 do not touch the boundary.
"""

from sklearn.datasets import load_breast_cancer

from softmargin import BayesianSVC
from softmargin.displays import MarginDisplay

X, y = load_breast_cancer(return_X_y=True)
model = BayesianSVC().fit(X[:200], y[:200])
MarginDisplay.from_estimator(model)
print(f"{len(model.support_)} support vectors among 200 rows")
