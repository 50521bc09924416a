"""The first minutes: what an import costs beside scikit-learn's own, and what the first fit costs over the second.

``python -m benchmarks first_fit``: every line is a process of its own, with an empty cache of compiled loops where the
first fit is measured. CPU seconds, the smallest of three runs. scikit-learn imports pandas where it is installed.
Goal: a first fit of 150 rows within 5 s of the second.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks.studies._report import table, write

REPEATS = 3
IMPORTS = {
    "import softmargin": "import softmargin",
    "scikit-learn's kernels and SVC": "import sklearn.gaussian_process.kernels, sklearn.svm",
    "from softmargin import BayesianSVC": "from softmargin import BayesianSVC",
}
IMPORTED = """
import time
{code}
print(time.process_time())
"""
FITTED = """
import time
import numpy as np
from softmargin import {name}
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
f = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=150)
y = f > 0.5 if "{name}" == "BayesianSVC" else f
for _ in range(2):
    begun = time.process_time()
    {name}().fit(X, y)
    print(time.process_time() - begun)
import sys
own = [m for name, m in sys.modules.items() if name.startswith("softmargin.")]
loops = {{id(v): v for m in own for v in vars(m).values() if getattr(v, "signatures", None)}}
print(len(loops))
"""


def run(code: str) -> list[float]:
    """The numbers that a new process prints, with a cache of its own."""
    with tempfile.TemporaryDirectory() as cache:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def main() -> None:
    """Print and keep the tables."""
    imports = {name: min(run(IMPORTED.format(code=code))[0] for _ in range(REPEATS)) for name, code in IMPORTS.items()}
    fits = []
    for name in ("BayesianSVC", "BayesianSVR"):
        runs = [run(FITTED.format(name=name)) for _ in range(REPEATS)]
        first, second = (min(found[k] for found in runs) for k in (0, 1))
        over = min(found[0] - found[1] for found in runs)
        fits.append({"estimator": name, "first": first, "second": second, "over": over, "loops": int(runs[0][2])})
    lines = [[name, f"{seconds:.2f}"] for name, seconds in imports.items()]
    text = table(["import", "CPU s"], lines)
    lines = [[f"`{f['estimator']}`", *(f"{f[k]:.2f}" for k in ("first", "second", "over")), f["loops"]] for f in fits]
    header = ["150 rows", "first fit, CPU s", "second fit", "first over second", "loops compiled or loaded"]
    write("first_fit", {"imports": imports, "fits": fits}, text + "\n\n" + table(header, lines))


if __name__ == "__main__":
    main()
