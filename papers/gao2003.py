"""Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression

Figures 1 to 3 and the claims. The paper's problem: sinc at 40 evenly spaced inputs with Gaussian noise of sd 0.1,
K = exp(-|x - x'|^2/4), epsilon = 0.1, C = 5.
"""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.exceptions import ConvergenceWarning

from papers._claims import Claim, verdict
from papers._pieces import Pieces
from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.inference import EP, HMC, MAP, Laplace, MeanField, Posterior
from softmargin.likelihoods import EpsilonInsensitive

SEED = 0
NOISE, EPSILON, C = 0.1, 0.1, 5.0
CS = (0.1, 1.0, 2.0, 4.0, 8.0, 10.0)

# Bounds of the verdicts, fixed before this run, after earlier ones.
SAMPLE = 0.03
"""Figure 1: by how much the sd of 40 samples may miss 0.1."""
SAME_FORMULA = 0.01
"""Equations 3.12 and 5.3: relative difference of the printed and the right value."""
ALIKE = 0.02
"""Figure 3: difference of two rms errors that are alike."""
SUITED = 0.2
"""Section 6: relative difference of the noise that C and epsilon imply from the data's."""


def true_function(x: np.ndarray) -> np.ndarray:
    """sin(x)/x."""
    return np.sinc(x / np.pi)


