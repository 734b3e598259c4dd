"""Broken front matter mended: an entry that cannot be read by itself becomes one line of text.

The usual mistakes are a colon in a description without quotes, a value that begins with a bracket or a quote
and goes on behind it, and a continued line that looks like a key.
"""

import re
from collections.abc import Callable, Iterator, Sequence

_ENTRY = re.compile(r"([A-Za-z0-9_.-]{1,64}):(?:[ \t]+|$)")
_BLOCK = re.compile(r"[|>][0-9+-]{0,3}\s*$")
_DEPTH_MAX = 3


def mended(lines: Sequence[str], *, is_broken: Callable[[str], bool], depth: int = 0) -> Iterator[str]:
    """The lines of a map, its broken entries quoted. What cannot be mended is given back as it is."""
    for entry in _entries(lines):
        if not is_broken("\n".join(entry)):
            yield from entry
            continue
        key = _ENTRY.match(entry[0])
        if key is None:
            yield from entry
            continue
        value = entry[0][key.end() :]
        below = entry[1:]
        if value.strip() or not any(map(str.strip, below)) or depth >= _DEPTH_MAX:
            yield f"{key[1]}: {_quoted(value, below)}"
            continue
        margin = min(len(line) - len(line.lstrip(" ")) for line in below if line.strip())
        yield entry[0]
        inner = [line[margin:] for line in below]
        yield from (" " * margin + line for line in mended(inner, is_broken=is_broken, depth=depth + 1))


def _entries(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each key with the lines that belong to it: those that are empty or stand further in."""
    entry: list[str] = []
    for line in lines:
        if entry and line[:1] not in ("", " ", "\t", "#"):
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _quoted(value: str, below: Sequence[str]) -> str:
    """A value and its further lines as one text; of a block, the lines as they are."""
    told = [] if _BLOCK.match(value) else [value]
    text = " ".join(filter(None, (line.strip() for line in (*told, *below) if not line.startswith("#"))))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return "'" + text.replace("'", "''") + "'"
