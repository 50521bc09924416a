"""Save a search after every step so that a killed run goes on to the identical result.

A checkpoint is a pickle: load only files that you wrote yourself.
"""

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any


def save(path: Path, content: dict[str, Any]) -> None:
    """Write the file under another name, flush it to disk, then rename: at any moment the file is whole."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: Path, fingerprint: tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the saved content, or None if there is no file; refuse the file of another search."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        content: dict[str, Any] = pickle.load(file)
    if content.get("fingerprint") != fingerprint:
        raise ValueError(
            f"the checkpoint {path} belongs to another search (settings, start or bounds differ); "
            "delete it or give another path"
        )
    return content
