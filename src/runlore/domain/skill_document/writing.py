"""A skill's file as Runlore writes it, so that the specification's reference validator always accepts it.

Every text is quoted, and every character that nobody sees is written as its code. Three hyphens in a row are
too: the validator ends the front matter at the first it finds, wherever they stand.
"""

import re
from collections.abc import Iterable

from runlore.domain import limits
from runlore.domain.errors import Invalid
from runlore.domain.skill import SkillDocument
from runlore.domain.skill_document.reading import (
    ACTIONS,
    AUTHOR,
    AUTO_LOAD,
    FENCE,
    NEEDS_REVIEW,
    OWN_KEYS,
    QUALITY,
    SOURCES,
    TOPICS,
    UNTRUSTED,
    VERSION,
    one_line,
)
from runlore.domain.suggesting.naming import is_reserved, is_valid_name
from runlore.domain.taint import TRUSTED, Provenance
from runlore.domain.text.safe_text import is_storable

# Fixed ranges and no categories: every Python writes the same bytes. Controls, blanks, joiners, what reorders
# a line, variation selectors, private and unassigned planes, halves of pairs.
_CODED = re.compile(
    '[\\x00-\\x1f"\\\\\\x7f-\\xa0\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f'
    "\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ud800-\\uf8ff\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff"
    "\\uffa0\\ufff0-\\uffff\\U000e0000-\\U0010ffff]|(?<=--)-|[\\U0001fffe\\U0001ffff\\U0002fffe\\U0002ffff]"
)
_SHORT_CODES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def render_document(document: SkillDocument, provenance: Provenance = TRUSTED) -> str:
    """A document as the text of its SKILL.md; Invalid (`skill.document`, `skill.size`) where the
    specification has no way to write it."""
    check_document(document)
    front = "".join(f"{line}\n" for line in _front_lines(document, provenance))
    if len(front.encode()) > limits.SKILL_FRONT_BYTES_MAX:
        raise _too_large("what stands before its body", limits.SKILL_FRONT_BYTES_MAX, "bytes")
    return f"{FENCE}\n{front}{FENCE}\n\n{document.body}"


def check_document(document: SkillDocument) -> None:
    """Raise Invalid where a document cannot be written: ask before it is stored."""
    if not is_valid_name(document.name) or is_reserved(document.name):
        raise Invalid(
            f"a skill cannot be called {document.name!r:.80}",
            code="skill.name",
            hint="use 1 to 64 small letters a-z, digits and single hyphens between them",
        )
    if not document.description.strip():
        raise Invalid(
            f"skill {document.name} has no description",
            code="skill.document",
            hint="say in a sentence what it does and when it is of use",
        )
    for what, text, chars_max in _bounded_texts(document):
        if len(text) > chars_max:
            raise _too_large(what, chars_max, "characters")
        if not is_storable(text):
            raise Invalid(
                f"{what} holds a character that no file or database can keep",
                code="skill.document",
                hint="remove NUL characters and halves of surrogate pairs",
            )
    _check_metadata(document)


def _front_lines(document: SkillDocument, provenance: Provenance) -> Iterable[str]:
    fields = (
        ("name", document.name),
        ("description", document.description),
        ("license", document.license),
        ("compatibility", document.compatibility),
        ("allowed-tools", document.allowed_tools),
    )
    yield from (f"{key}: {_quote(text)}" for key, text in fields if text)
    yield "metadata:"
    yield from (f"  {key}: {_quote(text)}" for key, text in _own_metadata(document, provenance).items())
    yield from (f"  {_quote(key)}: {_quote(text)}" for key, text in document.metadata.items())


def _own_metadata(document: SkillDocument, provenance: Provenance) -> dict[str, str]:
    optional = {
        AUTHOR: document.author,
        TOPICS: one_line(document.topics),
        ACTIONS: one_line(document.actions),
        UNTRUSTED: "true" if provenance.untrusted else "",
        NEEDS_REVIEW: "true" if provenance.needs_review else "",
        SOURCES: _fit_sources(provenance.sources),
    }
    return {
        VERSION: document.version,
        **{key: text for key, text in optional.items() if text},
        AUTO_LOAD: "true" if document.auto_load else "false",
        QUALITY: document.quality.value,
    }


def _fit_sources(sources: tuple[str, ...]) -> str:
    """As many as a file has room for, whole ones."""
    fitting: list[str] = []
    left = limits.SKILL_FILE_SOURCES_CHARS_MAX
    for source in sources:
        line = one_line((source,))
        left -= len(line) + 1
        if left < 0:
            break
        if is_storable(source):
            fitting.append(line)
    return " ".join(fitting)


def _quote(text: str) -> str:
    return f'"{_CODED.sub(_code, text)}"'


def _code(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SHORT_CODES:
        return _SHORT_CODES[character]
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02X}"
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def _bounded_texts(document: SkillDocument) -> Iterable[tuple[str, str, int]]:
    yield "its description", document.description, limits.SKILL_DESCRIPTION_CHARS_MAX
    yield "its body", document.body, limits.SKILL_BODY_CHARS_MAX
    yield "its compatibility", document.compatibility, limits.SKILL_COMPATIBILITY_CHARS_MAX
    yield "its license", document.license, limits.SKILL_FIELD_CHARS_MAX
    yield "its list of tools", document.allowed_tools, limits.SKILL_FIELD_CHARS_MAX
    yield "its version", document.version, limits.SKILL_FIELD_CHARS_MAX
    yield "its author", document.author, limits.SKILL_FIELD_CHARS_MAX
    for word in (*document.topics, *document.actions):
        yield "a word of its trigger", word, limits.SKILL_WORD_CHARS_MAX
    for key, text in document.metadata.items():
        yield "a key of its metadata", key, limits.SKILL_METADATA_KEY_CHARS_MAX
        yield "a value of its metadata", text, limits.SKILL_METADATA_CHARS_MAX


def _check_metadata(document: SkillDocument) -> None:
    if max(len(document.topics), len(document.actions)) > limits.SKILL_WORDS_MAX:
        raise _too_large("its trigger", limits.SKILL_WORDS_MAX, "words")
    if len(document.metadata) > limits.SKILL_METADATA_KEYS_MAX:
        raise _too_large("its metadata", limits.SKILL_METADATA_KEYS_MAX, "keys")
    if sum(len(key) + len(text) for key, text in document.metadata.items()) > limits.SKILL_METADATA_CHARS_MAX:
        raise _too_large("its metadata", limits.SKILL_METADATA_CHARS_MAX, "characters")
    if taken := sorted(OWN_KEYS & set(document.metadata)):
        raise Invalid(
            f"the metadata of skill {document.name} have the key {taken[0]}, which is a field of its own",
            code="skill.document",
            hint="set the field itself",
        )
    if any(not key.strip() for key in document.metadata):
        raise Invalid(
            f"the metadata of skill {document.name} have a key without a name",
            code="skill.document",
            hint="give the key a name, or remove it",
        )


def _too_large(what: str, most: int, unit: str) -> Invalid:
    return Invalid(
        f"a skill cannot be written: {what} has more than {most:,} {unit}",
        code="skill.size",
        hint="make it shorter, or move a part of it to a file beside it",
    )
