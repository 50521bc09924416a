"""Effective samples per CPU second: the paper's sampler, ours, slice sampling, and NUTS where NumPyro is installed.

On the five data sets of Gold & Sollich 2003 (their training sizes) at two settings each, for the loss and the
gradients of the evidence with respect to ln C and ln amplitude; the smallest of the three effective sample sizes
counts. CPU time of sampling only, one thread; NUTS without its compilation (the last line has both). The last
columns give the cost of one gradient at the precision of the paper's 20,000 samples (as many effective samples as its
sampler gets from 20,000 steps) by the paper's sampler and by ours, beside the seconds that the paper took.

Run ``python -m benchmarks sampling [--full]`` with OMP_NUM_THREADS=1; the quick mode takes two data sets.
``--evidence`` compares chaining with annealing on Sollich's toy.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.studies._report import table, write
from softmargin.datasets import load_crabs, load_pima, load_ringnorm, load_twonorm, load_wdbc
from softmargin.evidence import Chaining, log_evidence
from softmargin.inference.ep import EP
from softmargin.likelihoods import Hinge
from softmargin.sampling import DataTarget, Draws, Reference, Settings, Spectrum, diagnose, sample

LOADERS = {
    "crabs": load_crabs,
    "pima": load_pima,
    "wdbc": load_wdbc,
    "twonorm": load_twonorm,
    "ringnorm": load_ringnorm,
}
SETTINGS = {"mild": (1.0, 2.0), "hard": (3.0, 20.0)}
"""C and amplitude."""
PAPER_SECONDS = {"crabs": 137, "pima": 1805, "wdbc": 9352, "twonorm": 7779, "ringnorm": 10665}
"""Gold & Sollich 2003, Table 2, last column: CPU seconds of one evidence gradient."""


NUTS_WARMUP, NUTS_DRAWS = 200, 1000


def gram(name: str, amplitude: float) -> tuple[np.ndarray, np.ndarray]:
    """Gram matrix and labels of a training set, with a common length scale sqrt(d)."""
    data = LOADERS[name]()
    train = data.train if "train" in data else np.arange(len(data.target))
    X, target = np.asarray(data.data, dtype=float)[train], np.asarray(data.target)[train]
    X = StandardScaler().fit_transform(X[:300])
    y = np.where(target[:300] == np.unique(target)[1], 1.0, -1.0)
    square = np.sum((X[:, None] - X) ** 2, axis=2)
    return amplitude * np.exp(-0.5 * square / X.shape[1]) + 0.2, y


def effective(draws: Draws) -> float:
    """Smallest bulk effective sample size of the loss and the gradients."""
    return float(np.min(diagnose(draws, ("C",)).ess_bulk))


def timed(run: Callable[[], Draws]) -> tuple[Draws, float]:
    start = time.process_time()
    draws = run()
    return draws, time.process_time() - start


def measure(name: str, setting: str, seconds: float) -> dict[str, float]:
    """Effective samples per CPU second of each sampler."""
    C, amplitude = SETTINGS[setting]
    K, y = gram(name, amplitude)
    target = DataTarget(y, Hinge(C))
    spectrum = Spectrum.of(K)
    reference = Reference.posterior(spectrum, EP().infer(K, y, Hinge(C)))
    found: dict[str, float] = {"n": len(y)}
    for sampler in ("rotation", "slice", "paper"):
        options = {"sampler": sampler, "n_chains": 64}
        warm = sample(np.random.default_rng(0), reference, target, Settings(**options, n_warmup=200, n_draws=5))
        trial, cost = timed(
            lambda warm=warm, options=options: sample(
                np.random.default_rng(1),
                reference,
                target,
                Settings(**options, n_warmup=0, n_draws=20),
                start=warm.z[-1],
                step_size=warm.step_size,
            )
        )
        n_draws = int(np.clip(20 * seconds / max(cost, 1e-3), 20, 2000))
        draws, cost = timed(
            lambda trial=trial, options=options, n_draws=n_draws: sample(
                np.random.default_rng(2),
                reference,
                target,
                Settings(**options, n_warmup=0, n_draws=n_draws),
                start=trial.z[-1],
                step_size=trial.step_size,
            )
        )
        ess = effective(draws)
        found[sampler] = ess / cost
        if sampler == "paper":
            # What the paper's 20,000 samples amount to.
            found["wanted"] = 20_000 * ess / (64 * n_draws)
    found["nuts"], found["nuts with compilation"] = nuts(K, y, C)
    return found


def nuts(K: np.ndarray, y: np.ndarray, C: float) -> tuple[float, float]:
    """Effective samples per CPU second of NumPyro's NUTS on the whitened posterior, without and with compilation.

    Both are nan without NumPyro. `MCMC.run` compiles anew at every call, so that its draws are taken here by one
    compiled loop over the adapted kernel.
    """
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    try:
        import jax
        import jax.numpy as jnp
        from numpyro.infer import MCMC, NUTS
    except ImportError:
        return float("nan"), float("nan")
    jax.config.update("jax_enable_x64", True)
    root = jnp.asarray(Spectrum.of(K).root)
    labels = jnp.asarray(y)

    def potential(z: "jax.Array") -> "jax.Array":
        return 0.5 * z @ z + C * jnp.sum(jnp.maximum(1 - labels * (root @ z), 0))

    def advance(state: Any, _: None) -> tuple[Any, "jax.Array"]:
        state = kernel.sample(state, (), {})
        return state, state.z

    kernel = NUTS(potential_fn=potential)
    mcmc = MCMC(kernel, num_warmup=NUTS_WARMUP, num_samples=NUTS_DRAWS, progress_bar=False)
    mcmc.warmup(jax.random.PRNGKey(0), init_params=jnp.zeros(len(y)))
    state = jax.block_until_ready(mcmc.last_state)
    start = time.process_time()
    loop = jax.jit(lambda first: jax.lax.scan(advance, first, length=NUTS_DRAWS)[1]).lower(state).compile()
    compiled = time.process_time()
    z = np.asarray(loop(state))
    end = time.process_time()
    draws = as_draws(z, Spectrum.of(K), DataTarget(y, Hinge(C)))
    ess = effective(draws)
    return ess / (end - compiled), ess / (end - start)


def as_draws(z: np.ndarray, spectrum: Spectrum, target: DataTarget) -> Draws:
    """One chain of whitened positions, shape (n_draws, n), as `Draws`."""
    f = z @ spectrum.root
    return Draws(
        z[:, None], f[:, None], target.slope(f)[:, None],
        target.log_weight(f)[:, None], target.d_params(f)[..., None],
        1.0, np.zeros((len(z), 1)), 0.0, spectrum,
    )  # fmt: skip


def evidence_costs() -> str:
    """CPU seconds for a standard error of 0.1 nats, chaining against annealing, on a toy of 50 rows."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(50))
    K = 1.25 * np.exp(-((x[:, None] - x) ** 2) / (2 * 0.05**2))
    y = np.sign(Spectrum.of(K).root @ rng.standard_normal(50))
    rows = []
    for kind in ("naive", "conditional", "joint"):
        cost, values = {}, {}
        for method in ("annealing", "chaining"):
            options = {"kind": kind, "method": method, "chaining": Chaining(n_sweeps=200)}
            log_evidence(K, y, 2.0, random_state=1, **{**options, "chaining": Chaining(n_sweeps=12, n_chains=2)})
            start = time.process_time()
            values[method] = log_evidence(K, y, 2.0, random_state=0, **options)
            cost[method] = (time.process_time() - start) * (values[method].standard_error / 0.1) ** 2
        cells = [f"{values[m].value:.2f} +- {values[m].standard_error:.2f}" for m in ("annealing", "chaining")]
        rows.append([kind, *cells, f"{cost['annealing']:.3f}", f"{cost['chaining']:.1f}",
                     f"{cost['chaining'] / cost['annealing']:.0f}"])  # fmt: skip
    return table(["evidence", "annealing", "chaining", "CPU s to 0.1 nats", "chaining", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--evidence", action="store_true")
    arguments = parser.parse_args()
    if arguments.evidence:
        print(evidence_costs())
        return
    names = list(LOADERS) if arguments.full else ["crabs", "pima"]
    results = {(name, s): measure(name, s, 4.0 if arguments.full else 1.5) for name in names for s in SETTINGS}
    rows = [
        [
            *key,
            int(r["n"]),
            *(f"{r[s]:.0f}" for s in ("rotation", "slice", "paper", "nuts")),
            f"{r['rotation'] / r['paper']:.1f}",
            f"{r['rotation'] / r['nuts']:.1f}",
            f"{r['wanted'] / r['paper']:.2f}",
            f"{r['wanted'] / r['rotation']:.2f}",
            PAPER_SECONDS[key[0]],
        ]
        for key, r in results.items()
    ]
    header = ["data", "setting", "n", "rotation", "slice", "paper", "NUTS", "/ paper", "/ NUTS"]
    header += ["paper's gradient s", "gradient s", "2003 s"]
    rivals = ("paper", "nuts", "nuts with compilation")
    ratios = {s: np.exp(np.mean([np.log(r["rotation"] / r[s]) for r in results.values()])) for s in rivals}
    summary = (
        f"geometric means: {ratios['paper']:.1f} times the paper's sampler, {ratios['nuts']:.1f} times NUTS "
        f"({ratios['nuts with compilation']:.1f} times with its compilation)"
    )
    write("sampling", {" ".join(k): r for k, r in results.items()}, f"{table(header, rows)}\n\n{summary}")


if __name__ == "__main__":
    main()
