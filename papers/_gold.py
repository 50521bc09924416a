"""What Gold & Sollich (2003) is made of: its tables, its data sets, its criteria, and trials of them."""

import time
from dataclasses import dataclass, field, replace
from functools import cache
from math import comb
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.criteria import GACV, Evidence, LaplaceEvidence, Span
from softmargin.datasets import load_crabs, load_pima, load_ringnorm, load_twonorm, load_wdbc
from softmargin.inference import EP, HMC, MAP, Laplace
from softmargin.likelihoods import Hinge, SquaredHinge
from softmargin.sampling import Leapfrog
from softmargin.search import LBFGS, Evaluation, GradientAscent, RandomWalk
from softmargin.tuning import Coordinates, FixedLikelihood, LogParameters, Objective

WALK = RandomWalk(acceptance=0.5, rate=5.0, step=0.05)
"""Keeps 46 to 47 % of the steps of each hyperparameter on crabs, the paper's "close to 50 %": of 16 settings the one
that came nearest, chosen by that share alone."""
ASCENT = GradientAscent(rule="paper", linear=("C",))
SAMPLER = HMC(n_chains=32, n_warmup=15, n_draws=20, evidence=False, check=False).with_fresh_noise()
"""Ours, with 640 draws for each gradient, other ones at every step."""
PAPER_SAMPLER = HMC(
    Leapfrog(), initial="svm", n_chains=8, n_warmup=2500, n_draws=2500, evidence=False, check=False
).with_fresh_noise()
"""The paper's: 40,000 trajectories from the SVM, of which the first half is discarded. It gives neither step size nor
trajectory; the step size is adapted in the first half, in ten steps to a trajectory."""
SETS = {"crabs": load_crabs, "pima": load_pima, "wdbc": load_wdbc, "twonorm": load_twonorm, "ringnorm": load_ringnorm}
COLUMNS = ("LE1", "LE2", "GACV", "Span", "Evid grad", "ES")
SIMPLE = COLUMNS[:4]
TABLE_1 = {
    "crabs": (5, 80, 120),
    "pima": (7, 200, 332),
    "wdbc": (30, 300, 269),
    "twonorm": (20, 300, 7100),
    "ringnorm": (20, 300, 7100),
}
# Seconds per step: SVM, LE1, LE2, GACV, Span, Evid grad.
TABLE_2 = {
    "crabs": (0.81, 3, 5, 4, 6, 137),
    "pima": (1.23, 10, 9, 11, 21, 1805),
    "wdbc": (2.1, 19, 26, 39, 64, 9352),
    "twonorm": (2.5, 35, 26, 27, 82, 7779),
    "ringnorm": (3.7, 58, 71, 68, 216, 10665),
}
TABLE_3 = {
    "crabs": ("10.7 ± 2.1", "10.5 ± 1.3", "13.0 ± 1.8", "6.0 ± 1.8", "9.2 ± 1.5", "5.5 ± 1.3"),
    "pima": ("30.3 ± 2.0", "33.5 ± 2.2", "23.2 ± 2.7", "21.0 ± 1.1", "20.8 ± 1.5", "19.7 ± 1.5"),
    "wdbc": ("5.8 ± 2.5", "5.8 ± 3.6", "9.6 ± 2.8", "7.8 ± 4.2", "4.0 ± 1.2", "2.4 ± 1.0"),
    "twonorm": ("13.5 ± 12.6", "12.6 ± 5.0", "5.2 ± 1.9", "4.6 ± 0.9", "4.0 ± 0.2", "3.7 ± 0.4"),
    "ringnorm": ("4.7 ± 1.6", "2.5 ± 5.3", "3.3 ± 1.3", "3.5 ± 1.3", "3.2 ± 0.6", "3.2 ± 0.6"),
}
TABLE_4 = {
    "crabs": (5.9, 9.2, 10.9, 3.4, 5.0, 3.4),
    "pima": (27.8, 28.4, 20.2, 19.0, 19.3, 18.4),
    "wdbc": (1.9, 3.4, 4.1, 1.9, 1.5, 1.2),
    "twonorm": (2.9, 3.1, 3.4, 3.5, 3.4, 3.0),
    "ringnorm": (2.1, 2.2, 1.9, 2.0, 2.5, 2.5),
}
# GP Var, SVM Var, SVM CV, GP Lap, GP MF.
TABLE_5 = {
    "crabs": (2.5, 3.3, 3.3, 3.3, 1.7),
    "pima": (19.9, 20.5, 20.2, 20.2, 19.0),
    "wdbc": (3.7, 3.7, 3.3, 3.3, 2.6),
    "twonorm": (3.2, 3.7, 2.3, 4.0),
    "ringnorm": (1.7, 1.9, 2.3, 3.0),
}


@dataclass(frozen=True)
class Data:
    """One data set with the paper's split; labels -1 and +1."""

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)


@cache
def load(name: str) -> Data:
    """Load a set."""
    bunch = SETS[name]()
    y = np.where(bunch.target > 0, 1.0, -1.0)
    return Data(bunch.data[bunch.train], y[bunch.train], bunch.data[bunch.test], y[bunch.test])


@dataclass(frozen=True)
class Trial:
    """One tuning."""

    column: str
    z: np.ndarray = field(repr=False)
    """Where it ended."""
    error: float
    """Test error of the SVM there, in %."""
    seconds: float
    """CPU seconds per evaluation."""
    converged: bool
    """Whether it ended by its own rule."""
    path: list[Evaluation] = field(default_factory=list, repr=False)
    """Every evaluation, without its posterior."""
    errors: list[float] = field(default_factory=list, repr=False)
    """Test error along the path (gradient ascent only)."""

    @property
    def kept(self) -> float:
        """Share of the proposed steps of a walk that were kept, within the bounds; the mean over hyperparameters."""
        best, tried, kept = self.path[0], np.zeros(len(self.z)), np.zeros(len(self.z))
        for evaluation in self.path[1:]:
            moved = evaluation.z != best.z
            tried += moved
            if evaluation.value > best.value:
                kept += moved
                best = evaluation
        return float(np.mean(kept[tried > 0] / tried[tried > 0]))


