"""The first lines of a file, for deciding whose it is."""

import json
from functools import lru_cache

from runlore.agents.transcripts.lines import BOM
from runlore.agents.transcripts.parsing import Plain, object_of, parse_json

_LINES_MAX = 12


@lru_cache(maxsize=2)
def first_objects(head: bytes) -> tuple[Plain, ...]:
    """The objects among the first whole lines of a file. What is broken or cut off is left out."""
    lines = head.removeprefix(BOM).split(b"\n", _LINES_MAX)
    found = []
    for line in lines[:_LINES_MAX]:
        try:
            value = object_of(parse_json(line)) if line else {}
        except ValueError:
            continue
        if value:
            found.append(value)
    return tuple(found)


@lru_cache(maxsize=2)
def top_keys(head: bytes) -> tuple[str, ...]:
    """The first keys of a JSON document of which only the beginning is known, as far as they can be told."""
    text = head.removeprefix(BOM).decode(errors="replace").lstrip()
    if not text.startswith("{"):
        return ()
    decoder, found, place = json.JSONDecoder(), [], 1
    try:
        while True:
            place = _skip_blanks(text, place)
            key, place = decoder.raw_decode(text, place)
            if not isinstance(key, str):
                break
            found.append(key)
            place = _skip_blanks(text, place)
            if text[place] != ":":
                break
            _, place = decoder.raw_decode(text, _skip_blanks(text, place + 1))
            place = _skip_blanks(text, place)
            if text[place] != ",":
                break
            place += 1
    except (ValueError, IndexError, RecursionError):
        # The beginning ends here.
        return tuple(found)
    return tuple(found)


def first_keys(head: bytes) -> tuple[str, ...]:
    """The keys of the first object of a JSON list of which only the beginning is known."""
    text = head.removeprefix(BOM).lstrip()
    return top_keys(text[1:].lstrip()) if text.startswith(b"[") else ()


def _skip_blanks(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place
