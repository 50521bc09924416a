"""Read CSV, TSV, Parquet or a bundled data set into a frame; every cell of a text file stays text."""

import gzip
import io
import lzma
import re
import stat
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from softmargin._text import BUNDLED, no_such_file, printable

SHOWN = 60
"""Characters of a cell that are shown to people."""

MAX_BYTES = 2**30
"""Of a table's file."""
MAX_COLUMNS = 20_000


class DataError(ValueError):
    """The data cannot be used; the message says why and what to do."""


def short(value: Any) -> str:
    """A cell's text, cut to what people can read, on one line and without control characters."""
    text = printable(" ".join(str(value)[: 4 * SHOWN].split()))
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def names(columns: Any) -> str:
    names = [repr(short(c)) for c in columns]
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def read_frame(source: str, encoding: str = "utf-8", decimal: str | None = None) -> pd.DataFrame:
    """Read a file, standard input ("-") or a bundled data set into a frame; text files stay text.

    Files may be packed by gzip, xz or zip.

    Parameters
    ----------
    source : str
        A path, "-", or a key of `BUNDLED`.
    encoding : str
        Of text files.
    decimal : "." or ",", optional
        The mark in numbers of text files. None: a comma where it cannot be anything else.
    """
    path = Path(source)
    if source == "-":
        return _read_any(_read_bytes(sys.stdin.buffer, "standard input"), "standard input", encoding, decimal)
    if source in BUNDLED and not path.exists():
        return bundled(source)[0]
    if path.is_dir():
        raise DataError(f"{source!r} is a directory; give one CSV, TSV or Parquet file")
    if not path.exists():
        raise DataError(no_such_file(source))
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise DataError(f"{source!r} is a device; give a CSV, TSV or Parquet file, or '-' for standard input")
    with path.open("rb") as file:
        content = _read_bytes(file, source)
    return _read_any(content, source, encoding, decimal)


def _read_any(content: bytes, name: str, encoding: str, decimal: str | None) -> pd.DataFrame:
    """Unpack what is packed, and read Parquet or text."""
    content, inside = unpacked(content, name)
    suffix = Path(inside).suffix.lower()
    if content[:4] == b"PAR1" or suffix in (".parquet", ".pq"):
        return _read_parquet(content, name)
    frame = _read_text(content, name, encoding, "\t" if suffix in (".tsv", ".tab") else None)
    return with_points(frame, decimal)


def _read_bytes(file: IO[bytes], name: str) -> bytes:
    """All of a file or pipe, or an error once it is too long."""
    blocks, size = [], 0
    while block := file.read(2**22):
        size += len(block)
        if size > MAX_BYTES:
            raise DataError(f"{name!r} is larger than {MAX_BYTES} bytes; from Python there is no such limit")
        blocks.append(block)
    return b"".join(blocks)


def unpacked(content: bytes, name: str) -> tuple[bytes, str]:
    """The content of a file packed by gzip, xz or zip, known by its first bytes, and the name of what was packed."""
    openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"PK\x03\x04": _open_zip}
    found = next((opener for start, opener in openers.items() if content.startswith(start)), None)
    if found is None:
        return content, name
    try:
        with found(io.BytesIO(content)) as file:
            inside = getattr(file, "name", None)
            packed = Path(name).stem if Path(name).suffix.lower() in (".gz", ".xz", ".zip") else name
            return _read_bytes(file, name), inside if isinstance(inside, str) and inside else packed
    except DataError:
        raise
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise DataError(f"{name!r} cannot be unpacked ({short(error)}); pack or copy it again") from error


def _open_zip(file: IO[bytes]) -> IO[bytes]:
    archive = zipfile.ZipFile(file)
    tables = [entry for entry in archive.namelist() if not entry.endswith("/") and "__MACOSX" not in entry]
    if len(tables) != 1:
        raise DataError(f"the zip archive holds {len(tables)} files ({names(tables)}); it must hold one table")
    return archive.open(tables[0])


COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][-+]?\d+)?\s*")
WHOLE = re.compile(r"\s*[-+]?\d+\s*")


def with_points(frame: pd.DataFrame, decimal: str | None) -> pd.DataFrame:
    """Write decimal commas as points, in columns of text whose cells are all such numbers or whole ones."""
    if decimal == ".":
        return frame
    result = {}
    for name in frame.columns:
        column = frame[name]
        cells = column.dropna().astype(str)
        commas = [bool(COMMA.fullmatch(cell)) for cell in cells]
        if any(commas) and all(yes or WHOLE.fullmatch(cell) for yes, cell in zip(commas, cells)):
            column = column.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        result[name] = column
    return pd.DataFrame(result, index=frame.index)


def bundled(name: str) -> tuple[pd.DataFrame, np.ndarray | None]:
    from softmargin import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=list(bunch.feature_names))
    words = bunch.get("target_names")
    frame[BUNDLED[name]] = bunch.target if words is None else np.array([str(w) for w in words])[bunch.target]
    return frame, bunch.test


def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        import pyarrow.parquet

        _check_width(len(pyarrow.parquet.read_schema(io.BytesIO(content)).names), name)
        frame = pd.read_parquet(io.BytesIO(content))
    except DataError:
        raise
    except ImportError as error:
        raise DataError("Parquet files need pyarrow: pip install pyarrow") from error
    except Exception as error:
        raise DataError(f"{name!r} is not a readable Parquet file ({short(error)}); write it again") from error
    frame.columns = [str(c) for c in frame.columns]
    return _checked(frame, name)


def _read_text(content: bytes, name: str, encoding: str, separator: str | None = None) -> pd.DataFrame:
    if not content.strip():
        raise DataError(f"{name!r} is empty; it needs a line of column names and rows below it")
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError as error:
        raise DataError(f"encoding {encoding!r} is unknown; use 'utf-8', 'latin-1', 'cp1252', ...") from error
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{name!r} is not {encoding} at line {line}; save it as UTF-8, or give its encoding: --encoding latin-1"
        ) from error
    if "\0" in text:
        raise DataError(f"{name!r} holds binary data; give a CSV, TSV or Parquet file")
    header = text.lstrip().split("\n", 1)[0]
    separator = separator or max(",;\t|", key=header.count)
    _check_width(header.count(separator) + 1, name)
    try:
        rows = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, header=None, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise DataError(f"{name!r} is not a regular table ({short(error)}); each row needs as many cells") from error
    frame = rows.iloc[1:].reset_index(drop=True)
    frame.columns = [f"column {i + 1}" if pd.isna(c) else str(c).strip() for i, c in enumerate(rows.iloc[0])]
    return _checked(frame, name)


def _check_width(n_columns: int, name: str) -> None:
    """Before the table is parsed, which takes long for very many columns."""
    if n_columns > MAX_COLUMNS:
        raise DataError(f"{name!r} has {n_columns} columns; at most {MAX_COLUMNS} are read. Choose some of them")


def _checked(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    twice = sorted({short(c) for c in frame.columns[frame.columns.duplicated()]})
    if twice:
        raise DataError(f"{name!r} has columns of the same name: {names(twice)}; rename them")
    if len(frame) == 0:
        raise DataError(f"{name!r} has column names but no rows")
    return frame
