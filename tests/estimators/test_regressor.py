"""BayesianSVR against brute force, simulation, scikit-learn's Gaussian process and scikit-learn's own contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import BayesianSVR
from softmargin.criteria import Evidence
from softmargin.datasets import make_sinc
from softmargin.inference import EP, HMC, INFERENCES, REPRODUCTIONS
from softmargin.kernels import make_kernel
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.metrics import coverage, mean_log_predictive_density
from softmargin.search import Coordinates, HyperPrior, NoiseShape, Objective

FIXED = ConstantKernel(0.8, "fixed") * RBF(2.0, "fixed") + ConstantKernel(0.3, "fixed")


@parametrize_with_checks([BayesianSVR(max_iter=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def sinc():
    return make_sinc(40, random_state=0)


@pytest.fixture(scope="module")
def model(sinc):
    return BayesianSVR().fit(*sinc)


@pytest.fixture(scope="module")
def new():
    return np.linspace(-14, 14, 23)[:, None]


# -- the mathematics ---------------------------------------------------------------------------------------------


def brute_force(K, y, likelihood):
    """Evidence and posterior mean by summing over a grid of latent values in every direction."""
    L = np.linalg.cholesky(K)
    u = np.linspace(-8, 8, 2001 if len(y) == 1 else 401 if len(y) == 2 else 121)
    grid = np.stack(np.meshgrid(*[u] * len(y), indexing="ij"), axis=-1).reshape(-1, len(y))
    f = grid @ L.T
    log_p = sum(likelihood.log_prob(np.full(len(f), y[i]), f[:, i]) for i in range(len(y)))
    density = np.exp(log_p - 0.5 * np.sum(grid**2, axis=1)) * ((u[1] - u[0]) / np.sqrt(2 * np.pi)) ** len(y)
    return np.log(density.sum()), density @ f / density.sum()


@pytest.mark.parametrize("y", [[1.3], [0.4, -0.5], [0.2, 1.1, -0.6]])
def test_evidence_and_mean_against_brute_force(y):
    X = np.arange(len(y))[:, None] * 1.2
    model = BayesianSVR(FIXED, C=4.0, epsilon=0.15, search=None).fit(X, y)
    likelihood = EpsilonInsensitive(4.0, 0.15)
    log_z, mean = brute_force(FIXED(X), np.array(y) - model.y_center_, likelihood)
    # One row: EP is exact and the grid is what errs. More rows: EP's own error.
    assert model.log_evidence_ == pytest.approx(log_z, abs=1e-4 if len(y) == 1 else 0.01)
    assert_allclose(model.predict(X) - model.y_center_, mean, atol=1e-4 if len(y) == 1 else 0.01)


def test_evidence_gradient_in_the_search_coordinates(sinc):
    X, y = sinc
    coordinates = Coordinates(make_kernel(None, 1, [X.std()]), NoiseShape(), 1)
    prior = HyperPrior.for_regression().bind(coordinates, np.array([X.std()]))

    def objective(z):
        return Objective(X, y / y.std(), None, coordinates, Evidence(), EP(tol=1e-10), prior)(z)

    z = coordinates.start + 0.1
    gradient = objective(z).gradient
    step = 1e-4 * np.eye(len(z))
    numeric = [(objective(z + d).value - objective(z - d).value) / 2e-4 for d in step]
    assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_ep_against_long_monte_carlo():
    """The paper's sinc example. 64 x 1200 nearly independent draws: means are good to 0.004 sd, variances to 0.6 %."""
    X, y = make_sinc(40, spaced=True, random_state=0)
    K, likelihood = np.exp(-((X - X.T) ** 2) / 4), EpsilonInsensitive(5.0, 0.1)
    ep = EP().infer(K, y, likelihood)
    sampled = HMC(n_draws=1200, evidence=False, check=False).infer(K, y, likelihood)
    assert np.max(np.abs(ep.mean - sampled.mean) / np.sqrt(sampled.variance)) < 0.02
    ratio = ep.variance / sampled.variance
    assert ratio.min() > 0.95 and ratio.max() < 1.05


