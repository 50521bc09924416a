"""Kwok (1999), figures 1 and 2: does the evidence follow the test accuracy, over C and over the polynomial's degree?

Run with ``python -m benchmarks.kwok`` (200 training rows of the toy problem, three degrees) or ``--full`` (500 training
and 10,000 test rows; degrees 1 to 6). Two problems: a two-dimensional toy (three Gaussian bumps per class, overlapping;
the paper does not describe its own) and "brickface against the rest" of the image segmentation data (210 rows to
train, as in the UCI repository's split, 2,100 to test). Kernel ((1 + x.z/d)/2)^degree on standardised inputs.

Level 2 and level 3 are Kwok's, for several steepnesses eta of his smoothed step, which the paper does not give; beside
them the EP evidence: of his model over C, and maximised over C and the kernel's amplitude for each degree.
Correlations are Spearman's, with the test accuracy of the SVM at the same C or degree, and with minus the mean test
slack (his figures 1c and 1d). The EP evidence speaks of the posterior's own predictions, not of the SVM's, which has no
noise left where the evidence sends C times the amplitude to 1e6: so its accuracy and log probability are beside it, and
since degrees differ by tenths of a per cent in accuracy, brickface is split anew five times.
"""

import argparse

import numpy as np
from scipy.stats import spearmanr
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Exponentiation
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import compare_models
from softmargin.criteria import Problem, kwok_levels
from softmargin.datasets import load_keel
from softmargin.inference import EP, MAP
from softmargin.kernels import diag, gram
from softmargin.likelihoods import Hinge

ETAS = (1.0, 4.0, 16.0)
EP_RANKS = [
    (10, "EP evidence, SVM's accuracy"),
    (11, "EP evidence, EP's accuracy"),
    (12, "EP evidence, EP's log probability"),
]
"""Columns of `over_degrees` that the EP evidence in column 8 is ranked against."""


def toy(n_train, n_test, seed=0):
    """Three Gaussian bumps for each class, the same two draws of centres for training and testing."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-2, 2, size=(2, 3, 2))

    def draw(n):
        y = rng.integers(0, 2, n)
        return centres[y, rng.integers(0, 3, n)] + 0.7 * rng.normal(size=(n, 2)), y

    X, y = draw(n_train)
    X_test, y_test = draw(n_test)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / sd, y, (X_test - mean) / sd, y_test


def brickface(seed=0):
    """Class 1 of KEEL's `segment` (brickface) against the rest."""
    bunch = load_keel("segment")
    X, y = bunch.data, (bunch.target == 0).astype(int)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:210], order[210:]
    return X[train], y[train], X[test], y[test]


def polynomial(degree, d):
    """((1 + x.z/d)/2)^degree: one at typical rows, whatever the degree."""
    scale = ConstantKernel(1 / (2 * d), "fixed")
    return Exponentiation(scale * DotProduct(np.sqrt(d), "fixed"), degree)


def over_C(data, degree, grid):
    """Evidence, accuracy and slack along a grid of C at one degree."""
    X, y, X_test, y_test = data
    y, y_test = np.where(y == 1, 1.0, -1.0), np.where(y_test == 1, 1.0, -1.0)
    kernel = polynomial(degree, X.shape[1])
    K, K_test = gram(kernel, X), gram(kernel, X_test, X)
    rows = []
    for C in grid:
        posterior = MAP(tol=1e-8).infer(K, y, Hinge(C))
        margin = y_test * (K_test @ posterior.beta)
        levels = [kwok_levels(posterior, Problem(K, y, Hinge(C)), eta).level_2 for eta in ETAS]
        # His C is the prior's amplitude, and his hinge has slope 1: the same SVM.
        ep = EP().infer(C * K, y, Hinge(1.0)).log_evidence
        rows.append([C, *levels, ep, 100 * np.mean(margin > 0), np.mean(np.maximum(1 - margin, 0))])
    return np.array(rows)


def over_degrees(data, degrees):
    """Level 3, gamma, EP evidence and the SVM's accuracy at the chosen C, by degree."""
    X, y = data[:2]
    kernels = {str(degree): polynomial(degree, X.shape[1]) for degree in degrees}
    free = {label: ConstantKernel(1.0, (1e-4, 1e5)) * kernel for label, kernel in kernels.items()}
    comparisons = [compare_models(X, y, kernels, evidence=["kwok"], eta=eta) for eta in ETAS]
    ep = compare_models(X, y, free, evidence=["ep"], learn="all")
    rows = []
    for k, degree in enumerate(degrees):
        kwok, ours = comparisons[1].table[k], ep.table[k]
        chosen = (kernels[str(degree)], kwok["C"]), (ep.kernels[str(degree)], ours["C"])
        accuracy = [_accuracy(kernel, data, C) for kernel, C in chosen]
        levels = [comparison.table[k]["log_evidence"] for comparison in comparisons]
        rows.append([degree, *levels, kwok["C"], kwok["fixed_point_C"], kwok["gamma"], accuracy[0]])
        rows[-1] += [ours["log_evidence"], ours["C"], accuracy[1], *_posterior_scores(*chosen[1], data)]
    return np.array(rows)


