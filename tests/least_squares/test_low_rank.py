"""The low-rank regression against refits, finite differences and the dense one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize

from softmargin.kernels import diag, gram
from softmargin.least_squares import (
    DenseRidge,
    LabelledRows,
    LooObjective,
    LowRankRidge,
    LowRankRows,
    LowRankSums,
    SearchSpace,
    fit_least_squares,
    link_value,
)
from softmargin.policy import LeastSquaresPolicy
from softmargin.rows import LocalRows

from .problems import KERNEL, POINT, blobs, copies, one_hot

S2, JITTER = 0.07, 1e-6
SMALL = LeastSquaresPolicy(
    search_rows=60, refine_rows=120, refine_rank=30, refine_iter=4, dense_rows=100, base_rank=60, retune_rows=100
)


def weights(n, seed=2):
    return np.random.default_rng(seed).uniform(0.2, 3.0, size=n)


def solve(X, Z, Y, weight, jitter=JITTER):
    return LowRankRidge.solve(gram(KERNEL, X, Z), gram(KERNEL, Z), Y, weight, S2, jitter)


def test_outputs_equal_refits():
    X, labels = blobs(30)
    Y, weight = one_hot(labels), weights(30)
    Z = X[::3] + 0.1
    L = np.linalg.cholesky(gram(KERNEL, Z) + JITTER * np.eye(10))
    F = np.linalg.solve(L, gram(KERNEL, Z, X))
    M = solve(X, Z, Y, weight).M
    for i in range(30):
        left = weight.copy()
        left[i] = max(weight[i] - 1.0, 0.0)
        U = np.linalg.solve(np.eye(10) + (F * left / S2) @ F.T, (F * left / S2) @ Y)
        assert_allclose(M[i], F[:, i] @ U, atol=1e-10)


def test_all_rows_as_inducing_points_give_the_dense_regression():
    X, labels = blobs(40)
    Y, weight = one_hot(labels), weights(40)
    dense, low = DenseRidge.solve(gram(KERNEL, X), Y, weight, S2), solve(X, X, Y, weight, 1e-11)
    assert_allclose(low.M, dense.M, atol=1e-8)
    assert_allclose(low.A, dense.A, atol=1e-6)


def test_gradient_equals_finite_differences():
    X, labels = blobs(40)
    Z, weight = X[::4] + 0.1, weights(40)
    space = SearchSpace.build(KERNEL, X, weight, X.std(axis=0), LeastSquaresPolicy())
    objective = LooObjective(LowRankRows(X, Z, one_hot(labels), weight, JITTER), labels, space)
    gradient, h = objective(POINT).gradient, 1e-5
    for a, step in enumerate(h * np.eye(len(POINT))):
        difference = (objective(POINT + step).value - objective(POINT - step).value) / (2 * h)
        assert gradient[a] == pytest.approx(difference, rel=1e-6, abs=1e-7), space.names[a]


def test_merged_rows_equal_written_out_copies():
    X, labels, weight, group = copies()
    Y, Z = one_hot(labels), X[::2]
    merged, written = solve(X, Z, Y, weight), solve(X[group], Z, Y[group], np.ones(len(group)))
    assert_allclose(written.M, merged.M[group], atol=1e-10)


def collect(X, labels, weight, Z, block_rows=4096):
    rows = LabelledRows(X, labels, weight, 3)
    source = LocalRows(X, labels.astype(float), weight, block_rows=block_rows)
    return rows, LowRankSums.collect(source, 3, KERNEL, Z, JITTER / np.mean(diag(KERNEL, Z)))


@pytest.mark.parametrize("block_rows", [4096, 7])
def test_sums_over_blocks_give_the_same_regression(block_rows):
    X, labels = blobs(40)
    Z, weight = X[::4] + 0.1, weights(40)
    rows, sums = collect(X, labels, weight, Z, block_rows)
    ridge = solve(X, Z, rows.Y, weight)
    coefficients, reduction = sums.solve(S2)
    assert_allclose(sums.outputs(rows, S2), ridge.M, atol=1e-11)
    assert_allclose(gram(KERNEL, X, Z) @ coefficients, ridge.F.T @ ridge.U, atol=1e-11)
    # Posterior variance of F'u, u ~ N(0, I), plus what the inducing points do not explain.
    inside = np.einsum("ji,ji->i", ridge.V, ridge.V) - np.einsum("ji,ji->i", ridge.F, ridge.F)
    assert_allclose(-reduction(gram(KERNEL, X, Z)), inside, atol=1e-11)


def test_retuning_finds_the_best_noise_and_slope():
    X, labels = blobs(60)
    weight = weights(60)
    rows, sums = collect(X, labels, weight, X[::4])
    space = SearchSpace.build(KERNEL, X, weight, X.std(axis=0), LeastSquaresPolicy())

    def loss(u):
        value = link_value(sums.outputs(rows, float(np.exp(u[0]))), float(np.exp(u[1])), labels, weight).value
        return -value - space.log_prior(np.concatenate([POINT[:-2], u]))[0]

    z = sums.retune(rows, space, POINT)
    assert_allclose(z[:-2], POINT[:-2])
    assert_allclose(z[-2:], minimize(loss, POINT[-2:], method="Nelder-Mead").x, atol=2e-3)


def fit(X, labels, policy=SMALL, **options):
    spread = X.toarray().std(axis=0) if sparse.issparse(X) else X.std(axis=0)
    weight = np.ones(len(labels))
    return fit_least_squares(
        X, labels, weight, labels.max() + 1, spread=spread, policy=policy, random_state=0, **options
    )


def test_low_rank_machine_is_as_good_as_the_dense_one():
    X, labels = blobs(400, seed=3)
    train, test = np.arange(400) < 250, np.arange(400) >= 250
    dense = LeastSquaresPolicy(search_rows=60, refine_rows=120, refine_rank=30, refine_iter=4)
    losses = []
    for policy in (SMALL, dense):
        machine = fit(X[train], labels[train], policy)
        losses.append(-machine.log_proba(X[test])[np.arange(150), labels[test]].mean())
        assert machine.is_low_rank == (policy is SMALL)
        mean, variance = machine.latent(X[test])
        assert mean.shape == (150, 3) and np.all(variance > 0) and np.all(variance < diag(machine.kernel, X[test]))
        assert machine.loo_log_proba.shape == (250, 3)
        assert {row["stage"] for row in machine.path} == {"dense", "low_rank"}
    assert losses[0] == pytest.approx(losses[1], abs=0.02)


def test_leave_one_out_of_the_low_rank_machine_tells_the_truth():
    X, labels = blobs(600, seed=3)
    machine = fit(X[:300], labels[:300])
    own = -machine.loo_log_proba[np.arange(300), labels[:300]].mean()
    new = -machine.log_proba(X[300:])[np.arange(300), labels[300:]].mean()
    assert own == pytest.approx(new, abs=0.1)


def test_sparse_rows_stay_sparse():
    X, labels = blobs(200, seed=3)
    X[np.abs(X) < 0.8] = 0.0
    machine = fit(sparse.csr_array(X), labels)
    assert sparse.issparse(machine.basis) and machine.is_low_rank
    dense = fit(X, labels)
    own, other = (-m[np.arange(200), labels].mean() for m in (machine.loo_log_proba, dense.loo_log_proba))
    assert own == pytest.approx(other, abs=0.05)


def test_repeated_inputs_in_low_rank():
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 3, size=(300, 2)).astype(float), rng.integers(0, 3, size=300)
    assert np.all(np.isfinite(fit(X, labels).log_proba(X)))


def test_precomputed_stays_dense():
    X, labels = blobs(150)
    assert not fit(gram(KERNEL, X), labels, kernel="precomputed").is_low_rank


@pytest.mark.parametrize("seed", [0, 2])
def test_a_second_start_finds_a_fast_function(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    labels = (rng.logistic(size=600) < 5 * np.sin(5 * X[:, 0]) * np.sin(4 * X[:, 1])).astype(int)
    once = LeastSquaresPolicy(search_rows=150, refine_iter=0, short_start=LeastSquaresPolicy().length_start)
    twice = LeastSquaresPolicy(search_rows=150, refine_iter=0)
    missed, found = (
        -fit(X[:400], labels[:400], policy).log_proba(X[400:])[np.arange(200), labels[400:]].mean()
        for policy in (once, twice)
    )
    # ln 2 is chance.
    assert missed > 0.67 > found + 0.05