def test_gaussian_nugget_alone_is_scikit_learns_gaussian_process(sinc, new):
    """With next to no epsilon-insensitive noise the model is GaussianProcessRegressor."""
    X, y = sinc
    svr = BayesianSVR(FIXED, C=2e3, epsilon=0.0, nugget=0.1, search=None).fit(X, y)
    gp = GaussianProcessRegressor(FIXED + WhiteKernel(0.01), optimizer=None).fit(X, y - svr.y_center_)
    mean, std = gp.predict(new, return_std=True)
    assert_allclose(svr.predict(new), mean + svr.y_center_, atol=1e-3)
    assert_allclose(svr.predict(new, return_std=True)[1], std, rtol=1e-3)
    # The nugget is noise: the function's own variance is without it.
    assert_allclose(svr.latent_mean_and_variance(new)[1], std**2 - 0.01, atol=1e-4)
    assert svr.noise_std_ == pytest.approx(0.1, rel=1e-3)
    assert svr.log_evidence_ == pytest.approx(gp.log_marginal_likelihood_value_, abs=0.01)


def test_white_kernel_is_a_nugget(sinc, new):
    given = BayesianSVR(FIXED + WhiteKernel(0.01, "fixed"), C=30.0, epsilon=0.05, search=None).fit(*sinc)
    asked = BayesianSVR(FIXED, C=30.0, epsilon=0.05, nugget=0.1, search=None).fit(*sinc)
    assert_allclose(given.predict(new, return_std=True), asked.predict(new, return_std=True), rtol=1e-10)
    assert_allclose(given.predict_interval(new), asked.predict_interval(new), rtol=1e-10)


def test_support_vector_machine_and_its_conditions(sinc, new):
    X, y = sinc
    model = BayesianSVR(inference="map", kernel=FIXED, C=5.0, epsilon=0.1, search=None).fit(X, y)
    own = model.y_center_ + model.kernel_(new, model.support_vectors_) @ model.dual_coef_[0]
    assert_allclose(model.predict(new), own, atol=1e-8)
    residual = y - model.predict(X)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    assert np.all(np.abs(alpha) <= 5 * (1 + 1e-9))
    # Outside the tube alpha = +-C, inside it is zero (Karush-Kuhn-Tucker).
    assert_allclose(alpha[np.abs(residual) > 0.1 + 1e-4], 5 * np.sign(residual[np.abs(residual) > 0.1 + 1e-4]))
    assert_allclose(alpha[np.abs(residual) < 0.1 - 1e-4], 0, atol=1e-9)
    assert_allclose(model.predict(new, return_std=True)[1], model.noise_std_)


# -- honest error bars -------------------------------------------------------------------------------------------


def test_recovers_the_noise():
    """Mean over 12 sets; a single estimate from 40 rows has a standard error of about 0.1/sqrt(60) = 0.013."""
    found = [BayesianSVR().fit(*make_sinc(40, random_state=seed)).noise_std_ for seed in range(12)]
    assert 0.09 < np.mean(found) < 0.11


def coverages(noise, n_sets, n):
    """Coverage at 50, 80 and 95 % of noisy targets at new rows, averaged over training sets."""
    levels = (0.5, 0.8, 0.95)
    inside = []
    for seed in range(n_sets):
        model = BayesianSVR().fit(*make_sinc(n, noise=noise, random_state=seed))
        X, y = make_sinc(2000, noise=noise, random_state=1000 + seed)
        inside.append([coverage(y, model.predict_interval(X, level)) for level in levels])
    return np.mean(inside, axis=0)


def test_coverage_of_a_few_sets():
    """Three sets of 100 rows: between sets coverage varies with a standard deviation of about 5 points."""
    assert_allclose(coverages("laplace", 3, 100), [0.5, 0.8, 0.95], atol=0.09)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gaussian", "laplace", "uniform"])
