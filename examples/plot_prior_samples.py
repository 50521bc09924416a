"""
What the prior expects
======================

Functions drawn from the prior with the learnt kernel: how the machine imagined the world before it saw the labels.
"""

import matplotlib.pyplot as plt

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.displays import PriorSampleDisplay

X, y = make_sinc(60, random_state=0)
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, kernel in zip(panels, ("rbf", "ou")):
    PriorSampleDisplay.from_estimator(BayesianSVR(kernel).fit(X, y), X, ax=ax)
    ax.set_title(kernel)
