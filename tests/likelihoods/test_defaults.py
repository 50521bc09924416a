"""A likelihood that gives only `log_prob`: everything else follows, and agrees with the closed forms."""

from dataclasses import dataclass, make_dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from softmargin.inference import EP, HMC, MAP, Laplace, Sparse, Variational
from softmargin.likelihoods import (
    EpsilonInsensitive,
    Hinge,
    Likelihood,
    LikelihoodDefaults,
    Link,
    Logistic,
    SquaredHinge,
)

ROWS = 60


def bare(likelihood):
    """The same likelihood with nothing but its `log_prob`."""
    cls = type(likelihood)
    space = {name: getattr(cls, name) for name in ("name", "param_names", "is_classifier", "is_smooth")}
    space["log_prob"] = lambda self, y, f, weight=None: cls(**self.get_params()).log_prob(y, f, weight)
    fields = [(name, float, getattr(likelihood, name)) for name in cls.param_names]
    return make_dataclass(f"Bare{cls.__name__}", fields, bases=(LikelihoodDefaults,), namespace=space, frozen=True)()


def rows(likelihood, n=ROWS):
    rng = np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], n) if likelihood.is_classifier else rng.uniform(-3, 3, n)
    m = np.where(rng.random(n) < 0.5, rng.uniform(-30, 30, n), rng.uniform(-2, 2, n))
    return y, m, 10 ** rng.uniform(-3, 3, n), rng.choice([0.0, 0.3, 1.0, 7.0], n)


KNOWN = [Hinge(0.1), Hinge(80.0), SquaredHinge(3.0), Link(20.0), Logistic(5.0), EpsilonInsensitive(30.0, 0.3)]


@pytest.mark.parametrize("likelihood", KNOWN, ids=repr)
def test_integrals_agree_with_the_closed_forms(likelihood):
    y, m, v, w = rows(likelihood)
    for method in ("tilted_moments", "expected_log_prob"):
        found = getattr(bare(likelihood), method)(y, m, v, w)
        expected = getattr(likelihood, method)(y, m, v, w)
        for a, b in zip(found[:3], expected[:3]):
            assert_allclose(a, b, rtol=1e-7, atol=1e-8)
        # Parameters are differentiated by differences inside the integral: a kink costs digits.
        assert_allclose(found[3], expected[3], rtol=1e-4, atol=1e-4)
        assert all(np.all(a[..., w == 0] == 0) for a in found)


@pytest.mark.parametrize("likelihood", KNOWN, ids=repr)
def test_derivatives_agree_with_the_closed_forms(likelihood):
    y, _, _, w = rows(likelihood)
    f = np.linspace(-2.317, 2.221, len(y))
    found, expected = bare(likelihood).derivatives(y, f, w), likelihood.derivatives(y, f, w)
    scale = likelihood.C**2
    assert_allclose(found.slope, expected.slope, rtol=1e-8, atol=1e-8 * likelihood.C)
    assert_allclose(found.curvature, expected.curvature, rtol=1e-5, atol=1e-5 * scale)
    found, expected = (part.d_log_prob_d_params(y, f, w) for part in (bare(likelihood), likelihood))
    assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_third_derivative_and_map_curvature():
    likelihood, f = Logistic(2.0), np.linspace(-3, 3, 31)
    y = np.where(np.arange(31) % 2, 1.0, -1.0)
    exact = likelihood.map_curvature(y, f)
    for default in (bare(likelihood).map_curvature(y, f), LikelihoodDefaults.map_curvature(likelihood, y, f)):
        for a, b in zip(default, exact):
            assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_log_odds():
    f = np.linspace(-4, 4, 17)
    assert_array_equal(Hinge(2.0).log_odds(f), Link(2.0).log_odds(f))
    for likelihood in (Link(2.0), Logistic(2.0)):
        assert_allclose(bare(likelihood).log_odds(f), likelihood.log_odds(f), rtol=1e-12, atol=1e-12)


@dataclass(frozen=True)
class Skewed(LikelihoodDefaults):
    """Noise whose negative exponential flank is four times as steep as the positive one (a pinball loss)."""

    width: float = 0.5

    name: ClassVar[str] = "skewed"
    param_names: ClassVar[tuple[str, ...]] = ("width",)
    is_classifier: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = False
    param_units: ClassVar[dict[str, int]] = {"width": 1}

    def log_prob(self, y, f, weight=None):
        r = (y - f) / self.width
        return (1.0 if weight is None else weight) * (np.minimum(4 * r, -r) - np.log(1.25 * self.width))


