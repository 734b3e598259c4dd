"""What a position says of a folder or a branch is only which it was: here its name is found again.

Positions are kept, and people may have said no to keeping anything of a folder; its name is in the transcript
anyway. Where it is not found there any more, the transcript is read anew.
"""

import io
import os
import re
from dataclasses import replace

from runlore.agents.transcripts.assembly import HIDDEN_FACTS, digest_of
from runlore.agents.transcripts.parsing import parse_json, text_of
from runlore.domain import limits
from runlore.domain.storable import made_storable
from runlore.domain.transcript import START, Position

_NAMED = re.compile(rb'"(?:cwd|gitBranch|branch)"\s{0,4}:\s{0,4}("(?:[^"\\]|\\.){1,32000}")', re.DOTALL)
_CHARS_MAX = {"folder": limits.PATH_CHARS_MAX, "branch": limits.TITLE_CHARS_MAX}
_BLOCK_BYTES = 1024**2
_OVERLAP_BYTES = 64 * 1024


def recall_names(file: io.BufferedReader, start: Position, path: str) -> Position:
    """The position with the names that it hides; the beginning where one of them is not found."""
    wanted = {name: str(start.carried[name]) for name in HIDDEN_FACTS if name in start.carried}
    found: dict[str, str | int] = {}
    _compare(os.path.dirname(os.path.abspath(path)), wanted, found)
    _search(file, wanted, found)
    return START if wanted else replace(start, carried={**start.carried, **found})


def _search(file: io.BufferedReader, wanted: dict[str, str], found: dict[str, str | int]) -> None:
    """Look through the transcript. Mostly its first lines say it."""
    seen: set[bytes] = set()
    file.seek(0)
    rest = b""
    while wanted and (block := file.read(_BLOCK_BYTES)):
        for named in _NAMED.findall(rest + block):
            if named not in seen:
                seen.add(named)
                _compare(_value(named), wanted, found)
        rest = block[-_OVERLAP_BYTES:]


def _compare(told: str, wanted: dict[str, str], found: dict[str, str | int]) -> None:
    for name, digest in list(wanted.items()):
        value = made_storable(told[: _CHARS_MAX[name]])
        if digest_of(value) == digest:
            found[name] = value
            del wanted[name]


def _value(named: bytes) -> str:
    try:
        return text_of(parse_json(named))
    except ValueError:
        return ""
