"""Climbing the evidence by sampled gradients: does it end where L-BFGS on EP's evidence ends, and what does it cost?

On the five data sets of Gold & Sollich 2003 (their training rows), a length scale per input, with the default
hyperprior, both from the default start. "EP" is the objective of EP at the two ends. "sampled" is the difference of
the objectives, ascent - L-BFGS, with the evidence of both ends annealed on the same random numbers, and its standard
error. CPU time, one thread.

The second table tunes a classifier by the normalised evidence on 500 rows (``--rows=N`` changes the number).

Run ``python -m benchmarks ascent [--full]``; the quick mode takes crabs and pima and 200 rows.
"""

import sys
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import BayesianSVC, datasets
from softmargin.criteria import Evidence
from softmargin.evidence import Schedule, log_evidence
from softmargin.inference import EP, HMC
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS, GradientAscent
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, Objective

SETS = ["crabs", "pima", "wdbc", "twonorm", "ringnorm"]
SAMPLER = HMC(n_chains=32, n_warmup=15, n_draws=20, evidence=False, reuse_random_numbers=False, check=False)
SCHEDULE = Schedule(n_islands=16, n_particles=64)


def objective(name: str, inference: EP | HMC) -> Objective:
    """The evidence plus log hyperprior on a training set."""
    bunch = getattr(datasets, f"load_{name}")()
    X = np.asarray(bunch.data, dtype=float)[bunch.train]
    y = np.where(np.asarray(bunch.target)[bunch.train] > 0, 1.0, -1.0)
    spread = X.std(axis=0)
    likelihood = LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,))
    coordinates = Coordinates(make_kernel(None, X.shape[1], spread), likelihood, X.shape[1])
    return Objective(X, y, None, coordinates, Evidence(), inference, HyperPrior().bind(coordinates, spread))


def sampled(found: Objective, z: np.ndarray, seed: int) -> tuple[float, float]:
    """Objective at z with an annealed evidence, and its standard error."""
    model = found.coordinates.model(z)
    estimate = log_evidence(
        model.kernel(found.X), found.y, model.likelihood.C, method="annealing", schedule=SCHEDULE, random_state=seed
    )
    assert found.log_prior is not None
    return estimate.value + float(found.log_prior(z)[0]), estimate.standard_error


def compare(name: str) -> dict[str, float]:
    """Climb twice and compare the ends."""
    by_ep, by_sampling = objective(name, EP()), objective(name, SAMPLER)
    coordinates = by_ep.coordinates
    start = time.process_time()
    best = LBFGS(max_iter=200, tol=1e-5).maximise(by_ep, coordinates.start, coordinates.bounds)
    middle = time.process_time()
    found = GradientAscent(max_iter=80).maximise(by_sampling, coordinates.start, coordinates.bounds)
    end = time.process_time()
    (there, there_error), (here, here_error) = (sampled(by_ep, z, 0) for z in (best.point, found.point))
    return {
        "rows": len(by_ep.y),
        "inputs": by_ep.X.shape[1],
        "start": by_ep(coordinates.start).value,
        "lbfgs": best.best.value,
        "ascent": by_ep(found.point).value,
        "gap": here - there,
        "gap error": float(np.hypot(here_error, there_error)),
        "lbfgs seconds": middle - start,
        "ascent seconds": end - middle,
    }


def normalised(n_rows: int) -> list[list[object]]:
    """CPU seconds of a fit by each normalised evidence."""
    X, y = datasets.make_twonorm(n_rows, random_state=0)
    rows: list[list[object]] = []
    for criterion in ("evidence", "conditional_evidence", "joint_evidence"):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BayesianSVC(criterion=criterion, random_state=0).fit(X, y)
        rows.append([criterion, n_rows, f"{time.process_time() - start:.1f}", model.n_iter_, f"{model.C_:.2f}"])
    return rows


def main() -> None:
    """Run, print and write the tables."""
    full = "--full" in sys.argv
    n_rows = [int(a.split("=", 1)[1]) for a in sys.argv if a.startswith("--rows=")] or [500 if full else 200]
    with threadpool_limits(1):
        # Compile first.
        objective("crabs", EP())(objective("crabs", EP()).coordinates.start)
        results = {name: compare(name) for name in (SETS if full else SETS[:2])}
        costs = normalised(n_rows[0])
    body: list[list[object]] = [
        [
            name,
            int(r["rows"]),
            int(r["inputs"]),
            *(f"{r[k]:.2f}" for k in ("start", "lbfgs", "ascent")),
            f"{r['gap']:+.2f} ± {r['gap error']:.2f}",
            f"{r['lbfgs seconds']:.1f}",
            f"{r['ascent seconds']:.1f}",
        ]
        for name, r in results.items()
    ]
    header = ["set", "rows", "inputs", "EP: start", "L-BFGS", "ascent", "sampled", "L-BFGS s", "ascent s"]
    total = sum(r["ascent seconds"] for r in results.values())
    second = table(["criterion", "rows", "CPU s", "evaluations", "C"], costs)
    write("ascent", results, f"{table(header, body)}\n\nall sets by sampled gradients: {total:.0f} CPU s\n\n{second}")


if __name__ == "__main__":
    main()
