"""What the last refresh has seen, so that the next one need not look into every file.

It is derived and lies beside the indexes. Where it is lost, damaged or of another store, the files are read.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from runlore.atomic_write import atomic_write
from runlore.domain.errors import Corrupt
from runlore.domain.lazy import LazyModule, dataclass
from runlore.domain.serialization import codec
from runlore.domain.timestamps import format_time
from runlore.flow.skills.suggestion_lock import every_suggestion

if TYPE_CHECKING:
    from runlore.domain import suggestion
    from runlore.domain.record import JsonObject, JsonValue
    from runlore.domain.skills import skips
    from runlore.ports.store import Collections
else:
    skips = LazyModule("runlore.domain.skills.skips")
    suggestion = LazyModule("runlore.domain.suggestion")


def skipped_document(collections: Collections) -> dict[str, JsonValue]:
    """Every skipped suggestion by its name: when it was skipped, by which heuristic it was found, how often
    it was skipped."""
    skipped: dict[str, JsonValue] = {}
    if not collections.counters.any_skipped():
        return {"skipped": skipped}
    for stored in every_suggestion(collections, states=frozenset({suggestion.SuggestionState.SKIPPED})):
        skip = skips.skip_of(stored)
        skipped[stored.suggestion.name] = {
            "skipped_at": format_time(stored.updated_at if skip is None else skip.at),
            "heuristic": stored.suggestion.heuristic.value,
            "times_skipped": 1 if skip is None else skip.times,
        }
    return {"skipped": skipped}


def mark_of(document: JsonObject) -> str:
    """What such a list is recognised by."""
    return sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


FORMAT = 3


@dataclass(frozen=True, kw_only=True)
class FileProblem:
    """What is wrong with one skill's file, or with all of them, in a sentence, and what to do about it.

    What `lasts` is as it is until somebody changes a file: there is no use in trying again. Where there
    `is_stored` a skill of that name, its words may stand in the file.
    """

    name: str
    told: str
    hint: str = ""
    lasts: bool = False
    is_stored: bool = False


@dataclass(frozen=True, kw_only=True)
class RefreshReport:
    """What a refresh did: the names of skills that were read in from files, and whose files were written or
    removed; what it could not do; whether it came to the end, and whether anything is another now."""

    taken_in: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[FileProblem, ...] = ()
    is_whole: bool = True
    has_changed: bool = False

    @property
    def has_settled(self) -> bool:
        """Whether there is nothing that another try could do better."""
        return self.is_whole and all(problem.lasts for problem in self.problems)


@dataclass(frozen=True, kw_only=True)
class FileFingerprints:
    """The state of files and rows in which nothing is left to do but what the `problems` say. `skipped` is
    the mark of what the list of skipped suggestions says in it, where somebody has looked."""

    store: str
    rows: int
    files: str
    skipped: str = ""
    problems: tuple[FileProblem, ...] = ()

    def is_same(self, other: FileFingerprints) -> bool:
        """Whether nothing has changed since, what was found there apart."""
        return (self.store, self.rows, self.files) == (other.store, other.rows, other.files)


def load_seen(path: str) -> FileFingerprints | None:
    """What was seen, by this process or an earlier one."""
    try:
        with open(path, "rb") as file:
            document = codec.as_object(orjson.loads(file.read()))
        return codec.deserialize(FileFingerprints, document) if document["format"] == FORMAT else None
    except (OSError, ValueError, TypeError, KeyError, Corrupt):
        return None


def save_seen(path: str, seen: FileFingerprints) -> None:
    """Keep it for the next process. Where that fails, that one reads the files."""
    content = orjson.dumps({"format": FORMAT, **codec.serialize(seen)})
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        atomic_write(path, content, durable=False)
