#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Sessions that continuous integration runs, and anyone can run: `nox -l` lists them, `nox -s lint` runs one.

`make test` and `make lint` run the same commands in `.venv`; what nox adds is a fresh environment for each session and
more than one Python.
"""

import os
import re
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

PYTHONS = ["3.11", "3.12", "3.13"]
NEWEST = PYTHONS[-1]
PROJECT = nox.project.load_toml("pyproject.toml")
WORKERS = os.environ.get("WORKERS", "2")
# BLAS threads inside parallel test workers fight for the cores.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
QUIET = ONE_THREAD | {"MPLBACKEND": "Agg"}
WHEEL_GOAL = 400_000
# Rooms with loops that numba compiles; without compilation, or with checks of every index, they are slow.
COMPILED = [
    "tests/likelihoods",
    "tests/kernels",
    "tests/svm",
    "tests/inference/test_ep.py",
    "tests/inference/test_gaussian.py",
    "tests/evidence/test_exact.py",
]


def install(session: nox.Session, *groups: str, extras: str = "all") -> None:
    """Install softmargin as an editable package, with extras and groups of development dependencies."""
    session.install("--upgrade", "pip>=25.1")
    wanted = [item for group in groups for item in ("--group", group)]
    session.install("--editable", f".[{extras}]", *wanted)


def run_tests(
    session: nox.Session, *chosen: str, options: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> None:
    """Run pytest with options; what stands after `--` on the command line replaces the chosen tests."""
    tests = session.posargs or chosen
    session.run(
        "python", "-m", "pytest", "-n", WORKERS, "--dist", "loadgroup", *options, *tests, env=QUIET | (env or {})
    )


@nox.session(python=PYTHONS, default=False)
def tests(session: nox.Session) -> None:
    """Run the tests as `make test` does; what stands after `--` goes to pytest."""
    install(session, "test")
    run_tests(session)


@nox.session(python=PYTHONS[0], default=False)
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest versions that `pyproject.toml` allows for what softmargin imports."""
    session.install("--upgrade", "pip>=25.1")
    extras = PROJECT["project"]["optional-dependencies"]
    floors = [*PROJECT["project"]["dependencies"], *(need for name in extras for need in extras[name])]
    pins = {re.sub(r"\[.*?\]", "", need).replace(">=", "==") for need in floors if ">=" in need}
    constraints = Path(session.create_tmp()) / "lowest.txt"
    # The lowest matplotlib uses names that pyparsing 3.3 deprecates, and the fuzz takes every warning for a leak.
    constraints.write_text("\n".join(sorted(pins | {"polars==1.0.0", "pyparsing<3.3"})))
    session.install("--editable", ".[all]", "--group", "test", "--constraint", str(constraints))
    # Old versions beside new ones of their own dependencies announce the end of what they use. So does pytest.
    quiet = ("-W", "ignore::DeprecationWarning", "-W", "ignore::pytest.PytestDeprecationWarning")
    run_tests(session, options=quiet)


@nox.session(python=NEWEST, default=False)
def nightly(session: nox.Session) -> None:
    """Run the tests with what NumPy, SciPy and scikit-learn will release next; warnings are not errors.

    `PIP_EXTRA_INDEX_URL` may name an index of nightly wheels; without one the newest pre-releases are taken.
    """
    install(session, "test")
    session.install("--upgrade", "--pre", "--only-binary", ":all:", "scipy", "scikit-learn")
    run_tests(session, options=("-W", "default"))


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Check style, types, layers, spelling and Markdown."""
    install(session, "test", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell")
    session.run("rumdl", "check", ".")


@nox.session(python=PYTHONS[0], default=False)
def workflows(session: nox.Session) -> None:
    """Check the workflows for what an attacker could use, and the project against Scientific Python's list."""
    session.install("zizmor", "sp-repo-review[cli]")
    session.run("zizmor", "--offline", "--persona=auditor", ".github")
    session.run("repo-review", ".")


@nox.session(python=PYTHONS[0], default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation with its gallery; warnings are errors."""
    install(session, "docs")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html", env=QUIET)


@nox.session(python=PYTHONS[0], default=False)
def fuzz(session: nox.Session) -> None:
    """Draw estimators, data and settings at random and look for wrong results; `-- --cases 500` draws so many."""
    install(session, "test")
    session.run("python", "-m", "tests.fuzz", *(session.posargs or ("--cases", "100")), env=QUIET)


@nox.session(python=PYTHONS[0], default=False)
def boundscheck(session: nox.Session) -> None:
    """Run the compiled loops with a check of every index."""
    install(session, "test")
    cache = str(Path(session.create_tmp()).resolve())
    run_tests(session, *COMPILED, env={"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache})


@nox.session(python=PYTHONS[0], default=False)
def nojit(session: nox.Session) -> None:
    """Run the compiled loops as plain Python."""
    install(session, "test")
    run_tests(session, *COMPILED, env={"NUMBA_DISABLE_JIT": "1"})


@nox.session(python=PYTHONS[0], default=False)
def threads(session: nox.Session) -> None:
    """Fit and predict from many threads at once, with BLAS threads as the machine has them."""
    install(session, "test")
    session.run("python", "-m", "pytest", *(session.posargs or ["tests/test_threads.py"]), env={"MPLBACKEND": "Agg"})


@nox.session(python=PYTHONS[0], default=False)
def soak(session: nox.Session) -> None:
    """Fit ten thousand small models in one process and watch its memory; `-- --fits 500` fits so many."""
    install(session, "test")
    session.run("python", "-m", "tests.soak", *session.posargs, env=QUIET)


@nox.session(python=PYTHONS[0], default=False)
def build(session: nox.Session) -> None:
    """Build sdist and wheel (into `-- FOLDER`), check their metadata, and fit a model from the wheel without extras."""
    session.install("build", "twine")
    dist = Path(session.posargs[0] if session.posargs else session.create_tmp() + "/dist").resolve()
    for old in dist.glob("*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", str(dist))
    session.run("python", "-m", "twine", "check", "--strict", *map(str, dist.glob("*")))
    (wheel,) = dist.glob("*.whl")
    session.install("--force-reinstall", str(wheel))
    readme = Path("README.md").read_text(encoding="utf-8")
    snippet = re.search(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    session.chdir(session.create_tmp())  # away from src
    session.run("python", "-W", "error", "-c", snippet[1], env=ONE_THREAD)
    size = wheel.stat().st_size
    session.log(f"the wheel has {size:,} bytes; the goal is {WHEEL_GOAL:,}")
    if size > WHEEL_GOAL:
        # Source alone: every file is deflated on its own. A release need not wait for it.
        session.warn(f"the wheel is {size - WHEEL_GOAL:,} bytes above the goal; look for what it need not hold")


if __name__ == "__main__":
    nox.main()
