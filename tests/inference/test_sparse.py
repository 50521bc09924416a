"""Sparse inference: a lower bound that meets the full one, exact gradients, sums that do not depend on the blocks."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from softmargin.inference import EP, Variational
from softmargin.inference._sparse_sums import RowStatistic, WhitenedGaussian, WhitenedPrior, Workspace
from softmargin.inference.sparse import Sparse, inducing_points
from softmargin.kernels import diag, gram, gram_float32
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge
from softmargin.rows import LocalRows

KERNEL = ConstantKernel(5.0) * RBF([1.0, 1.5, 3.0]) + ConstantKernel(0.3)
LIKELIHOODS = [Hinge(2.0), SquaredHinge(1.5), EpsilonInsensitive(5.0, 0.1), Logistic(1.0)]


def problem(likelihood, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    y = f + 0.3 * rng.normal(size=n)
    return X, np.sign(y) if likelihood.is_classifier else y


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda l: l.name)
def test_bounds_are_ordered(likelihood):
    """Fewer inducing points lower the bound; the full bound is below the evidence (EP is within 0.1 nats of it)."""
    X, y = problem(likelihood)
    K = gram(KERNEL, X)
    full = Variational().infer(K, y, likelihood).log_evidence
    few, some = (Sparse(m).infer_inputs(X, y, likelihood, KERNEL).log_evidence for m in (15, 60))
    assert few < some < full < EP().infer(K, y, likelihood).log_evidence


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda l: l.name)
def test_inducing_points_at_the_rows_give_the_full_posterior(likelihood):
    X, y = problem(likelihood)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    full = Variational(tol=1e-9).infer(gram(KERNEL, X), y, likelihood, weight)
    sparse = Sparse(tol=1e-10).infer_inputs(X, y, likelihood, KERNEL, weight, Z=X)
    assert abs(sparse.log_evidence - full.log_evidence) < 1e-6
    new = X[:20] + 0.3
    K_star, k_diag = gram(KERNEL, new, X), diag(KERNEL, new)
    np.testing.assert_allclose(sparse.latent_mean(K_star), full.latent_mean(K_star), atol=1e-4)
    np.testing.assert_allclose(sparse.latent_variance(K_star, k_diag), full.latent_variance(K_star, k_diag), rtol=1e-4)
    covariance = sparse.latent_covariance(K_star, gram(KERNEL, new))
    np.testing.assert_allclose(covariance, full.latent_covariance(K_star, gram(KERNEL, new)), atol=1e-4)
    np.testing.assert_allclose(np.diag(covariance), sparse.latent_variance(K_star, k_diag), rtol=1e-8)
    target = y[:20]
    np.testing.assert_allclose(
        sparse.log_predictive(likelihood, target, K_star, k_diag),
        full.log_predictive(likelihood, target, K_star, k_diag),
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("likelihood", "share"), [(EpsilonInsensitive(5.0, 0.1), 0.02), (Hinge(2.0), 0.7), (Logistic(1.0), 0.7)]
)
def test_the_last_step_needs_no_pass(likelihood, share):
    """The posterior is nearer to the best one than the one that was evaluated, after as many passes."""
    X, y = problem(likelihood, n=3000)
    loose = Sparse(20, tol=0.5)
    best, ended = (solver.infer_inputs(X, y, likelihood, KERNEL) for solver in (Sparse(20, tol=1e-9), loose))
    # What a gradient is asked for stays where it was evaluated.
    evaluated = replace(loose, gradient=True).infer_inputs(X, y, likelihood, KERNEL)
    assert evaluated.n_iter == ended.n_iter + 1 < best.n_iter
    far, near = (np.abs(q.whitened_mean - best.whitened_mean).max() for q in (evaluated, ended))
    assert near < share * far


def central(function, x, step=1e-4):
    """Fourth-order central difference of t -> function(x, t) at 0."""
    return (8 * (function(x, step) - function(x, -step)) - (function(x, 2 * step) - function(x, -2 * step))) / (
        12 * step
    )


def moved(likelihood, name, step):
    """The likelihood with one parameter shifted."""
    return replace(likelihood, **{name: getattr(likelihood, name) + step})


@pytest.mark.parametrize("likelihood", [*LIKELIHOODS, Link(1.0)], ids=lambda l: l.name)
@pytest.mark.parametrize("kernel", [KERNEL, 4.0 * Matern([1.0, 2.0, 2.0], nu=1.5) + 0.5], ids=["rbf", "matern32"])
def test_gradients_match_finite_differences(likelihood, kernel):
    X, y = problem(likelihood, n=60)
    Z = inducing_points(X, kernel, 8)
    solver = Sparse(tol=1e-13, max_iter=500)
    here = replace(solver, gradient=True, gradient_inputs=True).infer_inputs(X, y, likelihood, kernel, Z=Z)

    def bound(likelihood=likelihood, kernel=kernel, Z=Z):
        return solver.infer_inputs(X, y, likelihood, kernel, Z=Z, start=here).log_evidence

    for a in range(len(kernel.theta)):
        unit = np.eye(len(kernel.theta))[a]
        slope = central(lambda u, t: bound(kernel=kernel.clone_with_theta(kernel.theta + t * u)), unit)
        assert here.d_theta[a] == pytest.approx(slope, rel=2e-5, abs=2e-5)
    for a, name in enumerate(likelihood.param_names):
        slope = central(lambda name, t: bound(likelihood=moved(likelihood, name, t)), name)
        assert here.d_params[a] == pytest.approx(slope, rel=2e-5, abs=2e-5)
    unit = np.random.default_rng(3).normal(size=Z.shape)
    slope = central(lambda u, t: bound(Z=Z + t * u), unit)
    assert np.vdot(here.d_Z, unit) == pytest.approx(slope, rel=2e-5, abs=2e-5)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda l: l.name)
def test_float32_blocks_agree_with_float64(likelihood):
    X, y = problem(likelihood)
    Z = inducing_points(X, KERNEL, 40)
    new = X[:50] + 0.1
    single, double = (
        Sparse(dtype=dtype, gradient=True, tol=1e-4).infer_inputs(X, y, likelihood, KERNEL, Z=Z)
        for dtype in ("float32", "float64")
    )
    K_star = gram(KERNEL, new, Z)
    # The jitter of float32 is 1e-6 of the variance 5.3: means move by far less than their standard deviations.
    np.testing.assert_allclose(single.latent_mean(K_star), double.latent_mean(K_star), atol=0.01)
    np.testing.assert_allclose(single.d_theta, double.d_theta, rtol=0.02, atol=0.02)
    assert single.log_evidence == pytest.approx(double.log_evidence, rel=1e-3)


def share_of_subnormal_squares(A):
    """Share of numbers whose squares are subnormal: on some processors one costs as much as a hundred others."""
    tiny = np.sqrt(float(np.finfo(A.dtype).smallest_normal))
    return np.mean((A != 0) & (np.abs(A) < tiny))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_negligible_weight_make_no_subnormal_products(dtype):
    """A narrow posterior gives rows away from the kink weights down to exp(-1000)."""
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(-3, 3, size=(4096, 2)), rng.uniform(-3, 3, size=(256, 2))
    y, prior = np.where(rng.uniform(size=4096) < 0.5, 1.0, -1.0), WhitenedPrior.at(RBF(2.0), Z, dtype)
    features, mean, memory = prior.features(X), rng.normal(size=256), Workspace()
    statistic = RowStatistic(prior, WhitenedGaussian(mean, 20 * np.eye(256)), Hinge(2.0))
    sums = statistic(X, y, None, features, memory)
    F = features.F.astype(np.float64)
    variance = features.residual + np.einsum("ij,ij->i", F, F) / 400
    w = -2 * statistic.likelihood.expected_log_prob(y, F @ mean, variance, None).d_var
    # Of the weighted rows many are such numbers; of those that the pass multiplies hardly any.
    assert share_of_subnormal_squares((np.sqrt(w)[:, None] * F).astype(dtype)) > 0.02
    assert share_of_subnormal_squares(memory.array("work", F.shape, np.dtype(dtype))) < 0.002
    # Nothing is lost but rounding.
    rtol = 1e-10 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(sums.precision, (F * w[:, None]).T @ F, rtol=rtol, atol=rtol * sums.precision.max())


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(0.1, nu=1.5), Matern(0.1, nu=2.5)], ids=str)
def test_local_kernels_make_no_subnormal_products(kernel):
    """Covariances of far points in single precision are zero instead, and so are those in the factor of Kzz."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(2048, 10)), rng.normal(size=(256, 10))
    local = WhitenedPrior.at(kernel, Z, "float32")
    assert share_of_subnormal_squares(gram(kernel, X, Z).astype(np.float32)) > 0.1
    assert share_of_subnormal_squares(gram_float32(kernel, X, Z)) < 0.01
    assert share_of_subnormal_squares(local.L.astype(np.float32)) > 0.1
    assert share_of_subnormal_squares(local.rows_factor) < 0.01
    exact = WhitenedPrior.at(kernel, Z, "float64", local.jitter).features(X).F
    np.testing.assert_allclose(local.features(X).F, exact, atol=1e-6)


