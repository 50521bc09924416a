"""
Outliers
========

One row in ten has noise ten times as large. The absolute loss outside the epsilon-tube keeps the mean where most rows
are; an ordinary Gaussian process follows the outliers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc

X, y = make_sinc(60, noise="outliers", scale=0.1, random_state=3)
grid = np.linspace(-10, 10, 200)[:, None]
truth = np.sinc(grid[:, 0] / np.pi)
gp = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(0.1), normalize_y=True).fit(X, y)
ours = BayesianSVR().fit(X, y)

figure, ax = plt.subplots(layout="constrained")
ax.plot(X[:, 0], y, ".", color="grey")
ax.plot(grid, truth, "k:", label="truth")
for name, model in (("Gaussian process", gp), ("BayesianSVR", ours)):
    mean = model.predict(grid)
    ax.plot(grid, mean, label=name)
    print(f"{name}: RMSE to the truth {np.sqrt(np.mean((mean - truth) ** 2)):.3f}")
ax.legend()
