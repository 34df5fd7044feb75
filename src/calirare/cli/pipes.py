"""`-` for a table: standard input and standard output, so that commands can stand in a pipeline."""

from __future__ import annotations

import atexit
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from calirare.cli.voice import set_voice
from calirare.errors import InputError

PIPE = Path("-")
_STARTS = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\x1f\x8b", ".csv.gz"), (b"{", ".jsonl"))
"""How files of each kind begin; anything else is CSV."""


def is_pipe(path: Path | str) -> bool:
    """Whether a path means standard input or output: `-`, or `-.ENDING`."""
    return isinstance(path, Path) and path.parent == Path() and path.name in ("-", "-.csv", "-.jsonl", "-.parquet")


def received(path: Path | str) -> Path | str:
    """The path; of `-` that of a file with what standard input holds, named by how it begins, gone at the end."""
    if path != PIPE:
        return path
    stream = sys.stdin.buffer if sys.stdin is not None else None
    if stream is None or stream.closed or sys.stdin.isatty():
        raise InputError("- reads a table from standard input, and there is none; pipe one in, or name a file.")
    folder = Path(tempfile.mkdtemp(prefix="calirare-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    plain = folder / "stdin"
    with plain.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    with plain.open("rb") as copy:
        start = copy.read(8)
    if not start:
        raise InputError("standard input is empty; only one table can come from it.")
    return plain.rename(folder / f"stdin{next((kind for sign, kind in _STARTS if start.startswith(sign)), '.csv')}")


def check_output(path: Path | str, as_json: bool) -> None:
    """Refuse where no table can be written; where it is standard output, nothing else is printed."""
    from calirare.data.tables.sources.export import check_export_path

    if not is_pipe(path):
        return check_export_path(path)
    if as_json:
        raise InputError("--json and --out - both want standard output; give one of them.")
    set_voice(quiet=True, verbose=False)


def write_output(columns: dict[str, Any], path: Path | str) -> None:
    """Write a table to a file, whole or not at all, or to standard output."""
    from calirare.data.tables.sources.export import write_stream, write_table

    if isinstance(path, Path) and is_pipe(path):
        content = io.BytesIO()  # given the stream itself, polars would hide that its reader has had enough
        write_stream(columns, content, path.suffix.lower())
        sys.stdout.buffer.write(content.getbuffer())
        sys.stdout.buffer.flush()
    else:
        write_table(columns, path)
