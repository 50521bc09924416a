"""Inputs for the likelihood tests, drawn for every class of the registry: a new class needs no new test."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from softmargin.likelihoods import LIKELIHOODS

NAMES = sorted(LIKELIHOODS)
CLASSIFIERS = [name for name in NAMES if LIKELIHOODS[name].is_classifier]
# Those with a total probability v(f) below one.
UNNORMALISED = [name for name in NAMES if hasattr(LIKELIHOODS[name], "log_v")]

drawn = settings(max_examples=50, deadline=None, derandomize=True)


class Case(NamedTuple):
    """One row: a likelihood, its target, a Gaussian N(m, v) over f, and a weight."""

    likelihood: object
    y: float
    m: float
    v: float
    w: float

    def rows(self):
        """(y, m, v, w) as arrays of shape (1,), as the likelihood wants them."""
        return tuple(np.array([x]) for x in (self.y, self.m, self.v, self.w))


def log_uniform(low, high):
    """Numbers between low and high, even in the logarithm."""
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


def likelihoods(name, C=(0.01, 100)):
    """Instances of a registered class; learnable parameters beside C lie between 1e-3 and 10."""
    cls = LIKELIHOODS[name]
    ranges = {
        parameter: log_uniform(*C) if parameter == "C" else log_uniform(1e-3, 10) for parameter in cls.param_names
    }
    return st.fixed_dictionaries(ranges).map(lambda values: cls(**values))


def targets(name):
    """Labels -1 and +1, or numbers."""
    return st.sampled_from([-1.0, 1.0]) if LIKELIHOODS[name].is_classifier else st.floats(-3, 3)


def cases(name):
    """Rows over the whole range in which the integrals are promised to be exact."""
    return st.builds(
        Case,
        likelihood=likelihoods(name),
        y=targets(name),
        m=st.one_of(st.floats(-50, 50), st.floats(-3, 3)),
        v=log_uniform(1e-6, 1e4),
        w=st.sampled_from([0.3, 1.0, 2.0, 7.0]),
    )


def with_parameter(likelihood, parameter, value):
    """The same likelihood with one parameter changed."""
    return replace(likelihood, **{parameter: value})
