"""What a skill's file says beyond the fields of the Agent Skills specification: keys of its `metadata`.

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

import re
from collections.abc import Iterable

FENCE = "---"
VERSION, AUTHOR = "version", "author"
TOPICS, ACTIONS = "runlore-topics", "runlore-actions"
AUTO_LOAD, QUALITY = "runlore-auto-load", "runlore-quality"
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
