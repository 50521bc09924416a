"""What the command line needs before it imports anything heavy: the bundled sets, and text that a terminal can take."""

import unicodedata

BUNDLED = {
    "pima": "type",
    "crabs": "sex",
    "wdbc": "diagnosis",
    "twonorm": "class",
    "ringnorm": "class",
    "boston": "medv",
    "mcycle": "accel",
}
"""Bundled data sets and the name of their target column."""


def printable(text: str) -> str:
    """The text without control characters, which could take over a terminal; tabs and line ends stay."""
    if text.isprintable():
        return text
    control = {c for c in set(text) if unicodedata.category(c) == "Cc" and c not in "\t\n"}
    return "".join("\N{REPLACEMENT CHARACTER}" if c in control else c for c in text)


def no_such_file(source: str) -> str:
    """What to say when there is none."""
    return (
        f"there is no file {source!r}; give a CSV, TSV or Parquet file, '-' for standard input, or one of the bundled "
        f"sets: {', '.join(BUNDLED)}"
    )
