"""
Three classes
=============

One machine for each pair of classes, coupled into one set of probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from softmargin import BayesianSVC

X, y = load_iris(return_X_y=True)
X = X[:, 2:]
model = BayesianSVC().fit(X, y)

a, b = np.meshgrid(np.linspace(0.5, 7.5, 120), np.linspace(-0.2, 2.8, 120))
p = model.predict_proba(np.column_stack([a.ravel(), b.ravel()])).reshape(120, 120, 3)
figure, ax = plt.subplots(layout="constrained")
# Each class is one of red, green and blue: mixtures of colours are mixtures of probabilities.
ax.imshow(0.35 + 0.65 * p, extent=(0.5, 7.5, -0.2, 2.8), origin="lower", aspect="auto")
ax.scatter(*X.T, c=np.eye(3)[y] * 0.7, s=14, edgecolors="white", linewidths=0.4)
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
