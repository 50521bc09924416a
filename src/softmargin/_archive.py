"""Look at a zip archive of arrays before anything is unpacked: what it costs is bounded by its own size.

An archive that breaks a limit is refused after reading its directory and the headers of its arrays only:

- every member is ``schema.json``, ``softmargin.json``, or an array (``.npy``, ``.npz``) that the schema names;
- unpacked, all members together take at most `SLACK` bytes plus `RATIO` times the size of the file;
- an array's header announces exactly the bytes that follow it;
- the schema has at most `TOKENS` values plus one for each byte of the file, and shared parts, which a reader visits
  again at every mention, count each time.
"""

import io
import json
import math
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

RATIO = 50
SLACK = 8 * 2**20
TOKENS = 200_000
MEMBERS = 100_000
SCHEMA = "schema.json"


class ArchiveError(ValueError):
    """The archive breaks a limit; the message says which."""


def check_archive(archive: zipfile.ZipFile, size: int, others: tuple[str, ...] = ()) -> None:
    """Refuse an archive of `size` bytes that is not what it should be; `others` are members beside the arrays."""
    members = archive.infolist()
    _check_members(members, size)
    schema = _schema(archive, size)
    named = {file for node in _nodes(schema) if isinstance(file := node.get("file"), str)}
    for member in members:
        if member.filename in (SCHEMA, *others):
            continue
        if member.filename not in named:
            raise ArchiveError(f"the member {member.filename[:80]!r} does not belong there")
        _check_array(archive, member)
    _check_shared(schema, TOKENS + size)


def unpacked_size(archive: zipfile.ZipFile) -> int:
    """Return the bytes of all members, unpacked."""
    return sum(member.file_size for member in archive.infolist())


def allowed_size(size: int) -> int:
    """Return the bytes to which an archive of `size` bytes may unpack."""
    return SLACK + RATIO * size


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    if len(members) > MEMBERS:
        raise ArchiveError(f"it has {len(members)} members; at most {MEMBERS} are read")
    if len({member.filename for member in members}) < len(members):
        raise ArchiveError("two members have the same name")
    if any(member.flag_bits & 1 for member in members):
        raise ArchiveError("it is encrypted")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise ArchiveError("it is compressed in another way than `save` does")
    total = sum(member.file_size for member in members)
    if total > allowed_size(size):
        raise ArchiveError(
            f"its {size} bytes would unpack to {total}; at most {SLACK} plus {RATIO} times the file's size are allowed"
        )


def _schema(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    text = archive.read(SCHEMA)
    # Every value but the first follows one of these, so their count bounds what the parser makes.
    tokens = sum(text.count(mark) for mark in (b"{", b"[", b","))
    if tokens > TOKENS + size:
        raise ArchiveError(f"its description has {tokens} values; at most {TOKENS} plus one for each byte are read")
    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise ArchiveError("its description is not an object")
    return schema


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every dict in a JSON value, parents first."""
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def _check_shared(schema: dict[str, Any], most: int) -> None:
    """Count the visits of a reader that visits a shared node's content at every mention."""
    costs: dict[Any, int] = {}
    open_ids: set[Any] = set()

    def cost(value: Any) -> int:
        if isinstance(value, list):
            return sum(map(cost, value))
        if not isinstance(value, dict):
            return 0
        name = value.get("__id__")
        known = isinstance(name, (int, str)) and name
        if known and name in open_ids:
            return 1
        if known and name in costs:
            return costs[name]
        if known:
            open_ids.add(name)
        total = 1 + sum(map(cost, value.values()))
        if total > most:
            raise ArchiveError(f"its shared parts are nested so that reading them takes more than {most} visits")
        if known:
            open_ids.discard(name)
            costs[name] = total
        return total

    cost(schema)


def _check_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    if member.filename.endswith(".npy"):
        with archive.open(member) as file:
            _check_header(file, member)
        return
    if not member.filename.endswith(".npz"):
        raise ArchiveError(f"the member {member.filename[:80]!r} is no array")
    with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
        _check_members(inner.infolist(), member.file_size)
        for part in inner.infolist():
            with inner.open(part) as file:
                _check_header(file, part)


def _check_header(file: IO[bytes], member: zipfile.ZipInfo) -> None:
    """The header of a .npy file promises what follows it: numpy makes the array before it reads."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ArchiveError(f"the array {member.filename[:80]!r} holds objects")
    if file.tell() + math.prod(shape) * dtype.itemsize != member.file_size or min(shape, default=0) < 0:
        raise ArchiveError(f"the array {member.filename[:80]!r} is announced with shape {shape}, which does not fit")
