"""The regression problem that several files look at."""

import numpy as np
import pytest

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc


@pytest.fixture(scope="session")
def sinc():
    return make_sinc(40, random_state=0)


@pytest.fixture(scope="module")
def model(sinc):
    """The tube machine alone."""
    return BayesianSVR(stack=False).fit(*sinc)


@pytest.fixture(scope="module")
def stacked(sinc):
    """The default."""
    return BayesianSVR().fit(*sinc)


@pytest.fixture(scope="session")
def new():
    return np.linspace(-14, 14, 23)[:, None]
