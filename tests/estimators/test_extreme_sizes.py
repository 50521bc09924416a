"""Numbers of extreme sizes, kernels that cannot be learnt, rows far away: a clear error or a right answer."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, DotProduct, ExpSineSquared

from softmargin import BayesianSVC, BayesianSVR
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Logistic, SquaredHinge

from .cases import FIXED, two_classes

X, Y = two_classes(20, d=2)
T = X[:, 0] + 0.1 * Y
BOTH = [(BayesianSVC, Y), (BayesianSVR, T)]


def fixed(estimator, kernel=FIXED):
    return estimator(kernel, C=1.0, search=None)


@pytest.mark.parametrize(("estimator", "y"), BOTH)
@pytest.mark.parametrize(("scale", "words"), [(1e155, "numbers"), (1e300, "numbers"), (1e-200, "no number")])
def test_inputs_whose_squares_are_out_of_range(estimator, y, scale, words):
    for rows in (X * scale, csr_matrix(X * scale)):
        with pytest.raises(ValueError, match=rf"column 0 of X holds {words} .* whose squares are out of range"):
            fixed(estimator).fit(rows, y)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_large_and_small_inputs_are_as_good_as_others(scale):
    expected = BayesianSVC("rbf", C=1.0, search=None).fit(X, Y).predict_proba(X)
    found = BayesianSVC("rbf", C=1.0, search=None).fit(X * scale, Y).predict_proba(X * scale)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e160, 1e-200])
def test_targets_whose_squares_are_out_of_range(scale):
    with pytest.raises(ValueError, match=r"y holds .* whose squares are out of range"):
        fixed(BayesianSVR).fit(X, T * scale)


def test_a_dask_collection_is_held_to_the_same_sizes():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"block 0 .* column 0 of X holds numbers up to"):
        fixed(BayesianSVC).fit(da.from_array(X * 1e200, chunks=(5, 2)), Y)
    with pytest.raises(ValueError, match=r"block 0 .* y holds numbers up to"):
        fixed(BayesianSVR).fit(da.from_array(X, chunks=(5, 2)), da.from_array(T * 1e200, chunks=5))


@pytest.mark.parametrize(("estimator", "y"), BOTH)
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_a_far_new_row(estimator, y, kernel):
    model = fixed(estimator, kernel).fit(X, y)
    for distance in (1e6, 1e12):
        assert np.all(np.isfinite(model.predict(X[:3] * distance)))
        latent = np.array(model.latent_mean_and_variance(X[:3] * distance))
        assert np.all(np.isfinite(latent))
    if estimator is BayesianSVC:
        assert np.all(np.isfinite(model.predict_proba(X[:3] * 1e12)))
    with pytest.raises(ValueError, match="whose squares are out of range"):
        model.predict(X[:3] * 1e150)


def test_powers_of_inputs_that_overflow():
    with pytest.raises(ValueError, match="kernel='poly' takes powers of the raw inputs"):
        fixed(BayesianSVC, "poly").fit(X * 1e60, Y)
    with pytest.raises(ValueError, match="the kernel's largest value"):
        fixed(BayesianSVC, DotProduct() ** 2).fit(X * 1e90, Y)


@pytest.mark.parametrize(("estimator", "y"), BOTH)
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(1.0, (1e-5, np.inf)), r"the bounds \(1e-05, inf\) of length_scale .* must be finite"),
        (ConstantKernel(1.0, (0.0, 1.0)) * RBF(1.0), r"the bounds \(0, 1\) of k1__constant_value"),
        (ConstantKernel(0.0) * RBF(1.0), "k1__constant_value=0.0 in kernel=.* must be positive"),
        (CompoundKernel([RBF(1.0), RBF(2.0)]), "stands for several kernel matrices"),
    ],
    ids=["infinite", "zero", "value", "compound"],
)
def test_kernels_that_cannot_be_learnt(estimator, y, kernel, message):
    with pytest.raises(ValueError, match=message):
        estimator(kernel).fit(X, y)


@pytest.mark.parametrize(("estimator", "y"), BOTH)
def test_a_matrix_without_stored_entries(estimator, y):
    model = fixed(estimator).fit(csr_matrix(X.shape), y)
    assert np.all(np.isfinite(model.predict(csr_matrix((3, 2)))))


@pytest.mark.parametrize("estimator", [BayesianSVC, BayesianSVR])
def test_the_latent_function_of_an_unfitted_estimator(estimator):
    with pytest.raises(NotFittedError):
        estimator().latent_mean_and_variance(X)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_a_kernel_in_other_units_than_the_target(scale):
    with pytest.raises(ValueError, match=r"the kernel's largest value .*in units of the target's variance"):
        BayesianSVR(RBF(1.0)).fit(X, scale * T)


def test_a_kernel_that_vanishes_in_the_units_of_the_target():
    with pytest.raises(ValueError, match=r"in units of the target's variance.*starting values and bounds that fit"):
        BayesianSVR(ConstantKernel(1e-300, (1e-305, 1e-290)) * RBF(1.0)).fit(X, 1e45 * T)


@pytest.mark.parametrize("settings", [{}, {"inference": "map", "loss": "squared_hinge", "C": 30.0, "search": None}])
def test_a_kernel_that_is_no_covariance(settings):
    """ExpSineSquared of the distance in several inputs has negative eigenvalues."""
    rows = np.random.default_rng(1).standard_normal((12, 3))
    with pytest.raises(ValueError, match=r"not positive (semi-)?definite"):
        BayesianSVC(ExpSineSquared(1.0, 3.0), **settings).fit(rows, np.arange(12) % 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_weights_through_inducing_points():
    settings = {"inference": "sparse", "loss": "probit", "C": 1000.0, "search": None, "random_state": 0}
    model = BayesianSVC(**settings).fit(X, Y, sample_weight=np.full(len(Y), 1e12))
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("link", [Hinge, SquaredHinge, Logistic])
def test_integrals_of_what_is_no_number_end(link):
    one = np.ones(3)
    m, v = np.array([np.nan, np.inf, 0.0]), np.array([1.0, 1.0, np.nan])
    assert not np.any(np.isfinite(link().normalised().tilted_moments(one, m, v).log_z))


def test_an_error_gives_the_parameter_as_it_was_given():
    with pytest.raises(ValueError, match="C=2 is given, but loss='gaussian' has the parameters sigma"):
        BayesianSVR(C=2.0, loss="gaussian").fit(X, 7 * T)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (BayesianSVC(C=1e200), Y),
        (BayesianSVC(C=1e200, search=None), Y),
        (BayesianSVC(C=1e-200), Y),
        (BayesianSVC(loss=Logistic(1e200)), Y),
        (BayesianSVR(C=1e200), T),
        (BayesianSVR(C=1e-200, search=None), T),
        (BayesianSVR(C=1e60), 1e60 * T),
        (BayesianSVR(epsilon=1e200), T),
        (BayesianSVR(loss=EpsilonInsensitive(1.0, 1e200)), T),
    ],
    ids=str,
)
@pytest.mark.parametrize("inference", ["ep", "sparse"])
def test_parameters_whose_squares_are_out_of_range(model, y, inference):
    """Compiled panels of C = 1e200 never ended, and Python's own floats raised OverflowError or ZeroDivisionError."""
    with pytest.raises(ValueError, match=r"the square of (C|epsilon)=.* is out of range; give a number between"):
        model.set_params(inference=inference).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-90, 1e90])
@pytest.mark.parametrize(("estimator", "y"), BOTH)
def test_large_and_small_parameters(estimator, y, C):
    model = estimator(FIXED, C=C, search=None).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
