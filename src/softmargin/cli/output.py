"""What the commands write for machines: strict JSON, and CSV that no spreadsheet runs."""

import json
import math
import re
import sys
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from softmargin.tables import printable


class Terminal(Console):
    """A console that leaves it to the command what happens when the reader of the output leaves (`| head`)."""

    def on_broken_pipe(self) -> None:
        """Pass the error on: rich would end the process with an exit code of 1."""
        self.quiet = True
        raise


def print_json(value: Any) -> None:
    """Write strict JSON to standard output: no NaN, text kept as it is."""
    sys.stdout.write(to_json(value))


def to_json(value: Any) -> str:
    """Strict JSON: no NaN, text kept as it is, no control characters."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # JSON escapes the control characters below 32 only.
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def as_csv(answer: pd.DataFrame) -> str:
    """CSV whose words are only words: neither a spreadsheet nor a terminal finds an order in them."""
    safe = answer.copy()
    safe.columns = [_word(str(name)) for name in answer.columns]
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in answer.dtypes]]:
        safe[name] = [_word(str(value)) for value in safe[name]]
    text: str = safe.to_csv(index=False)
    return text


def _word(text: str) -> str:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay numbers."""
    text = printable(text)
    if not text.lstrip().startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
