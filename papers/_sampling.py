"""Gradients that vanish at large C, and shorter trajectories as the remedy (Gold & Sollich 2003, section 5.3.1)."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from papers import _gold
from papers._claims import Claim, verdict
from softmargin.inference import HMC, MAP
from softmargin.likelihoods import Hinge
from softmargin.sampling import DataTarget, paper

K0, LENGTH, ROWS = 180.0, 8.0, 40
SMALL, LARGE = 1.0, 20.0
DRAWS = 3200
TRAJECTORY = 0.4
"""Length at `SMALL`; the paper gives neither it nor a step size."""
RUNS_OF = (10, 40, 160)
"""Lengths of the runs that are compared, in trajectories of the fixed length; the first half is discarded."""

# Bounds of the verdicts, fixed before this run, after earlier ones (the first) and before any (the second).
MOST = 0.5
"""Share of samples that is most of them."""
CLEARLY = 2.0
"""Standard errors of the difference of two chances that count as clear."""


def vanishing_gradients(n_steps: int, n_runs: int) -> list[Claim]:
    """The share of samples in which every row is beyond its margin, and the chance that a run has no other."""
    data = _gold.load("twonorm")
    X, y = data.X[:ROWS], data.y[:ROWS]
    K = K0 * RBF(LENGTH)(X) + 0.1
    small, large = (_run(K, y, C, TRAJECTORY, n_steps, 4) for C in (SMALL, LARGE))
    shares = [float(np.mean(zero[n_steps // 2 :])) for zero, _ in (small, large)]
    sampler = HMC(n_chains=32, n_warmup=100, n_draws=DRAWS // 32, evidence=False, check=False)
    draws = sampler.infer(K, y, Hinge(LARGE)).draws.f.reshape(-1, ROWS)
    exact = float(np.mean(np.all(y * draws >= 1, axis=1)))
    return [
        Claim(
            "Section 5.3.1",
            "At large C most samples have all margins above 1, where they give a gradient of zero",
            "typical of larger C",
            f"share of samples with zero gradient: {100 * shares[0]:.0f} % at C = {SMALL:g}, {100 * shares[1]:.0f} % "
            f"at C = {LARGE:g} (acceptance {100 * small[1]:.0f} and {100 * large[1]:.0f} %)",
            verdict(shares[1] > shares[0], shares[1] > MOST),
            f"the paper's sampler on {ROWS} rows of twonorm, 4 chains of {n_steps} trajectories of length {TRAJECTORY}"
            f"; another sampler (rotations guided by EP, {DRAWS} draws) has {100 * exact:.0f} % at C = {LARGE:g}",
        ),
        _remedy(K, y, n_runs),
    ]


def _remedy(K: np.ndarray, y: np.ndarray, n_runs: int) -> Claim:
    """The chance that all samples of a run give no gradient, with trajectories of fixed length and of one over C."""
    ratio = round(LARGE / SMALL)
    fixed, _ = _run(K, y, LARGE, TRAJECTORY, max(RUNS_OF), n_runs)
    short, accepted = _run(K, y, LARGE, TRAJECTORY / ratio, ratio * max(RUNS_OF), n_runs)
    before, after, as_many = (
        np.array([np.mean(np.all(zero[k * n // 2 : k * n], axis=0)) for n in RUNS_OF])
        for zero, k in ((fixed, 1), (short, ratio), (short, 1))
    )
    error = np.sqrt((before * (1 - before) + after * (1 - after)) / n_runs)
    return Claim(
        "Section 5.3.1",
        "Trajectories shortened in proportion to 1/C avoid runs of which all samples give a gradient of zero",
        "could avoid it",
        f"chance of such a run at C = {LARGE:g}, at the cost of {', '.join(str(n) for n in RUNS_OF)} trajectories of "
        f"the fixed length: {_percent(before)} with that length, {_percent(after)} with 1/{ratio} of it",
        verdict(*(before[before > 0] - after[before > 0] > CLEARLY * error[before > 0])),
        f"{n_runs} runs of each from the SVM, the first half discarded; lower at equal cost is what is asked for, at "
        f"each cost; with as many trajectories, not as much time, the short ones have {_percent(as_many)}; the share "
        f"of such samples is the same whatever the length ({100 * np.mean(fixed):.0f} and {100 * np.mean(short):.0f} "
        f"%; acceptance of the short ones {100 * accepted:.0f} %)",
    )


def _percent(shares: np.ndarray) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares) + " %"


def _run(
    K: np.ndarray, y: np.ndarray, C: float, trajectory: float, n_steps: int, n_chains: int
) -> tuple[np.ndarray, float]:
    """Whether each sample gives a zero gradient, shape (n_steps, n_chains), and the mean acceptance."""
    likelihood, rng = Hinge(C), np.random.default_rng(0)
    target = DataTarget(y, likelihood)
    start = MAP(tol=1e-6, gradients=False).infer(K, y, likelihood).beta
    state = paper.init(K, np.tile(start, (n_chains, 1)))
    # A kink changes the force on theta by C K: the step that keeps energy errors small goes with 1/(C sqrt(K)).
    step = 0.2 / (C * np.sqrt(K0))
    zero, acceptance = [], []
    for _ in range(n_steps):
        state, info = paper.step(rng, state, K, target, step, n_leapfrog=max(1, round(trajectory / step)))
        zero.append(np.all(y * state.f >= 1, axis=1))
        acceptance.append(info.acceptance)
    return np.array(zero), float(np.mean(acceptance))
