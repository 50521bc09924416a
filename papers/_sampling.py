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


def vanishing_gradients(n_steps: int) -> list[Claim]:
    """The share of samples in which every row is beyond its margin, so that the gradient estimate is zero."""
    data = _gold.load("twonorm")
    X, y = data.X[:ROWS], data.y[:ROWS]
    K = K0 * RBF(LENGTH)(X) + 0.1
    small, large = (_zero_share(K, y, C, TRAJECTORY, n_steps) for C in (SMALL, LARGE))
    sampler = HMC(n_chains=32, n_warmup=100, n_draws=DRAWS // 32, evidence=False, check=False)
    draws = sampler.infer(K, y, Hinge(LARGE)).draws.f.reshape(-1, ROWS)
    exact = float(np.mean(np.all(y * draws >= 1, axis=1)))
    remedy = _zero_share(K, y, LARGE, TRAJECTORY * SMALL / LARGE, n_steps)
    return [
        Claim(
            "Section 5.3.1",
            "At large C most samples have all margins above 1, where they give a gradient of zero",
            "typical of larger C",
            f"share of samples with zero gradient: {100 * small[0]:.0f} % at C = {SMALL:g}, {100 * large[0]:.0f} % at "
            f"C = {LARGE:g} (acceptance {100 * small[1]:.0f} and {100 * large[1]:.0f} %)",
            verdict(large[0] > small[0], large[0] > 0.5),
            f"the paper's sampler on {ROWS} rows of twonorm, 4 chains of {n_steps} trajectories of length {TRAJECTORY}",
        ),
        Claim(
            "Section 5.3.1",
            "Trajectories shortened in proportion to 1/C avoid it",
            "avoids the effect",
            f"at C = {LARGE:g}: {100 * large[0]:.0f} % -> {100 * remedy[0]:.0f} % (acceptance {100 * remedy[1]:.0f} %)",
            verdict(remedy[0] < 0.8 * large[0]),
            f"another sampler (rotations guided by EP, {DRAWS} draws) finds {100 * exact:.0f} % of the posterior in "
            "that region: a correct sampler visits it as often whatever its trajectories",
        ),
    ]


def _zero_share(K: np.ndarray, y: np.ndarray, C: float, trajectory: float, n_steps: int) -> tuple[float, float]:
    """Share of samples with a zero gradient in the second half, and the mean acceptance."""
    likelihood, rng = Hinge(C), np.random.default_rng(0)
    target = DataTarget(y, likelihood)
    start = MAP(tol=1e-6, gradients=False).infer(K, y, likelihood).beta
    state = paper.init(K, np.tile(start, (4, 1)))
    # A kink changes the force on theta by C K: the step that keeps energy errors small goes with 1/(C sqrt(K)).
    step = 0.2 / (C * np.sqrt(K0))
    zero, acceptance = [], []
    for k in range(n_steps):
        state, info = paper.step(rng, state, K, target, step, n_leapfrog=max(1, round(trajectory / step)))
        if 2 * k >= n_steps:
            zero.append(np.all(y * state.f >= 1, axis=1))
            acceptance.append(info.acceptance)
    return float(np.mean(zero)), float(np.mean(acceptance))
