"""Sollich (2002), Bayesian methods for support vector machines: evidence and predictive class probabilities

Figures 1 to 10. Naive evidences and normalisers are annealed (a cheaper estimate of what the paper chains); one
point is also chained as in the paper. ``--full`` uses finer grids and more samples.
"""

from pathlib import Path

import numpy as np
from scipy.stats import skew
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from papers import _priors, _surfaces, _toy
from papers._claims import Claim, verdict
from papers._pieces import Pieces
from softmargin.generative import sample_effective_prior, sample_prior
from softmargin.inference import HMC, MAP
from softmargin.likelihoods import Hinge

GRID = np.linspace(0, 1, 201)

# Bounds of the verdicts, fixed before this run, after earlier ones.
PLAUSIBLE = 80.0
"""Figure 4: % of the interval with the target's sign."""
NEARLY_ALL = 95.0
"""Figure 9: % of the interval on which one probability is less extreme than another."""
FOLLOWS = 0.05
"""Figure 9: nats of log loss from the truth."""
MOSTLY = 50.0
"""Figure 10: % of the interval on which the mean is larger than the SVM's solution."""


def counts(*, full: bool) -> str:
    """What is run."""
    side, sets, draws = (12, _toy.DRAWS, 1000) if full else (6, 8, 200)
    return (
        f"grids of {side} x {side}, {sets} data sets in section 4, {draws} draws of each of 64 chains in figures 9, 10"
    )


