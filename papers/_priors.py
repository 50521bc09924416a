"""Samples from SVM priors on the unit square: figure 2 of Sollich 2002, which is figure 1 of Sollich 2000."""

from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Matern

from papers._claims import Claim, verdict
from softmargin.generative import sample_prior
from softmargin.likelihoods import Hinge

KERNELS = {
    "OU, l = 0.1, K0 = 10": ConstantKernel(10.0) * Matern(0.1, nu=0.5),
    "OU, l = 0.1, K0 = 1": ConstantKernel(1.0) * Matern(0.1, nu=0.5),
    "RBF, l = 0.1, K0 = 10": ConstantKernel(10.0) * RBF(0.1),
    "RBF, l = 0.05, K0 = 10": ConstantKernel(10.0) * RBF(0.05),
    "polynomial, p = 5": Exponentiation(DotProduct(1.0), 5),
    "polynomial, p = 10": Exponentiation(DotProduct(1.0), 10),
}

# Bounds of the verdicts, fixed before this run, after earlier ones.
MORE = 1.5
"""Figure 2: how many times as many sign changes or inputs inside the gap are more."""
HALVED = (1.6, 2.4)
"""Figure 2: ratio of the sign changes at half the length scale."""


def claims(out: Path, item: str, name: str, *, full: bool) -> list[Claim]:
    """Draw the priors and measure what the samples show."""
    side, n_samples = (40, 50) if full else (24, 20)
    axis = np.linspace(0, 1, side)
    X = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    samples = {
        label: sample_prior(kernel, X, n_samples, random_state=0).reshape(n_samples, side, side)
        for label, kernel in KERNELS.items()
    }
    _draw(out / f"{name}.png", axis, samples)
    ou, ou_low, rbf, rbf_short, poly5, poly10 = samples.values()
    crossings = [_crossings(theta) for theta in (ou, rbf, rbf_short)]
    gaps = [100 * float(np.mean(np.abs(theta) < 1)) for theta in (ou, ou_low)]
    ratios = [float(np.sqrt(np.mean(t[:, -1, -1] ** 2) / np.mean(t[:, 0, 0] ** 2))) for t in (poly5, poly10)]
    exact = [float(np.sqrt(k.diag(X[-1:])[0] / k.diag(X[:1])[0])) for k in list(KERNELS.values())[4:]]
    return [
        Claim(
            item,
            "Boundaries of decision regions are rough for the Ornstein-Uhlenbeck kernel and smooth for the RBF kernel",
            "by eye",
            f"sign changes per unit length at l = 0.1: OU {crossings[0]:.1f}, RBF {crossings[1]:.1f}",
            verdict(crossings[0] > MORE * crossings[1]),
            f"{n_samples} samples on a {side} x {side} grid",
        ),
        Claim(
            item,
            "A smaller amplitude widens the gaps between regions of definite output",
            "by eye",
            f"share of inputs with theta inside (-1, 1): {gaps[0]:.0f} % at K0 = 10, {gaps[1]:.0f} % at K0 = 1 (OU)",
            verdict(gaps[1] > MORE * gaps[0]),
        ),
        Claim(
            item,
            "The length scale sets the size of decision regions",
            "by eye",
            f"sign changes per unit length: {crossings[1]:.1f} at l = 0.1, {crossings[2]:.1f} at l = 0.05 (RBF)",
            verdict(HALVED[0] < crossings[2] / crossings[1] < HALVED[1]),
            "Rice's formula gives 1/(pi l): 3.2 and 6.4",
        ),
        Claim(
            item,
            "The polynomial kernel's amplitude differs widely between two corners of the square (p = 5 and 10)",
            "15.6 and 243",
            f"{exact[0]:.1f} and {exact[1]:.0f} from k(x, x); {ratios[0]:.1f} and {ratios[1]:.0f} in the samples",
            verdict(abs(exact[0] - 15.6) < 0.05, abs(exact[1] - 243) < 0.5),
        ),
    ]


def _crossings(theta: np.ndarray) -> float:
    """Sign changes along the first axis, per unit length."""
    return float(np.mean(np.sum(np.diff(np.sign(theta), axis=1) != 0, axis=1)))


def _draw(path: Path, axis: np.ndarray, samples: dict[str, np.ndarray]) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(samples), figsize=(3 * len(samples), 6), layout="constrained")
    for column, (label, theta) in zip(axes.T, samples.items()):
        values = column[0].imshow(theta[0].T, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r")
        figure.colorbar(values, ax=column[0], shrink=0.7)
        probability = np.exp(Hinge(2.0).normalised().log_prob(np.ones(theta[0].size), theta[0].ravel()))
        shown = probability.reshape(theta[0].shape).T
        column[1].imshow(shown, origin="lower", extent=(0, 1, 0, 1), cmap="gray", vmin=0, vmax=1)
        column[0].set_title(f"{label}\ntheta(x)", fontsize=9)
        column[1].set_title("P(y = 1 | x), C = 2", fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)
