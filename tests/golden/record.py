"""The recorded numbers: reading, writing and comparing them."""

import json
import os
from pathlib import Path

import numpy as np

from .configurations import Numbers

FILE = Path(__file__).with_name("golden.json")
EXACT = "SOFTMARGIN_GOLDEN_EXACT"
"""Environment variable: 1 asks for equal bits."""
RTOL, ATOL = 1e-3, 1e-4
"""What another processor's BLAS may change."""
FINAL = ("path",)
"""Of these only the last value is compared with a tolerance: a search may take other steps to the same end."""
EXACT_ONLY = ("n_iter", "support")
"""Counts and indices, which rounding may change."""


def load() -> dict[str, Numbers]:
    """Read the recorded numbers."""
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: {key: np.array(value, dtype=np.float64) for key, value in r.items()} for name, r in recorded.items()}


def save(numbers: dict[str, Numbers]) -> None:
    """Write numbers with all their digits, one array per line."""
    blocks = []
    for name in sorted(numbers):
        lines = [f"  {json.dumps(key)}: {json.dumps(value.tolist())}" for key, value in numbers[name].items()]
        blocks.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", encoding="utf-8")


def exact_asked() -> bool:
    """Whether the environment asks for equal bits."""
    return os.environ.get(EXACT, "0") == "1"


def relative_difference(new: np.ndarray, old: np.ndarray) -> float:
    """Return the largest difference relative to the recorded number; infinite if shapes or missing values differ."""
    if new.shape != old.shape or not np.array_equal(np.isfinite(new), np.isfinite(old)):
        return np.inf
    finite = np.isfinite(old)
    new, old = new[finite], old[finite]
    scale = np.maximum(np.maximum(np.abs(old), np.abs(new)), np.finfo(float).tiny)
    return float(np.max(np.abs(new - old) / scale, initial=0.0))


def differences(new: Numbers, old: Numbers, *, exact: bool) -> dict[str, float]:
    """Names of the arrays that differ, with the largest relative difference of each."""
    out = dict.fromkeys(new.keys() ^ old.keys(), np.inf)
    for key in sorted(new.keys() & old.keys()):
        a, b = new[key], old[key]
        if exact:
            same = np.array_equal(a, b, equal_nan=True)
        elif key in EXACT_ONLY:
            continue
        else:
            if key in FINAL:
                a, b = a[-1:], b[-1:]
            same = a.shape == b.shape and np.allclose(a, b, rtol=RTOL, atol=ATOL, equal_nan=True)
        if not same:
            out[key] = relative_difference(a, b)
    return out