def test_coverage(noise):
    """Within 3 points of nominal for N = 200; the average over 20 sets has a standard error of about 0.8 points."""
    assert_allclose(coverages(noise, 20, 200), [0.5, 0.8, 0.95], atol=0.03)


def test_beats_the_gaussian_process_on_outliers():
    gains = []
    for seed in range(4):
        X, y = make_sinc(80, noise="outliers", random_state=seed)
        X_test, y_test = make_sinc(500, noise="outliers", random_state=100 + seed)
        kernel = ConstantKernel() * RBF(2.0) + WhiteKernel(0.1)
        gp = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
        ours = BayesianSVR().fit(X, y)
        gains.append([mean_log_predictive_density(m, X_test, y_test) for m in (ours, gp)])
    ours, gp = np.mean(gains, axis=0)
    assert ours > gp + 0.3


def test_ten_random_starts_reach_one_optimum(sinc):
    model = BayesianSVR(n_restarts=9, random_state=0, tol=1e-6).fit(*sinc)
    path = pd.DataFrame(model.search_path_)
    ends = path.groupby("start")["objective"].max()
    assert len(ends) == 10
    assert ends.max() - ends.min() < 0.01


def test_warns_when_the_kernel_imitates_noise():
    """Pure noise over ten inputs: half of the function's variance at a row cannot be told from the other rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 10)), rng.normal(size=80)
    short = ConstantKernel(1.0) * RBF(np.full(10, 1.0), (0.5, 2.0)) + ConstantKernel(0.1)
    with pytest.warns(UserWarning, match=r"10 inputs are so short .* noise_std_ is too small"):
        imitating = BayesianSVR(short, max_iter=5).fit(X, y)
    assert imitating.noise_std_ < 0.7
    # The same with longer scales or with given values is silent.
    long = ConstantKernel(1.0) * RBF(np.full(10, 8.0), (4.0, 100.0)) + ConstantKernel(0.1)
    BayesianSVR(long, max_iter=5).fit(X, y)
    BayesianSVR(short, search=None).fit(X, y)


def test_the_two_parts_of_the_error_bar(model, new):
    mean, std = model.predict(new, return_std=True)
    latent_mean, latent_variance = model.latent_mean_and_variance(new)
    assert_allclose(mean, latent_mean)
    assert_allclose(std**2, latent_variance + model.noise_std_**2)
    assert std[0] > 2 * std[11]
    covariance = model.predict(new, return_cov=True)[1]
    assert_allclose(np.diag(covariance), std**2, rtol=1e-8)
    assert np.linalg.eigvalsh(covariance)[0] > 0


def test_quantiles_densities_and_samples_are_of_one_distribution(model, new):
    q = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    quantiles = model.predict_quantiles(new, q)
    assert_allclose(quantiles[:, 2], model.predict(new), atol=1e-10)
    assert_allclose(model.predict_interval(new, 0.9), quantiles[:, [0, 4]])
    row = new[3:4]
    for k in (0, 3):
        mass = quad(lambda t: np.exp(model.log_predictive_density(row, [t])[0]), -8, quantiles[3, k], limit=300)[0]
        assert mass == pytest.approx(q[k], abs=1e-6)
    draws = model.sample_y(new, 4000, random_state=0)
    share = np.mean(draws[:, :, None] <= quantiles[:, None, :], axis=1)
    assert_allclose(share, np.tile(q, (len(new), 1)), atol=4.5 * np.sqrt(0.25 / 4000))
    latent = model.sample_latent(new, 4000, random_state=0)
    assert_allclose(latent.std(axis=1), np.sqrt(model.latent_mean_and_variance(new)[1]), rtol=0.06)


def test_leave_one_out_is_close_to_leaving_out(sinc, model):
    """Refit without some rows at the learnt hyperparameters: EP's cavities are good to a few hundredths of a nat."""
    X, y = sinc
    frozen = clone(model.kernel_).set_params(
        k1__k1__constant_value_bounds="fixed", k1__k2__length_scale_bounds="fixed", k2__constant_value_bounds="fixed"
    )
    shift = []
    for i in range(8):
        rest = np.arange(40) != i
        refit = BayesianSVR(frozen, C=model.C_, epsilon=model.epsilon_, search=None).fit(X[rest], y[rest])
        shift.append(refit.log_predictive_density(X[i : i + 1], y[i : i + 1])[0])
    m, v = model.posterior_.cavity_mean, model.posterior_.cavity_variance
    order = [int(np.flatnonzero(model._model.rows.first == i)[0]) for i in range(8)]
    scaled = (y[:8] - model.y_center_) / model.y_scale_
    ours = model._model.likelihood.tilted_moments(scaled, m[order], v[order]).log_z - np.log(model.y_scale_)
    assert_allclose(ours, shift, atol=0.1)
    assert model.criterion_value("loo") == pytest.approx(40 * model.loo_log_density_, abs=1e-4)


