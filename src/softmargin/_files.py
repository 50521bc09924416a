"""Write files whole or not at all: beside their place, flushed, then moved there."""

import os
import tempfile
from pathlib import Path

SUFFIX = ".part"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of `path`, or of the file a link there points to; at any moment the file is whole.

    A process that is killed while it writes leaves a ``.part`` file, which the next call for the same path removes.
    """
    path = Path(os.path.realpath(path))
    _remove_leftovers(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.{os.getpid()}.", suffix=SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp is private to the user; the file follows the umask like any other.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _remove_leftovers(path: Path) -> None:
    prefix = f".{path.name}."
    for entry in os.scandir(path.parent):
        if entry.name.startswith(prefix) and entry.name.endswith(SUFFIX):
            process = entry.name[len(prefix) :].split(".")[0]
            if process.isdigit() and not _alive(int(process)):
                Path(entry.path).unlink(missing_ok=True)


def _alive(process: int) -> bool:
    if os.name != "posix":
        # Signal 0 is a question on POSIX only.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
