"""Classification sets. Development: used while the defaults were chosen. Confirmation: nothing was chosen on them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.datasets import load_digits, load_wine

from benchmarks.sets._frames import Table
from benchmarks.sets._split import DataSet
from softmargin import datasets

N_GENERATED = 2500


@dataclass(frozen=True)
class Keel:
    """A set of the KEEL collection."""

    name: str

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return _keel(self.name)


@lru_cache(maxsize=4)
def _keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    bunch = datasets.load_keel(name)
    return bunch.data, bunch.target


@dataclass(frozen=True)
class Given:
    """A set of scikit-learn or of the papers."""

    bunch: Callable[[], dict]

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        found = self.bunch()
        return found["data"], found["target"]


@dataclass(frozen=True)
class Generated:
    """A problem that is drawn anew for every seed."""

    make: Callable[..., tuple[np.ndarray, np.ndarray]]

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return self.make(N_GENERATED, random_state=seed)


DEVELOPMENT: dict[str, DataSet] = {
    "crabs": Given(datasets.load_crabs),
    "pima": Given(datasets.load_pima),
    "wdbc": Given(datasets.load_wdbc),
    "twonorm": Generated(datasets.make_twonorm),
    "ringnorm": Generated(datasets.make_ringnorm),
    "irrelevant": Generated(datasets.make_irrelevant),
    "wine": Given(load_wine),
    "digits": Given(load_digits),
    **{
        name: Keel(name)
        for name in (
            *("australian", "german", "heart", "banana", "saheart", "mammographic", "housevotes", "titanic"),
            *("vehicle", "segment", "vowel", "iris", "satimage", "penbased"),
        )
    },
}

CONFIRMATION: dict[str, DataSet] = {
    # Two classes.
    "attrition": Table("modeldata", "attrition", "Attrition"),
    "bdims": Table("openintro", "bdims", "sex"),
    "cells": Table("modeldata", "cells", "class", drop=("case",)),
    "college": Table("ISLR", "College", "Private"),
    "credit": Table("modeldata", "credit_data", "Status"),
    "email": Table("openintro", "email", "spam"),
    "hmda": Table("AER", "HMDA", "deny"),
    "leafshape": Table("DAAG", "leafshape", "arch", keep=("bladelen", "petiole", "bladewid", "latitude")),
    "mlc_churn": Table("modeldata", "mlc_churn", "churn"),
    "mroz": Table("carData", "Mroz", "lfp"),
    "orange_juice": Table("ISLR", "OJ", "Purchase"),
    "swiss_labor": Table("AER", "SwissLabor", "participation"),
    "wa_churn": Table("modeldata", "wa_churn", "churn"),
    "wells": Table("carData", "Wells", "switch"),
    **{name: Keel(name) for name in ("bands", "monk-2", "tic-tac-toe", "wisconsin")},
    # More classes.
    "bank_wages": Table("AER", "BankWages", "job"),
    "beps": Table("carData", "BEPS", "vote"),
    "chile": Table("carData", "Chile", "vote"),
    "diabetes_3": Table("heplots", "Diabetes", "group"),
    "fishing": Table("Ecdat", "Fishing", "mode", drop=("price", "catch")),
    "flavia": Table("modeldata", "leaf_id_flavia", "species"),
    "hawks": Table("Stat2Data", "Hawks", "Species", keep=("Wing", "Weight", "Culmen", "Hallux", "Tail")),
    "hpc": Table("modeldata", "hpc_data", "class"),
    "mode": Table("Ecdat", "Mode", "choice"),
    "olive": Table("dslabs", "olive", "area", drop=("region",)),
    "penguins": Table("palmerpenguins", "penguins", "species", drop=("island", "year")),
    **{name: Keel(name) for name in ("contraceptive", "led7digit", "texture")},
}

CLASSIFICATION = {"development": DEVELOPMENT, "confirmation": CONFIRMATION}
