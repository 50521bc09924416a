"""The encoder of tables: what columns are, and the inputs that they become."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softmargin.rows import CategoryColumn, ColumnEncoder, DateColumn, NumberColumn, spread_of
from softmargin.rows.columns import MAX_CATEGORIES

FRAME = pd.DataFrame(
    {
        "age": [20.0, None, 40.0, 60.0],
        "town": pd.Categorical(["Rome", "Oslo", None, "Rome"]),
        "size": [1, 2, 3, 4],
        "ok": [True, False, True, True],
        "born": pd.to_datetime(["2020-01-01", "2021-12-31 12:00", None, "2020-02-01"], format="ISO8601"),
    }
)


@pytest.mark.parametrize(
    "frame", [FRAME, pl.from_pandas(FRAME), FRAME.convert_dtypes()], ids=["pandas", "polars", "NA"]
)
def test_every_kind_of_column(frame):
    encoder = ColumnEncoder.of(frame)
    kinds = [NumberColumn, CategoryColumn, NumberColumn, NumberColumn, DateColumn]
    assert [type(column) for column in encoder.columns] == kinds
    sd = np.std([20, 40, 60])
    days = np.std([0, 364.5, 31])
    assert_array_equal(
        encoder.transform(frame),
        [
            [20, 0, 0, 1, 0, 0, 1, 1, 2020, 0, 0],
            [40, sd, 1, 0, 0, 0, 2, 0, 2021, 364.5, 0],
            [40, 0, 0, 0, 1, 0, 3, 1, 2020, 31, days],
            [60, 0, 0, 1, 0, 0, 4, 1, 2020, 31, 0],
        ],
    )
    assert encoder.layout.groups == (0, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7)
    assert encoder.layout.columns == (0, 0, 1, 2, 3, 4, 4, 4)
    assert encoder.input_names == [
        "age", "age is missing", "town", "size", "ok", "born (year)", "born (day of year)", "born is missing",
    ]  # fmt: skip


def test_unseen_values_are_other_and_gaps_without_example_too():
    encoder = ColumnEncoder.of(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 3.0]}))
    new = pd.DataFrame({"a": ["z", None], "b": [None, 5.0]})
    assert_array_equal(encoder.transform(new), [[0, 0, 1, 2], [0, 0, 1, 5]])


def test_too_many_values_leave_the_rarest_to_other():
    words = [f"w{i:03d}" for i in range(300)] + [f"w{i:03d}" for i in range(100, 300)]
    column = ColumnEncoder.of(pd.DataFrame({"word": words})).columns[0]
    assert len(column.categories) == MAX_CATEGORIES
    assert {f"w{i:03d}" for i in range(100, 300)} < set(column.categories)


@pytest.mark.parametrize("chosen", [["b"], [1], [False, True], "b"])
def test_categories_by_name_number_and_mask(chosen):
    frame = pd.DataFrame({"a": [1.5, 2.5, 1.5], "b": [10, 2, 10]})
    encoder = ColumnEncoder.of(frame, chosen)
    assert_array_equal(encoder.transform(frame), [[1.5, 0, 1, 0], [2.5, 1, 0, 0], [1.5, 0, 1, 0]])
    assert encoder.columns[1].categories == (2, 10)


def test_arrays_can_have_categories_too():
    X = [["u", 1.0], ["v", 2.0], ["u", np.nan]]
    encoder = ColumnEncoder.of(X, [0])
    assert_array_equal(encoder.transform(X), [[1, 0, 0, 1, 0], [0, 1, 0, 2, 0], [1, 0, 0, 1.5, 0.5]])


def test_the_order_of_rows_and_their_frame_do_not_matter():
    encoder = ColumnEncoder.of(FRAME)
    assert ColumnEncoder.of(FRAME.iloc[::-1]) == encoder == ColumnEncoder.of(pl.from_pandas(FRAME))


def test_python_objects_are_what_they_look_like():
    frame = pd.DataFrame(
        {
            "mixed": pd.Series([1, "1", "b"], dtype=object),
            "flag": pd.Series([True, None, False], dtype=object),
            "day": pd.Series([datetime.date(2000, 1, 2), None, datetime.date(1999, 1, 1)], dtype=object),
            "wait": pd.to_timedelta([1, 2, 3], unit="h"),
        }
    )
    encoder = ColumnEncoder.of(frame)
    assert [type(c).__name__[:4] for c in encoder.columns] == ["Cate", "Numb", "Date", "Numb"]
    assert encoder.columns[0].categories == ("1", "b")
    assert_array_equal(encoder.transform(frame)[:, -1], [3600, 7200, 10800])


def test_plain_arrays_stay_as_they_are():
    X = np.arange(6.0).reshape(3, 2)
    encoder = ColumnEncoder.of(X)
    assert encoder.is_plain and encoder.fill(X) is X
    assert_array_equal(encoder.fill(np.array([[np.nan, 7.0]])), [[2.0, 7.0]])
    # A sum of huge numbers is no gap.
    huge = np.array([[1e308, 0.0], [1e308, 0.0]])
    assert encoder.fill(huge) is huge


def test_spread_of_a_category_is_that_of_a_number_of_two_values():
    code = np.array([0, 1, 1, 0, 1])
    encoder = ColumnEncoder.of(pd.DataFrame({"n": code * 1.0, "c": code.astype(str)}))
    X = encoder.transform(pd.DataFrame({"n": code * 1.0, "c": code.astype(str)}))
    spread = spread_of(X, None, encoder.layout)
    # Two values differ by 1 as a number and by sqrt(2) as a category.
    np.testing.assert_allclose(spread, [code.std(), np.sqrt(2) * code.std(), 0, 0])


@pytest.mark.parametrize(
    ("frame", "chosen", "match"),
    [
        (pd.DataFrame({"a": [None, None]}, dtype=float), "from_dtype", "column 'a' has no values, only gaps"),
        (pd.DataFrame({"a": [None, None]}, dtype=str), "from_dtype", "column 'a' has no values, only gaps"),
        (pl.DataFrame({"a": [None, None]}), "from_dtype", "column 'a' has no values, only gaps"),
        (pd.DataFrame({"a": [np.inf, 1]}), "from_dtype", "infinity or a value too large .* in column 'a'"),
        (pl.DataFrame({"a": [[1], [2]]}), "from_dtype", "column 'a' has the type List"),
        (pd.DataFrame({"a": [[1], [2]]}), "from_dtype", "column 'a' has the type Object"),
        (pd.DataFrame({"a": ["x", "y"]}), None, "column 'a' holds words and is not among categorical_features"),
        (pd.DataFrame({"a": ["x", "y"]}), ["b"], r"categorical_features has 'b', which is no column of X \('a'\)"),
        (np.ones((2, 1)), [3], r"categorical_features has 3, which is no column of X \(0 to 0\)"),
        (np.ones((2, 1)), [True, False], "a mask of 2 columns, but X has 1"),
    ],
)
def test_what_cannot_be_used_is_named(frame, chosen, match):
    with pytest.raises(ValueError, match=match):
        ColumnEncoder.of(frame, chosen)


def test_columns_keep_their_kind():
    encoder = ColumnEncoder.of(FRAME)
    with pytest.raises(ValueError, match="column 'age' held numbers, but here it has a value that is none"):
        encoder.transform(FRAME.assign(age="old"))
    with pytest.raises(ValueError, match="column 'born' held dates, but here it has 'today'"):
        encoder.transform(FRAME.assign(born="today"))
    with pytest.raises(ValueError, match="X has 2 columns, but 5 were fitted"):
        encoder.transform(FRAME[["age", "town"]])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_weights_are_numbers_of_copies(kind):
    columns = {
        "n": [1.0, None, 3.0, 10.0, 11.0],
        "c": ["a", "b", "c", "a", None],
        "d": [datetime.date(2020 + k, 1, 1 + k) for k in range(5)],
    }
    weight = np.array([2.0, 1.0, 3.0, 0.0, 0.0])
    times = np.repeat(np.arange(5), weight.astype(int))
    copies = {name: [values[k] for k in times] for name, values in columns.items()}
    found, wanted = ColumnEncoder.of(kind(columns), weight=weight), ColumnEncoder.of(kind(copies))
    assert found.columns[1].categories == wanted.columns[1].categories == ("a", "b", "c")
    for one, other in zip((found.columns[0], found.columns[2].year), (wanted.columns[0], wanted.columns[2].year)):
        assert_allclose([one.median, one.gap, one.share], [other.median, other.gap, other.share], rtol=1e-12)
