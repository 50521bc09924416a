"""The papers' data sets with their splits, their generators, and a loader for the KEEL collection.

Loaders return a scikit-learn `Bunch`; generators return ``(X, y)``. The real data come with the packages of the
``papers`` extra: nothing is downloaded.
"""

from softmargin.datasets._generators import make_irrelevant, make_ringnorm, make_sinc, make_twonorm
from softmargin.datasets._keel import keel_names, load_keel, load_ringnorm, load_twonorm
from softmargin.datasets._loaders import load_boston, load_crabs, load_mcycle, load_pima, load_wdbc

__all__ = [
    "keel_names",
    "load_boston",
    "load_crabs",
    "load_keel",
    "load_mcycle",
    "load_pima",
    "load_ringnorm",
    "load_twonorm",
    "load_wdbc",
    "make_irrelevant",
    "make_ringnorm",
    "make_sinc",
    "make_twonorm",
]
