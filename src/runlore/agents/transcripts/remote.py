"""Transcripts that lie in a bucket or on another file system: an address such as `s3://bucket/folder`.

What is there is listed; a file is copied here while it is read, and nothing is kept of it. Whoever the
sessions are of can say no: what lies beside or below a `.runlore.toml` with `capture = false` is left out.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from runlore.agents.transcripts.discovery import UNREADABLE, TranscriptFinder, is_transcript_name
from runlore.agents.transcripts.reader import PartsElsewhere
from runlore.agents.transcripts.registry import READERS
from runlore.domain import limits
from runlore.domain.errors import Invalid, Unavailable
from runlore.domain.runs.transcript import START, Position, ReadCounts, ToldRun, TranscriptSource
from runlore.ports.transcripts import Transcripts

SWITCHED_OFF = "its owner has switched capture off"
IN_PARTS = "its sessions lie in many files each, which are read only on the machine where they lie"
_SWITCH = ".runlore.toml"
# As much of a file as its format is known by, packed or not.
_HEAD_BYTES = 256 * 1024
# Databases are asked which sessions they hold, for which all of them is needed.
_WHOLE = (".db", ".sqlite")
_PARTS_ELSEWHERE = frozenset(reader.agent for reader in READERS if isinstance(reader, PartsElsewhere))


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file by its name below an address."""

    name: str
    bytes: int
    modified_at: datetime


class RemoteTranscripts:
    """Finds and reads transcripts at addresses. `local` reads what was copied here, and `captures` says
    whether the switch in a folder lets its sessions be read."""

    def __init__(self, local: Transcripts, captures: Callable[[str], bool]) -> None:
        self._local = local
        self._captures = captures
        self._files = _RemoteFiles()

    def find(self, paths: Sequence[str], *, since: datetime | None = None) -> Iterator[TranscriptSource]:
        for address in paths:
            yield from self._find(address.rstrip("/"), since)

    def read(
        self, source: TranscriptSource, counts: ReadCounts, start: Position = START
    ) -> Iterator[ToldRun]:
        with tempfile.TemporaryDirectory(prefix="runlore-") as folder:
            copied = os.path.join(folder, PurePosixPath(source.path).name)
            try:
                self._files.copy(source.path, copied, source.modified_at)
            except FileNotFoundError:
                counts.skip(UNREADABLE)
                return
            for run in self._local.read(replace(source, path=copied), counts, start):
                # Where it lies here for a moment says nothing of where the agent worked.
                yield replace(run, folder="") if run.folder.startswith(folder) else run

    def is_unread(self, source: TranscriptSource, position: Position) -> bool:
        return self._local.is_unread(source, position)

    def _find(self, address: str, since: datetime | None) -> Iterator[TranscriptSource]:
        files = {file.name: file for file in self._files.list(address)}
        with tempfile.TemporaryDirectory(prefix="runlore-") as folder:
            refused = tuple(self._list_refused(address, files, folder))
            for name, file in files.items():
                is_new = since is None or file.modified_at >= since
                if is_new and is_transcript_name(name) and not name.startswith(refused):
                    bytes_max = file.bytes if name.endswith(_WHOLE) else _HEAD_BYTES
                    # What has gone since it was listed is not missed.
                    with suppress(FileNotFoundError):
                        here = os.path.join(folder, name)
                        self._files.copy(f"{address}/{name}", here, file.modified_at, bytes_max)
            for found in TranscriptFinder(READERS).under(folder):
                file = files[os.path.relpath(found.path, folder)]
                known = replace(found, path=f"{address}/{file.name}", modified_at=file.modified_at)
                if found.agent in _PARTS_ELSEWHERE and not found.part:
                    yield replace(known, agent=None, problem=IN_PARTS, looks_like=str(found.agent))
                else:
                    yield known if found.part else replace(known, bytes=file.bytes)
        for place in refused:
            modified_at = files[f"{place}{_SWITCH}"].modified_at
            path = f"{address}/{place}"
            yield TranscriptSource(path=path, agent=None, modified_at=modified_at, problem=SWITCHED_OFF)

    def _list_refused(self, address: str, files: Mapping[str, _File], folder: str) -> Iterator[str]:
        """The folders below which nothing may be read."""
        for name, file in files.items():
            if PurePosixPath(name).name == _SWITCH:
                here = os.path.join(folder, name)
                self._files.copy(f"{address}/{name}", here, file.modified_at, _HEAD_BYTES)
                if not self._captures(os.path.dirname(here)):
                    yield name.removesuffix(_SWITCH)
                os.unlink(here)


