"""Kwok (1999), Integrating the evidence framework and the support vector machine

Figures 1 and 2. The paper's two-dimensional problem is not described beyond its sizes (500 rows to train, 10,000 to
test): ours is two interleaved half-circles with noise. The second is image segmentation, brickface against the rest,
with 210 rows to train and the other 2,100 to test. Polynomial kernels (1 + x.x'/d)^p on standardised inputs.
"""

from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import make_moons

from papers._claims import Claim, unless, verdict
from papers._pieces import Pieces
from softmargin.comparison import choose_C
from softmargin.criteria import Problem, kwok_levels
from softmargin.datasets import load_keel
from softmargin.inference import MAP
from softmargin.likelihoods import Hinge

DEGREES = (1, 2, 3, 4, 5, 6, 7, 8)
DEGREE = 5
"""Of figure 1; the paper gives none."""
OTHERS = (2, 3, 8)
"""Degrees whose rank correlation is given beside it."""

# Bounds of the verdicts, fixed before this run, after earlier ones.
CLOSELY = 0.6
"""Rank correlation of curves that follow each other closely."""
POINTS = 1.0
"""Points of accuracy by which the choice may be below the best."""


def counts(*, full: bool) -> str:
    """What is run."""
    return f"{25 if full else 13} values of C, {len(DEGREES)} degrees"


def run(out: Path, pieces: Pieces, *, full: bool = False) -> list[Claim]:
    """Reproduce the paper."""
    problems = {"toy": toy(500, 10_000), "segment": segment(210)}
    return [
        *pieces.once("kwok1999: Figure 1", lambda: figure_1(out, problems, n_points=25 if full else 13)),
        *pieces.once("kwok1999: Figure 2", lambda: figure_2(out, problems)),
    ]


def toy(n_train: int, n_test: int):
    """Two half-circles with noise: training and test rows."""
    X, y = make_moons(n_train + n_test, noise=0.3, random_state=0)
    return _split(X, y, n_train)


def segment(n_train: int):
    """Image segmentation, class 1 (brickface) against the rest."""
    data = load_keel("segment")
    order = np.random.default_rng(0).permutation(len(data.target))
    X = data.data[order][:, data.data.std(axis=0) > 0]
    return _split(X, data.target[order] == 0, n_train)


def figure_1(out: Path, problems, n_points: int) -> list[Claim]:
    """Level 2 against test accuracy and test slack as C varies."""
    Cs = np.geomspace(1e-3, 1e3, n_points)
    claims, curves = [], {}
    for (name, data), panels in zip(problems.items(), (("a", "c"), ("b", "d"))):
        y = data[1]
        level, accuracy, slack, given, used = _curves(Cs, data, DEGREE)
        curves[name] = (Cs, level, 100 * accuracy, slack)
        ranks = [_rank(level, other, used) for other in (accuracy, -slack)]
        ranks.append(_rank(accuracy, -slack, used))
        best, top = int(np.argmax(level)), int(np.argmax(accuracy))
        separable = "" if used.all() else f"; separable from C = {given.max():.2g} on, where C has no more effect"
        loss = 100 * (accuracy.max() - accuracy[best])
        agrees = verdict(ranks[0] > CLOSELY, loss < POINTS)
        claims += [
            Claim(
                f"Figure 1{panels[0]}",
                f"The evidence of C follows the test accuracy closely ({name})",
                "by eye",
                f"rank correlation {ranks[0]:.2f}; at the evidence's maximum (C = {Cs[best]:.2g}) the accuracy is "
                f"{100 * accuracy[best]:.1f} %, {loss:.1f} points below the best on the grid",
                agrees,
                f"degree {DEGREE}, eta = 4 (the paper gives neither); {len(y)} training rows{separable}; the accuracy "
                f"is largest at C = {Cs[top]:.2g}, where the evidence is {level[best] - level[top]:.0f} nats lower"
                + unless(agrees, _at_other_degrees(data)),
            ),
            Claim(
                f"Figure 1{panels[1]}",
                f"It matches the mean test slack better than the accuracy ({name})",
                "by eye",
                f"rank correlation with minus the slack {ranks[1]:.2f} against {ranks[0]:.2f} with the accuracy",
                verdict(ranks[1] > ranks[0]),
                f"slack and accuracy order the values of C alike (rank correlation {ranks[2]:.2f})",
            ),
        ]
    _draw_figure_1(out / "kwok1999_figure1.png", curves)
    return claims


def _curves(Cs: np.ndarray, data, degree: int) -> tuple[np.ndarray, ...]:
    """Level 2, test accuracy, mean test slack, the C in effect, and whether it is the one given, as C varies."""
    X, y, X_test, y_test = data
    K, K_test = kernel(X, X, degree), kernel(X_test, X, degree)
    rows = [_at(C, K, y, K_test, y_test) for C in Cs]
    level, accuracy, slack, given = (np.array(column) for column in zip(*rows))
    # Beyond the separable point C has no effect: the paper sets it to the largest multiplier.
    used = np.concatenate([[True], np.diff(given) > 1e-9 * given[1:]])
    return level, accuracy, slack, given, used


