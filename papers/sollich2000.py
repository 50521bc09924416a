"""Sollich (2000), Probabilistic methods for support vector machines

Figures 1 and 2. The target and the examples are those of the toy of Sollich (2002): the paper's own are unknown.
"""

from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from papers import _toy
from papers._claims import Claim, verdict
from papers._pieces import Pieces
from softmargin.evidence import Schedule, normaliser
from softmargin.inference import MAP, Laplace
from softmargin.likelihoods import Hinge

PRODUCT = _toy.C * _toy.K0

# Bounds of the verdicts, fixed before this run, after earlier ones.
NEAR_TRUTH = 0.6
"""Figure 2: distance of C from the true 2."""
VERY_SIMILAR, SAME_C = 0.1, 0.5
"""Note 4: largest difference of two normalisers over the range of the evidence; distance of their C."""


def counts(*, full: bool) -> str:
    """What is run."""
    return f"{15 if full else 9} values of C, one data set"


def run(out: Path, pieces: Pieces, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper."""
    same = Claim(
        "Figure 1",
        "Samples from priors with Ornstein-Uhlenbeck, RBF and polynomial kernels",
        "by eye",
        "the same picture as figure 2 of Sollich (2002)",
        "elsewhere",
        "its claims are counted there, not twice",
    )
    return [same, *pieces.once("sollich2000: Figure 2", lambda: figure_2(out, n_points=15 if full else 9))]


def figure_2(out: Path, n_points: int) -> list[Claim]:
    """The Laplace evidence with and without its normaliser along C K0 = 2.5, and the prediction at the maximum."""
    data, Cs = _toy.clean(), np.linspace(0.6, 3.8, n_points)
    shape = RBF(_toy.LENGTH)
    uniform = shape(np.linspace(0, 1, 101)[:, None])
    naive, full, proxy = (np.empty(n_points) for _ in range(3))
    schedule = Schedule(n_islands=8, n_particles=32)
    for j, C in enumerate(Cs):
        likelihood, K0 = Hinge(C), PRODUCT / C
        naive[j] = Laplace().infer(K0 * shape(data.X), data.y, likelihood).log_evidence / _toy.N
        for values, K in ((full, uniform), (proxy, shape(data.X))):
            constant = normaliser(K0 * K, likelihood, "joint", n_examples=_toy.N, schedule=schedule, random_state=0)
            values[j] = naive[j] - constant.value / _toy.N
    best = [_toy.peak(Cs, curve) for curve in (naive, full, proxy)]
    latent, probability, truth = _prediction(data, best[1])
    _draw(out / "sollich2000_figure2.png", data, latent, Cs, (naive, full), (truth, probability))
    noise = [float(np.mean(np.minimum(p, 1 - p))) for p in (probability, truth, _prediction(data, 1.8)[1])]
    difference = full - proxy
    return [
        Claim(
            "Figure 2",
            "Normalisation moves the maximum of the Laplace evidence along C K0 = 2.5 to larger C, near the true 2",
            "C = 1.8, larger than the naive maximum",
            f"naive {best[0]:.2f}, normalised {best[1]:.2f}",
            verdict(best[1] > best[0], abs(best[1] - _toy.C) < NEAR_TRUTH),
            "one data set, and not the paper's: Section 4 of Sollich (2002), below, gives the spread over data sets",
        ),
        Claim(
            "Note 4",
            "Training inputs as a proxy for the uniform density give very similar normalisers",
            "very similar",
            f"largest difference {np.abs(difference).max():.3f} per example; maximum at C = {best[2]:.2f}",
            verdict(float(np.abs(difference).max()) < VERY_SIMILAR * np.ptp(full), abs(best[2] - best[1]) < SAME_C),
            f"the evidence ranges over {np.ptp(full):.3f} on this line; {difference.mean():+.3f} of the difference is "
            f"the same at every C, the rest varies by {np.ptp(difference):.3f}",
        ),
        Claim(
            "Figure 2",
            "The SVM's class probabilities at the maximum overestimate the noise somewhat",
            "by eye",
            f"mean probability of the rarer class: predicted {noise[0]:.3f}, true {noise[1]:.3f}",
            verdict(noise[0] > noise[1]),
            f"probabilities at the SVM's solution; at the paper's C = 1.8 instead of our {best[1]:.2f}: {noise[2]:.3f}",
        ),
    ]


def _prediction(data, C: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The SVM's solution, P(y = 1 | x) at it and in truth, at the pool's inputs."""
    shape, likelihood = RBF(_toy.LENGTH), Hinge(C)
    svm = MAP().infer(PRODUCT / C * shape(data.X), data.y, likelihood)
    x = _toy.pool()[:, None]
    up = np.ones(len(x))
    latent = PRODUCT / C * shape(x, data.X) @ svm.beta
    predicted = np.exp(likelihood.normalised().log_prob(up, latent))
    return latent, predicted, np.exp(Hinge(_toy.C).normalised().log_prob(up, data.pool_f))


def _draw(path: Path, data, latent, Cs, evidences, probabilities) -> None:
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
    _toy.draw_target(left, data)
    left.plot(_toy.pool(), latent, "C0--", label="SVM, C K0 = 2.5")
    left.set(xlabel="x", ylabel="theta(x)")
    for values, label in zip(evidences, ("naive, Laplace", "normalised")):
        middle.plot(Cs, values, "o-", label=label)
    middle.axvline(_toy.C, color="grey", linestyle=":", label="true C")
    middle.set(xlabel="C (C K0 = 2.5)", ylabel="ln evidence per example")
    for values, style, label in zip(probabilities, ("k", "C0--"), ("target", "SVM at the evidence's maximum")):
        right.plot(_toy.pool(), values, style, label=label)
    right.set(xlabel="x", ylabel="P(y = 1 | x)")
    for ax in (left, middle, right):
        ax.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
