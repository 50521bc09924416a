"""
Error bars that outliers do not spoil
=====================================

One target in ten has ten times the noise. A Gaussian process has to explain those rows with Gaussian noise: it either
chases them or widens its error bars everywhere. The epsilon-insensitive noise has exponential tails, whose pull on the
function is bounded by C, and the evidence chooses how heavy they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.metrics import mean_log_predictive_density

X, y = make_sinc(80, noise="outliers", random_state=3)
X_test, y_test = make_sinc(2000, noise="outliers", random_state=4)
grid = np.linspace(-12, 12, 300)[:, None]
truth = np.sinc(grid[:, 0] / np.pi)

svr = BayesianSVR().fit(X, y)
gp = GaussianProcessRegressor(ConstantKernel() * RBF(2.0) + WhiteKernel(0.1), normalize_y=True).fit(X, y)

gp_mean, gp_std = gp.predict(grid, return_std=True)
bands = {
    "BayesianSVR": (svr, svr.predict(grid), svr.predict_interval(grid, 0.8)),
    "GaussianProcessRegressor": (gp, gp_mean, gp_mean[:, None] + 1.2816 * gp_std[:, None] * [-1, 1]),
}

figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for ax, (name, (model, mean, band)) in zip(axes, bands.items()):
    ax.plot(X[:, 0], y, "k.", ms=4)
    ax.plot(grid, truth, "k:", lw=1)
    ax.plot(grid, mean, "C0")
    ax.fill_between(grid[:, 0], band[:, 0], band[:, 1], alpha=0.25)
    error = np.sqrt(np.mean((mean - truth)[np.abs(grid[:, 0]) < 10] ** 2))
    density = mean_log_predictive_density(model, X_test, y_test)
    ax.set(title=f"{name}\nerror {error:.3f}, log density {density:.2f}", ylim=(-1.2, 1.8), xlabel="x")
plt.tight_layout()
plt.show()
