"""Model files that cannot run code: skops with a published list of trusted types.

A model file is a zip archive: skops' description of the object, its arrays, and one member more, ``softmargin.json``,
with the format's number and the versions of the libraries that wrote it. Loading rebuilds objects of known types only
and calls nothing that the file names.
"""

import io
import json
import os
import platform
import tempfile
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from softmargin._version import __version__

FORMAT = 1
"""Number of the file format; a file with a higher one is refused."""

HEADER = "softmargin.json"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "skops")

_PARTS = {
    "inference": ("ep.EP", "hmc.HMC", "laplace.Laplace", "map.MAP", "mean_field.MeanField", "sparse.Sparse",
                  "variational.Variational"),
    "criteria": ("bounds.GACV", "bounds.JaakkolaHaussler", "bounds.SupportVectorCount", "evidence.Evidence",
                 "evidence.LaplaceEvidence", "evidence.LinkEvidence", "kwok.Kwok", "loo.LeaveOneOut",
                 "normalised.ConditionalEvidence", "normalised.JointEvidence", "radius_margin.RadiusMargin",
                 "span.SharpSpan", "span.Span", "svm_loo.SVMLeaveOneOut"),
    "search": ("gradient_ascent.GradientAscent", "lbfgs.LBFGS", "random_walk.RandomWalk"),
    "sampling": ("annealing.Schedule",),
    "likelihoods": ("epsilon_insensitive.EpsilonInsensitive", "hinge.Hinge", "link.Link", "link.SquaredLink",
                    "logistic.Logistic", "squared_hinge.SquaredHinge"),
    "tuning": ("coordinates.Coordinates", "coordinates.FixedLikelihood", "coordinates.LogParameters",
               "coordinates.NoiseShape", "hyperprior.HyperPrior", "model.LatentModel"),
    "machines": ("classification.ClassificationFit", "pairs.Combination", "pairwise.LeftOut",
                 "pairwise.PairwiseMachine", "regression.RegressionFit", "support.ClassSupport", "target.TargetUnits"),
}  # fmt: skip
"""The parts that an estimator may hold as parameters, and the records of a fit, by room."""

_KERNELS = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "Product", "RBF",
    "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip

TRUSTED_TYPES: tuple[str, ...] = (
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
    "numpy.dtype",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.compose._column_transformer.make_column_selector",
    "softmargin.rows.training.TrainingRows",
    "softmargin.estimators.classifier.BayesianSVC",
    "softmargin.estimators.regressor.BayesianSVR",
    "softmargin.inference.posterior.Posterior",
    "softmargin.sampling.diagnostics.Diagnostics",
    "softmargin.inference.sampled.SampledPosterior",
    "softmargin.inference.sparse.SparsePosterior",
    "softmargin.sampling.reference.Spectrum",
    "softmargin.sampling.chains.Draws",
    "softmargin.kernels._named.PrecomputedKernel",
    "softmargin.kernels._roles.Role",
    *(f"softmargin.{room}.{name}" for room, names in _PARTS.items() for name in names),
)
"""Types that a model file may hold beyond those that skops itself trusts: records of numbers, nothing that acts.

Give it to ``skops.io.load(path, trusted=list(softmargin.TRUSTED_TYPES))`` to read a file without `softmargin.load`.
"""


class ModelFileError(ValueError):
    """A model file cannot be read; the message says why and what to do."""


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to a file that is safe to load.

    The file appears whole or not at all: it is written beside its place, then moved there.

    Parameters
    ----------
    estimator : estimator
        `BayesianSVC`, `BayesianSVR`, or a scikit-learn pipeline around one.
    path : str or path
        By custom it ends in ``.skops``.

    Returns
    -------
    Path
        Where the file is.

    Examples
    --------
    >>> import tempfile, softmargin
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = softmargin.BayesianSVC(C=1, search=None).fit(X[50:], y[50:])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = softmargin.load(softmargin.save(model, f"{folder}/iris.skops"))
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{str(path)!r} is a directory; give the name of a file, such as 'model.skops'")
    buffer = io.BytesIO(_skops().dumps(estimator, compression=zipfile.ZIP_DEFLATED, compresslevel=1))
    foreign = _foreign(buffer.getvalue(), ())
    if foreign:
        raise ModelFileError(
            f"the estimator holds types that `load` would refuse: {', '.join(foreign)}. Save it with joblib, "
            "or with skops.io.dump if you trust these types"
        )
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(_header(estimator), indent=2))
    _write_atomically(path, buffer.getvalue())
    return path


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read an estimator written by `save`; nothing in the file can run code.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str
        Full names of further types that the file may hold, such as your own transformer's.

    Returns
    -------
    estimator
    """
    data, header = _read(path)
    foreign = _guard(path, header, _foreign, data, trusted)
    if foreign:
        raise ModelFileError(
            f"{str(path)!r} holds types that softmargin does not trust: {', '.join(foreign)}. Nothing was loaded. "
            "If you know who wrote the file and these types are yours, name them: "
            f"softmargin.load(path, trusted={foreign!r})"
        )
    return _guard(path, header, _skops().loads, data, [*TRUSTED_TYPES, *trusted])


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file says of itself: format, versions, the estimator's type. Loads nothing."""
    return _read(path)[1]


def _header(estimator: Any) -> dict[str, Any]:
    versions = {name: _version_of(name) for name in LIBRARIES}
    kind = type(estimator)
    return {
        "format": FORMAT,
        "estimator": f"{kind.__module__}.{kind.__qualname__}",
        "versions": {"softmargin": __version__, "python": platform.python_version(), **versions},
    }


def _version_of(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("model files need skops: pip install 'softmargin[persistence]'") from error
    return skops.io


def _foreign(data: bytes, trusted: Sequence[str]) -> list[str]:
    known = {*TRUSTED_TYPES, *trusted}
    return [name for name in _skops().get_untrusted_types(data=data) if name not in known]


def _read(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Any]]:
    """The file's bytes and its header, after every check that needs no skops."""
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{str(path)!r} is a directory; give the model file in it")
    if not path.exists():
        raise ModelFileError(f"there is no file {str(path)!r}; `softmargin fit ... --out {path.name}` writes one")
    data = path.read_bytes()
    damaged = f"{str(path)!r} is damaged or is not a model file; save the model again, or copy the file again"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if archive.testzip() is not None:
                raise ModelFileError(damaged)
            header = json.loads(archive.read(HEADER))
        number = int(header["format"])
        writer = str(header["versions"]["softmargin"])
    except KeyError as error:
        raise ModelFileError(
            f"{str(path)!r} was not written by softmargin.save ({HEADER} is missing or incomplete); "
            "load it with the library that wrote it"
        ) from error
    except ModelFileError:
        raise
    # A damaged archive fails in many ways: in the archive, its compression, its end or the JSON inside.
    except Exception as error:
        raise ModelFileError(damaged) from error
    if number > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} has format {number}, written by softmargin {writer}; this is softmargin {__version__}, "
            f"which reads formats up to {FORMAT}. Upgrade: pip install --upgrade softmargin"
        )
    return data, header


def _guard(path: Any, header: dict[str, Any], function: Any, *args: Any) -> Any:
    """Call a function of skops; whatever a file makes it raise becomes one clear error."""
    try:
        return function(*args)
    except ImportError:
        raise
    except Exception as error:
        versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items())
        raise ModelFileError(
            f"{str(path)!r} cannot be rebuilt here ({type(error).__name__}: {error}). It was written with {versions}; "
            "install these versions, or fit the model again"
        ) from error


def _write_atomically(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is private to the user; a model file follows the umask like any other file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
