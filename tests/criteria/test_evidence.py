"""The evidence as a criterion: the posterior's own, or that of the normalised class probability."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.criteria import CRITERIA, Evidence, LinkEvidence, Problem, get_criterion
from softmargin.inference import EP, Variational
from softmargin.likelihoods import Hinge, Link, SquaredHinge, SquaredLink


def gram(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return 3 * np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2)) + 0.3, np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize("inference", [EP(), Variational()], ids=lambda i: i.name)
def test_evidence_is_the_posteriors(inference):
    K, y = gram()
    posterior = inference.infer(K, y, Hinge(2.0))
    result = Evidence()(posterior, Problem(K, y, Hinge(2.0)))
    assert result.value == posterior.log_evidence
    assert result.d_gram is posterior.d_gram and result.d_params is posterior.d_params
    assert Evidence().likelihood(Hinge(2.0)) == Hinge(2.0)


def test_link_evidence_normalises_the_likelihood():
    assert LinkEvidence().likelihood(Hinge(2.0)) == Link(2.0)
    assert LinkEvidence().likelihood(SquaredHinge(2.0)) == SquaredLink(2.0)


def test_link_evidence_sums_to_one_over_labelings_and_the_naive_one_does_not():
    K, _ = gram(n=3)
    total = {}
    for likelihood in (Link(1.0), Hinge(1.0)):
        evidences = [
            EP().infer(K, np.array([a, b, c], dtype=float), likelihood).log_evidence
            for a in (-1, 1)
            for b in (-1, 1)
            for c in (-1, 1)
        ]
        total[likelihood.name] = np.exp(evidences).sum()
    # EP's error per labeling is within a few hundredths of a nat.
    assert total["link"] == pytest.approx(1, abs=0.03)
    assert total["hinge"] < 0.9


def test_small_C_gives_a_coin_flip_per_row():
    K, y = gram()
    for likelihood in (Hinge(1e-6), Link(1e-6)):
        assert_allclose(EP().infer(K, y, likelihood).log_evidence, -len(y) * np.log(2), atol=1e-3)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown criterion 'margin'.*'evidence'.*'loo'"):
        get_criterion("margin")


@pytest.mark.parametrize("name", CRITERIA)
def test_registered_under_its_own_name(name):
    assert get_criterion(name).name == name
    assert isinstance(CRITERIA[name].greater_is_better, bool)
