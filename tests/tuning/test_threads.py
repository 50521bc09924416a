from threadpoolctl import threadpool_info, threadpool_limits

from softmargin.tuning import blas_threads


def test_threads_are_limited_inside_the_block_alone():
    def counts():
        # A library that this package does not use may be loaded after its list of them was made.
        return [pool["num_threads"] for pool in threadpool_info() if "torch" not in pool["filepath"]]

    before = counts()
    with threadpool_limits(2):
        some = counts()
        with blas_threads(1):
            assert set(counts()) == {1}
        assert counts() == some
        with blas_threads(None):
            assert counts() == some
    assert counts() == before
