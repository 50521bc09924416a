"""BayesianSVR as an estimator: scikit-learn's contract, units, weights, inputs and parameters."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.inference import EP, INFERENCES, REPRODUCTIONS
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.metrics import mean_log_predictive_density

from .cases import FIXED


# One check has fifteen random targets in thirty dimensions, which are rightly called imitated noise.
@pytest.mark.filterwarnings("ignore:the length scales learnt for 30 inputs:UserWarning")
@parametrize_with_checks([BayesianSVR(max_iter=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- units, weights, inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 5000.0), (1e-6, 0.0), (-1.0, 0.0)])
def test_units_of_y_do_not_matter(sinc, new, stacked, scale, shift):
    X, y = sinc
    model, other = stacked, BayesianSVR().fit(X, scale * y + shift)
    size = abs(scale)
    assert_allclose(other.C_ * size, model.C_, rtol=1e-6)
    assert_allclose(other.epsilon_ / size, model.epsilon_, rtol=1e-6)
    assert_allclose(other.noise_std_ / size, model.noise_std_, rtol=1e-6)
    assert_allclose((other.predict(new) - shift) / scale, model.predict(new), rtol=1e-6, atol=1e-6)
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
    order = given._fit.model.rows.first
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


def test_without_center_the_prior_has_mean_zero(sinc):
    """Gao, Gunn & Harris, section 2: theta is a Gaussian process with mean zero."""
    X, y = sinc
    kernel = ConstantKernel(4.0, "fixed") * RBF(1.0, "fixed")
    far, near = X.max() + np.array([[50.0]]), X[:5]
    zero, median = (
        BayesianSVR(kernel, C=20.0, epsilon=0.05, search=None, center=center).fit(X, y + 7.0)
        for center in (None, "median")
    )
    assert zero.y_center_ == 0 and median.y_center_ == pytest.approx(7.0 + np.median(y))
    assert zero.predict(far)[0] == pytest.approx(0.0, abs=1e-12)
    assert median.predict(far)[0] == pytest.approx(median.y_center_)
    assert_allclose(zero.predict(near), y[:5] + 7.0, atol=0.5)
    # The evidence is that of y itself under the prior of mean zero, whatever the scale.
    direct = EP().infer(kernel(X), y + 7.0, EpsilonInsensitive(20.0, 0.05)).log_evidence
    assert zero.log_evidence_ == pytest.approx(direct, abs=1e-4)
    assert direct < median.log_evidence_ - 5


def test_evidence_per_example(sinc):
    X, y = sinc
    model = BayesianSVR(FIXED, C=8.0, epsilon=0.1, search=None).fit(X, y, np.full(len(y), 2.0))
    assert model.log_evidence(per_example=True) == pytest.approx(model.log_evidence_ / (2 * len(y)))
    each, total = (model.log_evidence("laplace", per_example=flag) for flag in (True, False))
    assert each == pytest.approx(total / (2 * len(y)))


def test_learnt_nugget_takes_over_gaussian_noise(sinc):
    model = BayesianSVR(nugget=True).fit(*sinc)
    assert 0.06 < model.noise_std_ < 0.13
    assert model.noise_std_ > np.sqrt(model.likelihood_.noise_variance)


def test_warm_start_continues(sinc):
    X, y = sinc
    # Alone: searches of a stack have four digits of the evidence.
    model = BayesianSVR(warm_start=True, stack=False).fit(X, y)
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
