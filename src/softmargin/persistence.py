"""Model files that cannot run code: skops with a published list of trusted types.

A model file is a zip archive: skops' description of the object, its arrays, and one member more, ``softmargin.json``,
with the format's number and the versions of the libraries that wrote it. Loading rebuilds objects of known types only
and calls nothing that the file names.
"""

import io
import json
import os
import platform
import stat
import sys
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from softmargin._archive import SCHEMA, ArchiveError, allowed_size, check_archive, unpacked_size
from softmargin._files import write_atomically
from softmargin._version import __version__
from softmargin.criteria import CRITERIA
from softmargin.estimators import BayesianSVC, BayesianSVR
from softmargin.inference import INFERENCES
from softmargin.kernels import Anova, ColumnKernel, PrecomputedKernel, RowScale, TiedKernel
from softmargin.likelihoods import LIKELIHOODS
from softmargin.search import SEARCHES

FORMAT = 1
"""Number of the file format; a file with a higher one is refused."""

HEADER = "softmargin.json"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "skops")

_KERNELS = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "Product", "RBF",
    "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip


_ABOVE = ("cli", "comparison", "displays", "report", "tables")
"""Rooms that no model is made of; whether they are loaded must not change what is trusted."""


_FORMER = ("softmargin.machines.classification.fit.ClassificationFit",)
"""Where our own types were when files of this format were written; they can still be imported from there."""


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _own_types() -> set[str]:
    """Estimators, registered components, and the dataclasses and named tuples of the rooms below: they do nothing.

    skops rebuilds them by setting attributes, without a call of their constructors.
    """
    registered = {*LIKELIHOODS.values(), *INFERENCES.values(), *SEARCHES.values(), *CRITERIA.values()}
    rooms = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("softmargin.") and name.split(".")[1] not in _ABOVE
    ]
    records = {
        kind
        for module in rooms
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and _is_record(kind)
    }
    kernels = {Anova, ColumnKernel, PrecomputedKernel, RowScale, TiedKernel}
    kinds = {BayesianSVC, BayesianSVR, *kernels, *registered, *records}
    return {_name(kind) for kind in kinds if isinstance(kind, type)}


TRUSTED_TYPES: tuple[str, ...] = tuple(
    sorted(
        {
            *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
            "numpy.dtype",
            _name(scipy.sparse.csr_array),
            _name(scipy.sparse.csr_matrix),
            "sklearn.compose._column_transformer._RemainderColsList",
            "sklearn.compose._column_transformer.make_column_selector",
            *_FORMER,
            *_own_types(),
        }
    )
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
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ModelFileError(f"{str(path)!r} is a device or a pipe; give the name of a file, such as 'model.skops'")
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError) as error:
        raise ModelFileError(f"only a fitted estimator can be saved; call fit first ({error})") from error
    buffer = io.BytesIO(_dump(estimator))
    foreign = _foreign(buffer.getvalue(), ())
    if foreign:
        raise ModelFileError(
            f"the estimator holds types that `load` would refuse: {', '.join(foreign)}. Save it with joblib, "
            "or with skops.io.dump if you trust these types"
        )
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(_header(estimator), indent=2))
    write_atomically(path, buffer.getvalue())
    return path


