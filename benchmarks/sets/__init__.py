"""The data sets: those that choices were made on (development) and those that none was made on (confirmation)."""

from benchmarks.sets._classification import CLASSIFICATION
from benchmarks.sets._regression import REGRESSION
from benchmarks.sets._split import MAX_TEST, Split, split_of, takes_part

__all__ = ["CLASSIFICATION", "MAX_TEST", "REGRESSION", "Split", "split_of", "takes_part"]
