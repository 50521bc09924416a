"""
Three classes
=============

One machine for each pair of classes, coupled into one set of probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from softmargin import BayesianSVC

COLOURS = np.array([[0.18, 0.50, 0.76], [0.16, 0.62, 0.44], [0.88, 0.46, 0.18]])
X, y = load_iris(return_X_y=True)
X = X[:, 2:]
model = BayesianSVC().fit(X, y)

a, b = np.meshgrid(np.linspace(0.5, 7.5, 120), np.linspace(-0.2, 2.8, 120))
p = model.predict_proba(np.column_stack([a.ravel(), b.ravel()])).reshape(120, 120, 3)
figure, ax = plt.subplots(layout="constrained")
# Each class has a colour: mixtures of colours are mixtures of probabilities.
ax.imshow(0.4 + 0.6 * (p @ COLOURS), extent=(0.5, 7.5, -0.2, 2.8), origin="lower", aspect="auto")
ax.scatter(*X.T, c=COLOURS[y] * 0.85, s=36, edgecolors="white", linewidths=0.8)
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
