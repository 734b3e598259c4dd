"""Exports: everything that is stored, in one JSON file that never overwrites another."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import orjson

from runlore import __version__
from runlore.atomic_write import new_file, sync_folder
from runlore.domain.errors import Unavailable
from runlore.domain.record import RecordId
from runlore.domain.records.audit import RecordEvent
from runlore.domain.serialization.codec import Plain, serialize
from runlore.domain.timestamps import format_time
from runlore.ports.operations import ExportAnswer, Progress
from runlore.ports.operations.progress import report_progress
from runlore.ports.store import Snapshot

EXPORT_VERSION = 1
_CHUNK_BYTES = 1 << 20
_ASIDE_PREFIX = ".partial-"


class Exports:
    """The `exports` folder of the state root."""

    def __init__(self, state_root: str) -> None:
        self._folder = os.path.join(state_root, "exports")

    def write(self, snapshot: Snapshot, now: datetime, progress: Progress) -> ExportAnswer:
        """One new file with all records and their events, durable before it is named in the answer."""
        count = sum(snapshot.records.count().values())
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            path = self._write_aside(_document(snapshot, count, now, progress), now)
        except OSError as error:
            raise Unavailable(
                f"the export cannot be written under {self._folder}: {error.strerror}",
                code="export.write",
                hint="make room, or make the folder writable",
            ) from error
        return ExportAnswer(path=path, count=count, export_version=EXPORT_VERSION)

    def holding(self, record_ids: Sequence[RecordId]) -> tuple[str, ...]:
        wanted = [record_id.encode() for record_id in record_ids]
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return ()
        paths = [os.path.join(self._folder, name) for name in names]
        return tuple(path for path in paths if os.path.isfile(path) and _mentions(path, wanted))

    def keep_newest(self, most: int) -> tuple[str, ...]:
        """Delete all but the newest exports: those that went. Their names begin with their time."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".json"))
        except FileNotFoundError:
            return ()
        gone = tuple(os.path.join(self._folder, name) for name in names[: max(0, len(names) - most)])
        for path in gone:
            with suppress(FileNotFoundError):
                os.unlink(path)
        return gone

    def _write_aside(self, lines: Iterator[bytes], now: datetime) -> str:
        stamp = format_time(now).replace("-", "").replace(":", "").replace(".", "")
        with new_file(self._folder, _ASIDE_PREFIX) as (aside, file):
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            path = self._link_unique(aside, stamp)
        sync_folder(self._folder)
        return path

    def _link_unique(self, aside: str, stamp: str) -> str:
        number = 1
        while True:
            suffix = "" if number == 1 else f"-{number}"
            path = os.path.join(self._folder, f"{stamp}{suffix}.json")
            try:
                os.link(aside, path)
            except FileExistsError:
                number += 1
            else:
                return path


def _document(snapshot: Snapshot, count: int, now: datetime, progress: Progress) -> Iterator[bytes]:
    header = {
        "export_version": EXPORT_VERSION,
        "generated_at": format_time(now),
        "runlore_version": __version__,
        "store_id": snapshot.records.position().store_id,
        "count": count,
    }
    # One record a line, so that a reader can stream what is still one JSON document.
    yield orjson.dumps(header)[:-1] + b',"records":[\n'
    for number, (_, events) in enumerate(report_progress(snapshot.records.everything(), count, progress)):
        yield (b",\n" if number else b"") + _line(events)
    yield b"\n]}\n"


def _line(events: Sequence[RecordEvent]) -> bytes:
    # The record is what its events lead to: their changes, put together, are its fields.
    fields: Plain = {}
    for event in events:
        fields.update(event.changes)
    return orjson.dumps({**fields, "events": [serialize(event) for event in events]})


def _mentions(path: str, wanted: Sequence[bytes]) -> bool:
    overlap = max((len(each) for each in wanted), default=0)
    tail = b""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            window = tail + chunk
            if any(each in window for each in wanted):
                return True
            tail = window[-overlap:]
    return False
