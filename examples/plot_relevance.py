"""
Which inputs matter
===================

Fifteen inputs, of which only the first three say anything about the class. Each has a length scale of its own, and the
search finds out.
"""

from softmargin import BayesianSVC
from softmargin.datasets import make_irrelevant
from softmargin.displays import RelevanceDisplay

X, y = make_irrelevant(300, random_state=0)
model = BayesianSVC().fit(X, y)
RelevanceDisplay.from_estimator(model)
