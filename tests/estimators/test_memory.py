"""How much memory a fit takes."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, warnings
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from softmargin import BayesianSVC

warnings.simplefilter("ignore", ConvergenceWarning)
rng = np.random.default_rng(0)
X = rng.standard_normal((3000, 50))
y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(3000) > 0.3
model = BayesianSVC(max_iter=2).fit(X, y)
assert model.inference_ == "ep"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_three_thousand_rows_of_fifty_inputs_fit_in_one_and_a_half_gigabytes():
    """Both stages and the final posterior; more iterations take more time, not more memory."""
    printed = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert int(printed) * 1024 < 1.5e9
