"""How much memory a fit takes."""

import subprocess
import sys

import pytest

PROGRAM = """
import warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from softmargin import BayesianSVC

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 50))
y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(3000) > 0.3
model = BayesianSVC(max_iter=2).fit(X, y)
assert model.inference_ == "ep"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_three_thousand_rows_of_fifty_inputs_fit_in_one_and_a_half_gigabytes():
    """Both stages and the final posterior; more iterations take more time, not more memory."""
    assert peak(PROGRAM) < 1.5e9


WIDE = """
import warnings
import numpy as np
from scipy.sparse import random_array
from sklearn.exceptions import ConvergenceWarning
from softmargin import BayesianSVC

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(0)
X = {rows}
score = np.asarray(X[:, :50].sum(axis=1)).ravel()
BayesianSVC(max_iter=1).fit(X, score > np.median(score))
"""
DENSE = "rng.standard_normal((100, 5000))"
SPARSE = "random_array((500, 20000), density=0.01, rng=rng, format='csr')"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("rows", "most"), [(DENSE, 400e6), (SPARSE, 600e6)], ids=["dense", "csr"])
def test_memory_is_linear_in_the_number_of_inputs(rows, most):
    """A square matrix of 5,000 inputs takes 200 MB, one of 20,000 takes 3.2 GB; libraries alone take about 200 MB."""
    assert peak(WIDE.format(rows=rows)) < most


COMPILES = """
import numpy as np
from softmargin import BayesianSVC

X = np.random.default_rng(0).standard_normal((60, 3))
BayesianSVC(max_iter=1).fit(X, X[:, 0] > 0)
"""


# Of getrusage's figure a child inherits that of its parent, which has run other tests.
PRINTS = """
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0])
"""


def peak(program):
    """The largest memory of a process that runs a program, in bytes, with loops compiled before."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", COMPILES], check=True)
    command = [sys.executable, "-c", program + PRINTS]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) * 1024
