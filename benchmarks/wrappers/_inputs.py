"""Tables as numbers, learnt on the training rows only: categories one-hot, gaps filled by the median with a flag."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

MAX_LEVELS = 30
"""Rarer values of a category than the most frequent ones of this number share one column."""


def make_encoder() -> Any:
    """A transformer from a data frame of numbers and categories to an array of numbers."""
    numbers = make_column_selector(dtype_include=np.number)  # type: ignore[list-item]
    words = make_column_selector(dtype_exclude=np.number)  # type: ignore[list-item]
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MAX_LEVELS, sparse_output=False)
    return make_column_transformer((SimpleImputer(strategy="median", add_indicator=True), numbers), (one_hot, words))


def as_frame(X: Any) -> pd.DataFrame:
    """A data frame with column names that are words, booleans as numbers, infinities as gaps."""
    frame = pd.DataFrame(X).rename(columns=str)
    flags = frame.select_dtypes(bool).columns
    return frame.astype(dict.fromkeys(flags, float)).replace([np.inf, -np.inf], np.nan)
