"""
The path of the search
======================

The default policy makes two models: the link model, learnt by its evidence, and then the margin model with the same
relative length scales, whose common scale, amplitude, offset and C are learnt by the leave-one-out log loss.
Leave-one-out chooses one; ``likelihood_`` says which. Every evaluation of both is in ``search_path_``.
"""

from sklearn.datasets import load_iris

from softmargin import BayesianSVC
from softmargin.displays import SearchPathDisplay

X, y = load_iris(return_X_y=True)
model = BayesianSVC().fit(X[50:], y[50:])
SearchPathDisplay.from_estimator(model)
print(model.likelihood_, model.kernel_)
