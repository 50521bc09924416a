"""Benchmarks: peers and softmargin in one run, as ratios. Run one with ``python -m benchmarks NAME``."""