def test_noise_of_any_shape():
    # e = width E with probability 4/5, -width E/4 otherwise, E exponential.
    noise = Skewed(0.5)
    assert noise.noise_variance == pytest.approx(0.5**2 * (2 * 0.8 + 2 * 0.2 / 16 - (0.8 - 0.2 / 4) ** 2), rel=1e-9)
    narrow = np.full(3, 1e-6)
    assert_allclose(
        noise.noise_cdf(np.array([-0.25, 0.0, 0.5]), narrow), [0.2 * np.exp(-2), 0.2, 1 - 0.8 / np.e], rtol=1e-5
    )
    for level in (0.05, 0.5, 0.975):
        s = np.array([1e-3, 0.3, 4.0])
        assert_allclose(noise.noise_cdf(noise.noise_quantile(level, s), s), level, rtol=1e-8)
    draws = noise.sample_noise((100_000,), np.random.RandomState(0))
    assert draws.var() == pytest.approx(noise.noise_variance, rel=0.03)
    assert noise.in_units(10.0) == Skewed(5.0)


def test_predictive_distribution_agrees_with_the_closed_form():
    tube, mean, variance = EpsilonInsensitive(10.0, 0.1), np.array([0.0, 1.0]), np.array([1e-4, 0.5])
    y, levels = np.array([0.2, -0.5]), np.array([0.025, 0.5, 0.9])
    exact, default = tube.predictive(mean, variance), bare(tube).predictive(mean, variance)
    assert_allclose(default.std, exact.std, rtol=1e-9)
    assert_allclose(default.cdf(y), exact.cdf(y), rtol=1e-8)
    assert_allclose(default.log_density(y), exact.log_density(y), rtol=1e-8)
    assert_allclose(default.quantile(levels), exact.quantile(levels), rtol=1e-7, atol=1e-9)
    assert (
        stats.kstest(
            bare(tube).sample_noise((2000,), np.random.RandomState(1)),
            lambda d: tube.noise_cdf(d, np.full_like(d, 1e-9)),
        ).pvalue
        > 1e-3
    )


def test_units_of_the_tube():
    assert EpsilonInsensitive(4.0, 0.5).in_units(2.0) == EpsilonInsensitive(2.0, 1.0)
    assert Hinge(2.0).in_units(5.0) == Hinge(2.0)


SAMPLER = HMC(n_chains=8, n_draws=20, n_warmup=20, check=False)


@pytest.mark.parametrize("inference", [MAP(), Laplace(), EP(), Variational(), SAMPLER], ids=lambda part: part.name)
def test_only_log_prob_runs_through_every_inference(inference):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 4, 12))
    K, y = 2 * np.exp(-0.5 * (x[:, None] - x) ** 2), np.where(x > 2, 1.0, -1.0)
    given, full = inference.infer(K, y, bare(Logistic(2.0))), inference.infer(K, y, Logistic(2.0))
    assert_allclose(given.mean, full.mean, rtol=1e-4, atol=1e-4)
    assert given.log_evidence == pytest.approx(full.log_evidence, abs=1e-4)
    assert isinstance(bare(Logistic()), Likelihood)


def test_only_log_prob_runs_through_inducing_points():
    from sklearn.gaussian_process.kernels import RBF

    x = np.linspace(0, 4, 60)[:, None]
    y = np.where(x[:, 0] > 2, 1.0, -1.0)
    given, full = (Sparse(8).infer_inputs(x, y, part, 4 * RBF(1.0)) for part in (bare(Logistic(2.0)), Logistic(2.0)))
    assert given.log_evidence == pytest.approx(full.log_evidence, abs=1e-6)


def test_without_log_prob_the_error_says_so():
    @dataclass(frozen=True)
    class Empty(LikelihoodDefaults):
        param_names: ClassVar[tuple[str, ...]] = ()

    with pytest.raises(TypeError, match="Empty must define log_prob"):
        Empty().tilted_moments(np.ones(1), np.zeros(1), np.ones(1))


@pytest.mark.parametrize("method", ["expected_log_prob", "tilted_moments"])
def test_a_gaussian_narrower_than_the_rounding_of_its_mean_is_a_point(method):
    # No panel had a node between its ends: "cannot reshape array of size 0".
    likelihood, y, m = bare(Logistic(1.0)), np.ones(2), np.array([3e6, -3e6])
    found = getattr(likelihood, method)(y, m, np.full(2, 1e-24), None)
    assert_allclose(found[0], likelihood.log_prob(y, m), rtol=1e-9, atol=1e-6)
    assert all(np.all(np.isfinite(part)) for part in found)
