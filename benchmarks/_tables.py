"""Markdown tables."""

from collections.abc import Sequence


def table(header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in cells)
