"""Sollich's toy (2002, section 7, figure 6): which evidence finds the true C = 2 on data from the model?

Inputs uniform on the unit interval, RBF kernel of length scale 0.05, true C = 2 and K0 = 1.25, n = 50. For each of
many data sets the naive, conditional and joint evidence are computed on the line C K0 = 2.5, along which the support
vector machine itself does not change. Random numbers are common to all C.

Run ``python -m benchmarks.toy_evidence [--datasets 20] [--out benchmarks/out]``; it prints the mean curves and where
they peak, and draws them.
"""

import argparse
import logging
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.evidence import Schedule, naive_evidence, normaliser
from softmargin.generative import sample_datasets
from softmargin.likelihoods import Hinge

TRUE_C, PRODUCT, LENGTH_SCALE, N = 2.0, 2.5, 0.05, 50
GRID = np.array([0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.4, 2.8, 3.4])
KINDS = ("naive", "conditional", "joint")


def curves(n_datasets: int, seed: int = 0) -> np.ndarray:
    """Evidence for each example, shape (kinds, data sets, C)."""
    rng = np.random.default_rng(seed)
    pool = rng.random((400, 1))
    kernel = ConstantKernel(PRODUCT / TRUE_C) * RBF(LENGTH_SCALE)
    sets = sample_datasets(kernel, pool, Hinge(TRUE_C), N, n_datasets, random_state=rng)
    schedule = Schedule(n_islands=8, n_particles=32)
    out = np.empty((3, n_datasets, len(GRID)))
    for i, data in enumerate(sets):
        shape = RBF(LENGTH_SCALE)(data.X)
        for j, C in enumerate(GRID):
            K, likelihood = PRODUCT / C * shape, Hinge(C)
            naive = naive_evidence(K, data.y, likelihood, schedule=schedule, random_state=i).value
            out[0, i, j] = naive
            for k, kind in enumerate(("conditional", "joint"), start=1):
                out[k, i, j] = naive - normaliser(K, likelihood, kind, schedule=schedule, random_state=i).value
        logging.getLogger(__name__).info("data set %d of %d", i + 1, n_datasets)
    return out / N


def peak(values: np.ndarray) -> float:
    """Where a smooth curve over ln C (a cubic fitted to it) is largest."""
    fine = np.linspace(np.log(GRID[0]), np.log(GRID[-1]), 1001)
    return float(np.exp(fine[np.argmax(np.polyval(np.polyfit(np.log(GRID), values, 3), fine))]))


def draw(values: np.ndarray, path: Path) -> None:
    """Draw the mean curves, each relative to its own maximum."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for kind, curve in zip(KINDS, values.mean(axis=1), strict=True):
        axes.plot(GRID, curve - curve.max(), marker="o", label=f"{kind}: peak at C = {peak(curve):.2f}")
    axes.axvline(TRUE_C, color="grey", linestyle=":", label="true C")
    axes.set(xlabel="C (with C K0 = 2.5)", ylabel="mean log evidence per example, relative", xscale="log")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"))
    arguments = parser.parse_args()
    values = curves(arguments.datasets)
    rng = np.random.default_rng(0)
    print("C            " + " ".join(f"{C:7.2f}" for C in GRID))
    for kind, curve in zip(KINDS, values, strict=True):
        print(f"{kind:12s} " + " ".join(f"{v:7.4f}" for v in curve.mean(axis=0)))
    for kind, curve in zip(KINDS, values, strict=True):
        again = [peak(curve[rng.integers(len(curve), size=len(curve))].mean(axis=0)) for _ in range(200)]
        print(f"{kind:12s} mean curve peaks at C = {peak(curve.mean(axis=0)):.2f} (bootstrap sd {np.std(again):.2f})")
    draw(values, arguments.out / "toy_evidence.png")
    print(f"figure: {arguments.out / 'toy_evidence.png'}")


if __name__ == "__main__":
    main()
