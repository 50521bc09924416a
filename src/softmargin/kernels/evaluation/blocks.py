"""Row blocks: elementwise work on a large matrix, one cache-sized or memory-sized piece at a time."""

from collections.abc import Iterator

CACHE_BYTES = 2**20
"""Elementwise chains run on blocks of this size, so that their temporaries stay in the cache."""


def row_blocks(n: int, m: int, max_bytes: int = CACHE_BYTES) -> Iterator[slice]:
    """Yield slices that cover n rows, each block of (rows, m) doubles within max_bytes (at least one row).

    Examples
    --------
    >>> list(row_blocks(5, 1000, max_bytes=16_000))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, int(max_bytes) // (8 * max(m, 1)))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
