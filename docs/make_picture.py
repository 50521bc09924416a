"""Draw the picture of the README: `python docs/make_picture.py`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from softmargin import BayesianSVC, BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.displays import IntervalDisplay, LatentDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")

X, y = make_moons(150, noise=0.25, random_state=0)
LatentDisplay.from_estimator(BayesianSVC().fit(X, y), X, y, features=(0, 1), ax=left)
left.set(title="BayesianSVC: C and two length scales learnt, grey where it is unsure", xlabel="", ylabel="")
left.get_legend().remove()

X, y = make_sinc(40, scale=0.1, random_state=0)
X, y = X[(X[:, 0] < 1) | (X[:, 0] > 5)], y[(X[:, 0] < 1) | (X[:, 0] > 5)]
model = BayesianSVR().fit(X, y)
IntervalDisplay.from_estimator(model, np.linspace(-12, 12, 300)[:, None], ax=right)
right.plot(X[:, 0], y, ".", color="#33415c", label="data")
right.set(title="BayesianSVR: 95 % interval, wide where there are no data", xlabel="", ylabel="")
right.legend(frameon=False, fontsize="small")

for ax in (left, right):
    ax.title.set_fontsize(10)
figure.savefig(Path(__file__).parent / "_static" / "picture.png", dpi=110)
