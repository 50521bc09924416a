"""Support vector machines that tune themselves and know what they do not know.

The support vector machine is read as the most probable function under a Gaussian-process prior whose
covariance is the kernel. Public names are imported on first use, so that ``import softmargin`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softmargin._version import __version__

if TYPE_CHECKING:
    from softmargin.comparison import BaggedSelection, compare_criteria, compare_models
    from softmargin.deployment import to_onnx
    from softmargin.estimators import BayesianSVC, BayesianSVR
    from softmargin.persistence import TRUSTED_TYPES, load, save
    from softmargin.tuning import HyperPrior

_HOME = {
    "BaggedSelection": "softmargin.comparison",
    "BayesianSVC": "softmargin.estimators",
    "BayesianSVR": "softmargin.estimators",
    "HyperPrior": "softmargin.tuning",
    "TRUSTED_TYPES": "softmargin.persistence",
    "compare_criteria": "softmargin.comparison",
    "compare_models": "softmargin.comparison",
    "load": "softmargin.persistence",
    "save": "softmargin.persistence",
    "to_onnx": "softmargin.deployment",
}

__all__ = [
    "TRUSTED_TYPES",
    "BaggedSelection",
    "BayesianSVC",
    "BayesianSVR",
    "HyperPrior",
    "__version__",
    "compare_criteria",
    "compare_models",
    "load",
    "save",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'softmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
