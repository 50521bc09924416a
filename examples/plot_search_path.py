"""
The path of the search
======================

The default policy has two stages: the link evidence for the relative length scales, then the leave-one-out log loss
for the common scale, the amplitude, the offset and C. Every evaluation is in ``search_path_``.
"""

from sklearn.datasets import load_iris

from softmargin import BayesianSVC
from softmargin.displays import SearchPathDisplay

X, y = load_iris(return_X_y=True)
model = BayesianSVC().fit(X[50:], y[50:])
SearchPathDisplay.from_estimator(model)
print({name: model.search_path_[-1][name] for name in ("stage", "criterion", "C", "amplitude")})
