"""Fifty model files that an enemy, a bad disk or another program might send; each made from a good one."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, save_npz

from softmargin.persistence import HEADER

Members = dict[str, bytes]
SCHEMA = "schema.json"


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(content: Members, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def announced(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """A .npy header of this shape, followed by eight bytes."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(8)


def text(value: Any) -> dict[str, Any]:
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def shared(levels: int, width: int = 8) -> dict[str, Any]:
    """Lists of `width` mentions of one list of `width` mentions of ..."""
    node: dict[str, Any] = text("x") | {"__id__": 1}
    for level in range(2, levels + 2):
        mention = {"__id__": level - 1, "__loader__": "CachedNode", "__class__": "list", "__module__": "builtins"}
        node = {
            "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": level,
            "content": [node, *[mention] * (width - 1)],
        }  # fmt: skip
    return node


def nested_zip(depth: int) -> bytes:
    data = bytes(10**6)
    for _ in range(depth):
        data = pack({"x.npy": data})
    return data


def members_with_matrix(content: Members, schema: dict[str, Any], n: int) -> Members:
    """The members of a model with a further attribute, a CSR matrix of `n` stored zeros: an archive in the archive."""
    buffer = io.BytesIO()
    save_npz(buffer, csr_matrix((np.zeros(n), np.zeros(n, np.int32), [0, n]), shape=(1, 1)))
    copy = json.loads(json.dumps(schema))
    copy["content"]["content"]["matrix_"] = {
        "__class__": "csr_matrix", "__module__": "scipy.sparse._csr", "__loader__": "SparseMatrixNode",
        "type": "scipy", "file": "matrix.npz", "__id__": 10**9,
    }  # fmt: skip
    return content | {SCHEMA: json.dumps(copy).encode(), "matrix.npz": buffer.getvalue()}


def hostile(good: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file."""
    whole, content = good.read_bytes(), members(good)
    schema, header = json.loads(content[SCHEMA]), json.loads(content[HEADER])
    arrays = sorted(name for name in content if name.endswith(".npy"))
    # The array that is not broadcast or summed away: the largest one.
    largest = max(arrays, key=lambda name: len(content[name]))

    def with_schema(change: Callable[[dict[str, Any]], Any]) -> bytes:
        copy = json.loads(content[SCHEMA])
        changed = change(copy)
        return pack(content | {SCHEMA: json.dumps(copy if changed is None else changed).encode()})

    def with_header(**change: Any) -> bytes:
        return pack(content | {HEADER: json.dumps(header | change).encode()})

    def root_loader(name: str) -> bytes:
        return with_schema(lambda s: s | {"__loader__": name})

    yield from ((f"cut at {part}", whole[: int(part * len(whole))]) for part in (0.0, 0.1, 0.5, 0.9, 0.999))
    yield "empty zip", pack({})
    yield "zeros", bytes(10**6)
    yield "text", b"hello"
    yield "pickle", b"\x80\x04cposix\nsystem\n."
    yield from ((f"format {f!r}", with_header(format=f)) for f in (-1, 0, 2, 10**30, 1.5, "1", None, True, [1]))
    yield "no header", pack({k: v for k, v in content.items() if k != HEADER})
    yield "no versions", with_header(versions={})
    yield "header of 10 MB", pack(content | {HEADER: b" " * 10**7 + content[HEADER]})
    yield "header is a list", pack(content | {HEADER: b"[]"})
    yield "no schema", pack({k: v for k, v in content.items() if k != SCHEMA})
    yield "schema is a list", pack(content | {SCHEMA: b"[]"})
    yield "schema nests lists", pack(content | {SCHEMA: b"[" * 10**5})
    yield "schema nests dicts", pack(content | {SCHEMA: b'{"a":' * 10**5})
    yield "schema of many lists", pack(content | {SCHEMA: b"[" + b"[]," * 5 * 10**6 + b"[]]"})
    # Small enough, unpacked, for the limit of all members together.
    yield "schema of 2,500,000 lists", pack(content | {SCHEMA: b"[" + b"[]," * 2_500_000 + b"[]]"})
    yield "schema of one long text", pack(content | {SCHEMA: b'"' + b"a" * 10**8 + b'"'})
    # Without the arrays, which no such schema names: their presence alone would be refused.
    yield from ((f"shared {n} levels", pack({HEADER: content[HEADER], SCHEMA: json.dumps(
        shared(n) | {"protocol": schema["protocol"]}).encode()})) for n in (7, 10, 20, 100))  # fmt: skip
    yield "bomb of zeros", pack(content | {arrays[0]: npy(np.zeros(80 * 10**6, np.uint8))})
    yield "bomb in a sparse matrix", pack(members_with_matrix(content, schema, 2 * 10**7))
    yield "bomb in a stray member", pack(content | {"stray.npy": bytes(3 * 10**8)})
    yield "small stray member", pack(content | {"stray.txt": b"x"})
    yield "stray path", pack(content | {"../../evil.npy": npy(np.zeros(3))})
    yield "nested zips", pack(content | {"stray.npz": nested_zip(4)})
    yield "many members", pack(content | {f"{i}.npy": b"" for i in range(5000)})
    yield "huge array announced", pack(content | {largest: announced((10**12,))})
    yield "huge rank announced", pack(content | {largest: announced((2,) * 60)})
    yield "negative shape", pack(content | {largest: announced((-1,))})
    yield "object array", pack(content | {largest: announced((1,), "|O")})
    yield "wrong shape", pack(content | {largest: npy(np.zeros((3, 7)))})
    yield "no dimensions", pack(content | {largest: npy(np.array(1.0))})
    yield "text array", pack(content | {largest: npy(np.array(["a", "b"]))})
    yield "array is no array", pack(content | {largest: b"x" * 100})
    yield "array is missing", pack({k: v for k, v in content.items() if k != largest})
    yield "lzma", pack(content, zipfile.ZIP_LZMA)
    yield "unknown loader", root_loader("NoSuchNode")
    yield "function loader", root_loader("FunctionNode")
    yield "os.system", with_schema(lambda s: s | {"__module__": "posix", "__class__": "system"})
    yield "unknown protocol", with_schema(lambda s: s | {"protocol": 10**9})
    yield "another estimator", with_schema(lambda s: s | {"__class__": "NoSuchClass"})
    yield "millions of columns", with_schema(lambda s: _many_columns(s))


def _many_columns(schema: dict[str, Any]) -> None:
    schema["content"]["content"]["n_features_in_"]["content"] = str(10**11)