def run(out: Path, pieces: Pieces, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper."""
    side, sets, draws = (12, _toy.DRAWS, 1000) if full else (6, 8, 200)
    parts = {
        "Figure 1": lambda: figure_1(out),
        "Figure 2": lambda: _priors.claims(out, "Figure 2", "sollich2002_figure2", full=full),
        "Figure 3": lambda: figure_3(out, n_samples=800 if full else 200),
        "Figure 4": lambda: figure_4(out),
        "Figure 5": lambda: _surfaces.figure_5(out, side=side),
        "Figure 6": lambda: _surfaces.figure_6(out, side=side),
        "Section 4": lambda: [_surfaces.section_4(n_datasets=sets)],
        "Figure 7": lambda: _surfaces.figure_7(out, n_more=20 if full else 5),
        "Figure 8": lambda: _surfaces.figure_8(out, n_points=12 if full else 6),
        "Figures 9 and 10": lambda: figures_9_and_10(out, n_draws=draws),
    }
    return [claim for name, make in parts.items() for claim in pieces.once(f"sollich2002: {name}", make)]


def figure_1(out: Path) -> list[Claim]:
    """The class probabilities as functions of theta."""
    theta, likelihood = np.linspace(-3, 3, 1201), Hinge(_toy.C)
    plus, minus = (np.exp(likelihood.log_prob(label, theta)) for label in (1.0, -1.0))
    total = plus + minus
    normalised = np.exp(likelihood.normalised().log_prob(np.ones_like(theta), theta))
    figure, axes = _subplots(1, 2)
    axes[0].plot(theta, plus, label="Q(y = 1)")
    axes[0].plot(theta, minus, label="Q(y = -1)")
    axes[0].plot(theta, total, "--", label="sum v")
    axes[1].plot(theta, normalised, label="P(y = 1)")
    axes[1].plot(theta, 1 - normalised, label="P(y = -1)")
    for ax, title in zip(axes, ("unnormalised", "normalised")):
        ax.set(title=title, ylabel="class probability")
    _finish(figure, axes, out / "sollich2002_figure1.png", "theta(x)", "C = 2")
    slope = np.gradient(np.log(normalised / (1 - normalised)), theta)
    inner, outer = slope[np.abs(theta) < 0.9], slope[np.abs(theta) > 1.1]
    peaks = np.abs(theta[total > 1 - 1e-12])
    gap = 2 * likelihood_v(np.log(2) - 0.05)(0.0) - 1, 2 * likelihood_v(np.log(2) + 0.05)(0.0) - 1
    return [
        Claim(
            "Figure 1",
            "The two unnormalised probabilities add up to less than one except where |theta| = 1",
            "1 at |theta| = 1",
            f"largest sum {total.max():.6f}, at |theta| = {peaks.min():.3f} to {peaks.max():.3f}; v(0) = "
            f"{total[600]:.3f}",
            verdict(abs(total.max() - 1) < 1e-9, abs(peaks.mean() - 1) < 0.01),
            "C = 2 (the paper gives none)",
        ),
        Claim(
            "Figure 1",
            "The normalised probability's log-odds have the slope 2C inside the gap and C outside",
            "2C, C (eq. 11)",
            f"{inner.mean() / _toy.C:.3f} C and {outer.mean() / _toy.C:.3f} C",
            verdict(bool(np.allclose(inner, 4)), bool(np.allclose(outer, 2))),
            "the second line of eq. 11 has a misprint: y multiplies sgn(theta) too",
        ),
        Claim(
            "Note 3",
            "The gap is disfavoured only for C > ln 2",
            "ln 2 = 0.693",
            f"v(0) - v(inf) = {gap[0]:+.3f} / {gap[1]:+.3f} in units of kappa for C 0.05 below / above ln 2",
            verdict(gap[0] > 0 > gap[1]),
        ),
    ]


def likelihood_v(C: float):
    """v(theta)/(2 kappa) for one C as a function."""
    return lambda theta: float(np.exp(Hinge(C).log_v(np.array([theta]))[0] - Hinge(C).log_kappa)) / 2


def figure_3(out: Path, n_samples: int) -> list[Claim]:
    """The effective prior of n = 50 examples."""
    x = np.linspace(0, 1, 101)[:, None]
    kernel = ConstantKernel(_toy.K0) * RBF(_toy.LENGTH)
    prior = sample_prior(kernel, x, n_samples, random_state=1)
    effective = sample_effective_prior(kernel, x, Hinge(_toy.C), _toy.N, n_samples, random_state=1)
    figure, axes = _subplots(1, 1)
    axes[0].plot(x, prior[0], label="Q(theta): n = 0")
    axes[0].plot(x, effective[0], "--", label="P(theta): n = 50")
    axes[0].axhspan(-1, 1, color="grey", alpha=0.15)
    axes[0].set_ylabel("theta(x)")
    _finish(figure, axes, out / "sollich2002_figure3.png", "x", "samples; the gap |theta| < 1 is shaded")
    gaps = [100 * float(np.mean(np.abs(t) < 1)) for t in (prior, effective)]
    changes = [float(np.mean(np.sum(np.diff(np.sign(t), axis=1) != 0, axis=1))) for t in (prior, effective)]
    return [
        Claim(
            "Figure 3",
            "The effective prior at n = 50 avoids the gap: narrower gaps and larger decision regions",
            "by eye",
            f"share of x in the gap {gaps[0]:.0f} % -> {gaps[1]:.0f} %; sign changes per unit length "
            f"{changes[0]:.1f} -> {changes[1]:.1f}",
            verdict(gaps[1] < gaps[0], changes[1] < changes[0]),
            f"{n_samples} samples of each",
        )
    ]


def figure_4(out: Path) -> list[Claim]:
    """The first data set and the noise-free fit."""
    data, x = _toy.clean(), GRID[:, None]
    shape = RBF(_toy.LENGTH)
    hard = MAP().infer(shape(data.X), data.y, Hinge(1e4))
    fit = shape(x, data.X) @ hard.beta
    figure, axes = _subplots(1, 1)
    _toy.draw_target(axes[0], data)
    axes[0].plot(GRID, fit, ":", label="noise-free SVM")
    axes[0].set_ylabel("theta(x)")
    _finish(figure, axes, out / "sollich2002_figure4.png", "x", "data set 1")
    errors = int(np.sum(data.y * hard.mean < 0))
    target = np.interp(GRID, _toy.pool(), data.pool_f)
    agree = 100 * float(np.mean(np.sign(fit) == np.sign(target)))
    share = float(np.mean([np.all(d.y * d.f > 0) for d in _toy.draws()]))
    return [
        Claim(
            "Figure 4",
            "A sample of 50 examples need not show any corrupted label, and the noise-free SVM then looks plausible",
            "one sample",
            f"{100 * share:.0f} % of {_toy.DRAWS} draws have no label against the target; on the first, the noise-free "
            f"SVM makes {errors} training errors and has the target's sign on {agree:.0f} % of the interval",
            verdict(errors == 0, agree > PLAUSIBLE),
            "the paper's sample is unknown; ours is the first of such draws",
        )
    ]


def figures_9_and_10(out: Path, n_draws: int) -> list[Claim]:
    """Class probabilities by (33), (36) and (37), and the skewed posterior."""
    data, kernel = _toy.clean(), ConstantKernel(_toy.K0) * RBF(_toy.LENGTH)
    x, likelihood = GRID[:, None], Hinge(_toy.C)
    K, K_star, diag = kernel(data.X), kernel(x, data.X), kernel.diag(x)
    posterior = HMC(n_draws=n_draws, evidence=False, check=False).infer(K, data.y, likelihood)
    svm = MAP().infer(K, data.y, likelihood)
    latent = {"MAP (37)": K_star @ svm.beta, "mean (36)": K_star @ posterior.beta}
    up = np.ones(len(GRID))
    p = {name: np.exp(likelihood.normalised().log_prob(up, value)) for name, value in latent.items()}
    p["average (33)"] = np.exp(posterior.log_predictive(likelihood, up, K_star, diag))
    target = np.interp(GRID, _toy.pool(), data.pool_f)
    truth = np.exp(likelihood.normalised().log_prob(up, target))
    figure, axes = _subplots(3, 1)
    for name, value in p.items():
        axes[0].plot(GRID, value, label=name)
        axes[1].semilogy(GRID, np.minimum(value, 1 - value), label=name)
    axes[0].plot(GRID, truth, "k", label="truth")
    for name, value in latent.items():
        axes[2].plot(GRID, value, label=name)
    for ax, label in zip(axes, ("P(y = 1 | x)", "probability of the rarer class", "theta(x)")):
        ax.set_ylabel(label)
    _toy.draw_target(axes[2], data)
    _finish(figure, axes, out / "sollich2002_figures9_10.png", "x", "figure 9 (also on a log scale) and figure 10")
    return [*_figure_9(p, truth, latent["MAP (37)"]), *_figure_10(latent, posterior)]


def _figure_9(p: dict[str, np.ndarray], truth: np.ndarray, theta: np.ndarray) -> list[Claim]:
    average, at_mean, at_map = p["average (33)"], p["mean (36)"], p["MAP (37)"]
    moderate = [100 * float(np.mean(np.abs(average - 0.5) <= np.abs(q - 0.5) + 1e-3)) for q in (at_mean, at_map)]
    less, small = np.abs(average - 0.5) <= np.abs(at_map - 0.5) + 1e-3, np.abs(theta) < np.median(np.abs(theta))
    distance = [float(np.mean(np.abs(q - average))) for q in (at_mean, at_map)]
    loss = [-float(np.mean(truth * np.log(q) + (1 - truth) * np.log1p(-q))) for q in (average, at_mean, at_map)]
    bayes = -float(np.mean(truth * np.log(truth) + (1 - truth) * np.log1p(-truth)))
    return [
        Claim(
            "Figure 9",
            "The full average gives the most moderated probabilities",
            "by eye",
            f"less extreme than the posterior mean's on {moderate[0]:.0f} % of x, than the SVM's on "
            f"{moderate[1]:.0f} %",
            verdict(*(share > NEARLY_ALL for share in moderate)),
            f"against the SVM's it holds on {100 * less[~small].mean():.0f} % of the half of x with the larger "
            f"|theta*| and on {100 * less[small].mean():.0f} % of the other half; the posterior mean lies farther out "
            "than theta* (figure 10)",
        ),
        Claim(
            "Figure 9",
            "Probabilities at the posterior mean are over-confident; at the SVM's solution they are nearer the average",
            "by eye",
            f"mean distance from the average: {distance[0]:.3f} at the mean, {distance[1]:.3f} at the SVM",
            verdict(distance[1] < distance[0]),
        ),
        Claim(
            "Figure 9",
            "All three follow the true class probabilities",
            "by eye",
            f"expected log loss: average {loss[0]:.3f}, mean {loss[1]:.3f}, SVM {loss[2]:.3f}, truth {bayes:.3f}",
            verdict(max(loss) - bayes < FOLLOWS),
            "average over the unit interval under the true probabilities, one data set",
        ),
    ]


def _figure_10(latent: dict[str, np.ndarray], posterior) -> list[Claim]:
    at_map, mean = latent["MAP (37)"], latent["mean (36)"]
    larger = 100 * float(np.mean(np.abs(mean) > np.abs(at_map)))
    theta = posterior.draws.f.reshape(-1, posterior.draws.f.shape[-1])
    outward = skew(theta, axis=0) * np.sign(posterior.mean)
    return [
        Claim(
            "Figure 10",
            "The posterior mean is generally larger in modulus than the SVM's solution",
            "by eye",
            f"on {larger:.0f} % of x; mean modulus {np.abs(mean).mean():.2f} against {np.abs(at_map).mean():.2f}",
            verdict(larger > MOSTLY, np.abs(mean).mean() > np.abs(at_map).mean()),
        ),
        Claim(
            "Figure 10",
            "The posterior of theta(x) is skewed towards larger modulus",
            "histograms, not shown",
            f"skewness outwards at the training inputs: mean {outward.mean():+.2f}, positive at "
            f"{100 * np.mean(outward > 0):.0f} % of them",
            verdict(float(outward.mean()) > 0),
            f"{len(theta)} samples",
        ),
    ]


def _subplots(rows: int, columns: int):
    from matplotlib import pyplot as plt

    size = (6 * columns, 3.4 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, axes.ravel()


def _finish(figure, axes, path: Path, xlabel: str, title: str) -> None:
    from matplotlib import pyplot as plt

    for ax in axes:
        ax.legend(fontsize=8)
        ax.set_xlabel(xlabel)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    plt.close(figure)