def _dump(estimator: Any) -> bytes:
    """The archive: packed, unless it packs so well that `load` would take it for a bomb."""
    data: bytes = _skops().dumps(estimator, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if unpacked_size(archive) <= allowed_size(len(data)):
            return data
    stored: bytes = _skops().dumps(estimator, compression=zipfile.ZIP_STORED)
    return stored


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read an estimator written by `save`; nothing in the file can run code.

    Parameters
    ----------
    path : str or path
        File that `save` wrote.
    trusted : sequence of str
        Full names of further types that the file may hold, such as your own transformer's.

    Returns
    -------
    estimator
        As it was when it was saved.
    """
    data, header = _read(path)
    _guard(path, header, _check_protocol, data)
    foreign = _guard(path, header, _foreign, data, trusted)
    if foreign:
        raise ModelFileError(
            f"{str(path)!r} holds types that softmargin does not trust: {', '.join(foreign)}. Nothing was loaded. "
            "If you know who wrote the file and these types are yours, name them: "
            f"softmargin.load(path, trusted={foreign!r})"
        )
    estimator = _guard(path, header, _skops().loads, data, [*TRUSTED_TYPES, *trusted])
    _guard(path, header, _try_out, estimator, len(data))
    return estimator


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


def _check_protocol(data: bytes) -> None:
    """Refuse a description newer than this skops writes: older versions of skops read it as if it were theirs."""
    given, newest = map(_protocol, (data, _skops().dumps(0)))
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= newest:
        raise ValueError(f"it has skops' protocol {str(given)[:40]}; this skops reads protocols up to {newest}")


def _protocol(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read(SCHEMA))["protocol"]


def _try_out(estimator: Any, size: int) -> None:
    """Predict one row: arrays that do not fit each other fail here and not in their user's hands."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    check_is_fitted(estimator)
    if not isinstance(last, (BayesianSVC, BayesianSVR)):
        return
    check_is_fitted(last)
    width = int(last.n_features_in_)
    if not 0 < width <= allowed_size(size):
        raise ValueError(f"a model of {width} columns cannot be in {size} bytes")
    # A row of gaps is a row of any table.
    row = np.zeros((1, width)) if getattr(last, "encoder_", None) is None else np.full((1, width), np.nan)
    with warnings.catch_warnings():
        # It has no column names.
        warnings.simplefilter("ignore", UserWarning)
        # Probabilities need every array; the most probable class may not.
        answer = last.predict_proba(row) if isinstance(last, BayesianSVC) else last.predict(row)
    if np.shape(answer)[:1] != (1,):
        raise ValueError("its arrays have shapes that do not fit each other")


def _read(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, Any]]:
    """The file's bytes and its header, after every check that needs no skops."""
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{str(path)!r} is a directory; give the model file in it")
    if not path.exists():
        raise ModelFileError(f"there is no file {str(path)!r}; `softmargin fit ... --out {path.name}` writes one")
    if not stat.S_ISREG(path.stat().st_mode):
        raise ModelFileError(f"{str(path)!r} is a device or a pipe; give an ordinary file")
    data = path.read_bytes()
    damaged = f"{str(path)!r} is damaged or is not a model file; save the model again, or copy the file again"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            header = json.loads(_small(archive, HEADER))
            number = header["format"]
            writer = str(header["versions"]["softmargin"])[:40]
            check_archive(archive, len(data), (HEADER,))
            if archive.testzip() is not None:
                raise ModelFileError(damaged)
    except KeyError as error:
        raise ModelFileError(
            f"{str(path)!r} was not written by softmargin.save ({HEADER} is missing or incomplete); "
            "load it with the library that wrote it"
        ) from error
    except ModelFileError:
        raise
    except ArchiveError as error:
        raise ModelFileError(
            f"{str(path)!r} is no model file that softmargin wrote: {error}; nothing was read"
        ) from error
    # A damaged archive fails in many ways: in the archive, its compression, its end or the JSON inside.
    except Exception as error:
        raise ModelFileError(damaged) from error
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ModelFileError(f"{str(path)!r} has the format {str(number)[:40]!r}; formats are 1 to {FORMAT}")
    if number > FORMAT:
        raise ModelFileError(
            f"{str(path)!r} has format {number}, written by softmargin {writer}; this is softmargin {__version__}, "
            f"which reads formats up to {FORMAT}. Upgrade: pip install --upgrade softmargin"
        )
    return data, header


def _small(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member of at most 64 KiB."""
    if archive.getinfo(name).file_size > 2**16:
        raise ArchiveError(f"its member {name} is larger than 64 KiB")
    return archive.read(name)


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