def gram(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The paper's kernel with tau = 2."""
    return np.exp(-((a[:, None] - b[None, :]) ** 2) / 4)


@dataclass
class Study:
    """The data, and the inferences at C = 5."""

    x: np.ndarray = field(init=False)
    t: np.ndarray = field(init=False)
    grid: np.ndarray = field(default_factory=lambda: np.linspace(-14, 14, 281))

    def __post_init__(self) -> None:
        X, self.t = make_sinc(40, spaced=True, scale=NOISE, random_state=SEED)
        self.x = X[:, 0]
        self.K, self.likelihood = gram(self.x, self.x), EpsilonInsensitive(C, EPSILON)
        self.mean_field = MeanField().infer(self.K, self.t, self.likelihood)
        self.ep = EP(tol=1e-9).infer(self.K, self.t, self.likelihood)
        self.laplace = Laplace().infer(self.K, self.t, self.likelihood)

    def predict(self, posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the function on the grid."""
        K_star = gram(self.grid, self.x)
        return posterior.latent_mean(K_star), posterior.latent_variance(K_star, np.ones(len(self.grid)))

    def error_bar(self, posterior: Posterior) -> np.ndarray:
        """Standard deviation of a target on the grid: eq. 5.3 with the right noise variance."""
        return np.sqrt(self.predict(posterior)[1] + self.likelihood.noise_variance)

    def outside_over_inside(self, posterior: Posterior) -> float:
        """Width of the error bar beyond the data over its width among them."""
        bar, outside = self.error_bar(posterior), np.abs(self.grid) > 11
        return float(bar[outside].mean() / bar[np.abs(self.grid) <= 10].mean())


def printed_derivative(t: np.ndarray, m: np.ndarray, v: np.ndarray, likelihood: EpsilonInsensitive) -> np.ndarray:
    """dw/dm as printed in eq. 3.12."""
    tilted = likelihood.tilted_moments(t, m, v)
    s, w = np.sqrt(v), tilted.d_mean
    inside = ndtr((t + likelihood.epsilon - m) / s) - ndtr((t - likelihood.epsilon - m) / s)
    G = np.exp(tilted.log_z - likelihood.log_norm)
    return likelihood.C**2 - w**2 - (w * m + v * likelihood.C**2 * inside) / (v * G)


def figure1(study: Study, out: Path) -> Claim:
    """The function and the samples."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.5))
    ax.plot(study.grid, true_function(study.grid), "k:", label="sinc(x)")
    ax.plot(study.x, study.t, "o", mfc="none", label="samples")
    ax.set(xlabel="x", ylabel="t")
    ax.legend()
    save(figure, out / "gao2003_fig1.png")
    sd = float(np.std(study.t - true_function(study.x)))
    return Claim("Figure 1", "40 samples of sinc with noise of sd 0.1", "0.1", f"sd {sd:.3f}", abs(sd - NOISE) < SAMPLE)


def figure2(study: Study, out: Path) -> None:
    """Mean field and standard SVR, each with its error bar."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    both = (study.mean_field, "(a) mean field"), (study.laplace, "(b) SVR (QP) with Laplace's error bar")
    for ax, (posterior, title) in zip(axes, both):
        mean, bar = study.predict(posterior)[0], study.error_bar(posterior)
        ax.plot(study.grid, true_function(study.grid), "k:", label="sinc(x)")
        ax.plot(study.grid, mean, "C0-", label="approximation")
        ax.plot(study.grid, mean + bar, "C3-.", lw=1, label="error bar: one sd of a target")
        ax.plot(study.grid, mean - bar, "C3-.", lw=1)
        ax.plot(study.x, study.t, "o", mfc="none", ms=4, label="samples")
        ax.set(title=title, xlabel="x")
    axes[0].legend(fontsize=8)
    save(figure, out / "gao2003_fig2.png")


def figure3(study: Study, out: Path) -> list[tuple[float, float, float, float]]:
    """Six values of C; returns C, rms distance of the two solutions, and the rms error of each, on [-10, 10]."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(12, 6), sharex=True, sharey=True)
    inside = np.abs(study.grid) <= 10
    truth, rows = true_function(study.grid), []
    for ax, value in zip(axes.flat, CS):
        likelihood = EpsilonInsensitive(value, EPSILON)
        # The mean-field fixed point, by EP: the same, as the claims table shows.
        mean_field = study.predict(EP().infer(study.K, study.t, likelihood))[0]
        svm = study.predict(MAP().infer(study.K, study.t, likelihood))[0]
        ax.plot(study.grid, truth, "k:", label="sinc(x)")
        ax.plot(study.grid, mean_field, "C0-", label="mean field")
        ax.plot(study.grid, svm, "C1--", label="SVM (QP)")
        ax.set_title(f"C = {value:g}")
        pairs = ((mean_field, svm), (mean_field, truth), (svm, truth))
        apart, ours, theirs = (float(np.sqrt(np.mean((a - b)[inside] ** 2))) for a, b in pairs)
        rows.append((value, apart, ours, theirs))
    for ax in axes[-1]:
        ax.set_xlabel("x")
    axes[0, 0].legend()
    save(figure, out / "gao2003_fig3.png")
    return rows


def figure3_claim(study: Study, rows: list[tuple[float, float, float, float]]) -> Claim:
    """One row for the six values of C."""
    far = [value for value, _, ours, theirs in rows if abs(ours - theirs) >= ALIKE]
    return Claim(
        "Figure 3",
        f"mean field and SVM perform alike (rms errors within {ALIKE}) at C = " + ", ".join(f"{c:g}" for c in CS),
        "similar",
        "rms errors of mean field / SVM: "
        + ", ".join(f"{ours:.3f} / {theirs:.3f} at C = {value:g}" for value, _, ours, theirs in rows)
        + "; apart by "
        + ", ".join(f"{apart:.3f}" for _, apart, _, _ in rows),
        verdict(*(value not in far for value in CS)),
        "; ".join(f"at C = {value:g} {_sampled_mean(study, value)}" for value in far),
    )


def _sampled_mean(study: Study, value: float) -> str:
    """Whether the posterior's mean itself, not its approximation, is what differs from the mode."""
    likelihood, inside = EpsilonInsensitive(value, EPSILON), np.abs(study.grid) <= 10
    mean = study.predict(HMC(evidence=False, check=False).infer(study.K, study.t, likelihood))[0]
    error = float(np.sqrt(np.mean((mean - true_function(study.grid))[inside] ** 2)))
    sd = np.sqrt(likelihood.noise_variance)
    return (
        f"the posterior mean by Monte Carlo has an rms error of {error:.3f}: it is the mean itself that is not the "
        f"mode where C = {value:g} stands for noise of sd {sd:.1f}"
    )


def save(figure: Any, path: Path) -> None:
    """Write a figure and forget it."""
    from matplotlib import pyplot as plt

    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def algorithm_claims(study: Study) -> list[Claim]:
    """Section 4: does the iteration converge, and to what?"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        MeanField(order="parallel").infer(study.K, study.t, study.likelihood)
    slow = MeanField(order="parallel", eta=0.01).infer(study.K, study.t, study.likelihood)
    adapted = MeanField(order="parallel", adaptive=True).infer(study.K, study.t, study.likelihood)
    ours, ep = study.mean_field, study.ep
    gap = max(np.abs(ours.mean - ep.mean).max(), np.abs(ours.variance - ep.variance).max())
    cold = EP().infer(study.K, study.t, study.likelihood)
    m, v = np.zeros_like(study.t), np.ones_like(study.t)
    exact = study.likelihood.tilted_moments(study.t, m, v).d2_mean
    printed = printed_derivative(study.t, m, v, study.likelihood)
    improper = int(np.sum(-v - 1 / printed <= 0))
    return [
        Claim(
            "Section 4",
            "eta = 0.05, M = 30 converges",
            "yes",
            f"sequential updates: {ours.n_iter} sweeps, {'converged' if ours.method == 'mean_field' else 'cycles'}",
            ours.method == "mean_field" and ours.converged,
        ),
        Claim(
            "Section 4",
            "the same with parallel updates",
            "order not given",
            "cycles" if caught else "converges",
            not caught,
            f"with eta = 0.01 it takes {slow.n_iter} sweeps",
        ),
        Claim(
            "Section 4",
            "a rate that adapts to the data improves convergence",
            "proposed, not given",
            f"parallel updates, eta from 0.05 on: {adapted.n_iter} sweeps",
            adapted.method == "mean_field",
            "halved after a sweep whose steps have grown, raised by a tenth after any other",
        ),
        Claim("Section 4", "its fixed point is EP's", "-", f"{gap:.0e} apart; EP: {cold.n_iter} sweeps", "ours"),
        Claim(
            "Equation 3.12",
            "dw/dm as printed",
            f"{printed[0]:.3f} at the first row",
            f"{exact[0]:.3f} (exact)",
            bool(np.allclose(printed, exact, rtol=SAME_FORMULA)),
            f"with it {improper} of {len(m)} first Sigma_i are negative: the outer step fails. Erratum",
        ),
    ]


def error_bar_claims(study: Study) -> list[Claim]:
    """Section 5 and figure 2."""
    printed = 2 / C**2 + (EPSILON**3 + 3 * EPSILON**2) / (2 * C**2 * (EPSILON + 1))
    exact = study.likelihood.noise_variance
    ratios = [study.outside_over_inside(p) for p in (study.mean_field, study.laplace)]
    sampled = HMC(n_draws=600, evidence=False, check=False).infer(study.K, study.t, study.likelihood)
    worst = np.max(np.abs(study.ep.mean - sampled.mean) / np.sqrt(sampled.variance))
    variances = study.ep.variance / sampled.variance
    return [
        Claim(
            "Equation 5.3",
            "noise part of the error bar",
            f"{printed:.4f}",
            f"{exact:.4f}",
            abs(printed / exact - 1) < SAME_FORMULA,
            f"{exact / printed:.2f} times the printed: 2/C^2 + epsilon^2 (epsilon C + 3)/(3 (epsilon C + 1)). Erratum",
        ),
        Claim(
            "Figure 2",
            "the error bar grows more outside the data than Laplace's",
            "larger ratio",
            f"{ratios[0]:.2f} against {ratios[1]:.2f}",
            ratios[0] > ratios[1],
            "sd at |x| > 11 over sd at |x| <= 10",
        ),
        Claim(
            "Section 5",
            "the mean field approximates the posterior moments well",
            "-",
            f"mean within {worst:.3f} sd, variance ratio {variances.min():.3f} to {variances.max():.3f}",
            "ours",
            "against 38,400 Monte Carlo draws",
        ),
    ]


def tuning_claims() -> list[Claim]:
    """Section 7: C and epsilon had to be given."""
    learnt = [BayesianSVR().fit(*make_sinc(40, scale=NOISE, random_state=seed)) for seed in range(12)]
    found = np.array([model.noise_std_ for model in learnt])
    implied = np.sqrt(EpsilonInsensitive(C, EPSILON).noise_variance)
    return [
        Claim(
            "Section 6",
            "C = 5, epsilon = 0.1 suit noise of sd 0.1",
            "chosen by hand",
            f"they imply a noise sd of {implied:.2f}",
            bool(abs(implied / NOISE - 1) < SUITED),
            f"{implied / NOISE:.1f} times that of the data",
        ),
        Claim(
            "Section 7",
            "a better algorithm would adapt C and epsilon to the data",
            "open",
            f"evidence: noise sd {found.mean():.3f} +- {found.std(ddof=1) / np.sqrt(len(found)):.3f} for a true 0.1",
            "ours",
            "mean of 12 sets of 40 rows",
        ),
    ]


def counts(*, full: bool) -> str:
    """What is run: the paper's own counts are small."""
    return "the paper's 40 rows and six values of C"


def run(out: Path, pieces: Pieces, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper; its own counts are small, so `full` changes nothing."""
    study = Study()
    figure2(study, out)
    claims = [figure1(study, out), *algorithm_claims(study), *error_bar_claims(study)]
    return [*claims, figure3_claim(study, figure3(study, out)), *tuning_claims()]
