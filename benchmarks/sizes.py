"""One cost curve from a hundred rows to a million: CPU time, peak memory and loss beside peers, each fit a process.

Two classes and ten classes of a smooth function of ten inputs, and Friedman's first regression. A part:
--sets=binary --rows=1e3,1e4 --methods=softmargin,CatBoost --minutes=3; finished fits are kept. A fit that takes more
than --limit CPU seconds is stopped and noted, and that method gets no larger problem.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_friedman1

from benchmarks._process import limit_cpu, peak_megabytes
from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks.methods._classifiers import CLASSIFIERS

ROWS = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 50_000, 100_000, 200_000, 400_000, 1_000_000]
N_TEST, D = 10_000, 10
ALL_ROUNDS = "HistGradientBoosting(600)"
"""Without the early stopping that it has by default above 10,000 rows."""
SVGP = "GPyTorch SVGP"
"""With 256 inducing points."""
Data = tuple[np.ndarray, np.ndarray]


def binary(n: int, seed: int) -> Data:
    """Labels of a wave in one input and a product of two others, seven more that say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    p = expit(2.5 * (np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2]))
    return X, (rng.uniform(size=n) < p).astype(int)


def ten_classes(n: int, seed: int) -> Data:
    """The largest of ten noisy waves in four inputs."""
    waves = np.random.default_rng(12345)
    A, shift = waves.normal(size=(4, 10)), waves.uniform(0, 2 * np.pi, size=10)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.argmax(4.0 * np.sin(X[:, :4] @ A + shift) + rng.gumbel(size=(n, 10)), axis=1)


def regression(n: int, seed: int) -> Data:
    """Friedman's first problem with noise of standard deviation 1."""
    return make_friedman1(n, n_features=D, noise=1.0, random_state=seed)


PROBLEMS: dict[str, Callable[[int, int], Data]] = {
    "binary": binary,
    "ten classes": ten_classes,
    "regression": regression,
}


def make_regressor(name: str, seed: int) -> Any:
    """The regressors, by the names of the classifiers."""
    if name == OURS:
        from softmargin import BayesianSVR

        return BayesianSVR(random_state=seed)
    if name == "CatBoost":
        from catboost import CatBoostRegressor

        return CatBoostRegressor(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)
    if name == "LightGBM":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(random_state=seed, n_jobs=1, verbose=-1)
    if name == SVGP:
        from benchmarks.methods._svgp import SVGPRegressor

        return SVGPRegressor(seed=seed)
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=600, random_state=seed)


def make(problem: str, method: str, seed: int) -> Any:
    """An unfitted method."""
    if problem == "regression":
        return make_regressor(method, seed)
    if method == ALL_ROUNDS:
        return CLASSIFIERS["HistGradientBoosting"](D, seed).set_params(max_iter=600, early_stopping=False)
    if method == SVGP:
        from benchmarks.methods._svgp import SVGPClassifier

        return SVGPClassifier(seed=seed)
    made = CLASSIFIERS[method](D, seed)
    return made.set_params(max_iter=600) if method == "HistGradientBoosting" else made


METHODS = {name: list(PROBLEMS) for name in (OURS, "CatBoost", "LightGBM", "HistGradientBoosting", SVGP)}
METHODS[ALL_ROUNDS] = ["binary", "ten classes"]
METHODS["grid SVC"] = ["binary", "ten classes"]


def loss(problem: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Log loss, or the root mean squared error to the noisy target."""
    if problem == "regression":
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    return float(-np.mean(np.log(np.clip(model.predict_proba(X)[np.arange(len(y)), y], 1e-15, 1))))


def measure(problem: str, method: str, n: int, seed: int) -> Row:
    """Fit in this process; what it took and what it is worth."""
    if method == OURS:  # compile first
        make(problem, method, 0).fit(*PROBLEMS[problem](200, 0))
    X, y = PROBLEMS[problem](n, seed)
    model, start = make(problem, method, seed), time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - start
    memory = peak_megabytes()  # before the prediction: the fit's
    new, truth = PROBLEMS[problem](N_TEST, 10_000 + seed)
    value, again = loss(problem, model, new, truth), time.process_time()
    row: Row = {"loss": round(value, 5), "cpu": round(cpu, 3), "memory": round(memory)}
    if hasattr(model, "log_predictive_density"):
        row["log_density"] = round(float(np.mean(model.log_predictive_density(new, truth))), 5)
    return row | {"predict_cpu": round(again - start - cpu, 3)}


def measure_apart(task: Row, limit: float) -> Row:
    """The same in a process of its own, which ends after `limit` CPU seconds."""
    words = [str(task["set"]), str(task["method"]), str(task["n"]), str(task["seed"])]
    program = "import sys; from benchmarks import sizes; sizes.child(*sys.argv[1:])"
    made = subprocess.run(
        [sys.executable, "-c", program, str(limit), *words], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        reason = made.stderr.strip().splitlines()[-1:] if made.returncode > 0 else [f"more than {limit:.0f} CPU s"]
        return {"failed": " ".join(reason)[:200]}
    return json.loads(made.stdout.splitlines()[-1])


def child(limit: str, problem: str, method: str, n: str, seed: str) -> None:
    """Measure and print, under a limit of CPU time."""
    import warnings

    from threadpoolctl import threadpool_limits

    seconds = int(float(limit))
    limit_cpu(seconds)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(json.dumps(measure(problem, method, int(n), int(seed))))


def tasks(sets: list[str], methods: list[str], rows: list[int], seeds: list[int], out: Any) -> Iterator[Row]:
    """Small problems first; a method that failed gets no larger one."""
    for n in sorted(rows):
        for name in sets:
            for method in methods:
                for seed in seeds:
                    if name in METHODS[method] and not _failed_before(name, method, n, seed, out):
                        yield {"set": name, "n": n, "seed": seed, "method": method}


def _failed_before(name: str, method: str, n: int, seed: int, out: Any) -> bool:
    place = {"set": name, "method": method, "seed": seed}
    return any(
        "failed" in row and int(str(row["n"])) < n and all(row[field] == value for field, value in place.items())
        for row in load("sizes", out).values()
    )


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("sizes", __doc__)
    arguments.add_argument("--limit", type=float, default=170.0, help="CPU seconds of a fit")
    asked = ask("sizes", arguments)
    asked.seeds = [0] if asked.seeds == [0, 1] else asked.seeds
    sets, methods = choose(asked.sets, PROBLEMS, "set"), choose(asked.methods, METHODS, "method")
    found = tasks(sets, methods, asked.rows or ROWS, asked.seeds, asked.out)
    run("sizes", asked, found, lambda task: measure_apart(task, asked.limit))


if __name__ == "__main__":
    main()
