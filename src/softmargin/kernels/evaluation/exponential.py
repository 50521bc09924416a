"""The exponential of single-precision blocks, for the processor's vector units."""

import numpy as np

from softmargin._compiled import njit


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def decay(D2):
    """Replace D2 by exp(-max(D2, 0)/2) in place, with absolute errors below 2e-7; shape (n, m), float32.

    2^k times a polynomial in the fraction f, |f| <= 1/2: the Taylor polynomial of 2^f.
    """
    half_log2e, shortest = np.float32(-0.7213475204444817), np.float32(-126.0)
    a1, a2, a3 = np.float32(0.6931471806), np.float32(0.2402265070), np.float32(0.0555041087)
    a4, a5, a6 = np.float32(0.0096181291), np.float32(0.0013333558), np.float32(0.0001540353)
    for i in range(D2.shape[0]):
        for j in range(D2.shape[1]):
            x = D2[i, j] * half_log2e
            x = x if x < 0 else np.float32(0)
            x = x if x > shortest else shortest
            k = np.floor(x + np.float32(0.5))
            f = x - k
            p = a6 * f + a5
            p = p * f + a4
            p = p * f + a3
            p = p * f + a2
            p = p * f + a1
            p = p * f + np.float32(1)
            D2[i, j] = p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
