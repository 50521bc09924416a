"""Parts as scikit-learn parameters: read, set, nested, cloned, pickled, shown."""

import pickle
from dataclasses import FrozenInstanceError

import pytest
from sklearn.base import clone

from softmargin.criteria import CRITERIA, ConditionalEvidence, LeaveOneOut, LinkEvidence, Span, SupportVectorCount
from softmargin.inference import EP, HMC, INFERENCES, MAP, Laplace, Sparse, Variational
from softmargin.likelihoods import LIKELIHOODS, EpsilonInsensitive, SquaredHinge
from softmargin.sampling import Schedule

PARTS = [*INFERENCES.values(), *CRITERIA.values(), *LIKELIHOODS.values(), Sparse, Schedule]


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_clone_and_pickle_give_equal_independent_copies(cls):
    part = cls()
    for copy in (clone(part), pickle.loads(pickle.dumps(part))):
        assert copy == part and copy is not part and type(copy) is cls
        for value in copy.get_params(deep=False).values():
            if hasattr(value, "set_params"):
                assert all(value is not other for other in part.get_params(deep=False).values())


@pytest.mark.parametrize("cls", PARTS, ids=lambda cls: cls.__name__)
def test_parameters_go_round(cls):
    part = cls()
    assert cls(**part.get_params(deep=False)) == part
    assert part.set_params(**part.get_params()) is part


def test_set_params_changes_in_place_and_reaches_within():
    sampler = HMC()
    assert sampler.set_params(n_draws=7, schedule__n_moves=5) is sampler
    assert (sampler.n_draws, sampler.schedule.n_moves) == (7, 5)
    assert HMC().schedule.n_moves != 5
    assert sampler.get_params()["schedule__n_moves"] == 5
    assert "schedule__n_moves" not in sampler.get_params(deep=False)
    with pytest.raises(FrozenInstanceError):
        sampler.n_draws = 8


def test_a_refused_value_changes_nothing():
    schedule = Schedule()
    with pytest.raises(ValueError, match="ess must lie between 0 and 1"):
        schedule.set_params(n_moves=9, ess=2.0)
    assert schedule == Schedule()
    with pytest.raises(ValueError, match=r"invalid parameter 'tools' for EP; its parameters are .*'tol'"):
        EP().set_params(tools=1)


def test_derived_values_follow_the_parameters():
    likelihood = SquaredHinge(C=2.0)
    assert likelihood.log_kappa != SquaredHinge(C=3.0).log_kappa
    assert likelihood.set_params(C=3.0).log_kappa == SquaredHinge(C=3.0).log_kappa


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(EP()) == "EP()"
    assert repr(HMC(n_draws=3, schedule=Schedule(n_moves=2))) == "HMC(n_draws=3, schedule=Schedule(n_moves=2))"
    assert repr(Span(eta=0.5)) == "Span(eta=0.5)"
    # A likelihood shows its parameters: they are learnt, and no value is the usual one.
    assert repr(EpsilonInsensitive()) == "EpsilonInsensitive(C=1.0, epsilon=0.1)"


@pytest.mark.parametrize("inference", [MAP(), Laplace(), EP()], ids=lambda part: part.name)
def test_gradients_can_be_left_out(inference):
    assert inference.gradients and not inference.without_gradients().gradients


def test_a_search_needs_fewer_digits_of_the_evidence_but_all_of_leave_one_out():
    assert EP().for_search(LinkEvidence()) == EP(tol=1e-4)
    assert EP(tol=1e-2).for_search(LinkEvidence()) == EP(tol=1e-2)
    assert EP(max_sweeps=9).for_search(LeaveOneOut()) == EP(max_sweeps=9, gradients=False)
    assert Variational().for_search(LeaveOneOut()) == Variational()


def test_a_criterion_names_its_inference_and_keeps_the_settings_of_that_kind():
    assert LeaveOneOut().inference_for(Variational()) == EP()
    assert LeaveOneOut().inference_for(EP(tol=1e-9)) == EP(tol=1e-9)
    assert SupportVectorCount().inference_for(EP()) == MAP()
    assert CRITERIA["evidence"]().inference_for(Variational(tol=1e-3)) == Variational(tol=1e-3)


def test_what_parts_say_of_themselves():
    assert {name for name, cls in CRITERIA.items() if cls.is_predictive} == {"loo"}
    assert ConditionalEvidence.resolution > 0 == LeaveOneOut.resolution
    assert not HMC().with_fresh_noise().reuse_random_numbers and EP().with_fresh_noise() == EP()
    assert not Sparse.needs_gram and all(cls.needs_gram for cls in INFERENCES.values())
    assert not Span().without_gradients().gradients and LeaveOneOut().without_gradients() == LeaveOneOut()
