"""
Error bars that outliers do not spoil
=====================================

One target in twenty is a gross error: moved by ten to twenty standard deviations of the noise. A Gaussian process
has to explain those rows with Gaussian noise: it either chases them or widens its error bars everywhere. The
epsilon-insensitive noise has exponential tails, whose pull on the function is bounded by C, and the evidence chooses
how heavy they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.metrics import mean_log_predictive_density

grid = np.linspace(-10, 10, 300)[:, None]
truth = np.sinc(grid[:, 0] / np.pi)


def draw(n, seed):
    """Sinc with noise of standard deviation 0.1, and every twentieth target spoilt."""
    X, y = make_sinc(n, random_state=seed)
    rng = np.random.RandomState(seed)
    move = rng.uniform(1, 2, size=n) * rng.choice([-1, 1], size=n)
    return X, y + np.where(rng.permutation(n) % 20 == 0, move, 0)


def fit(seed):
    """Both models on one training set."""
    X, y = draw(80, seed)
    gp = GaussianProcessRegressor(ConstantKernel() * RBF(2.0) + WhiteKernel(0.1), normalize_y=True)
    return {"BayesianSVR": BayesianSVR().fit(X, y), "GaussianProcessRegressor": gp.fit(X, y)}


# %%
# One training set: the function with its 80 % interval.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
for ax, (name, model) in zip(axes, fit(3).items()):
    mean, std = model.predict(grid, return_std=True)
    band = mean[:, None] + 1.2816 * std[:, None] * [-1, 1]
    if name == "BayesianSVR":
        band = model.predict_interval(grid, 0.8)
    X, y = draw(80, 3)
    ax.plot(X[:, 0], y, "k.", ms=4)
    ax.plot(grid, truth, "k:", lw=1)
    ax.plot(grid, mean, "C0")
    ax.fill_between(grid[:, 0], band[:, 0], band[:, 1], alpha=0.25)
    ax.set(title=name, ylim=(-2, 2.5), xlabel="x")
plt.tight_layout()

# %%
# Ten training sets: distance from the true function, and log density of new targets that have the same gross errors.

scores = []
for seed in range(10):
    X_test, y_test = draw(2000, 100 + seed)
    scores.append(
        [
            (np.sqrt(np.mean((m.predict(grid) - truth) ** 2)), mean_log_predictive_density(m, X_test, y_test))
            for m in fit(seed).values()
        ]
    )
scores = np.array(scores)

figure, axes = plt.subplots(1, 2, figsize=(11, 3.5))
for ax, k, title in zip(axes, (0, 1), ("RMSE to the true function", "mean log density of new targets")):
    ax.plot(scores[:, :, k].T, "o-", color="grey", alpha=0.6)
    ax.plot(scores[:, :, k].mean(axis=0), "s", color="C3", ms=9)
    ax.set(title=title, xlim=(-0.5, 1.5))
    ax.set_xticks([0, 1], ["BayesianSVR", "GaussianProcessRegressor"])
plt.tight_layout()
plt.show()

for name, (error, density) in zip(("BayesianSVR", "GaussianProcessRegressor"), scores.mean(axis=0)):
    print(f"{name:25s} RMSE to the true function {error:.3f}, log density {density:.2f}")
