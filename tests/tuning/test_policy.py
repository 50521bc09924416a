"""The default policy of the classifier: which of its two models it keeps."""

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from softmargin import BayesianSVC
from softmargin.criteria import LeaveOneOut, LinkEvidence, Problem, Span
from softmargin.datasets import make_ringnorm
from softmargin.inference import EP, MAP
from softmargin.kernels import evaluate
from softmargin.likelihoods import Hinge, Link
from softmargin.machines import rows_of
from softmargin.policy import POLICY, KernelPolicy, Rung, SoftmaxPolicy
from softmargin.rows import merge_rows
from softmargin.search import Evaluation
from softmargin.tuning import (
    Coordinates,
    End,
    FixedLikelihood,
    HyperPrior,
    LogParameters,
    bind_prior,
    choose_end,
    classifier_prior,
    is_better_link,
    plan_stages,
)

HANDICAP = POLICY.search.handicap


def learnt(C):
    """C is learnt, from this value."""
    return LogParameters(Hinge(C), ("C",), (POLICY.likelihood.C,))


def noisy_table(n, seed):
    """Two discrete inputs, labels with probability sigmoid of a table of random numbers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(float)
    p = expit(1.5 * rng.standard_normal((4, 3)))[X[:, 0].astype(int), X[:, 1].astype(int)]
    return X, (rng.random(n) < p).astype(int), p


def test_inputs_that_carry_both_labels_get_their_frequencies():
    X, y, p = noisy_table(300, 0)
    model = BayesianSVC().fit(X, y)
    assert isinstance(model.likelihood_, Link)
    # The frequency of a cell of about 25 rows has a standard error of 0.1.
    assert np.sqrt(np.mean((model.predict_proba(X)[:, 1] - p) ** 2)) < 0.1


def test_well_separated_classes_get_the_margin_model_and_overlapping_ones_the_link_model():
    assert isinstance(BayesianSVC().fit(*make_ringnorm(150, random_state=0)).likelihood_, Hinge)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    y = (rng.random(150) < expit(X[:, 0])).astype(int)
    assert isinstance(BayesianSVC().fit(X, y).likelihood_, Link)


def test_a_chosen_criterion_keeps_the_chosen_loss():
    X, y, _ = noisy_table(60, 1)
    assert isinstance(BayesianSVC(criterion="evidence").fit(X, y).likelihood_, Hinge)
    assert isinstance(BayesianSVC(inference="variational").fit(X, y).likelihood_, Hinge)


def test_contested_is_the_weight_on_inputs_with_several_targets():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [2.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    # Rows at 2 agree: only the two at 0 do not.
    assert merge_rows(X, y, None).contested() == 2 / 6
    assert merge_rows(csr_array(X), y, None).contested() == 2 / 6
    assert merge_rows(X, y, np.array([3.0, 1, 1, 1, 1, 1])).contested() == 4 / 8
    assert merge_rows(X[:1], y[:1], None).contested() == 0


def test_classes_that_one_problem_calls_the_rest_do_not_contest_an_input():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0]])
    rows = merge_rows(X, np.array([0.0, 1.0, 2.0, 1.0, 2.0, 0.0]), None)
    # Against class 0 the rows at 1 are both "the rest"; those at 0 are not.
    assert rows_of(rows, (-1, 0), precomputed=False).contested() == 3 / 6
    assert rows_of(rows, (-1, 1), precomputed=False).contested() == 5 / 6
    assert rows_of(rows, (0, 1), precomputed=False).contested() == 2 / 4


def two_inputs_and_a_constant():
    """Coordinates of two inputs that vary and one that does not, and their spread."""
    kernel = ConstantKernel(1.0) * RBF([1.0, 2.0, 1.0]) + ConstantKernel(0.5)
    return Coordinates(kernel, learnt(1.0), 3), np.array([1.0, 4.0, 0.0])


def test_the_margin_model_keeps_the_relative_length_scales():
    coordinates, spread = two_inputs_and_a_constant()
    link, margin = plan_stages(None, coordinates, spread)
    assert link.criterion == LinkEvidence() and link.directions is None
    assert margin.criterion == LeaveOneOut()
    moved = dict(zip(coordinates.names, margin.directions.astype(bool)))
    # One direction for both scales, none for that of the constant, one for each of the others.
    assert {name: np.flatnonzero(row).tolist() for name, row in moved.items()} == {
        "amplitude": [1],
        "length_scale_0": [0],
        "length_scale_1": [0],
        "length_scale_2": [],
        "offset": [2],
        "C": [3],
    }


def test_one_length_scale_leaves_nothing_to_keep():
    coordinates = Coordinates(ConstantKernel(1.0) * RBF(1.0), learnt(1.0), 1)
    assert [(s.criterion, s.directions) for s in plan_stages(None, coordinates, np.ones(1))] == [
        (LinkEvidence(), None),
        (LeaveOneOut(), None),
    ]
    assert [s.criterion for s in plan_stages(Span(), coordinates, np.ones(1))] == [Span()]


@pytest.fixture
def contest():
    """Coordinates, rows, the evaluation of a link model and its leave-one-out."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 1))
    y, weight = np.where(rng.random(30) < expit(2 * X[:, 0]), 1.0, -1.0), rng.integers(1, 3, 30).astype(float)
    coordinates = Coordinates(ConstantKernel(1.0) * RBF(1.0), learnt(1.0), 1)
    rows = merge_rows(X, y, weight)
    K = evaluate(coordinates.kernel, rows.X).K
    posterior = EP().infer(K, rows.y, Link(1.0), rows.weight)
    loo = LeaveOneOut()(posterior, Problem(K, rows.y, Link(1.0), rows.weight)).value
    return coordinates, rows, Evaluation(coordinates.start, 0.0, None, 0.0, posterior), loo