# -- units, weights, inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 5000.0), (1e-6, 0.0), (-1.0, 0.0)])
def test_units_of_y_do_not_matter(sinc, new, model, scale, shift):
    X, y = sinc
    other = BayesianSVR().fit(X, scale * y + shift)
    size = abs(scale)
    # An even number of rows has two medians: changing the sign swaps them, so that case is looser.
    rtol = 1e-6 if scale > 0 else 2e-2
    assert_allclose(other.C_ * size, model.C_, rtol=rtol)
    assert_allclose(other.epsilon_ / size, model.epsilon_, rtol=rtol)
    assert_allclose(other.noise_std_ / size, model.noise_std_, rtol=rtol)
    assert_allclose((other.predict(new) - shift) / scale, model.predict(new), rtol=rtol, atol=rtol)
    if scale > 0:
        assert_allclose(other.kernel_(new[:4]) / scale**2, model.kernel_(new[:4]), rtol=1e-6)
        assert other.log_evidence_ == pytest.approx(model.log_evidence_ - 40 * np.log(scale), abs=1e-6)
        assert other.loo_log_density_ == pytest.approx(model.loo_log_density_ - np.log(scale), abs=1e-6)
        assert other.search_path_[-1]["sigma"] == pytest.approx(other.noise_std_, rel=0.2)
        assert other.search_path_[-1]["objective"] == pytest.approx(
            model.search_path_[-1]["objective"] - 40 * np.log(scale), abs=1e-5
        )


@pytest.mark.parametrize("kernel", [RBF(2.0), RBF(2.0) * RBF(3.0) + WhiteKernel(0.01), DotProduct() ** 2 + RBF(2.0)])
def test_kernel_objects_are_in_the_units_of_y(sinc, kernel):
    """At fixed values the model does not depend on how y is scaled inside."""
    X, y = sinc
    given = BayesianSVR(kernel, C=10.0, epsilon=0.1, search=None).fit(X, y)
    assert_allclose(given.kernel_(X), kernel(X))
    order = given._model.rows.first
    own = EP().infer(kernel(X)[np.ix_(order, order)], y[order] - given.y_center_, EpsilonInsensitive(10.0, 0.1))
    assert_allclose(given.log_evidence_, own.log_evidence, atol=1e-5)


def test_weights_stand_for_repeated_rows(sinc, new):
    X, y = sinc
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, size=40)
    weighted = BayesianSVR(max_iter=5).fit(X, y, sample_weight=weight)
    repeated = BayesianSVR(max_iter=5).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict(new, return_std=True), repeated.predict(new, return_std=True), rtol=1e-9)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-9)
    assert weighted.loo_log_density_ == pytest.approx(repeated.loo_log_density_, rel=1e-9)
    assert not np.any(weight[weighted.support_] == 0)


@pytest.mark.parametrize("kernel", [None, "rbf", "ou", "matern32", "matern52", "linear", "poly", Matern(nu=1.5)])
def test_every_kernel(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.05 * rng.normal(size=25)
    model = BayesianSVR(kernel, max_iter=15).fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.all(np.isfinite(model.predict(X, return_std=True)[1]))


def test_finds_the_relevant_inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1.0, 10.0, 0.1, 1.0]
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] / 10 + 0.1 * rng.normal(size=80)
    relevance = BayesianSVR().fit(X, y).relevance_
    assert relevance[0] == 1 and relevance[1] > 5 * relevance[2:].max()


