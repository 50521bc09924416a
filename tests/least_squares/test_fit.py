"""The fitted machine: invariances, edge cases, and what its record promises."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import log_softmax
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from softmargin.kernels import diag, gram
from softmargin.least_squares import fit_least_squares, rank_for, refinements, useful_rank
from softmargin.policy import LeastSquaresPolicy
from softmargin.rows import LocalRows
from softmargin.search import StopSearch

from .problems import blobs, copies, one_hot


def fit(X, labels, weight=None, n_classes=None, kernel=None, **options):
    weight = np.ones(len(labels)) if weight is None else weight
    n_classes = labels.max() + 1 if n_classes is None else n_classes
    if sparse.issparse(X):
        spread = X.toarray().std(axis=0)
    else:
        share = weight / weight.sum()
        spread = np.sqrt(share @ (X - share @ X) ** 2)
    return fit_least_squares(X, labels, weight, n_classes, kernel, spread=spread, random_state=0, **options)


def test_learns_classes_that_are_apart():
    X, labels = blobs(90, seed=1)
    new, truth = X + 0.05, labels
    X += 4 * np.eye(3)[labels]
    machine = fit(X, labels)
    assert np.mean(machine.log_proba(new + 4 * np.eye(3)[truth]).argmax(axis=1) == truth) > 0.95
    assert_allclose(np.exp(machine.log_proba(new)).sum(axis=1), 1.0)


def test_record_is_consistent():
    X, labels = blobs(60)
    machine = fit(X, labels)
    A = np.linalg.solve(gram(machine.kernel, X) + machine.noise_variance * np.eye(60), one_hot(labels))
    assert_allclose(machine.coefficients, A, rtol=1e-7, atol=1e-9)
    new = np.random.default_rng(5).normal(size=(7, 3))
    K = gram(machine.kernel, new, X)
    logits = machine.slope * (K @ A) @ machine.softmax_matrix + machine.softmax_offset
    assert_allclose(machine.log_proba(new), log_softmax(logits, axis=1), atol=1e-8)
    mean, variance = machine.latent(new)
    assert_allclose(mean, K @ A + 1 / 3, atol=1e-9)
    G = np.linalg.inv(gram(machine.kernel, X) + machine.noise_variance * np.eye(60))
    assert_allclose(variance, diag(machine.kernel, new) - np.einsum("ij,jk,ik->i", K, G, K), atol=1e-9)
    assert {"stage", "objective", "criterion", "noise_variance", "slope"} <= set(machine.path[0])
    again = pickle.loads(pickle.dumps(machine))
    assert_allclose(again.log_proba(new), machine.log_proba(new), rtol=0, atol=0)


@pytest.mark.parametrize("rank", [None, 15])
def test_drawn_functions_have_the_moments_of_the_posterior(rank):
    X, labels = blobs(60)
    policy = LeastSquaresPolicy() if rank is None else LeastSquaresPolicy(dense_rows=10, base_rank=rank, max_rank=rank)
    machine = fit(X, labels, policy=policy)
    new = np.concatenate([X[:2], X[:2] + 0.1, X[:2] + 3.0])
    drawn = machine.sample_proba(new, 20_000, np.random.RandomState(0))
    assert_allclose(drawn.sum(axis=2), 1)
    # ln p = b f B + c - lse: differences of logits are linear in f, which has the mean and variance of `latent`.
    logits = np.log(drawn)
    seen = logits[:, :, 0] - logits[:, :, 1]
    weights = machine.slope * (machine.softmax_matrix[:, 0] - machine.softmax_matrix[:, 1])
    mean, variance = machine.latent(new)
    centre = (mean - 1 / 3) @ weights + machine.softmax_offset[0] - machine.softmax_offset[1]
    spread = np.sqrt(variance * (weights @ weights))
    assert_allclose(seen.mean(axis=0), centre, atol=0.04 * spread.max())
    assert_allclose(seen.std(axis=0), spread, rtol=0.03)
    # Neighbours move together, distant rows do not.
    related = np.corrcoef(seen.T)
    K = gram(machine.kernel, new, machine.basis)
    covariance = gram(machine.kernel, new, new) - machine.reduction.matrix(K)
    assert_allclose(related, covariance / np.sqrt(np.outer(variance, variance)), atol=0.04)


def test_leave_one_out_equals_refits_at_the_learnt_point():
    X, labels = blobs(25)
    machine = fit(X, labels)
    K, Y = gram(machine.kernel, X), one_hot(labels)
    for i in range(25):
        keep = np.arange(25) != i
        A = np.linalg.solve(K[np.ix_(keep, keep)] + machine.noise_variance * np.eye(24), Y[keep])
        logits = machine.slope * (K[i, keep] @ A) @ machine.softmax_matrix + machine.softmax_offset
        assert_allclose(machine.loo_log_proba[i], log_softmax(logits), atol=1e-10)


def test_weights_equal_copies():
    X, labels, weight, group = copies(n=20)
    merged, written = fit(X, labels, weight), fit(X[group], labels[group])
    new = np.random.default_rng(5).normal(size=(10, 3))
    assert_allclose(merged.log_proba(new), written.log_proba(new), atol=1e-5)
    assert_allclose(merged.loo_log_proba[group], written.loo_log_proba, atol=1e-5)


def test_order_of_rows_and_classes_does_not_matter():
    X, labels = blobs(45)
    machine, new = fit(X, labels), np.random.default_rng(5).normal(size=(10, 3))
    rows, classes = np.random.default_rng(6).permutation(45), np.array([2, 0, 1])
    other = fit(X[rows], classes[labels[rows]])
    assert_allclose(other.log_proba(new)[:, classes], machine.log_proba(new), atol=1e-5)
    assert_allclose(other.loo_log_proba[:, classes], machine.loo_log_proba[rows], atol=1e-5)


def test_units_of_the_inputs_do_not_matter():
    X, labels = blobs(45)
    new, scale = np.random.default_rng(5).normal(size=(10, 3)), np.array([1e3, 1.0, 1e-4])
    assert_allclose(fit(X * scale, labels).log_proba(new * scale), fit(X, labels).log_proba(new), atol=1e-5)


def test_sparse_rows_equal_dense_ones():
    X, labels = blobs(40)
    X[np.abs(X) < 0.8] = 0.0
    dense, csr = fit(X, labels), fit(sparse.csr_array(X), labels)
    assert_allclose(csr.log_proba(sparse.csr_array(X)), dense.log_proba(X), atol=1e-5)
    assert sparse.issparse(csr.basis)


def test_precomputed_equals_a_fixed_kernel():
    X, labels = blobs(40)
    kernel = ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed") + ConstantKernel(0.3, "fixed")
    new = np.random.default_rng(5).normal(size=(10, 3))
    by_object = fit(X, labels, kernel=kernel)
    by_gram = fit(gram(kernel, X), labels, kernel="precomputed")
    K = gram(kernel, new, X)
    assert_allclose(by_gram.log_proba(K), by_object.log_proba(new), atol=1e-9)
    for ours, expected in zip(by_gram.latent(K, diag(kernel, new)), by_object.latent(new)):
        assert_allclose(ours, expected, atol=1e-9)
    with pytest.raises(ValueError, match="diagonal"):
        by_gram.latent(K)


@pytest.mark.parametrize("kernel", ["linear", "rbf", ConstantKernel(1.0) * RBF(1.0) + DotProduct(1.0)], ids=str)
def test_other_kernels_are_learnt(kernel):
    X, labels = blobs(45, n_classes=2)
    machine = fit(X, labels, kernel=kernel)
    assert -machine.loo_log_proba[np.arange(45), labels].mean() < np.log(2)
    assert not np.allclose(
        machine.kernel.theta, fit(X, labels, kernel=kernel, policy=LeastSquaresPolicy(search_iter=0)).kernel.theta
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: (np.array([[0.0], [1.0]]), np.array([0, 1])),
        lambda: (np.random.default_rng(0).normal(size=(6, 50)), np.array([0, 1, 2, 0, 1, 2])),
        lambda: (np.column_stack([np.ones(10), np.arange(10.0)]), np.arange(10) % 2),
        lambda: (np.ones((5, 2)), np.array([0, 1, 0, 1, 1])),
        lambda: (np.repeat(np.arange(4.0), 3)[:, None], np.tile([0, 1, 2], 4)),
        lambda: (np.random.default_rng(0).normal(size=(40, 2)), np.arange(40)),
        lambda: blobs(200, n_classes=100),
    ],
    ids=["two rows", "more inputs than rows", "constant column", "all constant", "conflicts", "singletons", "many"],
)
def test_edge_cases_give_probabilities(make):
    X, labels = make()
    machine = fit(X, labels)
    for p in (np.exp(machine.log_proba(X)), np.exp(machine.loo_log_proba)):
        assert p.shape == (len(labels), labels.max() + 1)
        assert_allclose(p.sum(axis=1), 1.0)
    assert np.all(machine.latent(X)[1] >= 0)


@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_extreme_weights(weight):
    X, labels = blobs(30)
    weights = np.where(np.arange(30) % 2, weight, 1.0)
    assert np.all(np.isfinite(fit(X, labels, weights).log_proba(X)))


def test_rare_class_keeps_its_share():
    rng = np.random.default_rng(0)
    labels = (np.arange(300) % 20 == 0).astype(int)
    X = rng.normal(size=(300, 2)) + 1.5 * labels[:, None]
    machine = fit(X, labels)
    assert np.exp(machine.loo_log_proba[:, 1]).mean() == pytest.approx(0.05, abs=0.015)
    assert machine.log_odds(X).shape == (300,)


def test_sample_keeps_every_class():
    from softmargin.least_squares import LabelledRows

    labels = np.repeat([0, 1, 2], [900, 98, 2])
    rows = LabelledRows(np.zeros((1000, 1)), labels, np.ones(1000), 3)
    counts = np.bincount(rows.sample(100, np.random.RandomState(0)).labels)
    assert counts.sum() == 100 and counts[2] == 2 and 8 <= counts[1] <= 13


def test_cross_fitted_probabilities_flatter_less():
    X, labels = blobs(60, n_classes=6, seed=2)
    machine = fit(X, labels)
    own, crossed = (
        p[np.arange(60), labels].mean() for p in (machine.loo_log_proba, machine.cross_log_proba(labels, np.ones(60)))
    )
    assert crossed < own - 0.01


def test_refinement_and_rank_grow_without_a_jump():
    policy = LeastSquaresPolicy()
    assert [refinements(policy, n) for n in (500, 501, 750, 1000, 10**6)] == [0, 1, 6, 12, 12]
    ranks = [rank_for(policy, n) for n in (2000, 20_000, 10**9)]
    assert ranks == [1024, 1446, 2048]


def test_rank_follows_what_a_larger_one_gains():
    policy = LeastSquaresPolicy(refine_rank=100, least_rank=150, rank_gain=1e-3)
    sure = [useful_rank(policy, np.full(10, gain), 700) for gain in (-1.0, 0.0, 1e-3, 2e-3, 1.0)]
    assert sure == [150, 150, 200, 400, 700]
    # An uncertain gain counts with two standard errors: 2 * 1e-2 / sqrt(100) nats.
    assert useful_rank(policy, np.tile([-1e-2, 1e-2], 50), 700) == 400


def test_a_smooth_function_gets_few_points_and_a_rough_one_many():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(900, 2))
    policy = LeastSquaresPolicy(
        dense_rows=500, base_rank=200, max_rank=200, least_rank=60, refine_rank=20, refine_rows=500, rank_gain=5e-3
    )
    smooth = X[:, 0] > rng.logistic(scale=0.3, size=900)
    rough = np.sin(12 * X[:, 0]) * np.sin(12 * X[:, 1]) > 0
    ranks = [len(fit(X, labels.astype(int), policy=policy).basis) for labels in (smooth, rough)]
    assert ranks[0] <= 60 < 100 < ranks[1]


@pytest.mark.parametrize("dense_rows", [20, 1000])
def test_rows_that_are_transformed_already_are_not_transformed_again(dense_rows):
    X, labels = blobs(80, seed=2)
    policy = LeastSquaresPolicy(dense_rows=dense_rows, base_rank=30)
    plain = fit(np.arctan(X), labels, policy=policy)
    inner = fit(np.arctan(X), labels, policy=policy, inputs=np.arctan)
    # Of a source they are: its rows are as they were given.
    outer = fit(np.arctan(X), labels, policy=policy, inputs=np.arctan, source=LocalRows(X, labels.astype(float)))
    new = np.arctan(X + 0.1)
    assert_allclose(inner.log_proba(new), plain.log_proba(new), atol=1e-12)
    if dense_rows < len(X):
        assert_allclose(outer.log_proba(new), plain.log_proba(new), atol=1e-6)


def test_callback_can_stop_the_search():
    def stop(evaluation):
        raise StopSearch

    X, labels = blobs(30)
    assert len(fit(X, labels, callback=stop).path) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_classes": 1}, "at least 2"),
        ({"n_classes": 2}, "labels must lie"),
        ({"weight": np.zeros(30)}, "positive"),
        ({"weight": np.ones(29)}, "same length"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    X, labels = blobs(30)
    arguments = {"weight": np.ones(30), "n_classes": 3, **change}
    with pytest.raises(ValueError, match=message):
        fit_least_squares(X, labels, spread=np.ones(3), **arguments)


def test_log_odds_need_two_classes():
    X, labels = blobs(30)
    with pytest.raises(ValueError, match="two classes"):
        fit(X, labels).log_odds(X)
