"""
Probabilities that never contradict the prediction
==================================================

Platt's sigmoid is fitted on top of a machine that does not know of it, so the class that is more probable need not be
the class that is predicted. Here there is one model, and no contradiction.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.svm import SVC

from softmargin import BayesianSVC
from softmargin.datasets import make_irrelevant

X, y = make_irrelevant(500, random_state=0)
train, test = slice(0, 200), slice(200, None)

svc = SVC().fit(X[train], y[train])
platt = CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False).fit(X[train], y[train])
ours = BayesianSVC().fit(X[train], y[train])

figure, ax = plt.subplots(layout="constrained")
for name, model, machine in (("SVC + sigmoid", platt, svc), ("BayesianSVC", ours, ours)):
    p = model.predict_proba(X[test])[:, 1]
    CalibrationDisplay.from_predictions(y[test], p, n_bins=8, strategy="quantile", name=name, ax=ax)
    contradictions = np.sum((p > 0.5) != (machine.decision_function(X[test]) > 0))
    print(f"{name}: {contradictions} contradictions, error {np.mean((p > 0.5) != y[test]):.1%}")