def test_the_margin_model_must_win_by_the_handicap(contest):
    coordinates, rows, link, loo = contest

    def is_kept(margin_loo):
        return is_better_link(link, link._replace(criterion=margin_loo), coordinates, rows)

    assert is_kept(loo + 0.99 * HANDICAP)
    assert not is_kept(loo + 1.01 * HANDICAP)
    # Without cavities of EP nothing can be compared.
    other = link._replace(posterior=replace(link.posterior, cavity_mean=None))
    assert not is_better_link(other, link._replace(criterion=-1e6), coordinates, rows)


def test_the_best_link_model_of_all_starts_meets_the_best_margin_model(contest):
    coordinates, rows, link, loo = contest
    better, worse = link._replace(value=-10.0), link._replace(value=-20.0)

    def ends(margin_loo):
        margin = link._replace(criterion=margin_loo)
        return [End(margin, -5.0, [], link=worse), End(margin, -6.0, [], link=better)]

    kept = choose_end(ends(loo), coordinates, rows)
    assert kept.is_link
    assert kept.evaluation is better
    lost = choose_end(ends(loo + 2 * HANDICAP), coordinates, rows)
    assert not lost.is_link
    assert lost.score == -5.0
    # Without a link model there is nothing to choose.
    assert choose_end([End(link, 1.0, []), End(link, 2.0, [])], coordinates, rows).score == 2.0


def test_a_rare_class_widens_the_prior_of_the_offset():
    y = np.where(np.arange(20) < 2, 1.0, -1.0)
    assert classifier_prior(y, np.ones(20)).offset == classifier_prior(-y, np.ones(20)).offset == (0.0, 2.0)
    assert classifier_prior(y, np.where(y > 0, 9.0, 1.0)) == HyperPrior()


def test_the_normalised_likelihood_has_the_same_coordinates():
    link = learnt(3.0).normalised()
    assert link.at(link.start) == Link(pytest.approx(3.0))
    assert FixedLikelihood(Hinge(2.0)).normalised() == FixedLikelihood(Link(2.0))