def _posterior_scores(kernel, C, data):
    """Test accuracy of the EP posterior's mean, and the mean log probability of the test labels."""
    X, y, X_test, y_test = data
    labels, truth = np.where(y == 1, 1.0, -1.0), np.where(y_test == 1, 1.0, -1.0)
    posterior = EP().infer(gram(kernel, X), labels, Hinge(C))
    K_test = gram(kernel, X_test, X)
    log_p = posterior.log_predictive(Hinge(C), truth, K_test, diag(kernel, X_test))
    return 100 * np.mean(truth * posterior.latent_mean(K_test) > 0), np.mean(log_p)


def _accuracy(kernel, data, C):
    X, y, X_test, y_test = data
    beta = MAP(tol=1e-8).infer(gram(kernel, X), np.where(y == 1, 1.0, -1.0), Hinge(C)).beta
    return 100 * np.mean((gram(kernel, X_test, X) @ beta > 0) == (y_test == 1))


def report(name, data, degrees, grid):
    """Both figures of one problem as Markdown."""
    names = [f"eta={eta:g}" for eta in ETAS]
    first = over_C(data, 3, grid)
    rank = [
        [label, f"{spearmanr(first[:, k], first[:, 5])[0]:.2f}", f"{spearmanr(first[:, k], -first[:, 6])[0]:.2f}"]
        for k, label in enumerate([*(f"level 2, {n}" for n in names), "EP evidence"], start=1)
    ]
    second = over_degrees(data, degrees)
    rank_degree = [
        [label, f"{spearmanr(second[:, k], second[:, column])[0]:.2f}"]
        for k, column, label in [
            *((k, 7, f"level 3, {n}") for k, n in enumerate(names, start=1)),
            *((8, *pair) for pair in EP_RANKS),
        ]
    ]
    parts = [
        f"### {name}: over C (degree 3)",
        table(["C", *(f"level 2, {n}" for n in names), "EP", "accuracy %", "test slack"], _cells(first)),
        table(["rank correlation over C", "with accuracy", "with minus slack"], rank),
        f"### {name}: over the degree",
        table(
            ["degree", *(f"level 3, {n}" for n in names), "C (eta=4)", "fixed point C", "gamma", "accuracy %"]
            + ["EP evidence", "C (EP)", "SVM's accuracy %", "EP's accuracy %", "EP's log probability"],
            _cells(second),
        ),
        table(["rank correlation over the degree", "with accuracy, or as said"], rank_degree),
    ]
    return "\n\n".join(parts), {"over_C": first.tolist(), "over_degree": second.tolist()}


def several_splits(degrees, seeds=range(1, 6)):
    """Rank correlations over the degree on further splits of brickface: mean and range."""
    scored = [over_degrees(brickface(seed), degrees) for seed in seeds]
    columns = [(2, 7, f"level 3, eta={ETAS[1]:g}"), *((8, *pair) for pair in EP_RANKS)]
    rows = []
    for k, column, label in columns:
        ranks = [spearmanr(scores[:, k], scores[:, column])[0] for scores in scored]
        rows.append([label, f"{np.mean(ranks):.2f}", f"{min(ranks):.2f} to {max(ranks):.2f}"])
    return "### brickface: over the degree, five more splits\n\n" + table(["rank correlation", "mean", "range"], rows)


def _cells(rows):
    return [[f"{value:.4g}" for value in row] for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    grid = np.logspace(-3, 4, 15 if full else 8)
    degrees = range(1, 7) if full else range(1, 4)
    problems = {"toy": toy(500, 10_000) if full else toy(200, 2_000), "brickface": brickface()}
    with threadpool_limits(1):
        results = {name: report(name, data, degrees, grid) for name, data in problems.items()}
        more = several_splits(range(1, 7))
    text = "\n\n".join([*(text for text, _ in results.values()), more])
    write("kwok", {name: r for name, (_, r) in results.items()}, text)


if __name__ == "__main__":
    main()
