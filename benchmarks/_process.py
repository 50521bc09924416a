"""What a process has used and may use, on systems that say so."""

import sys
from typing import Any


def _resource() -> Any:
    try:
        import resource
    except ImportError:
        raise OSError("peak memory and limits of CPU time need Linux or macOS") from None
    return resource


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    resource = _resource()
    # Kilobytes on Linux, bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def limit_cpu(seconds: int) -> None:
    """End this process after so many CPU seconds."""
    resource = _resource()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
