"""Noise that varies with x: BayesianSVR against the same with constant noise and against a Gaussian process.

mcycle and three generated sets whose noise varies, then five whose noise does not; 100 training rows, seeds 0 to 9. The
constants were chosen on seeds from 100 on (--seeds=100,101,...). Densities are in the units of y; coverage is that of
80 % intervals within each third of the test rows by their first input. One thread; time is the CPU time of the fit.
--minutes=3 does a part, finished fits are kept; --summary prints the table.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks._paired import chosen, ratio
from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, numbers, parser, run
from benchmarks._tables import table
from benchmarks.methods import REGRESSORS
from softmargin import BayesianSVR
from softmargin.datasets import load_mcycle

N, N_TEST = 100, 1000
CONSTANT, GPR = "constant noise", "GPR ARD"
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "growing": lambda x: 0.05 + 0.5 * x,
    "jump": lambda x: np.where(x < 0.5, 0.1, 0.5),
    "periodic": lambda x: 0.25 * np.exp(np.sin(4 * np.pi * x)),
}
NOISES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "laplace": lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    "student": lambda rng, n: rng.standard_t(3, size=n) / np.sqrt(3),
    "uniform": lambda rng, n: rng.uniform(-1, 1, size=n) * np.sqrt(3),
}
VARYING = ["mcycle", *SCALES]
EVEN = [*NOISES, "friedman1"]


def split_of(name: str, seed: int) -> Split:
    """Training rows, then test rows: the others of mcycle, 1,000 new ones of a generated set."""
    rng = np.random.default_rng(seed)
    if name == "mcycle":
        bunch = load_mcycle()
        order = rng.permutation(len(bunch.target))
        X, y = bunch.data[order], bunch.target[order]
    elif name == "friedman1":
        X, y = make_friedman1(N + N_TEST, noise=1.0, random_state=seed)
    else:
        x = rng.uniform(size=N + N_TEST)
        e = NOISES.get(name, NOISES["normal"])(rng, N + N_TEST)
        X, y = x[:, None], np.sin(2 * np.pi * x) + SCALES.get(name, lambda x: 0.3 + 0 * x)(x) * e
    return X[:N], y[:N], X[N:], y[N:]


class ConstantNoise(type(REGRESSORS[OURS](0))):  # type: ignore[misc]
    """BayesianSVR that takes the noise for the same everywhere."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, noise="constant")


METHODS = {OURS: REGRESSORS[OURS], CONSTANT: ConstantNoise, GPR: REGRESSORS[GPR]}


def fit(task: Row) -> Row:
    """Fit one method on one split; return the other fields of its row."""
    X, y, X_test, y_test = split_of(str(task["set"]), int(str(task["seed"])))
    model = METHODS[str(task["method"])](int(str(task["seed"])))
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    low, high = model.interval(X_test, 0.8).T
    third = np.digitize(X_test[:, 0], np.quantile(X_test[:, 0], [1 / 3, 2 / 3]))
    inside = (low <= y_test) & (y_test <= high)
    row: Row = {
        "log_density": round(float(np.mean(model.log_density(X_test, y_test))), 6),
        "rmse": round(float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))), 6),
        **{f"cover80_{k + 1}": round(100 * float(inside[third == k].mean()), 3) for k in range(3)},
        "cpu": round(seconds, 4),
    }
    if isinstance(getattr(model, "model", None), BayesianSVR):
        row["noise"] = model.model.noise_
    return row


def tasks(sets: list[str], seeds: list[int], methods: list[str]) -> Iterator[Row]:
    """What there is to do."""
    for seed in seeds:
        for name in sets:
            for method in methods:
                yield {"set": name, "n": N, "seed": seed, "method": method}


def summary(rows: list[Row]) -> str:
    """A table with a line for each set: gains over constant noise and over the Gaussian process, coverage, cost."""
    header = ["set", "log density", "gain on constant", "gain on GPR ARD", "kept", "coverage by thirds"]
    lines = []
    for name in VARYING + EVEN:
        of = {method: {r["seed"]: r for r in rows if r["set"] == name and r["method"] == method} for method in METHODS}
        ours = list(of[OURS].values())
        if not ours:
            continue
        density = float(np.mean([float(str(r["log_density"])) for r in ours]))
        kept = sum(r["noise"] == "varying" for r in ours)
        gains = [_gain(of[OURS], of[other]) for other in (CONSTANT, GPR)]
        covers = " → ".join(_coverage(of[method].values()) for method in (CONSTANT, OURS))
        lines.append([name, f"{density:.3f}", *gains, f"{kept} of {len(ours)}", covers])
    cost = [_cost(rows, sets) for sets in (VARYING, EVEN)]
    words = f"CPU time over that with constant noise: {cost[0]:.2f} where the noise varies, {cost[1]:.2f} where not."
    return f"{table(header, lines)}\n\n{words}"


def _cost(rows: list[Row], sets: list[str]) -> float:
    some = chosen(rows, lambda r: r["set"] in sets)
    return ratio(chosen(some, lambda r: r["method"] == OURS), chosen(some, lambda r: r["method"] == CONSTANT))


def _gain(ours: dict[object, Row], others: dict[object, Row]) -> str:
    gaps = [float(str(ours[s]["log_density"])) - float(str(others[s]["log_density"])) for s in ours if s in others]
    return f"{np.mean(gaps):+.3f} ({np.std(gaps, ddof=1) / np.sqrt(len(gaps)):.3f})" if len(gaps) > 1 else ""


def _coverage(rows) -> str:  # type: ignore[no-untyped-def]
    return "/".join(f"{np.mean([r[f'cover80_{k}'] for r in rows]):.0f}" for k in (1, 2, 3)) if rows else ""


def main() -> None:
    """Run what is asked for and not there, and print the table."""
    arguments = parser("noise", __doc__)
    arguments.set_defaults(seeds=numbers("0,1,2,3,4,5,6,7,8,9"))
    arguments.add_argument("--summary", action="store_true", help="print the table of what is there, and fit nothing")
    asked = ask("noise", arguments)
    if not asked.summary:
        methods, sets = choose(asked.methods, METHODS, "method"), choose(asked.sets, VARYING + EVEN, "set")
        for name in ("growing", "normal"):
            # Compile first, so that no measured fit pays for it.
            METHODS[OURS](0).fit(*split_of(name, 1000)[:2])
        run("noise", asked, tasks(sets, asked.seeds, methods), fit)
    print(summary([r for r in load("noise", asked.out).values() if r["seed"] in asked.seeds]))


if __name__ == "__main__":
    main()
