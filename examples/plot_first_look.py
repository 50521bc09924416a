"""
A boundary that knows where it is unsure
========================================

Two moons. The machine chose C, the amplitude and two length scales itself; grey is the gap in which the latent function
lies between -1 and 1.
"""

from sklearn.datasets import make_moons

from softmargin import BayesianSVC
from softmargin.displays import LatentDisplay

X, y = make_moons(150, noise=0.25, random_state=0)
model = BayesianSVC().fit(X, y)
LatentDisplay.from_estimator(model, X, y, features=(0, 1))
print("C =", round(model.C_, 2), "  kernel:", model.kernel_)
