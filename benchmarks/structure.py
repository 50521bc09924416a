"""Does the search find structure? The score test of switches against one climb and against 40 wide restarts.

Problems have known structure: sums of sinusoids, products, one fast input among slow ones, checkerboards and spirals,
with 2 to 15 inputs and 60 to 300 rows; then pure noise. The objective is the one that the default climbs first: link
evidence for labels, evidence for regression, with the default hyperpriors. Twelve problems of each kind; the constants
of the search were chosen with a look at those from --first=0, so the default is --first=100.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks._results import Row
from benchmarks._runner import OURS, ask, choose, parser, run
from softmargin._linalg import Array
from softmargin.criteria import Evidence, LinkEvidence
from softmargin.inference import EP
from softmargin.kernels import diag, gram, make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS, SearchResult
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, NoiseShape, Objective
from softmargin.tuning.structure.search import LengthScales, finds_structure

N_TEST, N_RESTARTS, FIRST = 1000, 40, 100
Function = Callable[[Array, np.random.Generator], Array]


@dataclass(frozen=True)
class Problem:
    """Training rows first, then `N_TEST` rows to predict."""

    kind: str
    X: Array
    y: Array
    n: int
    is_classifier: bool


def sinusoids(X: Array, rng: np.random.Generator) -> Array:
    """sin(a x0) + cos^2(x1)/2, and a third one if there are more than four inputs."""
    f = np.sin(rng.uniform(1.3, 3.0) * X[:, 0]) + 0.5 * np.cos(rng.uniform(1.0, 1.5) * X[:, 1]) ** 2
    return f + (0.7 * np.sin(2.0 * X[:, 3]) if X.shape[1] > 4 else 0.0)


def product(X: Array, rng: np.random.Generator) -> Array:
    """Waves in two inputs that multiply each other."""
    a, b = rng.uniform(1.0, 2.5, size=2)
    return np.sin(a * X[:, 0]) * np.sin(b * X[:, 1])


def one_fast(X: Array, rng: np.random.Generator) -> Array:
    """A slow trend in some inputs and a fast wave in one."""
    slow = X[:, :-1] @ rng.normal(size=X.shape[1] - 1) / np.sqrt(X.shape[1] - 1)
    return 0.7 * slow + np.sin(rng.uniform(3.0, 6.0) * X[:, -1])


def checkerboard(X: Array, rng: np.random.Generator) -> Array:
    """Fields of a board over the middle of the first two inputs, about 3 to 4 a side."""
    width = rng.uniform(0.9, 1.2)
    return np.where(np.floor(X[:, :2] / width).sum(axis=1) % 2 == 0, 1.0, -1.0)


def spiral(X: Array, rng: np.random.Generator) -> Array:
    """Two arms that wind once or twice around the origin."""
    radius, angle = np.hypot(X[:, 0], X[:, 1]), np.arctan2(X[:, 1], X[:, 0])
    return np.sin(angle - rng.uniform(2.0, 3.5) * radius)


def nothing(X: Array, rng: np.random.Generator) -> Array:
    """Pure noise."""
    return np.zeros(len(X))


KINDS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "sinusoids": (sinusoids, (2, 3, 5, 8)),
    "product": (product, (2, 3, 4, 6)),
    "one fast": (one_fast, (4, 8, 12, 15)),
    "checkerboard": (checkerboard, (2, 2, 3, 4)),
    "spiral": (spiral, (2, 2, 3, 4)),
    "nothing": (nothing, (2, 5, 10, 15)),
}
"""The function of each kind and the numbers of inputs it is drawn with."""


def draw(kind: str, seed: int) -> Problem:
    """A problem; even seeds have labels (as checkerboards and spirals always have), odd ones real targets."""
    rng = np.random.default_rng([seed, len(kind)])
    function, dims = KINDS[kind]
    n, d = int(rng.integers(60, 301)), int(rng.choice(dims))
    low = -2.0
    X = rng.uniform(low, -low, size=(n + N_TEST, d)) if seed % 4 < 2 else rng.normal(size=(n + N_TEST, d))
    f = function(X, rng)
    noise = rng.choice([0.1, 0.3]) if kind != "nothing" else 1.0
    is_classifier = kind in ("checkerboard", "spiral") or seed % 2 == 0
    y = f + noise * rng.normal(size=len(f))
    if is_classifier:
        return Problem(kind, X, np.where(y > (np.median(f) if kind != "checkerboard" else 0.0), 1.0, -1.0), n, True)
    return Problem(kind, X, (y - np.median(y[:n])) / np.std(y[:n]), n, False)


def objective_of(problem: Problem) -> tuple[Objective, Array]:
    """What the default climbs first, and the spread of the inputs."""
    X, y = problem.X[: problem.n], problem.y[: problem.n]
    spread, d = X.std(axis=0), X.shape[1]
    noise = LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)) if problem.is_classifier else NoiseShape()
    coordinates = Coordinates(make_kernel(None, d, spread), noise, d)
    prior = HyperPrior() if problem.is_classifier else HyperPrior.for_regression()
    criterion = LinkEvidence() if problem.is_classifier else Evidence()
    return Objective(X, y, None, coordinates, criterion, EP(tol=1e-4), prior.bind(coordinates, spread)), spread


def start_of(objective: Objective, spread: Array) -> Array:
    """Where the default starts: regressions from shorter length scales and a smaller amplitude."""
    coordinates = objective.coordinates
    if coordinates.is_classifier:
        return coordinates.start
    start = LengthScales.of(coordinates, spread).together(coordinates.start, np.log(POLICY.target.length_factor))
    start[coordinates.names.index("amplitude")] = np.log(POLICY.target.amplitude)
    return start


def wide_starts(objective: Objective, spread: Array, n_starts: int) -> list[Array]:
    """Starts over a far wider range than any prior: common and relative length scales, inputs on or off, noise."""
    rng, scales = np.random.default_rng(0), LengthScales.of(objective.coordinates, spread)
    starts = []
    for _ in range(n_starts):
        z = scales.together(objective.coordinates.start, rng.uniform(-2.5, 1.0))
        m = len(scales.where)
        z[scales.where] += rng.normal(0, 0.7, m) + 3.0 * (rng.random(m) < rng.uniform(0, 0.8))
        for i, name in enumerate(objective.coordinates.names):
            if name == "sigma":
                z[i] = np.log(rng.uniform(0.05, 1.0))
            elif name == "amplitude":
                z[i] += rng.normal()
        starts.append(z)
    return starts


def held_out_loss(problem: Problem, objective: Objective, end: SearchResult) -> float:
    """Mean of -ln p(y) over the rows to predict."""
    model = objective.coordinates.model(end.best.z)
    X, new = problem.X[: problem.n], problem.X[problem.n :]
    posterior = objective.inference.infer(
        gram(model.kernel, X), problem.y[: problem.n], objective.criterion.likelihood(model.likelihood)
    )
    K_star, k_diag = gram(model.kernel, new, X), diag(model.kernel, new)
    return float(-np.mean(posterior.log_predictive(model.likelihood, problem.y[problem.n :], K_star, k_diag)))


def search(task: Row) -> Row:
    """Search one problem by one climb, with switches, and from wide restarts."""
    problem, climb = draw(str(task["set"]), int(str(task["seed"]))), LBFGS()
    found: dict[str, float] = {"d": problem.X.shape[1], "labels": problem.is_classifier}
    for name in ("climb", "switches"):
        objective, spread = objective_of(problem)
        method = climb if name == "climb" else finds_structure(climb, objective, spread)
        began = time.process_time()
        end = method.maximise(objective, start_of(objective, spread), objective.coordinates.bounds)
        found[f"{name} seconds"] = time.process_time() - began
        found[name], found[f"{name} loss"] = end.best.value, held_out_loss(problem, objective, end)
    objective, spread = objective_of(problem)
    starts = wide_starts(objective, spread, N_RESTARTS)
    ends = [climb.maximise(objective, z, objective.coordinates.bounds) for z in starts]
    best = max(ends, key=lambda end: end.best.value)
    found["restarts"], found["restarts loss"] = best.best.value, held_out_loss(problem, objective, best)
    best_known = max(found["climb"], found["switches"], found["restarts"])
    found["climb gap"], found["switches gap"] = best_known - found["climb"], best_known - found["switches"]
    return {key: round(value, 5) for key, value in found.items()}


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("structure", __doc__)
    arguments.add_argument("--first", type=int, default=FIRST, help="seed of the first problem of each kind")
    arguments.add_argument("--problems", type=int, default=12, help="problems of each kind")
    asked = ask("structure", arguments)
    seeds = range(asked.first, asked.first + asked.problems)
    cases = [(kind, seed) for seed in seeds for kind in choose(asked.sets, KINDS, "kind")]
    tasks: list[Row] = [{"set": kind, "n": draw(kind, seed).n, "seed": seed, "method": OURS} for kind, seed in cases]
    run("structure", asked, tasks, search)


if __name__ == "__main__":
    main()
