"""Checks of parameters and of kernel matrices, each with an error that says what is allowed."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import NotPositiveDefiniteError

PSD_TOLERANCE = 1e-8
"""How negative an eigenvalue of a precomputed matrix may be, relative to the largest."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Of a likelihood's parameters, whose squares and products with weights must be numbers too."""


def check_choice(name: str, value: Any, allowed: list[Any]) -> None:
    """Raise a ValueError that names the parameter, the value and the options."""
    if not any(value is a or (isinstance(value, str) and value == a) for a in allowed):
        raise ValueError(f"{name}={value!r} is not allowed; choose one of {', '.join(map(repr, allowed))}")


def check_part(name: str, value: Any, registry: dict[str, type], methods: tuple[str, ...], *others: Any) -> None:
    """Raise unless value is a registered name, one of `others`, or an object with the methods of such a part."""
    if isinstance(value, type):
        raise ValueError(f"{name}={value.__name__} is a class; give an object, {value.__name__}(), or a name")
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        check_choice(name, value, [*others, *sorted(registry)])


def part_of(value: Any, registry: dict[str, type], **settings: Any) -> Any:
    """Return a part: a new one of the class registered under a name, with these settings, or the object given."""
    return registry[value](**settings) if isinstance(value, str) else value


def check_number(
    name: str, value: Any, *, low: float, strict: bool, integer: bool = False, optional: bool = False
) -> None:
    """Raise a ValueError unless value is a finite number above `low` (or None, if optional)."""
    if value is None and optional:
        return
    kind = Integral if integer else Real
    ok = not isinstance(value, bool) and isinstance(value, kind) and np.isfinite(float(value))
    if not ok or value < low or (strict and value == low):
        what = "an integer" if integer else "a finite number"
        hint = ", or None to learn it from the data" if optional else ""
        raise ValueError(f"{name}={value!r} must be {what} {'>' if strict else '>='} {low:g}{hint}")


def check_fraction(name: str, value: Any) -> None:
    """Raise a ValueError unless value is None or a number strictly between 0 and 1."""
    if value is not None and not (not isinstance(value, bool) and isinstance(value, Real) and 0 < float(value) < 1):
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, or None")


def check_sizes(likelihood: Any, scale: float | None = None) -> None:
    """Raise a ValueError if the square of a likelihood's parameter is out of range.

    Parameters
    ----------
    likelihood : Likelihood
        Whose parameters are checked.
    scale : float, optional
        The unit of a regression's target in which the parameters are.
    """
    for name in likelihood.param_names:
        value = float(getattr(likelihood, name))
        if value > LARGEST or 0 < value < SMALLEST:
            unit = "" if scale is None else f", in units of the target's spread of {scale:.2g}"
            raise ValueError(
                f"the square of {name}={value:.2g} (of {likelihood.name!r}{unit}) is out of range; give a number "
                f"between {SMALLEST:g} and {LARGEST:g}, or None to learn it from the data"
            )


def check_gram(K: Any) -> None:
    """Raise a clear error unless a precomputed matrix is square, symmetric and positive semi-definite."""
    if issparse(K):
        raise ValueError("a precomputed kernel matrix must be dense; call .toarray() first")
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel matrix must be square, got shape {K.shape}")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max(initial=0)):
        raise ValueError("the precomputed kernel matrix is not symmetric; use (K + K.T) / 2 if that is what you mean")
    eigenvalues = np.linalg.eigvalsh(K)
    if eigenvalues[0] < -PSD_TOLERANCE * max(eigenvalues[-1], 0.0) or eigenvalues[-1] <= 0:
        raise ValueError(
            f"the precomputed kernel matrix is not positive semi-definite: its most negative eigenvalue is "
            f"{eigenvalues[0]:.3g}. Add at least {-eigenvalues[0]:.3g} to its diagonal, or clip its negative "
            "eigenvalues to zero"
        )


@contextmanager
def clear_of_indefinite(kernel: Any) -> Iterator[None]:
    """Turn a factorisation that fails inside a fit into an error that says what is wrong with the kernel."""
    try:
        yield
    except NotPositiveDefiniteError as error:
        raise ValueError(
            f"kernel={kernel!r} is not positive definite at these rows ({error}). Use a kernel that is a covariance "
            "function (ExpSineSquared is one for a single input only), or add a WhiteKernel or a nugget"
        ) from error


def as_generator(random_state: Any) -> np.random.Generator:
    """Turn None, an int, a RandomState or a Generator into a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)
