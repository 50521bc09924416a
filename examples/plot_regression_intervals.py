"""
Regression with error bars
==========================

The sinc function of Gao, Gunn & Harris (2003). C, epsilon and the kernel are learnt from 40 points.
"""

import numpy as np

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.displays import IntervalDisplay

X, y = make_sinc(40, scale=0.1, random_state=0)
model = BayesianSVR().fit(X, y)
grid = np.linspace(-12, 12, 200)[:, None]
display = IntervalDisplay.from_estimator(model, grid)
display.ax_.plot(X[:, 0], y, ".", color="black")
print(f"C = {model.C_:.3g}, epsilon = {model.epsilon_:.3g}, noise std = {model.noise_std_:.3f} (true: 0.1)")
