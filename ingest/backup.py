"""Backups of points, vectors included, as compressed JSON lines that `rollback` puts back unchanged.

The file is written aside, read again from disk, and only then given its name: a backup that exists is whole.
"""

import base64
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from backends.vectors.store import Record, SparseVector
from normalize.errors import SourceError, StoreError


def write_backup(path: Path, records: Iterable[Record]) -> int:
    """Write the records and return how many; raises StoreError if the file does not read back as written."""
    if path.exists():
        raise StoreError(f"There is a backup {path} already, of another database: move it away; nothing was deleted.")
    try:
        return _write_and_read_back(path, records)
    except OSError as error:
        raise StoreError(f"Backup {path} cannot be written ({error.strerror}): nothing was deleted.") from None


def _write_and_read_back(path: Path, records: Iterable[Record]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(path.suffix + ".part")
    count = 0
    with aside.open("wb") as file:
        with zstandard.ZstdCompressor(level=6, write_checksum=True).stream_writer(file, closefd=False) as writer:
            for record in records:
                writer.write(_line(record).encode("utf-8") + b"\n")
                count += 1
        file.flush()
        os.fsync(file.fileno())
    read = sum(1 for _ in read_backup(aside))
    if read != count:
        raise StoreError(f"Backup {aside} holds {read} of {count} points: nothing was deleted, check the disk.")
    aside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return count


def read_backup(path: Path) -> Iterator[Record]:
    """Yield the records of a backup; raises SourceError if the file is damaged."""
    try:
        with path.open("rb") as file:
            unpacker, rest = zstandard.ZstdDecompressor().decompressobj(), b""
            while not unpacker.eof and (block := file.read(1 << 16)):
                *lines, rest = (rest + unpacker.decompress(block)).split(b"\n")
                yield from map(_record, lines)
            if rest or not unpacker.eof:
                raise SourceError(f"Backup {path} is cut off in the middle of a point: use another backup.")
    except (OSError, zstandard.ZstdError, ValueError, KeyError) as error:
        raise SourceError(f"Backup {path} cannot be read ({error}): use another backup.") from None


def _line(record: Record) -> str:
    value: dict[str, Any] = {"id": record.id, "payload": record.payload}
    if record.dense is not None:
        value["dense"] = base64.b64encode(np.asarray(record.dense, dtype="<f4").tobytes()).decode("ascii")
    if record.sparse is not None:
        value["sparse"] = {"indices": list(record.sparse.indices), "values": list(record.sparse.values)}
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _record(line: bytes) -> Record:
    value = json.loads(line)
    dense = (
        np.frombuffer(base64.b64decode(value["dense"]), dtype="<f4").astype(np.float32) if "dense" in value else None
    )
    sparse = value.get("sparse")
    return Record(
        value["id"],
        value["payload"],
        dense,
        SparseVector(tuple(sparse["indices"]), tuple(sparse["values"])) if sparse else None,
    )
