"""Save a search after every step so that a killed run goes on to the identical result.

A checkpoint is an ``.npz`` archive of arrays and one JSON text, read without pickle: a file cannot run code. Records
(dataclasses and named tuples of softmargin) are rebuilt by their fields, without a call of their constructors.
"""

import hashlib
import io
import json
import math
import sys
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from softmargin._files import write_atomically
from softmargin._version import __version__

FORMAT = 1
MAX_BYTES = 4 * 2**30
"""Of all arrays of a checkpoint together."""


def save(path: Path, fingerprint: str, content: dict[str, Any]) -> None:
    """Write numbers, text, arrays, lists, tuples, dicts and softmargin's records, whole or not at all."""
    arrays: dict[str, Any] = {}
    text = json.dumps({"format": FORMAT, "fingerprint": fingerprint, "content": _encode(content, arrays)})
    buffer = io.BytesIO()
    np.savez(buffer, json=np.frombuffer(text.encode(), np.uint8), **arrays)
    write_atomically(path, buffer.getvalue())


def load(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """Return the saved content, or None if there is no file; refuse a damaged file and that of another search."""
    if not path.exists():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES or archive.testzip() is not None:
                raise ValueError("a member is damaged or too large")
        with np.load(path, allow_pickle=False) as arrays:
            saved = json.loads(arrays["json"].tobytes())
            number, owner = saved["format"], saved["fingerprint"]
            content: dict[str, Any] = _decode(saved["content"], arrays) if owner == fingerprint else {}
    # A damaged archive fails in many ways: in the archive, its compression, its end, the arrays or the JSON inside.
    except Exception as error:
        raise ValueError(
            f"the checkpoint {path} is damaged or is no checkpoint ({type(error).__name__}: {error}); "
            "delete it or give another path"
        ) from error
    if number != FORMAT or owner != fingerprint:
        raise ValueError(
            f"the checkpoint {path} belongs to another search (data, settings, start, bounds or the version of "
            "softmargin differ); delete it or give another path"
        )
    return content


def digest(*values: Any) -> str:
    """Return a hash of values that changes with any number in them, and with the version of softmargin."""
    hasher = hashlib.sha256(__version__.encode())
    _update(hasher, values, ())
    return hasher.hexdigest()


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    """JSON for `value`; arrays go into `arrays` and leave their name."""
    if value is None or isinstance(value, (bool, str)) or type(value) in (int, float):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError("a checkpoint cannot hold an array of objects")
        name = f"array{len(arrays)}"
        arrays[name] = array
        return {"kind": "array" if isinstance(value, np.ndarray) else "scalar", "name": name}
    if _is_record(type(value)):
        items = {name: _encode(getattr(value, name), arrays) for name in _field_names(type(value))}
        return {"kind": "record", "type": f"{type(value).__module__}:{type(value).__qualname__}", "items": items}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"kind": kind, "items": [_encode(item, arrays) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"kind": "dict", "items": {key: _encode(item, arrays) for key, item in value.items()}}
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__} objects")


def _decode(value: Any, arrays: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind in ("array", "scalar"):
        array = arrays[value["name"]]
        return array if kind == "array" else array[()]
    if kind in ("list", "tuple"):
        items = [_decode(item, arrays) for item in value["items"]]
        return items if kind == "list" else tuple(items)
    content = {key: _decode(item, arrays) for key, item in value["items"].items()}
    return content if kind == "dict" else _rebuild(value["type"], content)


def _rebuild(name: str, content: dict[str, Any]) -> Any:
    """A record of a type that softmargin has loaded already; nothing is imported or called."""
    module, _, qualname = name.partition(":")
    kind = vars(sys.modules[module]).get(qualname) if module.split(".")[0] == "softmargin" else None
    if not isinstance(kind, type) or kind.__module__ != module or not _is_record(kind):
        raise ValueError(f"{name!r} is no record of softmargin")
    if set(content) != set(_field_names(kind)):
        raise ValueError(f"{name!r} has other fields in this version")
    if issubclass(kind, tuple):
        return tuple.__new__(kind, [content[field] for field in _field_names(kind)])
    record = object.__new__(kind)
    for field, item in content.items():
        object.__setattr__(record, field, item)
    return record


def _is_record(kind: type) -> bool:
    own = kind.__module__.split(".")[0] == "softmargin"
    return own and (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))


def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else tuple(kind._fields)


def _update(hasher: Any, value: Any, above: tuple[int, ...]) -> None:
    """Feed a value to the hash: its type, then its content, recursively."""
    hasher.update(f"{type(value).__module__}.{type(value).__qualname__}(".encode())
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        hasher.update(repr(value).encode())
    elif isinstance(value, (np.ndarray, np.generic)) and not np.asarray(value).dtype.hasobject:
        array = np.asarray(value)
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).data.cast("B") if math.prod(array.shape) else b"")
    elif id(value) in above:
        hasher.update(b"...")
    else:
        for item in _parts(value):
            _update(hasher, item, (*above, id(value)))
    hasher.update(b")")


def _parts(value: Any) -> list[Any]:
    """What identifies a value that is neither a number, a text nor an array of them."""
    if isinstance(value, np.ndarray):
        return [value.shape, *value.ravel().tolist()]
    if scipy.sparse.issparse(value):
        rows = value.tocsr()
        return [rows.shape, rows.data, rows.indices, rows.indptr]
    if isinstance(value, dict):
        return [part for key, item in value.items() for part in (key, item)]
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value) if isinstance(value, (list, tuple)) else sorted(value, key=repr)
    if hasattr(value, "__qualname__"):
        # A class or a function: its name, and what a closure has caught.
        cells = getattr(value, "__closure__", None) or ()
        return [value.__module__, value.__qualname__, *(cell.cell_contents for cell in cells)]
    if is_dataclass(value):
        return [part for field in fields(value) for part in (field.name, getattr(value, field.name))]
    if hasattr(value, "__array__"):
        return [np.asarray(value)]
    return [sorted(vars(value).items())] if hasattr(value, "__dict__") else [repr(value)]
