"""
The papers' tools
=================

Data from the model itself, the evidence by three methods, criteria side by side, the mean-field iteration, and rows
that end a search. The tutorial has the equations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC
from softmargin.comparison import compare_criteria
from softmargin.datasets import make_sinc
from softmargin.displays import SearchPathDisplay
from softmargin.evidence import log_evidence
from softmargin.generative import sample_datasets
from softmargin.inference import EP, Laplace, MeanField
from softmargin.likelihoods import EpsilonInsensitive, Hinge

# %%
# Data from the model
# -------------------
#
# A function from the effective prior, inputs where it is sure, labels by the class probability.

kernel = ConstantKernel(4.0) * RBF(0.1)
pool = np.linspace(0, 1, 200)[:, None]
data = sample_datasets(kernel, pool, Hinge(C=2.0), n_examples=40, random_state=3)[0]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.axhspan(-1, 1, color="0.9", label="gap")
ax.plot(pool[:, 0], data.pool_f, color="0.3", label="latent function")
for label, colour in ((-1, "#2f7fc1"), (1, "#e07020")):
    own = data.y == label
    ax.plot(data.X[own, 0], data.f[own], "o", color=colour, markersize=5, label=f"label {label:+d}")
ax.set(xlabel="x", ylabel="θ(x)")
ax.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))

# %%
# The evidence by three methods
# -----------------------------
#
# Chaining is exact up to the noise of its samples; expectation propagation follows it, Laplace's method does not.

K, y = kernel(data.X), data.y.astype(float)
C = np.geomspace(0.1, 10.0, 7)
chained = [log_evidence(K, y, c, method="chaining", random_state=0) for c in C]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name, inference in (("expectation propagation", EP()), ("Laplace", Laplace())):
    ax.plot(C, [inference.infer(K, y, Hinge(c)).log_evidence for c in C], label=name)
ax.errorbar(C, [e.value for e in chained], [2 * e.standard_error for e in chained], fmt="k.", label="chaining, ± 2 se")
ax.set(xscale="log", xlabel="C", ylabel="naive log evidence (nats)")
ax.legend(frameon=False)

# %%
# Criteria side by side
# ---------------------
#
# Each criterion tunes the same machine from three random starts; what counts is the error on rows that none has seen.

X, labels = make_moons(260, noise=0.35, random_state=0)
found = compare_criteria(
    X, labels, ("laplace_evidence", "gacv", "span", "radius_margin"), test_size=200 / 260, n_trials=3, random_state=0
)
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for k, name in enumerate(found.labels):
    errors = found.errors(name)
    ax.plot(100 * errors, np.full(len(errors), k), "o", color="#2f7fc1", alpha=0.6)
ax.set_yticks(range(len(found.labels)), [name.replace("_", " ") for name in found.labels])
ax.set(xlabel="error on 200 rows (per cent)", ylim=(-0.5, len(found.labels) - 0.5))

# %%
# Mean field
# ----------
#
# The iteration of Gao, Gunn and Harris for regression: where it settles it is expectation propagation's posterior, and
# its error bar has a part for the function and one for the noise.

U, t = make_sinc(20, spaced=True, scale=0.1, random_state=0)
noise = EpsilonInsensitive(C=20.0, epsilon=0.05)
K = np.exp(-((U - U.T) ** 2) / 4)
field = MeanField(order="parallel", adaptive=True).infer(K, t, noise)
grid = np.linspace(U.min() - 2, U.max() + 2, 200)[:, None]
K_star = np.exp(-((grid - U.T) ** 2) / 4)
mean, of_function = field.latent_mean(K_star), field.latent_variance(K_star, np.ones(200))
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for variance, name in ((of_function + noise.noise_variance, "and noise"), (of_function, "function")):
    band = 2 * np.sqrt(variance)
    ax.fill_between(grid[:, 0], mean - band, mean + band, alpha=0.25, linewidth=0, label=f"± 2 sd, {name}")
ax.plot(grid[:, 0], mean, label="mean")
ax.plot(U, t, "k.")
ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

# %%
# Rows that end a search
# ----------------------
#
# Without a hyperprior the evidence can overfit twenty length scales. ``validation_fraction`` holds rows out of the
# search and takes the point where their log loss is lowest.

rng = np.random.default_rng(1)
X = rng.normal(size=(100, 20))
labels = X[:, 0] + X[:, 1] + rng.normal(size=100) > 0
model = BayesianSVC(criterion="link_evidence", hyperprior=None, validation_fraction=0.3, random_state=0).fit(X, labels)
path = [row["validation_log_loss"] for row in model.search_path_]
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
SearchPathDisplay.from_estimator(model, ax=panels[0])
panels[1].plot(range(1, len(path) + 1), path, ".-")
panels[1].plot(np.argmin(path) + 1, min(path), "*", markersize=14)
panels[1].set(xlabel="evaluation", ylabel="log loss of held-out rows")
