"""Values and contractions against scikit-learn's own, and against finite differences."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

from softmargin import kernels

from .cases import KERNELS, OURS, finite_difference, inputs, symmetric

ALL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
KNOWN = pytest.mark.parametrize("kernel", [KERNELS[name] for name in OURS], ids=OURS)


@ALL
def test_gram_equals_sklearn(kernel):
    X = inputs(40)
    K = kernels.gram(kernel, X)
    assert_allclose(K, kernel(X), rtol=1e-12, atol=0)
    assert_array_equal(K, K.T)


@ALL
def test_cross_covariance_equals_sklearn(kernel):
    X, Z = inputs(40), inputs(25, seed=3)
    Z[:5] = X[:5]
    assert_allclose(kernels.gram(kernel, X, Z), kernel(X, Z), rtol=1e-12, atol=0)


@ALL
def test_diag_equals_sklearn(kernel):
    X = inputs(40)
    assert_allclose(kernels.diag(kernel, X), kernel.diag(X), rtol=1e-14)


@ALL
def test_contraction_equals_eval_gradient(kernel):
    X, W = inputs(40), symmetric(40)
    gradient = kernel(X, eval_gradient=True)[1]
    expected = np.einsum("ij,ija->a", W, gradient)
    size = np.einsum("ij,ija->a", np.abs(W), np.abs(gradient))
    evaluation = kernels.evaluate(kernel, X)
    assert_allclose(evaluation.K, kernel(X), rtol=1e-12, atol=0)
    for result in (evaluation.contract(W), kernels.contract(kernel, X, W)):
        assert result.shape == kernel.theta.shape
        assert np.all(np.abs(result - expected) <= 1e-13 * size)
        assert_allclose(result, expected, rtol=1e-10)


@ALL
def test_contraction_over_several_row_blocks(kernel, monkeypatch):
    from softmargin.kernels.evaluation import evaluate as evaluation

    X, W = inputs(40), symmetric(40)
    whole = kernels.contract(kernel, X, W)
    monkeypatch.setattr(evaluation, "row_blocks", lambda n, m: kernels.row_blocks(n, m, 7 * 8 * m))
    assert_allclose(kernels.contract(kernel, X, W), whole, rtol=1e-11)
    assert_allclose(kernels.gram(kernel, X), kernel(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["default", "matern0.5", "matern2.5_ard", "rational", "sum_of_products"])
def test_large_matrices_in_their_own_row_blocks(name):
    n = 600
    assert len(list(kernels.row_blocks(n, n))) > 2
    kernel, X, W = KERNELS[name], inputs(n), symmetric(n)
    K, gradient = kernel(X, eval_gradient=True)
    evaluation = kernels.evaluate(kernel, X)
    for ours in (evaluation.K, kernels.gram(kernel, X)):
        assert_allclose(ours, K, rtol=1e-12, atol=0)
        assert_array_equal(ours, ours.T)
    assert_allclose(kernels.gram(kernel, X, X[:500]), kernel(X, X[:500]), rtol=1e-12)
    assert_allclose(evaluation.contract(W), np.einsum("ij,ija->a", W, gradient), rtol=1e-10)


@pytest.mark.parametrize("name", ["matern0.5", "matern1.5", "rbf"])
def test_contraction_over_close_pairs_only(name):
    X = np.vstack([inputs(10), inputs(10) + 1e-4])
    W = np.roll(np.eye(20), 10, axis=0)
    kernel = KERNELS[name]
    expected = np.einsum("ij,ija->a", W, kernel(X, eval_gradient=True)[1])
    assert np.all(expected > 0)
    assert_allclose(kernels.contract(kernel, X, W), expected, rtol=1e-7)


@ALL
def test_cross_contraction_equals_finite_differences(kernel):
    X, Z = inputs(12), inputs(7, seed=3)
    W = np.random.default_rng(2).normal(size=(12, 7))

    def total(theta):
        return np.sum(W * kernel.clone_with_theta(theta)(X, Z))

    expected = finite_difference(total, kernel.theta)
    # scikit-learn differentiates a general Matern numerically itself, to 1e-5 or so.
    accuracy = 1e-4 if getattr(kernel, "nu", None) == 0.8 else 1e-6
    assert_allclose(kernels.contract_cross(kernel, X, Z, W), expected, rtol=accuracy, atol=accuracy)


@ALL
def test_diagonal_contraction_equals_finite_differences(kernel):
    X, w = inputs(70), np.random.default_rng(2).normal(size=70)

    def total(theta):
        return np.sum(w * kernel.clone_with_theta(theta).diag(X))

    expected = finite_difference(total, kernel.theta)
    size = np.abs(w) @ kernel.diag(X)
    assert_allclose(kernels.contract_diag(kernel, X, w), expected, rtol=1e-6, atol=1e-9 * size)


@KNOWN
def test_input_contraction_equals_finite_differences(kernel):
    X, Z = inputs(12), inputs(5, seed=3)
    W = np.random.default_rng(2).normal(size=(12, 5))

    def total(z):
        return np.sum(W * kernel(X, z.reshape(Z.shape)))

    expected = finite_difference(total, Z.ravel()).reshape(Z.shape)
    assert_allclose(kernels.contract_inputs(kernel, X, Z, W), expected, rtol=1e-5, atol=1e-6)


def test_input_contraction_of_a_gram_matrix_is_doubled():
    kernel, Z, W = KERNELS["default"], inputs(6), symmetric(6)

    def total(z):
        return np.sum(W * kernel(z.reshape(Z.shape)))

    expected = finite_difference(total, Z.ravel()).reshape(Z.shape)
    assert_allclose(2 * kernels.contract_inputs(kernel, Z, Z, W), expected, rtol=1e-5, atol=1e-7)


def test_input_contraction_of_a_foreign_kernel_is_refused():
    X = inputs(4)
    with pytest.raises(TypeError, match="ExpSineSquared"):
        kernels.contract_inputs(ExpSineSquared(), X, X, np.ones((4, 4)))


@pytest.mark.parametrize("name", ["rbf_ard", "matern0.5_ard", "matern1.5_ard", "matern2.5_ard", "rational"])
@pytest.mark.parametrize("shrink", [1.0, 1e-2, 1e-4], ids="shrink{}".format)
def test_short_length_scales_lose_no_digits(name, shrink):
    """Close pairs far from the centre, where |a|^2 + |b|^2 - 2 a.b cancels."""
    X = np.vstack([inputs(20), inputs(20) + 0.3 * shrink * inputs(20, seed=4)])
    kernel = KERNELS[name]
    kernel = kernel.clone_with_theta(kernel.theta + np.log(shrink))
    K = kernels.gram(kernel, X)
    # Values under 1e-20 are zero for every purpose.
    assert_allclose(K, kernel(X), rtol=1e-11 if shrink < 1e-3 else 2e-12, atol=1e-20)
    assert_array_equal(K, K.T)


@pytest.mark.parametrize("name", ["rbf_ard", "matern0.5_ard", "matern2.5"])
def test_a_huge_shift_of_the_inputs_changes_nothing(name):
    X = np.round(inputs(30) * 2**10) / 2**10
    X_new = np.round(inputs(10, seed=5) * 2**10) / 2**10
    shifted = X + 2.0**30
    W = symmetric(30)
    kernel = KERNELS[name]
    assert_allclose(kernels.gram(kernel, shifted), kernels.gram(kernel, X), rtol=1e-12)
    assert_allclose(kernels.gram(kernel, X_new + 2.0**30, shifted), kernels.gram(kernel, X_new, X), rtol=1e-12)
    assert_allclose(kernels.contract(kernel, shifted, W), kernels.contract(kernel, X, W), rtol=1e-9)


@KNOWN
def test_sparse_inputs_equal_dense_inputs(kernel):
    X, Z = inputs(30), inputs(8, seed=3)
    X[X < 0], Z[Z < 0] = 0.0, 0.0
    Z[0] = X[0]
    W, w, V = symmetric(30), np.arange(30.0), np.random.default_rng(2).normal(size=(30, 8))
    for csr in (sparse.csr_matrix, sparse.csr_array):
        S, T = csr(X), csr(Z)
        assert_allclose(kernels.gram(kernel, S), kernels.gram(kernel, X), rtol=1e-12)
        assert_allclose(kernels.gram(kernel, S, T), kernels.gram(kernel, X, Z), rtol=1e-12)
        assert_allclose(kernels.diag(kernel, S), kernels.diag(kernel, X), rtol=1e-12)
        assert_allclose(kernels.contract(kernel, S, W), kernels.contract(kernel, X, W), rtol=1e-9)
        assert_allclose(kernels.contract_cross(kernel, S, T, V), kernels.contract_cross(kernel, X, Z, V), rtol=1e-9)
        assert_allclose(kernels.contract_diag(kernel, S, w), kernels.contract_diag(kernel, X, w), rtol=1e-12)
        inputs_gradient = kernels.contract_inputs(kernel, S, T, V)
        assert isinstance(inputs_gradient, np.ndarray)
        assert_allclose(inputs_gradient, kernels.contract_inputs(kernel, X, Z, V), rtol=1e-9, atol=1e-12)


def test_sparse_inputs_of_a_foreign_kernel_are_refused():
    S = sparse.csr_array(inputs(5))
    with pytest.raises(ValueError, match=r"ExpSineSquared.*toarray"):
        kernels.gram(ConstantKernel() * ExpSineSquared(), S)
    with pytest.raises(ValueError, match=r"ExpSineSquared.*toarray"):
        kernels.diag(ExpSineSquared(), S)


@pytest.mark.parametrize(
    "kernel",
    [
        ConstantKernel(2.0) * RBF(np.full(50, 7.0)) + ConstantKernel(0.3),
        ConstantKernel(2.0) * Matern(np.full(50, 7.0), nu=2.5) + ConstantKernel(0.3),
        ConstantKernel(2.0) * RBF(7.0) + ConstantKernel(0.3) * Matern(np.full(50, 7.0), nu=1.5),
    ],
    ids=["rbf", "matern52", "sum"],
)
def test_peak_memory_stays_below_six_matrices(kernel):
    """scikit-learn's eval_gradient holds an (n, n, d) array: 50 matrices here."""
    n = 2000
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, 50)), np.ones((n, n))
    tracemalloc.start()
    try:
        kernels.evaluate(kernel, X).contract(W)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * 8 * n**2


