"""Radial kernels of large blocks of squared distances, for the processor's vector units.

NumPy's exponential of doubles takes one number at a time on many processors, and every step of a formula goes once more
through memory. These loops make one pass: exp(x) = 2^k exp(r) with k the nearest integer to x/ln 2 and a Taylor
polynomial in r, |r| <= ln(2)/2, in both precisions. Doubles are good to 3 units in the last place, singles to 2e-7.
"""

from math import factorial

import numpy as np

from softmargin._compiled import njit

ELEMENTWISE = {"contract", "nsz"}
"""Nothing that would reorder sums: the reduction of x by k ln 2 has two parts so that it loses no digits."""
LOG2E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 1.5 * 2.0**52
"""Adding it leaves the nearest integer in the lowest bits."""
LOWEST = -708.0
"""exp(x) below is smaller than the smallest normal number, and zero here."""
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12 = (1.0 / factorial(i) for i in range(2, 13))


@njit(cache=True, fastmath=ELEMENTWISE, error_model="numpy", nogil=True)
def _exp(x):
    """exp(x), x <= 0; nan stays nan."""
    t = x * LOG2E + ROUND
    k = t - ROUND
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = C12 * r + C11
    p = p * r + C10
    p = p * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * r * r + r + 1.0
    power = np.int64((np.float64(t).view(np.int64) + np.int64(1023)) << np.int64(52)).view(np.float64)
    return 0.0 if x < LOWEST else p * power


@njit(cache=True, fastmath=ELEMENTWISE, error_model="numpy", nogil=True)
def gaussian(D2, K, width):
    """K = exp(-D2/2) in the first `width` columns; K may be D2."""
    for i in range(D2.shape[0]):
        for j in range(width):
            K[i, j] = _exp(-0.5 * D2[i, j])


@njit(cache=True, fastmath=ELEMENTWISE, error_model="numpy", nogil=True)
def matern32(D2, K, width):
    """K = (1 + t) exp(-t), t = sqrt(3 D2), likewise."""
    for i in range(D2.shape[0]):
        for j in range(width):
            t = np.sqrt(3.0 * D2[i, j])
            K[i, j] = (1.0 + t) * _exp(-t)


@njit(cache=True, fastmath=ELEMENTWISE, error_model="numpy", nogil=True)
def matern52(D2, K, width):
    """K = (1 + t + t^2/3) exp(-t), t = sqrt(5 D2), likewise."""
    for i in range(D2.shape[0]):
        for j in range(width):
            t = np.sqrt(5.0 * D2[i, j])
            K[i, j] = (1.0 + t + t * t / 3.0) * _exp(-t)


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _exp2_single(x):
    """2^x, x <= 0, in single precision; 0 below 2^-33, which is nothing beside a rounding error of 2^-24.

    Products of two smaller numbers would soon be subnormal, and cost a hundred times as much as others.
    """
    shortest = np.float32(-33.0)
    if x < shortest:
        return np.float32(0.0)
    k = np.floor(x + np.float32(0.5))
    f = x - k
    p = np.float32(0.0001540353) * f + np.float32(0.0013333558)
    p = p * f + np.float32(0.0096181291)
    p = p * f + np.float32(0.0555041087)
    p = p * f + np.float32(0.2402265070)
    p = p * f + np.float32(0.6931471806)
    p = p * f + np.float32(1)
    return p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def gaussian_single(D2):
    """Replace D2 by exp(-max(D2, 0)/2) in place; shape (n, m), float32."""
    for i in range(D2.shape[0]):
        for j in range(D2.shape[1]):
            x = D2[i, j] * np.float32(-0.5 * LOG2E)
            D2[i, j] = _exp2_single(x if x < 0 else np.float32(0))


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def matern32_single(D2):
    """Replace D2 by (1 + t) exp(-t), t = sqrt(3 max(D2, 0)), likewise."""
    for i in range(D2.shape[0]):
        for j in range(D2.shape[1]):
            x = D2[i, j]
            t = np.sqrt(np.float32(3) * (x if x > 0 else np.float32(0)))
            D2[i, j] = (np.float32(1) + t) * _exp2_single(t * np.float32(-LOG2E))


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def matern52_single(D2):
    """Replace D2 by (1 + t + t^2/3) exp(-t), t = sqrt(5 max(D2, 0)), likewise."""
    for i in range(D2.shape[0]):
        for j in range(D2.shape[1]):
            x = D2[i, j]
            t = np.sqrt(np.float32(5) * (x if x > 0 else np.float32(0)))
            polynomial = np.float32(1) + t + t * t * np.float32(1 / 3)
            D2[i, j] = polynomial * _exp2_single(t * np.float32(-LOG2E))
