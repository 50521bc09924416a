"""Covariance functions: scikit-learn's Gaussian-process kernels, and what a search needs of them.

Outside, a kernel is any `sklearn.gaussian_process.kernels.Kernel`. Inside, its tree of sums and products is
walked by our own code, with squared distances from BLAS and without the (n, n, n_theta) array of
scikit-learn's `eval_gradient`: a search only ever needs the contraction sum_ij W_ij dK_ij/dtheta_a
(Gold & Sollich 2003, section 4; for a length scale per input it costs one matrix product).
"""

from softmargin.kernels._anova import Anova
from softmargin.kernels._check import check_kernel
from softmargin.kernels._columns import ColumnKernel, TiedKernel
from softmargin.kernels._layout import Layout, column_scales, make_kernel
from softmargin.kernels._linear import Coefficients, linear_coefficients, polynomial_degree
from softmargin.kernels._named import KERNEL_NAMES, CallableKernel, PrecomputedKernel, make_named
from softmargin.kernels._roles import Role, roles, take_length_scales
from softmargin.kernels._row_scale import RowScale
from softmargin.kernels._theta import theta_setter
from softmargin.kernels._transform import scale_kernel, without_white
from softmargin.kernels.evaluation.blocks import row_blocks
from softmargin.kernels.evaluation.evaluate import (
    KernelEvaluation,
    KernelOverflowError,
    contract,
    contract_cross,
    contract_diag,
    contract_inputs,
    diag,
    evaluate,
    gram,
)
from softmargin.kernels.evaluation.float32 import gram_float32
from softmargin.kernels.evaluation.leaves import NoInputDerivativeError

__all__ = [
    "KERNEL_NAMES",
    "Anova",
    "CallableKernel",
    "Coefficients",
    "ColumnKernel",
    "KernelEvaluation",
    "KernelOverflowError",
    "Layout",
    "NoInputDerivativeError",
    "PrecomputedKernel",
    "Role",
    "RowScale",
    "TiedKernel",
    "check_kernel",
    "column_scales",
    "contract",
    "contract_cross",
    "contract_diag",
    "contract_inputs",
    "diag",
    "evaluate",
    "gram",
    "gram_float32",
    "linear_coefficients",
    "make_kernel",
    "make_named",
    "polynomial_degree",
    "roles",
    "row_blocks",
    "scale_kernel",
    "take_length_scales",
    "theta_setter",
    "without_white",
]
