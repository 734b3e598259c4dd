"""What a stranger's SKILL.md says, read leniently: what is odd is mended and remarked on.

A file is refused only where nothing sensible can be made of it: without a name or a description, or too
large. Its folder's name is the skill's where it can be one, whatever the file calls itself: two files of one
name in two folders stay two skills. Fields that the specification does not have are kept among the metadata.

What a skill's file says beyond the fields of the Agent Skills specification: keys of its `metadata`.

| key | what |
| --- | --- |
| `version`, `author` | of the document |
| `runlore-topics`, `runlore-actions` | the trigger's words, separated by spaces |
| `runlore-auto-load` | `true` or `false` |
| `runlore-quality` | `draft`, `imported`, `manual` or `promoted` |
| `runlore-untrusted`, `runlore-needs-review` | `true`, where it is so |
| `runlore-sources` | what it was read from, separated by spaces |

Several words stand in one line: white space inside a word is written as its code, such as `%20`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias, Union

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.lazy import dataclass
from runlore.domain.skill import Quality, SkillDocument
from runlore.domain.suggesting.naming import is_reserved, is_valid_name, slug
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.safe_text import escape, hidden_characters, is_storable

FENCE = "---"
VERSION, AUTHOR = "version", "author"
TOPICS, ACTIONS = "runlore-topics", "runlore-actions"
AUTO_LOAD, QUALITY = "runlore-auto-load", "runlore-quality"
_OF_USER = frozenset({"", "trusted", "user", "manual", "local"})
UNTRUSTED, NEEDS_REVIEW, SOURCES = "runlore-untrusted", "runlore-needs-review", "runlore-sources"
# Keys of the metadata that are fields of a document or of its provenance.
OWN_KEYS = frozenset(
    {VERSION, AUTHOR, TOPICS, ACTIONS, AUTO_LOAD, QUALITY, UNTRUSTED, NEEDS_REVIEW, SOURCES},
)
EMPTY_WORD = "%"

# What would end a word of a list, or could be read as the code of another character.
_CODED = re.compile(r"[\s%]")
_CODES = re.compile(r"(?:%[0-9A-F]{2})+")


def words_in(text: str) -> tuple[str, ...]:
    """The words of a list as it is written in one line."""
    return tuple("" if word == EMPTY_WORD else _CODES.sub(_decode, word) for word in text.split())


def one_line(words: Iterable[str]) -> str:
    return " ".join(_CODED.sub(_code, word) or EMPTY_WORD for word in words)


def _code(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _decode(match: re.Match[str]) -> str:
    try:
        return bytes.fromhex(match[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return match[0]


FrontValue: TypeAlias = Union[str, Sequence["FrontValue"], Mapping[str, "FrontValue"]]  # noqa: UP007

SPECIFIED = frozenset({"name", "description", "license", "compatibility", "allowed-tools", "metadata"})
REMARKS_MAX = 20
_SHOWN_CHARS = 80
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", ""})


@dataclass(frozen=True, kw_only=True)
class ParsedDocument:
    """What a file says, what it says of where it came from, and what is odd about it.

    A provenance is the file's own word: it may be believed where it taints, never where it clears.
    """

    document: SkillDocument
    provenance: Provenance = TRUSTED
    remarks: tuple[str, ...] = ()


def document_from_front(front: Mapping[str, FrontValue], body: str, folder: str = "") -> ParsedDocument:
    """Read a file's front matter and body; Invalid (`skill.document`, `skill.size`) where it is no skill."""
    reading = _Reading()
    name = _name(front, folder, reading)
    description = _description(front, reading)
    metadata = _metadata(front, reading)
    document = SkillDocument(
        name=name,
        description=description,
        body=_body(body, reading),
        topics=_words(metadata.pop(TOPICS, ""), "topics", reading),
        actions=_words(metadata.pop(ACTIONS, ""), "actions", reading),
        version=reading.bound_text(metadata.pop(VERSION, SkillDocument.version), VERSION),
        author=reading.bound_text(metadata.pop(AUTHOR, ""), AUTHOR),
        quality=_quality(metadata.pop(QUALITY, ""), reading),
        auto_load=_flag(metadata.pop(AUTO_LOAD, ""), AUTO_LOAD, reading),
        license=reading.field(front, "license"),
        compatibility=reading.field(front, "compatibility", limits.SKILL_COMPATIBILITY_CHARS_MAX),
        allowed_tools=reading.field(front, "allowed-tools"),
    )
    # What the file says that it comes from: as many as are kept, each as long as a place has to be.
    written = words_in(metadata.pop(SOURCES, ""))
    kept = tuple(source[: limits.SKILL_FIELD_CHARS_MAX] for source in written[: limits.TAINT_SOURCES_MAX])
    if kept != written:
        reading.remark("its sources are too many or too long: some are cut")
    provenance = Provenance(
        untrusted=_flag(metadata.pop(UNTRUSTED, ""), UNTRUSTED, reading, unclear=True),
        needs_review=_flag(metadata.pop(NEEDS_REVIEW, ""), NEEDS_REVIEW, reading, unclear=True),
        sources=kept,
    )
    document = _with_metadata(document, metadata, reading)
    _refuse_unstorable(document, provenance)
    return ParsedDocument(document=document, provenance=provenance, remarks=reading.list_remarks())