class _RemoteFiles:
    """The files at addresses. A driver is made once for each file system, and not shared with anybody: it
    would remember what it has listed."""

    def __init__(self) -> None:
        self._systems: dict[str, Any] = {}

    def list(self, address: str) -> Iterator[_File]:
        """The files below an address, by name."""
        with self._reaching(address) as (files, root):
            found: Mapping[str, Mapping[str, Any]] = files.find(root, detail=True)
            if not found:
                raise Invalid(
                    f"there is nothing at {address!r:.300}",
                    code="learn.path",
                    hint="name a bucket or a folder that holds transcripts, such as s3://bucket/ada",
                )
            if len(found) > limits.REMOTE_FILES_MAX:
                raise Invalid(
                    f"more than {limits.REMOTE_FILES_MAX:,} files lie at {address!r:.300}",
                    code="learn.path",
                    hint="name the folders in it one by one",
                )
            for path in sorted(found):
                name, about = path.removeprefix(root).lstrip("/"), found[path]
                # Names in a bucket are a stranger's, and need not be those of files.
                if name and ".." not in PurePosixPath(name).parts and str(PurePosixPath(name)) == name:
                    size = int(about.get("size") or 0)
                    yield _File(name=name, bytes=size, modified_at=_changed_at(about))

    def copy(self, address: str, here: str, modified_at: datetime, bytes_max: int | None = None) -> None:
        """Copy a file, or its beginning."""
        os.makedirs(os.path.dirname(here), exist_ok=True)
        with self._reaching(address) as (files, path):
            if bytes_max is None:
                files.get_file(path, here)
            else:
                with open(here, "wb") as file:
                    file.write(files.cat_file(path, start=0, end=bytes_max))
        os.utime(here, (modified_at.timestamp(), modified_at.timestamp()))

    @contextmanager
    def _reaching(self, address: str) -> Iterator[tuple[Any, str]]:
        """The file system that an address is of, and the path there."""
        try:
            from fsspec.core import split_protocol, url_to_fs
        except ImportError:
            raise _not_installed("the package fsspec") from None
        try:
            scheme = split_protocol(address)[0]
            if scheme not in self._systems:
                self._systems[scheme] = url_to_fs(address, skip_instance_cache=True)[0]
            files = self._systems[scheme]
            yield files, files._strip_protocol(address)
        except (Invalid, FileNotFoundError):
            raise
        except ImportError as missing:
            raise _not_installed(f"a package for {address.partition('://')[0]}") from missing
        except Exception as error:
            # Whatever a driver raises; its own words may hold a key.
            raise Unavailable(
                f"{address!r:.300} cannot be read: {type(error).__name__}",
                code="learn.remote",
                hint="look at the address, and at the credentials that its driver takes from the environment",
            ) from None


def _changed_at(about: Mapping[str, Any]) -> datetime:
    """When a file was changed, as its file system calls it; long ago where it does not say."""
    for name in ("LastModified", "mtime", "last_modified", "updated"):
        match about.get(name):
            case datetime() as at:
                return at.astimezone(UTC)
            case float() | int() as seconds:
                return datetime.fromtimestamp(seconds, UTC)
    return datetime.fromtimestamp(0, UTC)


def _not_installed(what: str) -> Invalid:
    return Invalid(
        f"{what} is needed to read transcripts from there, and is not installed",
        code="learn.remote-missing",
        hint="install Runlore with the extra `cluster`, and the fsspec driver of that storage",
    )