def test_sparse_rows(sinc, new):
    X, y = sinc
    X = np.where(np.abs(X) < 3, 0, X)
    dense = BayesianSVR(max_iter=3).fit(X, y)
    other = BayesianSVR(max_iter=3).fit(sparse.csr_matrix(X), y)
    assert_allclose(other.predict_interval(sparse.csr_matrix(new)), dense.predict_interval(new), rtol=1e-6)


def test_precomputed_predicts_means_only(sinc, new):
    X, y = sinc
    given = BayesianSVR("precomputed", C=10.0, epsilon=0.1, search=None).fit(FIXED(X), y)
    own = BayesianSVR(FIXED, C=10.0, epsilon=0.1, search=None).fit(X, y)
    assert_allclose(given.predict(FIXED(new, X)), own.predict(new), rtol=1e-8, atol=1e-10)
    assert given.log_evidence_ == pytest.approx(own.log_evidence_)
    with pytest.raises(ValueError, match="precomputed kernel does not give"):
        given.predict(FIXED(new, X), return_std=True)


def test_pipeline_frames_and_wrappers(sinc):
    X, y = sinc
    frame = pd.DataFrame({"a": X[:, 0], "b": X[::-1, 0]})
    fitted = BayesianSVR(max_iter=3).fit(frame, y)
    assert_array_equal(fitted.feature_names_in_, ["a", "b"])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a"]])
    pipeline = make_pipeline(StandardScaler(), BayesianSVR(max_iter=5)).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    assert pipeline.predict(X, return_std=True)[1].shape == (40,)
    target = TransformedTargetRegressor(BayesianSVR(max_iter=5), func=np.log, inverse_func=np.exp).fit(X, y + 2)
    assert target.score(X, y + 2) > 0.8
    several = MultiOutputRegressor(BayesianSVR(max_iter=3)).fit(X, np.stack([y, -2 * y], axis=1))
    assert several.predict(X).shape == (40, 2)
    scores = cross_val_score(BayesianSVR(max_iter=3), X, y, cv=3, scoring=mean_log_predictive_density)
    assert np.all(np.isfinite(scores))


# -- parameters --------------------------------------------------------------------------------------------------


def test_given_values_stay_and_the_rest_is_learnt(sinc):
    X, y = sinc
    only_C = BayesianSVR(C=20.0, max_iter=10).fit(X, y)
    only_epsilon = BayesianSVR(epsilon=0.1, max_iter=10).fit(X, y)
    assert_allclose([only_C.C_, only_epsilon.epsilon_], [20.0, 0.1])
    assert only_C.search_path_[0]["epsilon"] != only_C.epsilon_
    assert only_epsilon.search_path_[0]["C"] != only_epsilon.C_
    kernel = ConstantKernel(1.0, "fixed") * RBF(2.0, (1e-1, 1e2))
    learnt = BayesianSVR(kernel, max_iter=10).fit(X, y).kernel_
    assert learnt.k1.constant_value == 1.0 and learnt.k2.length_scale != 2.0


@pytest.mark.parametrize("inference", sorted(set(INFERENCES | REPRODUCTIONS) - {"hmc"}))
def test_every_inference(inference, new):
    # The paper's own iteration is slow: a few rows will do.
    X, y = make_sinc(5 if inference in REPRODUCTIONS else 12, random_state=0)
    model = BayesianSVR(FIXED, C=8.0, epsilon=0.1, inference=inference, search=None).fit(X, y)
    ep = BayesianSVR(FIXED, C=8.0, epsilon=0.1, search=None).fit(X, y)
    assert model.inference_ == inference
    assert np.all(np.isfinite(model.predict_interval(new)))
    assert_allclose(model.predict(X), ep.predict(X), atol=0.1)
    assert ep.log_evidence(method=inference) == pytest.approx(model.log_evidence_)


