"""The stack of a regression whose rows are more than a sample: its other machines see the sample."""

import numpy as np
import pytest

from softmargin import BayesianSVR

from .cases import even, growing

NEW = np.linspace(0.02, 0.98, 60)[:, None]


@pytest.fixture
def sampled(set_policy):
    set_policy("size", sparse_above=200, sample=200)


@pytest.mark.usefixtures("sampled")
def test_the_machine_of_all_rows_is_mixed_with_those_of_the_sample():
    X, y = even(400)
    model = BayesianSVR(random_state=0).fit(X, y)
    assert model.inference_ == "sparse"
    assert [member.name for member in model.members_] == ["tube", "gaussian"]
    assert model.weights_.sum() == pytest.approx(1) and np.all(model.weights_ > 0)
    assert model.noise_std_ == pytest.approx(0.3, abs=0.06)  # 200 rows: 5 %, four times
    assert len(model.search_path_) > 0
    tube = BayesianSVR(random_state=0, stack=False).fit(X, y)
    fresh = even(2000, seed=1)
    # Both know 200 rows or more of a smooth function; they differ by the shape of the noise.
    assert model.log_predictive_density(*fresh).mean() > tube.log_predictive_density(*fresh).mean() - 0.02
    np.testing.assert_allclose(model.predict(NEW), np.sin(2 * np.pi * NEW[:, 0]), atol=0.2)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("noise", ["auto", "varying"])
def test_noise_that_varies_is_learnt_on_the_sample(noise):
    model = BayesianSVR(noise=noise, random_state=0).fit(*growing(500))
    assert model.inference_ == "sparse" and model.noise_ == "varying"
    assert [member.name for member in model.members_] == ["tube_varying", "gaussian_varying"]
    truth = 0.05 + 0.5 * NEW[:, 0]
    assert np.all(np.abs(np.log(model.predict_noise_std(NEW) / truth)) < 0.6)


@pytest.mark.usefixtures("sampled")
def test_gross_errors_have_their_numbers_among_all_rows():
    X, y = even(400)
    wrong = np.arange(7, 400, 40)
    y[wrong] = 1e4
    with pytest.warns(UserWarning, match=r"10 target\(s\) \(row 7, 47, 87, 127, 167, \.\.\.\)"):
        model = BayesianSVR(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.gross_errors_, wrong)
    np.testing.assert_allclose(model.predict(NEW), np.sin(2 * np.pi * NEW[:, 0]), atol=0.25)


def test_a_small_dask_collection_gives_the_model_of_the_same_rows_in_memory():
    da = pytest.importorskip("dask.array")
    X, y = growing(150)
    here = BayesianSVR(random_state=0).fit(X, y)
    there = BayesianSVR(random_state=0).fit(da.from_array(X, chunks=(40, 1)), da.from_array(y, chunks=40))
    assert [member.name for member in there.members_] == [member.name for member in here.members_]
    np.testing.assert_allclose(there.predict_interval(NEW), here.predict_interval(NEW), rtol=1e-6)