@pytest.mark.parametrize("name", ["default", "rbf", "matern2.5_ard"])
def test_a_gram_matrix_takes_the_memory_of_one_matrix(name):
    n, kernel = 1500, KERNELS[name]
    X = inputs(n)
    kernels.gram(kernel, X)  # compile
    tracemalloc.start()
    try:
        kernels.gram(kernel, X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A strip of distances, a block of sums and their temporaries are a few MiB.
    assert peak < 1.5 * 8 * n**2


def test_wrong_shapes_are_named():
    X = inputs(5)
    with pytest.raises(ValueError, match="2 length scales but the inputs have 3 features"):
        kernels.gram(RBF([1.0, 2.0]), X)
    with pytest.raises(ValueError, match=r"shape \(5, 5\), not \(5, 4\)"):
        kernels.contract(RBF(), X, np.ones((5, 4)))
    with pytest.raises(ValueError, match=r"shape \(5, 3\), not \(3, 5\)"):
        kernels.contract_inputs(RBF(), X, X[:3], np.ones((3, 5)))
    with pytest.raises(ValueError, match="3 features but Y has 2"):
        kernels.gram(RBF(), X, X[:, :2])
    with pytest.raises(ValueError, match="two dimensions"):
        kernels.gram(RBF(), X[0])


def test_no_new_rows_give_an_empty_matrix():
    X = inputs(5)
    assert kernels.gram(KERNELS["default"], X[:0], X).shape == (0, 5)
    assert kernels.diag(KERNELS["default"], X[:0]).shape == (0,)


@pytest.mark.parametrize(("n", "m", "max_bytes"), [(0, 5, 100), (7, 3, 48), (7, 3, 1), (10, 0, 100), (5, 10, 10**9)])
def test_row_blocks_cover_the_rows_within_the_budget(n, m, max_bytes):
    blocks = list(kernels.row_blocks(n, m, max_bytes))
    assert_array_equal(np.concatenate([np.arange(n)[s] for s in blocks] + [np.zeros(0, int)]), np.arange(n))
    for s in blocks:
        rows = s.stop - s.start
        assert rows >= 1
        assert rows == 1 or rows * m * 8 <= max_bytes


RADIAL = pytest.mark.parametrize(
    "kernel", [RBF(0.3), Matern(0.5, nu=1.5), Matern(0.5, nu=2.5)], ids=["rbf", "matern32", "matern52"]
)


@RADIAL
def test_compiled_loops_agree_with_numpy(kernel):
    """Matrices of 2^18 entries and more are compiled; far away the exponential underflows."""
    X = np.concatenate([inputs(598), 1e3 * np.eye(2, inputs(1).shape[1])])
    blocks = np.concatenate([kernels.gram(kernel, X[s], X) for s in (slice(0, 300), slice(300, 600))])
    assert X.shape[0] ** 2 > 2**18 > 300 * 600
    for K in (kernels.gram(kernel, X, X.copy()), kernels.gram(kernel, X), kernels.evaluate(kernel, X).K):
        assert_allclose(K, blocks, rtol=1e-13, atol=1e-300)


@RADIAL
def test_compiled_loops_do_not_hide_what_is_no_number(kernel):
    X = inputs(600)
    X[3, 0] = np.nan
    with pytest.raises(kernels.KernelOverflowError):
        kernels.gram(kernel, X)