@dataclass
class _Reading:
    """What was odd so far."""

    remarks: dict[str, None] = field(default_factory=dict)

    def remark(self, sentence: str) -> None:
        self.remarks[sentence] = None

    def list_remarks(self) -> tuple[str, ...]:
        more = len(self.remarks) - REMARKS_MAX
        return (*list(self.remarks)[:REMARKS_MAX], *((f"and {more} more",) if more > 0 else ()))

    def bound_text(self, text: str, what: str, chars_max: int = limits.SKILL_FIELD_CHARS_MAX) -> str:
        if len(text) > chars_max:
            self.remark(f"its {what} is longer than {chars_max:,} characters: the rest is left out")
        return text[:chars_max]

    def field(
        self, front: Mapping[str, FrontValue], key: str, chars_max: int = limits.SKILL_FIELD_CHARS_MAX
    ) -> str:
        return self.bound_text(_as_text(front.get(key, ""), separator=" "), key, chars_max)


def _name(front: Mapping[str, FrontValue], folder: str, reading: _Reading) -> str:
    written = front.get("name", "")
    if not isinstance(written, str) or not written.strip():
        raise _invalid_document("it has no name", "add the line `name:` with the name of its folder")
    written = written.strip()
    if folder and written != folder:
        reading.remark(f"it calls itself {_quote(written)} and stands in the folder {_quote(folder)}")
    if is_valid_name(folder):
        name = folder
    else:
        name = written if is_valid_name(written) else slug(written)
        if name != written:
            reading.remark(f"its name {_quote(written)} is not one that the specification allows")
    if not is_valid_name(name):
        raise _invalid_document(
            f"its name {_quote(written)} is not one that the specification allows",
            "use 1 to 64 small letters a-z, digits and single hyphens between them",
        )
    if is_reserved(name):
        reading.remark(f"some systems keep the name {name} for themselves")
        return f"{name}-skill"
    return name


def _description(front: Mapping[str, FrontValue], reading: _Reading) -> str:
    written = front.get("description", "")
    text = "" if isinstance(written, Mapping) else _as_text(written, separator=" ")
    if not text.strip():
        raise _invalid_document(
            "it has no description",
            "add the line `description:` that says what it does and when it is of use",
        )
    text = reading.bound_text(text, "description", limits.SKILL_DESCRIPTION_CHARS_MAX)
    if hidden_characters(text):
        reading.remark("its description has characters that nobody sees")
    return text


def _body(body: str, reading: _Reading) -> str:
    """The text below the front matter, without the one empty line that stands between them."""
    for empty in ("\r\n", "\n"):
        if body.startswith(empty):
            body = body.removeprefix(empty)
            break
    if len(body) > limits.SKILL_BODY_CHARS_MAX:
        raise Invalid(
            f"its body has more than {limits.SKILL_BODY_CHARS_MAX:,} characters",
            code="skill.size",
            hint="move a part of it to files beside it, and name them in the body",
        )
    lines = body.count("\n") + 1
    if lines > limits.SKILL_BODY_LINES_MAX:
        reading.remark(f"its body has {lines:,} lines; {limits.SKILL_BODY_LINES_MAX} are recommended at most")
    return body