def test_learnt_nugget_takes_over_gaussian_noise(sinc):
    model = BayesianSVR(nugget=True).fit(*sinc)
    assert 0.06 < model.noise_std_ < 0.13
    assert model.noise_std_ > np.sqrt(model.likelihood_.noise_variance)


def test_warm_start_continues(sinc):
    X, y = sinc
    model = BayesianSVR(warm_start=True).fit(X, y)
    best = max(row["objective"] for row in model.search_path_)
    model.fit(X, 50 * y)
    assert model.search_path_[0]["objective"] == pytest.approx(best - 40 * np.log(50), abs=1e-6)


def test_same_seed_same_bits_and_pickle(sinc, new):
    X, y = sinc
    one, two = (BayesianSVR(n_restarts=1, max_iter=4, random_state=3).fit(X, y) for _ in range(2))
    assert_array_equal(one.predict_interval(new), two.predict_interval(new))
    assert_array_equal(pickle.loads(pickle.dumps(one)).predict_interval(new), one.predict_interval(new))


@pytest.mark.parametrize("y", [[3.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 5.0], [1e12, 1e12 + 1, 1e12 + 2]])
def test_tiny_and_constant_targets(y):
    X = np.arange(len(y))[:, None]
    model = BayesianSVR().fit(X, y)
    assert_allclose(model.predict(X), y, atol=3.0)
    assert np.all(np.isfinite(model.predict_interval(X)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -0.1}, r"epsilon=-0\.1 must be a finite number >= 0, or None"),
        ({"C": 0.0}, r"C=0\.0 must be a finite number > 0, or None"),
        ({"C": np.inf}, "C=inf must be a finite number"),
        ({"nugget": -1.0}, r"nugget=-1\.0 must be"),
        ({"nugget": True, "kernel": "precomputed"}, "cannot be combined with a precomputed kernel"),
        ({"criterion": "link_evidence"}, "criterion='link_evidence' is not allowed; choose one of 'auto', 'evidence'"),
        ({"inference": "magic"}, "inference='magic' is not allowed"),
        ({"kernel": "rfb"}, "kernel='rfb' is not allowed"),
        ({"max_iter": 0}, "max_iter=0 must be an integer >= 1"),
    ],
)
def test_bad_parameters(sinc, parameters, message):
    with pytest.raises(ValueError, match=message):
        BayesianSVR(**parameters).fit(*sinc)


def test_bad_data(sinc, model):
    X, y = sinc
    with pytest.raises(ValueError, match="NaN"):
        BayesianSVR().fit(X, np.where(np.arange(40) == 3, np.nan, y))
    with pytest.raises(ValueError, match="must not be negative"):
        BayesianSVR().fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="zero"):
        BayesianSVR().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="ask for one of them"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        model.predict_quantiles(X, [0.0, 0.5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(X, 95)
    with pytest.raises(ValueError, match="name='gacv' is not allowed"):
        model.criterion_value("gacv")


def test_search_path_of_a_kernel_with_two_amplitudes(sinc):
    """Names repeat (the last one stays); each value must be converted by its own unit."""
    X, y = sinc
    kernel = ConstantKernel(1e4) * RBF(2.0) + ConstantKernel(1e3) * RBF(9.0)
    model = BayesianSVR(kernel, max_iter=3).fit(X, 100 * y)
    first = model.search_path_[0]
    assert first["amplitude"] == pytest.approx(1e3)
    assert first["length_scale_0"] == pytest.approx(9.0)
    assert model.n_iter_ == len(model.search_path_)


def test_callbacks_see_evaluations_and_can_stop(sinc):
    """scikit-learn 1.9: a callback that returns True at the end of a task ends the search."""
    pytest.importorskip("sklearn.callback")

    class StopAfterThree:
        seen = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            StopAfterThree.seen += 1
            return StopAfterThree.seen >= 3

    model = BayesianSVR().set_callbacks(StopAfterThree()).fit(*sinc)
    assert model.n_iter_ <= 4 and np.all(np.isfinite(model.predict(sinc[0])))
