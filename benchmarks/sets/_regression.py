"""Regression sets. Development: used while the defaults were chosen. Confirmation: nothing was chosen on them.

In the sets "gross" one target in twenty, of training and test rows alike, is moved by 10 to 20 standard deviations of
the noise up or down.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

from benchmarks.sets._classification import N_GENERATED, Given
from benchmarks.sets._frames import Table
from benchmarks.sets._split import DataSet
from softmargin import datasets

FRIEDMAN = {1: (make_friedman1, 1.0), 2: (make_friedman2, 125.0), 3: (make_friedman3, 0.1)}


def _with_gross_errors(y: np.ndarray, sd: float, seed: int) -> np.ndarray:
    rng = np.random.RandomState(seed + 1000)
    move = rng.uniform(10, 20, size=len(y)) * np.where(rng.uniform(size=len(y)) < 0.5, -1, 1)
    return y + sd * np.where(rng.permutation(len(y)) % 20 == 0, move, 0)


@dataclass(frozen=True)
class Sinc:
    """Gao, Gunn & Harris' problem with noise of some shape."""

    noise: str
    gross: bool = False

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        X, y = datasets.make_sinc(N_GENERATED, noise=self.noise, random_state=seed)
        return X, _with_gross_errors(y, 0.1, seed) if self.gross else y


@dataclass(frozen=True)
class Friedman:
    """Friedman's problems 1 to 3."""

    number: int
    gross: bool = False

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        make, sd = FRIEDMAN[self.number]
        X, y = make(N_GENERATED, noise=sd, random_state=seed)
        return X, _with_gross_errors(y, sd, seed) if self.gross else y


DEVELOPMENT: dict[str, DataSet] = {
    **{f"sinc {noise}": Sinc(noise) for noise in ("gaussian", "laplace", "uniform", "outliers")},
    "sinc gross": Sinc("gaussian", gross=True),
    "friedman1 gross": Friedman(1, gross=True),
    **{f"friedman{i}": Friedman(i) for i in (1, 2, 3)},
    "diabetes": Given(load_diabetes),
    "boston": Given(datasets.load_boston),
    "mcycle": Given(datasets.load_mcycle),
}

CONFIRMATION: dict[str, DataSet] = {
    "auto": Table("ISLR", "Auto", "mpg", drop=("name",)),
    "bdims": Table("openintro", "bdims", "wgt"),
    "biomass": Table("modeldata", "biomass", "HHV", drop=("sample", "dataset")),
    "car_prices": Table("modeldata", "car_prices", "Price"),
    "concrete": Table("modeldata", "concrete", "compressive_strength"),
    "diamonds": Table("ggplot2", "diamonds", "price"),
    "hitters": Table("ISLR", "Hitters", "Salary"),
    "house_prices": Table("AER", "HousePrices", "price"),
    "quakes": Table("datasets", "quakes", "mag"),
    "sacramento": Table("modeldata", "Sacramento", "price", drop=("city", "zip")),
    "salaries": Table("carData", "Salaries", "salary"),
    "saratoga": Table("mosaicData", "SaratogaHouses", "price"),
    "wage": Table("ISLR", "Wage", "wage", drop=("logwage", "region")),
}

REGRESSION = {"development": DEVELOPMENT, "confirmation": CONFIRMATION}
