"""Linear algebra that others rest on."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from softmargin._linalg import (
    HALVES_FROM,
    HALVES_UP_TO,
    STRIP,
    NotPositiveDefiniteError,
    cholesky,
    gmres,
    inverse_from_cholesky,
    inverse_of_triangle,
    shifted_cholesky,
)


@pytest.mark.parametrize("n", [1, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP + 5])
@pytest.mark.parametrize("overwrite", [False, True])
def test_the_inverse_is_whole_and_symmetric_around_every_strip(n, overwrite):
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n))
    A = root @ root.T + n * np.eye(n)
    # What lies above the diagonal of a factor is nobody's.
    L = np.asfortranarray(np.linalg.cholesky(A) + np.triu(rng.standard_normal((n, n)), 1))
    given = L.copy()
    inverse = inverse_from_cholesky(L, overwrite=overwrite)
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert overwrite or np.array_equal(L, given)


@pytest.mark.parametrize("n", [1, HALVES_FROM - 1, HALVES_FROM, 2 * HALVES_FROM + 1, HALVES_UP_TO + 1])
def test_a_triangle_is_inverted_by_halves_or_whole(n):
    rng = np.random.default_rng(n)
    L = np.tril(rng.standard_normal((n, n)) / n, -1) + np.diag(rng.uniform(0.5, 2, n))
    nobodys = np.triu(rng.standard_normal((n, n)), 1)
    inverse = inverse_of_triangle(np.asfortranarray(L + nobodys))
    np.testing.assert_allclose(np.tril(inverse) @ L, np.eye(n), atol=1e-13)


def test_a_diagonal_that_rounding_has_swallowed_is_no_reason_to_fail():
    """1 + 1e30 of a matrix of rank one: exact solutions are within the share that was added."""
    b = np.array([1e15, 1e15, 2e15])
    A = np.eye(3) + np.outer(b, b)
    with pytest.raises(NotPositiveDefiniteError):
        cholesky(A)
    L = shifted_cholesky(A)
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-10)
    with pytest.raises(NotPositiveDefiniteError, match="positive semi-definite"):
        shifted_cholesky(np.diag([1.0, -1.0]))


@pytest.mark.parametrize("n", [1, 2, 7, 90])
def test_gmres_solves_what_a_dense_solver_does(n):
    rng = np.random.default_rng(n)
    A, b = np.eye(n) - 0.3 * rng.standard_normal((n, n)) / np.sqrt(n), rng.standard_normal(n)
    x = gmres(lambda u: A @ u, b, rtol=1e-10)
    assert np.linalg.norm(A @ x - b) <= 1e-10 * np.linalg.norm(b)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-8, atol=1e-9)


def test_gmres_ends_early_where_the_answer_lies_in_a_small_space():
    calls = []

    def apply(u):
        calls.append(u)
        return 2 * u

    np.testing.assert_allclose(gmres(apply, np.array([1.0, 3.0, 5.0]), rtol=1e-12), [0.5, 1.5, 2.5])
    assert len(calls) == 1
    assert np.array_equal(gmres(apply, np.zeros(3), rtol=1e-12), np.zeros(3))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have limits of their own")
def test_freed_arrays_are_kept_for_the_next_ones():
    program = """
import resource

import numpy as np
from softmargin._linalg import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        a, b, c = (np.ones(100_000) for _ in range(3))
        del a, b, c
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

without = faults()
keep_freed_memory()
faults()
print(without, faults())
"""
    # A limit that Dask's workers leave in the environment would fix glibc's own.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=plain).stdout
    without, kept = map(int, printed.split())
    assert kept < without / 10