def _at_other_degrees(data) -> str:
    """The rank correlation of evidence and accuracy at other degrees than that of the figure."""
    ranks = {}
    for degree in OTHERS:
        level, accuracy, _, _, used = _curves(np.geomspace(1e-3, 1e3, 13), data, degree)
        ranks[degree] = _rank(level, accuracy, used)
    return "the rank correlation depends on the degree: " + ", ".join(f"{r:.2f} at {d}" for d, r in ranks.items())


def _rank(a: np.ndarray, b: np.ndarray, used: np.ndarray) -> float:
    return float(spearmanr(a[used], b[used]).statistic)


def figure_2(out: Path, problems) -> list[Claim]:
    """Level 3 against test accuracy as the degree varies."""
    claims, curves = [], {}
    for name, (X, y, X_test, y_test) in problems.items():
        found = {}
        for method in ("fixed_point", "direct"):
            level, accuracy = [], []
            for degree in DEGREES:
                # "In an iterative manner as described in [2]" is MacKay's fixed point C = |w|^2/gamma.
                levels = choose_C(kernel(X, X, degree), y, method=method, bounds=(1e-4, 1e3))
                level.append(levels.level_3)
                # His posterior's weights are for the prior C K.
                latent = levels.C * kernel(X_test, X, degree) @ levels.posterior.beta
                accuracy.append(100 * np.mean(y_test * latent > 0))
            found[method] = level, accuracy
        level, accuracy = found["fixed_point"]
        curves[name] = (level, accuracy)
        rank, best = float(spearmanr(level, accuracy).statistic), int(np.argmax(level))
        loss = max(accuracy) - accuracy[best]
        claims.append(
            Claim(
                "Figure 2",
                f"The evidence of the kernel follows the test accuracy as the degree varies ({name})",
                "by eye",
                f"rank correlation {rank:.2f} over degrees 1 to {DEGREES[-1]}; it chooses degree {DEGREES[best]} with "
                f"{accuracy[best]:.1f} %, {loss:.1f} points below the best degree",
                verdict(rank > CLOSELY, loss < POINTS),
                "C by the paper's fixed point at each degree (by the maximum of level 2 the rank correlation is "
                f"{float(spearmanr(*found['direct']).statistic):.2f}); the accuracies of degrees {DEGREES[2]} to "
                f"{DEGREES[-1]} lie within {np.ptp(accuracy[2:]):.1f} points",
            )
        )
    _draw_figure_2(out / "kwok1999_figure2.png", curves)
    return claims


def kernel(X: np.ndarray, Z: np.ndarray, degree: int) -> np.ndarray:
    """(1 + x.z/d)^degree, shape (len(X), len(Z))."""
    return (1 + X @ Z.T / X.shape[1]) ** degree


def _at(C: float, K, y, K_test, y_test) -> tuple[float, float, float, float]:
    """Level 2, test accuracy, mean test slack and the C in effect."""
    problem = Problem(K, y, Hinge(float(C)))
    svm = MAP(tol=1e-7, gradients=False).infer(K, y, problem.likelihood)
    levels = kwok_levels(svm, problem)
    margin = y_test * (K_test @ svm.beta)
    return levels.level_2, float(np.mean(margin > 0)), float(np.mean(np.maximum(1 - margin, 0))), levels.C


def _split(X: np.ndarray, y: np.ndarray, n_train: int):
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(y, 1.0, -1.0)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def _draw_figure_1(path: Path, curves) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    for column, (name, (Cs, level, accuracy, slack)), letters in zip(axes.T, curves.items(), ("ac", "bd")):
        others = (accuracy, "test accuracy (%)"), (slack, "mean test slack")
        for ax, (other, label), letter in zip(column, others, letters):
            _two_scales(ax, Cs, level, "ln evidence of C, level 2 (nats)", other, label)
            ax.set(xscale="log", xlabel="C", title=f"({letter}) {name}")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_figure_2(path: Path, curves) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, (name, (level, accuracy)) in zip(axes, curves.items()):
        _two_scales(ax, DEGREES, level, "ln evidence of the kernel, level 3 (nats)", accuracy, "test accuracy (%)")
        ax.set(xlabel="degree of the polynomial kernel", title=name)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _two_scales(ax, x, left, left_label: str, right, right_label: str) -> None:
    """Draw two curves over x, each with a scale of its own in its own colour."""
    for side, values, label, style in ((ax, left, left_label, "C0o-"), (ax.twinx(), right, right_label, "C1s--")):
        side.plot(x, values, style)
        side.set_ylabel(label, color=style[:2])
        side.tick_params(axis="y", colors=style[:2])