def _metadata(front: Mapping[str, FrontValue], reading: _Reading) -> dict[str, str]:
    """Every key that is no field of the specification, from `metadata` and from beside it."""
    written = front.get("metadata", {})
    if not isinstance(written, Mapping):
        if written:
            reading.remark("its metadata are not a map: they are left out")
        written = {}
    metadata = {key: _as_text(value) for key, value in written.items()}
    for key, value in front.items():
        if key in SPECIFIED:
            continue
        if key == "odek" and isinstance(value, Mapping):
            _take_trigger(value, metadata)
            continue
        if key in metadata or (key in OWN_KEYS and key not in (VERSION, AUTHOR)):
            reading.remark(f"its field {_quote(key)} is not one of the specification: it is left out")
            continue
        reading.remark(f"its field {_quote(key)} is not one of the specification: it is kept as metadata")
        metadata[key] = _as_text(value)
    return metadata


def _take_trigger(block: Mapping[str, FrontValue], metadata: dict[str, str]) -> None:
    """The form of an older agent: a trigger, `auto_load`, `quality` and where it comes from in a block of its
    own. What is said of that taints, unless it says that it is the user's."""
    trigger = block.get("trigger", {})
    words = trigger if isinstance(trigger, Mapping) else {}
    written = {
        TOPICS: words.get("topic", ""),
        ACTIONS: words.get("action", words.get("actions", "")),
        AUTO_LOAD: block.get("auto_load", ""),
        QUALITY: block.get("quality", ""),
        UNTRUSTED: "" if _is_users(block.get("provenance", "")) else "true",
        NEEDS_REVIEW: block.get("needs_review", ""),
        SOURCES: block.get("sources", ""),
    }
    for key, value in written.items():
        if value:
            metadata.setdefault(key, _as_text(value, separator=" "))


def _is_users(said: FrontValue) -> bool:
    if isinstance(said, Mapping):
        flags = (said.get("untrusted", ""), said.get("needs_review", ""))
        return all(_as_text(flag).strip().lower() in _FALSE for flag in flags)
    return _as_text(said).strip().lower() in _OF_USER


def _words(line: str, what: str, reading: _Reading) -> tuple[str, ...]:
    words = words_in(line)
    kept = tuple(word for word in words if len(word) <= limits.SKILL_WORD_CHARS_MAX)[: limits.SKILL_WORDS_MAX]
    if len(kept) < len(words):
        reading.remark(f"its {what} are too many or too long: some are left out")
    return kept


def _quality(written: str, reading: _Reading) -> Quality:
    if not written:
        return Quality.MANUAL
    try:
        return Quality(written)
    except ValueError:
        reading.remark(f"its quality {_quote(written)} is not known")
        return Quality.MANUAL


def _flag(written: str, what: str, reading: _Reading, *, unclear: bool = False) -> bool:
    word = written.strip().lower()
    if word not in _TRUE | _FALSE:
        reading.remark(f"its {what} is neither true nor false")
        return unclear
    return word in _TRUE


def _with_metadata(document: SkillDocument, written: Mapping[str, str], reading: _Reading) -> SkillDocument:
    metadata: dict[str, str] = {}
    left = limits.SKILL_METADATA_CHARS_MAX
    for key, text in written.items():
        size = len(key) + len(text)
        has_room = size <= left and len(metadata) < limits.SKILL_METADATA_KEYS_MAX
        if not key.strip() or len(key) > limits.SKILL_METADATA_KEY_CHARS_MAX or not has_room:
            reading.remark("its metadata are too large: some are left out")
            continue
        metadata[key] = text
        left -= size
    return replace(document, metadata=metadata)


def _as_text(value: FrontValue, separator: str = "") -> str:
    """A text as it is; a list of texts joined where a separator is given, all else as JSON."""
    if isinstance(value, str):
        return value
    if separator and not isinstance(value, Mapping) and all(isinstance(each, str) for each in value):
        return separator.join(each for each in value if isinstance(each, str))
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _refuse_unstorable(document: SkillDocument, provenance: Provenance) -> None:
    if not all(map(is_storable, (document.body, *front_texts(document), *provenance.sources))):
        raise _invalid_document(
            "it holds a character that no file or database can keep",
            "remove NUL characters and halves of surrogate pairs",
        )


def _quote(text: str) -> str:
    return f"`{escape(text[:_SHOWN_CHARS])}`"


def _invalid_document(sentence: str, hint: str) -> Invalid:
    return Invalid(sentence, code="skill.document", hint=hint)


def front_texts(document: SkillDocument) -> Iterator[str]:
    """Every text of a document but its body; the words of its trigger one by one, and as they are read."""
    yield document.description
    yield from (document.version, document.author, document.license)
    yield from (document.compatibility, document.allowed_tools)
    for words in (document.topics, document.actions):
        yield from words
        yield " ".join(words)
    for key, text in document.metadata.items():
        yield key
        yield text