def test_blocks_and_caches_do_not_matter():
    likelihood = Hinge(2.0)
    X, y = problem(likelihood)
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    Z = inducing_points(X, KERNEL, 20)
    solver = Sparse(gradient=True, gradient_inputs=True)
    one = solver.infer_inputs(X, y, likelihood, KERNEL, weight, Z)
    rows = LocalRows(X, y, weight, block_rows=17, cache_bytes=0)
    many = solver.infer_rows(rows, likelihood, KERNEL, Z)
    assert not rows._cache
    np.testing.assert_allclose(many.beta, one.beta, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(many.d_theta, one.d_theta, rtol=1e-8)
    np.testing.assert_allclose(many.d_Z, one.d_Z, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_memory_left_by_other_passes_does_not_matter(dtype):
    """Passes with more or fewer inducing points and rows leave memory of all sizes; sums that were given stay."""
    X, y = problem(Hinge())
    statistics = [
        RowStatistic(WhitenedPrior.at(KERNEL, X[:m], dtype), WhitenedGaussian.prior(m), Hinge(2.0)) for m in (9, 20)
    ]
    passes = [(LocalRows(X[:n], y[:n], block_rows=64, cache_bytes=0), s) for n in (40, 300, 70) for s in statistics]
    workspace = Workspace()
    shared = [rows.total(statistic, workspace) for rows, statistic in passes]
    for sums, (rows, statistic) in zip(shared, passes):
        expected = rows.total(statistic)
        blocks = [statistic(rows.X[k : k + 64], rows.y[k : k + 64], None) for k in range(0, rows.n_rows, 64)]
        assert sums.precision.dtype == blocks[0].precision.dtype == np.float64
        np.testing.assert_array_equal(sums.precision, expected.precision)
        np.testing.assert_allclose(sums.precision, sum(b.precision for b in blocks), rtol=1e-12)
        np.testing.assert_allclose(sums.force, sum(b.force for b in blocks), rtol=1e-10, atol=1e-12)
        assert sums.value == pytest.approx(sum(b.value for b in blocks), rel=1e-12)


def test_weights_stand_for_repeated_rows():
    likelihood = Hinge(2.0)
    X, y = problem(likelihood, n=80)
    copies = np.random.default_rng(2).integers(0, 4, size=len(y))
    Z = inducing_points(X, KERNEL, 10)
    repeated = Sparse().infer_inputs(np.repeat(X, copies, axis=0), np.repeat(y, copies), likelihood, KERNEL, Z=Z)
    weighted = Sparse().infer_inputs(X, y, likelihood, KERNEL, copies.astype(float), Z)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-9)


def test_a_warm_start_needs_few_passes():
    likelihood = Hinge(2.0)
    X, y = problem(likelihood)
    first = Sparse(30, tol=1e-8).infer_inputs(X, y, likelihood, KERNEL)
    again = Sparse(30, tol=1e-6).infer_inputs(X, y, likelihood, KERNEL, start=first)
    assert again.n_iter == 1 < first.n_iter


def test_it_says_when_passes_run_out():
    X, y = problem(Hinge(2.0))
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        assert not Sparse(10, max_iter=2).infer_inputs(X, y, Hinge(2.0), KERNEL).converged


def test_inducing_points_ignore_irrelevant_inputs():
    """Two groups in the first input; the second is wide but has a long length scale: one centre for each group."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 100), rng.normal(scale=50, size=200)])
    Z = inducing_points(X, RBF([0.1, 1e4]), 2)
    np.testing.assert_allclose(np.sort(Z[:, 0]), [0, 1])
    assert len(inducing_points(X[:5], RBF(1.0), 10)) == 5
    assert len(inducing_points(np.repeat(X[:3], 50, axis=0), RBF(1.0), 10)) == 3


def test_inducing_points_do_not_depend_on_the_order_of_rows_or_columns():
    X, scales = np.random.default_rng(0).normal(size=(40, 3)), np.array([0.5, 1.0, 2.0])
    Z = inducing_points(X, RBF(scales), 7)
    turned = inducing_points(X[::-1, ::-1], RBF(scales[::-1]), 7)[:, ::-1]
    np.testing.assert_allclose(turned[np.lexsort(turned.T[::-1])], Z, rtol=1e-12)