def objective(data: Data, column: str, part: Any = None) -> Objective:
    """A criterion of the paper on a data set, with its start l = 1, k0 = 1, k_off = 0.1, C = 1.

    `part` is a criterion or an inference instead of those of `WALK`'s and `ASCENT`'s trials.
    """
    d = data.X.shape[1]
    kernel = ConstantKernel(1.0, (1e-2, 1e4)) * RBF(np.ones(d), (1e-1, 1e2)) + ConstantKernel(0.1, (1e-3, 1e2))
    loss = SquaredHinge if column in ("LE2", "Span") else Hinge
    # C K is all that error estimates depend on.
    fixed = column in ("GACV", "Span")
    likelihood = FixedLikelihood(loss(1.0)) if fixed else LogParameters(loss(1.0), ("C",), ((1e-2, 1e2),))
    criteria = {"GACV": GACV(), "Span": Span(gradients=False), "Evid grad": Evidence()}
    svm = MAP(tol=1e-6, gradients=False)
    inference = {"GACV": svm, "Span": svm, "Evid grad": SAMPLER}.get(column, Laplace(gradients=False))
    criterion = criteria.get(column, LaplaceEvidence())
    if isinstance(part, Laplace | EP | HMC):
        inference = part
    elif part is not None:
        criterion = part
    found = Objective(data.X, data.y, None, Coordinates(kernel, likelihood, d), criterion, inference)
    found.gradients = column == "Evid grad"
    return found


def svm(found: Objective, z: np.ndarray):
    """The SVM at z: model and weights."""
    model = found.coordinates.model(z)
    K = model.kernel(found.X)
    return model, MAP(tol=1e-6, gradients=False).infer(K, found.y, model.likelihood)


def svm_error(found: Objective, z: np.ndarray, data: Data) -> float:
    """Error of the SVM at z, in %."""
    model, posterior = svm(found, z)
    latent = model.kernel(data.X_test, data.X) @ posterior.beta
    return 100 * float(np.mean(latent * data.y_test <= 0))


def walk(data: Data, column: str, seed: int, max_iter: int, part: Any = None, search: RandomWalk = WALK) -> Trial:
    """A trial of a simple criterion: the greedy random walk, its acceptance held close to one half (section 4.1)."""
    found = objective(data, column, part)
    path: list[Evaluation] = []
    found.callback = lambda evaluation: path.append(evaluation._replace(posterior=None))
    start = time.process_time()
    search = replace(search, max_iter=max_iter)
    end = search.maximise(found, found.coordinates.start, found.coordinates.bounds, np.random.RandomState(seed))
    seconds = (time.process_time() - start) / max(len(path), 1)
    found.callback = None
    return Trial(column, end.best.z, svm_error(found, end.best.z, data), seconds, end.converged, path)


def ascend(data: Data, seed: int, max_iter: int, sampler: HMC = SAMPLER) -> Trial:
    """A trial of gradient ascent on the evidence, by the paper's rule, from a random start in the paper's ranges."""
    found = objective(data, "Evid grad", replace(sampler, random_state=seed))
    path: list[Evaluation] = []
    found.callback = lambda evaluation: path.append(evaluation._replace(posterior=None))
    rng, d = np.random.RandomState(seed), data.X.shape[1]
    # Order of z: ln k0, ln l_a, ln k_off, ln C.
    lengths = rng.uniform(-1, 2, d)
    z = np.concatenate([rng.uniform(-1, 1, 1), lengths, rng.uniform(-2, -1, 1), np.log(rng.uniform(0.4, 0.8, 1))])
    start = time.process_time()
    search = replace(ASCENT, max_iter=max_iter)
    end = search.maximise(found, z, found.coordinates.bounds, rng)
    seconds = (time.process_time() - start) / max(len(path), 1)
    found.callback = None
    errors = [svm_error(found, evaluation.z, data) for evaluation in path]
    return Trial("Evid grad", end.best.z, errors[-1], seconds, end.converged, path, errors)


@dataclass(frozen=True)
class Peak:
    """The maximum of the evidence above the end of an ascent."""

    z: np.ndarray = field(repr=False)
    gain: float
    """Nats of EP's evidence from the end of the ascent to here."""
    error: float
    """Test error of the SVM here, in %."""


def peak(data: Data, z: np.ndarray) -> Peak:
    """Climb from z to the top within the same bounds, by L-BFGS on EP's evidence, which has no sampling noise."""
    found = objective(data, "Evid grad", EP())
    end = LBFGS(max_iter=200).maximise(found, z, found.coordinates.bounds).best
    return Peak(end.z, end.value - found(z).value, svm_error(found, end.z, data))


def svm_seconds(data: Data) -> float:
    """CPU seconds of one training from scratch at the start."""
    found = objective(data, "GACV")
    svm(found, found.coordinates.start)
    start = time.process_time()
    svm(found, found.coordinates.start)
    return time.process_time() - start


def expected_best(errors: np.ndarray, n_trials: int) -> float:
    """Mean of the lowest error of `n_trials` drawn from these, so that columns with more trials have no advantage."""
    ordered, n = np.sort(errors), len(errors)
    # The k-th lowest is the best of the draw if the others come from the n - 1 - k above it.
    ways = [comb(n - 1 - k, n_trials - 1) for k in range(n)]
    return float(np.dot(ordered, ways) / comb(n, n_trials))
