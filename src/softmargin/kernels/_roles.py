"""What each hyperparameter of a kernel means, so that priors can be put on it."""

from dataclasses import dataclass, replace
from typing import Literal

from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    Exponentiation,
    Hyperparameter,
    Kernel,
    KernelOperator,
    Product,
    WhiteKernel,
)

from softmargin.kernels._columns import ColumnKernel, TiedKernel

RoleKind = Literal["length_scale", "amplitude", "offset", "noise", "other"]


@dataclass(frozen=True)
class Role:
    """The meaning of one entry of `kernel.theta`."""

    kind: RoleKind
    input: int | None = None
    """The first column of the input that a length scale belongs to; None if it is common to all inputs. One that is
    common to some columns (an isotropic kernel in a `ColumnKernel`) belongs to the first of them."""


def roles(kernel: Kernel, n_features: int) -> list[Role]:
    """Label every entry of `kernel.theta`, in its order.

    An "amplitude" is a ConstantKernel that multiplies something, an "offset" one that stands alone in a sum,
    a "noise" the level of a WhiteKernel, or a constant that multiplies nothing else. Whatever is neither of
    these nor a "length_scale" (DotProduct's sigma_0, RationalQuadratic's alpha, ...) is "other".

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> [role.kind for role in roles(ConstantKernel() * RBF() + ConstantKernel(), n_features=3)]
    ['amplitude', 'length_scale', 'offset']
    """
    return _walk(kernel, n_features, "offset")


def take_length_scales(kernel: Kernel, other: Kernel, n_features: int) -> Kernel:
    """The kernel with the length scales that another one has for the same inputs, within its own bounds.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> take_length_scales(4.0 * RBF([1.0, 1.0]), Matern([0.5, 3.0]), n_features=2)
    2**2 * RBF(length_scale=[0.5, 3])
    """
    known = {r.input: z for r, z in zip(roles(other, n_features), other.theta) if r.kind == "length_scale"}
    theta = kernel.theta.copy()
    for i, role in enumerate(roles(kernel, n_features)):
        if role.kind == "length_scale" and role.input in known:
            theta[i] = known[role.input]
    return kernel.clone_with_theta(theta.clip(*kernel.bounds.T)) if len(theta) else kernel


def _walk(kernel: Kernel, n_features: int, constant: RoleKind) -> list[Role]:
    """Roles of a subtree in which a ConstantKernel that stands alone has the role `constant`."""
    if isinstance(kernel, Product):
        left = _walk(kernel.k1, n_features, _factor_of(kernel.k2, constant))
        return left + _walk(kernel.k2, n_features, _factor_of(kernel.k1, constant))
    if isinstance(kernel, KernelOperator):
        return _walk(kernel.k1, n_features, "offset") + _walk(kernel.k2, n_features, "offset")
    if isinstance(kernel, Exponentiation):
        return _walk(kernel.kernel, n_features, constant)
    if isinstance(kernel, TiedKernel):
        return [] if kernel.is_fixed else _tied(kernel)
    if isinstance(kernel, ColumnKernel):
        where = kernel.positions()
        inside = _walk(kernel.inner, len(where), constant)
        return [replace(r, input=where[r.input or 0]) if r.kind == "length_scale" else r for r in inside]
    return [
        role
        for hyperparameter in kernel.hyperparameters
        if not hyperparameter.fixed
        for role in _leaf(kernel, hyperparameter, n_features, constant)
    ]


def _tied(kernel: TiedKernel) -> list[Role]:
    """The length scales of groups of columns, which need not be neighbours."""
    return [Role("length_scale", kernel.groups.index(group)) for group in range(kernel.kernel.n_dims)]


def _factor_of(other: Kernel, constant: RoleKind) -> RoleKind:
    """The role of a constant that multiplies `other`."""
    leaves = _leaves(other)
    if all(isinstance(leaf, ConstantKernel) for leaf in leaves):
        return constant
    if all(isinstance(leaf, ConstantKernel | WhiteKernel) for leaf in leaves):
        return "noise"
    return "amplitude"


def _leaves(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, KernelOperator):
        return _leaves(kernel.k1) + _leaves(kernel.k2)
    if isinstance(kernel, Exponentiation):
        return _leaves(kernel.kernel)
    if isinstance(kernel, ColumnKernel):
        return _leaves(kernel.inner)
    return [kernel]


def _leaf(kernel: Kernel, hyperparameter: Hyperparameter, n_features: int, constant: RoleKind) -> list[Role]:
    if isinstance(kernel, ConstantKernel):
        return [Role(constant)]
    if isinstance(kernel, WhiteKernel):
        return [Role("noise")]
    if hyperparameter.name == "length_scale":
        if hyperparameter.n_elements == n_features:
            return [Role("length_scale", a) for a in range(n_features)]
        return [Role("length_scale")] * hyperparameter.n_elements
    return [Role("other")] * hyperparameter.n_elements
