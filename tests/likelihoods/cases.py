"""Inputs for the likelihood tests, drawn for every class of the registry: a new class needs no new test."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from softmargin.likelihoods import LIKELIHOODS, LikelihoodDefaults

NAMES = sorted(LIKELIHOODS)
CLASSIFIERS = [name for name in NAMES if LIKELIHOODS[name].is_classifier]
# Those with a total probability v(f) below one.
UNNORMALISED = [name for name in NAMES if not LIKELIHOODS[name].is_normalised]
# Those that differentiate their tilted moments in closed form.
WITH_SLOPES = [name for name in NAMES if LIKELIHOODS[name].tilted_slopes is not LikelihoodDefaults.tilted_slopes]

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


def sharp(name, C):
    """A registered likelihood of inverse noise level C, whatever its parameters are called."""
    cls = LIKELIHOODS[name]
    if "C" in cls.param_names:
        return cls(C=C)
    return cls(**{parameter: 1 / C for parameter in cls.param_names if cls.param_units.get(parameter) == 1})


def likelihoods(name, C=(0.01, 100)):
    """Instances of a registered class over a wide range of its parameters."""
    cls = LIKELIHOODS[name]

    def values(parameter):
        if parameter == "C":
            return log_uniform(*C)
        if parameter == "epsilon":
            return log_uniform(1e-3, 10)
        low, high = cls.param_bounds[parameter]
        return log_uniform(max(low, 1 / C[1]), min(high, 1 / C[0]))

    return st.fixed_dictionaries({name: values(name) for name in cls.param_names}).map(lambda v: cls(**v))


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
