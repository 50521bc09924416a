"""
The latent function along one input
===================================

Where there are no data the band widens, and the probability goes back towards one half.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import BayesianSVC
from softmargin.displays import LatentDisplay

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(-3, -0.5, 40), rng.uniform(1.5, 3, 30)])
y = (np.sin(2 * x) + 0.3 * rng.normal(size=70) > 0).astype(int)
model = BayesianSVC().fit(x[:, None], y)

figure, (top, bottom) = plt.subplots(2, sharex=True, layout="constrained", figsize=(6.4, 6))
display = LatentDisplay.from_estimator(model, x[:, None], y, ax=top)
bottom.plot(display.axes[0], model.predict_proba(display.axes[0][:, None])[:, 1])
bottom.set(xlabel="x", ylabel="probability of class 1", ylim=(0, 1))
