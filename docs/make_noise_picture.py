"""Draw the picture of the page on noise: `python docs/make_noise_picture.py`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from softmargin import BayesianSVR
from softmargin.datasets import load_mcycle
from softmargin.displays import IntervalDisplay

bunch = load_mcycle()
grid = np.linspace(bunch.data.min(), bunch.data.max(), 300)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", sharey=True)
for ax, noise in zip(axes, ("constant", "auto")):
    model = BayesianSVR(noise=noise).fit(bunch.data, bunch.target)
    IntervalDisplay.from_estimator(model, grid, confidence_level=0.8, ax=ax)
    ax.plot(bunch.data[:, 0], bunch.target, ".", color="#33415c", label="data")
    loo = f"leave-one-out log density {model.loo_log_density_:.2f}"
    ax.set(title=f'noise="{noise}": 80 % interval, {loo}', xlabel="ms after the impact", ylabel="")
    ax.title.set_fontsize(10)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
axes[0].set_ylabel("acceleration of the head [g]")
figure.savefig(Path(__file__).parent / "_static" / "noise.png", dpi=110)
