"""Each hyperparameter's meaning, in the order of kernel.theta."""

import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from softmargin.kernels import make_kernel, roles

from .cases import KERNELS

C = ConstantKernel


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (make_kernel(None, 2), "amplitude length_scale:0 length_scale:1 offset"),
        (make_kernel("linear", 2), "amplitude offset"),
        (make_kernel("poly", 2), "amplitude other offset"),
        (C(1.0, "fixed") * RBF() + C(), "length_scale offset"),
        (C(), "offset"),
        (C() * C() + RBF(), "offset offset length_scale"),
        (C() * (RBF() + C()), "amplitude length_scale offset"),
        (C() * C() * RBF(), "amplitude amplitude length_scale"),
        (
            C() * WhiteKernel() + C() * Matern([1.0, 1.0]),
            "noise noise amplitude length_scale:0 length_scale:1",
        ),
        (RationalQuadratic() + DotProduct(), "other length_scale other"),
        (C() * DotProduct() ** 2, "amplitude other"),
        (C() * ExpSineSquared(), "amplitude length_scale other"),
    ],
    ids=str,
)
def test_roles_follow_theta(kernel, expected):
    labels = [r.kind + (f":{r.input}" if r.input is not None else "") for r in roles(kernel, 2)]
    assert labels == expected.split()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_one_role_for_each_entry_of_theta(kernel):
    assert len(roles(kernel, 3)) == len(kernel.theta)


def test_the_length_scale_of_a_single_input_belongs_to_it():
    assert roles(make_kernel(None, 1), 1)[1].input == 0