def test_the_prior_of_an_amplitude_is_on_the_variance_it_gives():
    X = np.array([[3.0], [-4.0]])
    coordinates = Coordinates(ConstantKernel(1.0) * DotProduct(0, "fixed"), FixedLikelihood(Hinge()), 1)
    density = bind_prior(HyperPrior(amplitude=(0.0, 1.0)), coordinates, np.ones(1), X)
    # k0 gives f the mean variance 12.5 k0: the prior is highest where that is 1.
    assert density(np.array([-np.log(12.5)]))[1] == pytest.approx(0)
    assert bind_prior(None, coordinates, np.ones(1), X) is None


def test_the_link_model_comes_with_the_svm_and_its_naive_evidence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (rng.random(80) < expit(X[:, 0])).astype(int)
    model = BayesianSVC(stack=False).fit(X, y)
    assert model.likelihood_ == Link(model.C_)
    K = model.kernel_(X)
    sign = np.where(y > 0, 1.0, -1.0)
    # The evidence and the machine are those of the hinge, the score is that of the predictions.
    assert model.log_evidence_ == pytest.approx(EP().infer(K, sign, Hinge(model.C_)).log_evidence, abs=1e-6)
    assert model.loo_log_loss_ == pytest.approx(-model.criterion_value("loo") / 80, rel=1e-6)
    svm = MAP().infer(K, sign, Hinge(model.C_))
    np.testing.assert_allclose(model.margins_, sign * svm.mean, atol=1e-6)


def records():
    """Class, source of the class and names of the constants of every record of the policy."""
    for kind in (KernelPolicy, *(type(value) for value in vars(POLICY).values()), SoftmaxPolicy, Rung):
        yield kind, ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]


def sources():
    """(record, constant, the words that say where it comes from): its own, those of the next one, the record's."""
    for kind, node in records():
        fields = [k for k, line in enumerate(node.body) if isinstance(line, ast.AnnAssign)]
        for k in fields:
            own = next((line.value.value for line in node.body[k:] if isinstance(line, ast.Expr)), "")
            yield kind.__name__, node.body[k].target.id, own, inspect.getdoc(kind).partition("\n")[0]


def test_every_constant_names_a_benchmark_that_exists_or_a_paper():
    commands = pytest.importorskip("benchmarks.__main__").commands()
    for record, constant, own, whole in sources():
        named = re.findall(r"\[([a-z_]+)\]", own) or re.findall(r"\[([a-z_]+)\]", whole)
        assert named or re.search(r"\b(19|20)\d\d\b", own), f"{record}.{constant} names no benchmark and no paper"
        assert set(named) <= set(commands), f"{record}.{constant}: no benchmark is called {named}"


def test_a_benchmark_measures_other_values_of_any_constant(set_policy):
    constants = pytest.importorskip("benchmarks.studies.constants")
    set_policy("stack", kurtosis=POLICY.stack.kurtosis)  # put back afterwards
    constants.change("stack.kurtosis", 3.0)
    assert POLICY.stack.kurtosis == 3.0
    assert constants.record_of("least_squares.softmax.max_rows") == (POLICY.least_squares.softmax, "max_rows")
    with pytest.raises(SystemExit, match=r"the policy has no stack\.skewness"):
        constants.change("stack.skewness", 3.0)


def test_rooms_have_no_tuned_constants_of_their_own():
    """Numbers above a module's functions are tolerances, block sizes or orders of quadrature, which are listed here."""
    root = Path(sys.modules["softmargin"].__file__).parent
    pattern = re.compile(r"^([A-Z][A-Z_]+(?:, [A-Z_]+)*) = -?[\d(]", flags=re.MULTILINE)
    rooms = ("machines", "tuning", "least_squares", "search")
    texts = [file.read_text(encoding="utf-8") for room in rooms for file in (root / room).rglob("*.py")]
    found = {name for text in texts for name in pattern.findall(text)}
    assert found == {
        "BLOCK", "BLOCK_BYTES", "BLOCK_ROWS", "CLEAR", "CLOSE", "DIGITS", "EVIDENCES", "FORMAT", "LARGEST_HESSIAN",
        "MAX_BYTES", "MAX_NEWTON", "N_LATENT, N_TOP, N_TAIL", "N_NODES", "ROUNDING", "STEP", "UNSEEN",
    }  # fmt: skip
