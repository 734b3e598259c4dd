"""The list of what was written into a folder: for each skill the digest of its file, and where it is stored.

While a file is being replaced its line has two digests, the old and the new: whichever of the two a crash
leaves in place is known. A list that is lost or damaged is an empty one, and nobody's files are called ours.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING

import orjson

from runlore.domain.errors import RunloreError
from runlore.domain.lazy import LazyModule, dataclass
from runlore.ports.skill_files import StoredAs
from runlore.skill_files.folder import Folder

if TYPE_CHECKING:
    from runlore.domain.suggesting import naming
else:
    naming = LazyModule("runlore.domain.suggesting.naming")

FORMAT = 1
BYTES_MAX = 8 * 1024**2
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_DIGESTS_MAX = 2
_MADE_MAX = 2


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Which files are ours, by name, where their texts are stored, and which folders around them were made
    for them."""

    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    made: tuple[str, ...] = ()
    stored: Mapping[str, StoredAs] = field(default_factory=dict)

    def knows(self, name: str, content: bytes) -> bool:
        return digest_of(content) in self.written.get(name, ())

    def with_files(self, files: Mapping[str, Iterable[bytes]], stored: Mapping[str, StoredAs]) -> "Manifest":
        """The list with files that may be any of these contents; without those of which there is none."""
        written = {**self.written, **{name: tuple(map(digest_of, each)) for name, each in files.items()}}
        known = {**self.stored, **stored}
        return Manifest(
            written={name: tuple(dict.fromkeys(digests)) for name, digests in written.items() if digests},
            made=self.made,
            stored={
                name: each
                for name, each in known.items()
                if written.get(name) and (name not in files or name in stored)
            },
        )


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def read_manifest(folder: Folder, name: str) -> Manifest:
    """The list of a folder; an empty one where it is missing, damaged, a link, or too large."""
    try:
        content = folder.read(name, BYTES_MAX)
        document = {} if content is None else orjson.loads(content)
    except (RunloreError, ValueError):
        return Manifest()
    if (
        not isinstance(document, dict)
        or document.get("format") != FORMAT
        or not isinstance(document.get("skills"), dict)
    ):
        return Manifest()
    made = document.get("made", [])
    stored = document.get("stored", {})
    return Manifest(
        written={
            key: _digests(each) for key, each in document["skills"].items() if naming.is_valid_name(key)
        },
        stored=_read_stored(stored) if isinstance(stored, dict) else {},
        made=tuple(each for each in made if isinstance(each, str))[:_MADE_MAX]
        if isinstance(made, list)
        else (),
    )


def write_manifest(folder: Folder, name: str, manifest: Manifest) -> None:
    document = {
        "format": FORMAT,
        "skills": dict(manifest.written),
        **({"made": manifest.made} if manifest.made else {}),
        **({"stored": _to_json(manifest.stored)} if manifest.stored else {}),
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    folder.write(name, orjson.dumps(document, option=options))


def _digests(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(each for each in listed if isinstance(each, str) and _DIGEST.match(each))[:_DIGESTS_MAX]


def _to_json(stored: Mapping[str, StoredAs]) -> dict[str, list[str | int]]:
    return {name: [each.store, each.skill_id, each.revision] for name, each in stored.items()}


def _read_stored(plain: Mapping[str, object]) -> dict[str, StoredAs]:
    known: dict[str, StoredAs] = {}
    for name, each in plain.items():
        match each:
            case [str(store), str(skill_id), int(revision)]:
                known[name] = StoredAs(store=store, skill_id=skill_id, revision=revision)
    return known
