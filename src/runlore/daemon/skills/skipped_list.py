"""The list of skipped suggestions as people find it beside the skills (SKL-6)."""

from hashlib import sha256

import orjson

from runlore.domain.record import JsonObject, JsonValue
from runlore.domain.skills.skips import skip_of
from runlore.domain.suggestion import SuggestionState
from runlore.domain.timestamps import format_time
from runlore.flow.skills.every import every_suggestion
from runlore.ports.store import Collections

_SKIPPED = frozenset({SuggestionState.SKIPPED})


def skipped_document(collections: Collections) -> dict[str, JsonValue]:
    """Every skipped suggestion by its name: when it was skipped, by which heuristic it was found, how often
    it was skipped."""
    skipped: dict[str, JsonValue] = {}
    for stored in every_suggestion(collections, states=_SKIPPED):
        skip = skip_of(stored)
        skipped[stored.suggestion.name] = {
            "skipped_at": format_time(stored.updated_at if skip is None else skip.at),
            "heuristic": stored.suggestion.heuristic.value,
            "times_skipped": 1 if skip is None else skip.times,
        }
    return {"skipped": skipped}


def mark_of(document: JsonObject) -> str:
    """What such a list is recognised by."""
    return sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
