"""Types of constants."""

from collections.abc import Mapping

Range = tuple[float, float]
"""(lower, upper)."""
Logs = Mapping[str, float]
"""Kind of a coordinate -> a logarithm."""
