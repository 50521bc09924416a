"""
The landscape that the search climbs
====================================

The naive evidence and the leave-one-out log probability over C and the amplitude, everything else as learnt. The
evidence puts C too low (Sollich 2002 explains why); the default search takes C from the second panel.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from softmargin import BayesianSVC
from softmargin.displays import EvidenceSurfaceDisplay

X, y = make_moons(80, noise=0.3, random_state=1)
model = BayesianSVC().fit(X, y)
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, criterion in zip(panels, ("evidence", "loo")):
    EvidenceSurfaceDisplay.from_estimator(model, criterion=criterion, resolution=11, ax=ax)
